//! Turns of a session, by the names that a user types.

use agenthost_client::Client;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::session::SessionSummary;
use anyhow::{Context, bail};

/// Turns that an error lists.
const MAX_LISTED_TURNS: usize = 10;

/// Characters of an id that an error lists.
const SHORT_ID_CHARS: usize = 8;

/// Characters of a message that an error lists.
const MESSAGE_CHARS: usize = 60;

/// Finds a turn in the default chat of a session by its id or the beginning of it. Without a name,
/// returns the last turn.
pub(crate) async fn find_turn(
    client: &mut Client,
    session: &SessionSummary,
    named: Option<&str>,
) -> anyhow::Result<TurnId> {
    let turns = turns_of(client, session).await?;
    let Some(named) = named else {
        let last = turns.into_iter().next_back();
        return Ok(last.context("the session has no turns yet")?.0);
    };
    if let Some((id, _)) = turns.iter().find(|(id, _)| id.as_str() == named) {
        return Ok(id.clone());
    }
    let found = turns
        .iter()
        .filter(|(id, _)| id.as_str().starts_with(named));
    let found: Vec<_> = found.collect();
    match found.as_slice() {
        [(id, _)] if !named.is_empty() => Ok(id.clone()),
        [] => bail!("the session has no turn `{named}`\n{}", list_turns(&turns)),
        several => bail!(
            "`{named}` matches {} turns\n{}",
            several.len(),
            list_turns(&turns)
        ),
    }
}

/// Returns the turns of the default chat, oldest first, each with its message.
async fn turns_of(
    client: &mut Client,
    session: &SessionSummary,
) -> anyhow::Result<Vec<(TurnId, String)>> {
    let chat = session.default_chat.as_ref();
    let chat = chat.context("the session has no chat")?;
    client.subscribe(chat).await?;
    let Some(ChannelState::Chat(state)) = client.confirmed_state(chat) else {
        bail!("the chat of the session was removed");
    };
    let ended = state.turns.items();
    let ended = ended.map(|turn| (turn.id.clone(), turn.message.text.clone()));
    let active = state.active_turn.iter();
    let active = active.map(|turn| (turn.id.clone(), turn.message.text.clone()));
    Ok(ended.chain(active).collect())
}

/// Describes the last turns, the latest first, as a hint.
fn list_turns(turns: &[(TurnId, String)]) -> String {
    if turns.is_empty() {
        return "hint: it has no turns yet".to_owned();
    }
    let listed = turns.iter().rev().take(MAX_LISTED_TURNS);
    let lines = listed.map(|(id, message)| {
        let id: String = id.as_str().chars().take(SHORT_ID_CHARS).collect();
        let line = message.lines().next().unwrap_or_default();
        let line: String = line.chars().take(MESSAGE_CHARS).collect();
        format!("  {id:SHORT_ID_CHARS$}  {line}")
    });
    let lines: Vec<_> = lines.collect();
    let last = match turns.len() > MAX_LISTED_TURNS {
        true => format!("the last {MAX_LISTED_TURNS} turns are"),
        false => "the turns are, the latest first".to_owned(),
    };
    format!("hint: {last}\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_turns_are_listed_by_their_short_ids() {
        let turn = |number: u32| {
            let id = format!("turn-{number:02}-of-many");
            (TurnId::from(id.as_str()), format!("message {number}\nmore"))
        };
        let two = [turn(1), turn(2)];
        assert_eq!(
            list_turns(&two),
            "hint: the turns are, the latest first\n  turn-02-  message 2\n  turn-01-  message 1"
        );
        let many: Vec<_> = (0..20).map(turn).collect();
        let listed = list_turns(&many);
        assert_eq!(listed.lines().count(), 11, "{listed}");
        assert!(listed.starts_with("hint: the last 10 turns are\n  turn-19-  message 19\n"));
        assert_eq!(list_turns(&[]), "hint: it has no turns yet");
    }
}
