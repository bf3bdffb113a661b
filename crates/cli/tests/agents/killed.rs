//! The host is killed, and the chat goes on.

use std::path::Path;

use crate::entry::Entry;
use crate::host::{Host, gone, processes};
use crate::talk::{Decide, Talk, Told, said};
use crate::tries::{complete, expect, ticks};

/// The host is killed in the middle of a turn; then the chat goes on. Says what
/// happened, and gives back the host that runs.
pub(crate) async fn killed(host: Host, entry: &Entry, place: &Path) -> (Host, Told<String>) {
    let talk = async {
        let mut talk = Talk::begin(&host, entry, place, "killed").await?;
        let turn = talk.turn("say: a heron named Ida", Decide::Deny).await?;
        complete(&turn)?;
        let cut = talk.say("slow: 600").await?;
        talk.until(ticks).await?;
        Ok::<_, String>((talk, cut))
    };
    let talk = talk.await;
    let before = processes(&entry.id);
    let host = host.killed().await;
    let happened = match talk {
        Ok((talk, cut)) => resumed(talk, &cut, &host, entry, &before).await,
        Err(error) => Err(error),
    };
    (host, happened)
}

async fn resumed(
    talk: Talk,
    cut: &str,
    host: &Host,
    entry: &Entry,
    before: &[(u32, String)],
) -> Told<String> {
    let left = gone(&entry.id, before).await;
    expect(left.is_empty(), "still runs", &left.join(", "))?;
    let mut talk = talk.again(host).await?;
    let state = talk.checked(cut).await?["state"].clone();
    expect(
        state == "error",
        "the turn that was cut is",
        &state.to_string(),
    )?;
    let turn = talk.turn("recall: Ida", Decide::Deny).await?;
    complete(&turn)?;
    let notice = match said(&turn.json, "systemNotification") {
        notice if notice.is_empty() => "the turn does not report it".to_owned(),
        notice => format!("the turn reports “{notice}”"),
    };
    let text = said(&turn.json, "markdown");
    let memory = match text.contains("I remember Ida") {
        true => "the model recalls the earlier conversation",
        false => "the model does not recall the earlier conversation",
    };
    talk.dispose().await?;
    Ok(format!(
        "no process of the old agent is left; {notice}; {memory}"
    ))
}
