//! The host is killed, and the chat goes on.

use std::path::Path;

use crate::agent_chat::{AgentChat, Decide, StepResult, text_of_parts};
use crate::agent_entry::Entry;
use crate::agent_tests::{complete, expect, ticks};
use crate::host::{Host, processes, wait_until_gone};

/// The host is killed in the middle of a turn; then the chat goes on. Says what
/// happened, and gives back the host that runs.
pub(crate) async fn killed(host: Host, entry: &Entry, place: &Path) -> (Host, StepResult<String>) {
    let agent_chat = async {
        let mut agent_chat = AgentChat::begin(&host, entry, place, "killed").await?;
        let turn = agent_chat
            .turn("say: a heron named Ida", Decide::Deny)
            .await?;
        complete(&turn)?;
        let cut = agent_chat.start_turn("slow: 600").await?;
        agent_chat.until(ticks).await?;
        Ok::<_, String>((agent_chat, cut))
    };
    let agent_chat = agent_chat.await;
    let before = processes(&entry.id);
    let host = host.killed().await;
    let happened = match agent_chat {
        Ok((agent_chat, cut)) => resumed(agent_chat, &cut, &host, entry, &before).await,
        Err(error) => Err(error),
    };
    (host, happened)
}

async fn resumed(
    agent_chat: AgentChat,
    cut: &str,
    host: &Host,
    entry: &Entry,
    before: &[(u32, String)],
) -> StepResult<String> {
    let left = wait_until_gone(&entry.id, before).await;
    expect(left.is_empty(), "still runs", &left.join(", "))?;
    let mut agent_chat = agent_chat.again(host).await?;
    let state = agent_chat.checked(cut).await?["state"].clone();
    expect(
        state == "error",
        "the turn that was cut is",
        &state.to_string(),
    )?;
    let turn = agent_chat.turn("recall: Ida", Decide::Deny).await?;
    complete(&turn)?;
    let notice = match text_of_parts(&turn.json, "systemNotification") {
        notice if notice.is_empty() => "the turn does not report it".to_owned(),
        notice => format!("the turn reports “{notice}”"),
    };
    let text = text_of_parts(&turn.json, "markdown");
    let memory = match text.contains("I remember Ida") {
        true => "the model recalls the earlier conversation",
        false => "the model does not recall the earlier conversation",
    };
    agent_chat.dispose().await?;
    Ok(format!(
        "no process of the old agent is left; {notice}; {memory}"
    ))
}
