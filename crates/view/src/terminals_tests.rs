//! Rows of terminals, and the end of their output.

use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{
    TerminalClientClaim, TerminalCommand, TerminalExit, TerminalOutput,
};

use super::*;

fn session_claim(call: Option<&str>) -> TerminalClaim {
    TerminalClaim::Session(TerminalSessionClaim {
        session: Uri::from("shell:/s1"),
        chat: Uri::from("ahp-chat:/c"),
        turn_id: None,
        tool_call_id: call.map(Into::into),
    })
}

fn client_claim(id: &str) -> TerminalClaim {
    let client_id = id.into();
    TerminalClaim::Client(TerminalClientClaim { client_id })
}

fn row(claim: TerminalClaim) -> TerminalRow {
    let mut state = TerminalState::new("t", claim);
    state.cwd = Some(Uri::from("file:///a%20b"));
    let session = Uri::from("shell:/s1");
    let context = TerminalContext {
        client_id: "web-0",
        session: Some(&session),
    };
    TerminalRow::of_state(&Uri::from("ahp-terminal:/1"), &state, context)
}

#[test]
fn the_owner_decides_where_a_terminal_belongs() {
    for (claim, owner, of_session, can_close) in [
        (client_claim("web-0"), TerminalOwner::Own, true, false),
        (
            client_claim("web-1"),
            TerminalOwner::OtherClient,
            false,
            false,
        ),
        (session_claim(None), TerminalOwner::Session, true, true),
        (
            session_claim(Some("c")),
            TerminalOwner::ToolCall,
            true,
            false,
        ),
    ] {
        let row = row(claim);
        assert_eq!(
            (row.owner, row.of_session, row.can_close),
            (owner, of_session, can_close)
        );
        assert_eq!(row.folder.as_deref(), Some("/a b"));
    }
}

#[test]
fn a_terminal_of_the_list_has_its_exit_code() {
    let info = TerminalInfo {
        resource: Uri::from("ahp-terminal:/1"),
        title: "build".to_owned(),
        claim: session_claim(None),
        lifecycle: TerminalLifecycle::Exited(TerminalExit { exit_code: Some(3) }),
    };
    let context = TerminalContext {
        client_id: "web-0",
        session: None,
    };
    let row = TerminalRow::of_info(&info, None, context);
    assert_eq!((row.running, row.exit_code), (false, Some(3)));
    assert!(row.can_close && !row.of_session);
}

fn command(output: String) -> TerminalPart {
    TerminalPart::Command(TerminalCommand {
        command_id: "c".into(),
        command_line: "make".to_owned(),
        output,
        timestamp: Millis(0),
        is_complete: false,
        exit_code: None,
        duration_ms: None,
    })
}

#[test]
fn the_tail_is_plain_and_bounded() {
    let mut state = TerminalState::new("t", session_claim(None));
    let value = "\u{1b}]0;<b>title</b>\u{7}one\r\n".to_owned();
    state
        .content
        .push(TerminalPart::Unclassified(TerminalOutput { value }));
    state
        .content
        .push(command("\u{1b}[31mtwo\u{1b}[0m\r\n".to_owned()));
    assert_eq!(output_tail(&state, 100), "one\ntwo\n");
    assert_eq!(
        raw_output(&state),
        "\u{1b}]0;<b>title</b>\u{7}one\r\n\u{1b}[31mtwo\u{1b}[0m\r\n"
    );
    state.content.push(command("é\u{1b}[0m\n".repeat(100_000)));
    let tail = output_tail(&state, 100);
    assert!(tail.len() <= 100 && tail.ends_with("é\n"), "{tail:?}");
}
