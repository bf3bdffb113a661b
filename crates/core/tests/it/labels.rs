//! Names, titles and addresses that agents and MCP servers choose.

use expect_test::expect;

use crate::script::{check, check_customized, run};
use crate::test_host::TestHost;

/// The agent asks under the cover of other labels, and twice with one id.
#[test]
fn labels_of_a_call_are_plain_and_options_are_distinct() {
    check(
        &format!(
            r#"
            - c1 joins a
            - c1 opens s1
            - c1 subscribe s1.chat
            - c1 starts t
            agent s1 chat/toolCallStart {{"turnId": "t", "toolCallId": "c", "toolName": "x{BIDI}y", "displayName": "Run\n{BIDI}txt.exe"}}
            agent s1 chat/toolCallReady {{"turnId": "t", "toolCallId": "c", "invocationMessage": "one\ntwo{BIDI}", "confirmationTitle": {{"markdown": "T{BIDI}"}}, "options": [{{"id": "a", "label": "No{BIDI}", "kind": "deny"}}, {{"id": "a", "label": "Yes", "kind": "approve"}}, {{"id": "b", "label": "Yes\u0007", "kind": "approve"}}]}}
            "#
        ),
        expect![[r#"
            agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x\u202e\u2066\u200fy", "displayName": "Run\n\u202e\u2066\u200ftxt.exe"}
                c1: 6 s1.chat chat/toolCallStart {"displayName":"Run txt.exe","turnId":"t","toolCallId":"c","toolName":"xy"}
            agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "one\ntwo\u202e\u2066\u200f", "confirmationTitle": {"markdown": "T\u202e\u2066\u200f"}, "options": [{"id": "a", "label": "No\u202e\u2066\u200f", "kind": "deny"}, {"id": "a", "label": "Yes", "kind": "approve"}, {"id": "b", "label": "Yes\u0007", "kind": "approve"}]}
                c1: 7 s1.chat chat/toolCallReady {"options":[{"id":"a","label":"No","kind":"deny"},{"id":"b","label":"Yes","kind":"approve"},{"id":"agenthost.allow-session","label":"Allow in this session","kind":"approve"}],"turnId":"t","toolCallId":"c","invocationMessage":"one\ntwo","confirmationTitle":{"markdown":"T"}}
        "#]],
    );
}

const BIDI: &str = "\\u202e\\u2066\\u200f";

/// Text and output are what they are.
#[test]
fn text_and_output_stay_verbatim() {
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        r#"
        c1 joins a
        c1 opens s1
        c1 subscribe s1.chat
        c1 starts t
        agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X"}
        agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "confirmed": "not-needed"}
        agent s1 chat/responsePart {"turnId": "t", "part": {"kind": "markdown", "id": "p", "content": ""}}
        "#,
    );
    for verbatim in [
        r#"agent s1 chat/delta {"turnId": "t", "partId": "p", "content": "a\u202e\u2066b\u200f"}"#,
        r#"agent s1 chat/toolCallContentChanged {"turnId": "t", "toolCallId": "c", "content": [{"type": "text", "text": "a\u202e\u2066b\u200f"}]}"#,
    ] {
        let result = run(&mut test_host, verbatim);
        assert!(
            result.contains("\"a\u{202e}\u{2066}b\u{200f}\""),
            "{result}"
        );
    }
    test_host.check_mirrors();
}

#[test]
fn uris_with_unlisted_schemes_are_published_as_text() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 starts t
        - agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X"}
        - agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "confirmed": "not-needed"}
        agent s1 chat/responsePart {"turnId": "t", "part": {"kind": "contentRef", "uri": "https://example.org/x"}}
        agent s1 chat/responsePart {"turnId": "t", "part": {"kind": "contentRef", "uri": "javascript:alert(1)"}}
        agent s1 chat/toolCallContentChanged {"turnId": "t", "toolCallId": "c", "content": [{"type": "resource", "uri": "file:///a"}, {"type": "resource", "uri": "command:evil"}, {"type": "resource", "uri": "data:text/html,<3000 bytes>"}]}
        agent s1 chat/inputRequested {"request": {"id": "q", "url": "file:///etc/passwd"}}
        agent s1 chat/inputRequested {"request": {"id": "r", "url": "https://example.org/sign-in"}}
        "#,
        expect![[r#"
            agent s1 chat/responsePart {"turnId": "t", "part": {"kind": "contentRef", "uri": "https://example.org/x"}}
                c1: 8 s1.chat chat/responsePart {"part":{"kind":"contentRef","uri":"https://example.org/x"},"turnId":"t"}
            agent s1 chat/responsePart {"turnId": "t", "part": {"kind": "contentRef", "uri": "javascript:alert(1)"}}
                c1: 9 s1.chat chat/responsePart {"part":{"kind":"systemNotification","content":"(link that can't be opened: javascript:alert(1))"},"turnId":"t"}
            agent s1 chat/toolCallContentChanged {"turnId": "t", "toolCallId": "c", "content": [{"type": "resource", "uri": "file:///a"}, {"type": "resource", "uri": "command:evil"}, {"type": "resource", "uri": "data:text/html,<3000 bytes>"}]}
                c1: 10 s1.chat chat/toolCallContentChanged {"content":[{"type":"resource","uri":"file:///a"},{"type":"text","text":"(link that can't be opened: command:evil)"},{"type":"text","text":"(link that can't be opened: data:text/html,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx)"}],"turnId":"t","toolCallId":"c"}
            agent s1 chat/inputRequested {"request": {"id": "q", "url": "file:///etc/passwd"}}
                discarded s1.chat chat/inputRequested: its URL is not the address of a web page
            agent s1 chat/inputRequested {"request": {"id": "r", "url": "https://example.org/sign-in"}}
                c1: 11 s1.chat chat/inputRequested {"request":{"id":"r","url":"https://example.org/sign-in"}}
        "#]],
    );
}

#[test]
fn titles_and_commands_are_one_plain_line() {
    let mut test_host = TestHost::new();
    run(
        &mut test_host,
        "
        c1 joins a
        c1 opens s1
        c1 subscribe s1
        c1 starts t
        agent s1 commands re\u{202e}view
        ",
    );
    let titled = run(&mut test_host, "agent s1 title \u{202e}A\u{7}\tB");
    assert!(
        titled.ends_with(r#"session/titleChanged {"title":"A B"}"#),
        "{titled}"
    );
    let complete = r#"c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}"#;
    let completed = run(&mut test_host, complete);
    assert!(
        completed.contains("items [/review for 0..1]"),
        "{completed}"
    );
}

#[test]
fn names_of_servers_and_package_contents_are_plain() {
    check_customized(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///m", "name": "git\u202ehub", "state": {"kind": "stopped"}}]
        customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P\n\u2066", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k\u200e", "description": "one\ntwo\u202e"}]}
        "#,
        expect![[r#"
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///m", "name": "git\u202ehub", "state": {"kind": "stopped"}}]
                c1: 3 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///m","name":"github","state":{"kind":"stopped"}}]}
            customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P\n\u2066", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k\u200e", "description": "one\ntwo\u202e"}]}
                c1: 4 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"P","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"file:///p/k","name":"k","description":"one\ntwo"}]}}
        "#]],
    );
}
