//! Rows in the words of an older release.

use std::path::Path;

use agenthost_core::agent::AgentEvent;
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::Turn;
use agenthost_protocol::ids::{ClientId, ServerSeq, TurnId};
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};
use agenthost_store::{Durability, Store};
use agenthost_versions::{TargetClient, TranslationContext, VersionChain};
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, params};

use crate::driver::{Driver, chat, session};

/// A conversation with what releases put differently: an error, a call that was
/// agreed to, a terminal, a question.
fn run_conversation(driver: &mut Driver) {
    driver.start_turn("failed");
    driver.stream("failed", "half a");
    let error = r#"{"error":{"errorType":"x","message":"it broke"}}"#;
    driver.agent(AgentEvent::TurnEnded {
        chat: chat(),
        turn: TurnId::from("failed"),
        error: Some(wire::from_str(error).unwrap()),
    });
    driver.start_turn("called");
    for action in [
        r#"{"type":"chat/toolCallStart","turnId":"called","toolCallId":"k","toolName":"sh","displayName":"Sh"}"#,
        r#"{"type":"chat/toolCallReady","turnId":"called","toolCallId":"k","invocationMessage":"Run","toolInput":"ls"}"#,
    ] {
        driver.agent_action(action);
    }
    driver.dispatch(
        &chat(),
        r#"{"type":"chat/toolCallConfirmed","turnId":"called","toolCallId":"k","approved":true,"confirmed":"user-action"}"#,
    );
    for action in [
        r#"{"type":"chat/toolCallComplete","turnId":"called","toolCallId":"k","result":{"success":true,
            "pastTenseMessage":"Ran","content":[{"type":"terminal","resource":"ahp-terminal:/t","title":"sh",
            "result":{"exitCode":0,"preview":"x"}}]}}"#,
        r#"{"type":"chat/inputRequested","request":{"id":"q","message":"Sure?"}}"#,
    ] {
        driver.agent_action(action);
    }
    driver.dispatch(
        &chat(),
        r#"{"type":"chat/inputCompleted","requestId":"q","response":"accept"}"#,
    );
    driver.agent(AgentEvent::TurnEnded {
        chat: chat(),
        turn: TurnId::from("called"),
        error: None,
    });
}

/// Makes of a database what a host of a release would have written.
fn write_as(directory: &Path, release: Release) {
    let connection = Connection::open(directory.join("agenthost.db")).unwrap();
    let down = move |context: &rusqlite::functions::Context<'_>| {
        let (what, text, channel) = (
            context.get::<String>(0)?,
            context.get::<String>(1)?,
            context.get::<String>(2)?,
        );
        Ok(downgrade_row(release, &what, &text, channel).to_string())
    };
    connection
        .create_scalar_function("down", 3, FunctionFlags::SQLITE_UTF8, down)
        .unwrap();
    connection
        .execute_batch(
            "UPDATE log SET envelope = down('envelope', envelope, channel);
             UPDATE turns SET content = down('turn', content, channel);
             UPDATE channels SET state = down('state', state, channel);
             UPDATE sessions SET summary = down('summary', summary, session);",
        )
        .unwrap();
    let update = "UPDATE protocol SET release = ?1";
    let changed = connection.execute(update, params![release.to_string()]);
    assert_eq!(changed.unwrap(), 1);
}

fn downgrade_row(release: Release, what: &str, text: &str, mut channel: String) -> Json {
    let chain = VersionChain::for_release(release);
    let viewer = TargetClient::new(release, ClientId::from("host"));
    let scene = StateView::default();
    let at = TranslationContext {
        client: &viewer,
        states: &scene,
        state_before: None,
    };
    let object = |object: Option<Object>| Json::Object(object.unwrap());
    match what {
        "envelope" => {
            let envelope: ActionEnvelope = wire::from_str(text).unwrap();
            let mut down = chain.downgrade_action(&at, &envelope).unwrap();
            match down.len() {
                1 => down.remove(0).into_json(),
                // That release had nothing to write: whatever it skipped.
                0 => serde_json::from_str(text).unwrap(),
                several => panic!("{several} of {text}"),
            }
        }
        "turn" => {
            let turn: Turn = wire::from_str(text).unwrap();
            object(chain.downgrade_part(&at, "Turn", &turn).unwrap())
        }
        "summary" => {
            let summary: SessionSummary = wire::from_str(text).unwrap();
            object(
                chain
                    .downgrade_part(&at, "SessionSummary", &summary)
                    .unwrap(),
            )
        }
        _ => {
            let state: ChannelState = wire::from_str(text).unwrap();
            object(chain.downgrade_state(&at, &mut channel, &state).unwrap())
        }
    }
}

/// A chat, but for what a release does not say of turns.
fn comparable(text: &str, release: Release) -> Json {
    let mut chat: Json = serde_json::from_str(text).unwrap();
    assert_eq!(chat["turns"].as_array().unwrap().len(), 2, "{text}");
    if release <= Release::V0_5_2 {
        // It is made of when the last turn began.
        chat.as_object_mut().unwrap().remove("modifiedAt");
    }
    for turn in chat["turns"].as_array_mut().unwrap() {
        let turn = turn.as_object_mut().unwrap();
        if release <= Release::V0_5_2 {
            turn.remove("startedAt");
            turn.remove("duration");
        }
        if release <= Release::V0_5_1 {
            let parts = turn["responseParts"].as_array_mut().unwrap();
            parts.retain(|part| part["kind"] != "inputRequest");
            for part in parts {
                if let Some(terminal) = part.pointer_mut("/toolCall/content/0") {
                    terminal.as_object_mut().unwrap().remove("result");
                }
            }
        }
    }
    chat
}

#[test]
fn rows_of_older_releases_are_migrated() {
    let releases = Release::ALL.iter();
    for release in releases.filter(|release| **release >= VersionChain::OLDEST_ROWS) {
        // Once with all of it in the log, and once with turns in their rows.
        for kept in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let mut driver = Driver::ready(directory.path());
            run_conversation(&mut driver);
            if kept {
                let seq = driver.store.load_host().unwrap().seq;
                let loaded = driver.host.loaded(&chat()).unwrap();
                driver.store.snapshot(&chat(), loaded, seq).unwrap();
            }
            let before = comparable(&driver.chat_text(), *release);
            drop(driver);
            write_as(directory.path(), *release);

            let mut driver = Driver::open(directory.path());
            let after = comparable(&driver.chat_text(), *release);
            assert_eq!(after, before, "{release}, in rows: {kept}");
            let remembered = driver.store.load_host().unwrap();
            assert_eq!(remembered.unreadable, Vec::<String>::new(), "{release}");
            assert_eq!(remembered.sessions.len(), 1);
            // A client that comes back is sent what it understands.
            let missed = driver
                .store
                .replay(ServerSeq(0), remembered.seq, &[session(), chat()]);
            for envelope in missed.unwrap() {
                let read: Result<ActionEnvelope, _> = wire::from_str(&envelope);
                assert!(read.is_ok(), "{release}: {envelope}: {read:?}");
            }
            // It goes on, and is not read that way again.
            driver.connect(1);
            driver.request(1, "subscribe", chat().as_str(), "{}");
            driver.start_turn("next");
            driver.check_stored();
            drop(driver);
            let mut driver = Driver::open(directory.path());
            assert!(driver.chat_text().contains("\"next\""));
        }
    }
}

#[test]
fn a_migrated_running_turn_starts_at_its_write_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = Driver::ready(directory.path());
    driver.start_turn("running");
    drop(driver);
    write_as(directory.path(), Release::V0_5_2);
    let mut driver = Driver::open(directory.path());
    let text = driver.chat_text();
    assert!(
        text.contains(r#""startedAt":"2026-01-05T09:00:00.000Z""#),
        "{text}"
    );
}

#[test]
fn rows_of_unsupported_releases_are_rejected_unchanged() {
    for release in ["0.4.0", "1.1.0", "2.0.0", "nonsense"] {
        let directory = tempfile::tempdir().unwrap();
        drop(Driver::ready(directory.path()));
        let database = directory.path().join("agenthost.db");
        let connection = Connection::open(&database).unwrap();
        let update = "UPDATE protocol SET release = ?1";
        connection.execute(update, params![release]).unwrap();
        drop(connection);
        let error = Store::open(directory.path(), Durability::Process).unwrap_err();
        let expected = format!(
            "database is in the encoding of AHP {release}, and this version reads 0.5.0 to 1.0.0\n\
             hint: open it with an agenthost that speaks {release}"
        );
        assert_eq!(error.to_string(), expected);
        let connection = Connection::open(&database).unwrap();
        let found: String = connection
            .query_row("SELECT release FROM protocol", [], |row| row.get(0))
            .unwrap();
        assert_eq!(found, release);
    }
}
