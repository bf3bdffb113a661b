//! Tests for stored content: its URIs, and tool call arguments that are stored there.

use agenthost_core::{ContentAddress, Effect, SessionKey};
use agenthost_protocol::uri::Uri;
use expect_test::expect;

use crate::script::{check, run, uri};
use crate::test_host::TestHost;

/// TOO-10, TOO-11: edited arguments are stored before the edit is published, and the agent runs the
/// tool with the edited arguments.
#[test]
fn stored_arguments_can_be_edited() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c1 starts t
        - agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "sh", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "Run it", "editable": true, "options": [{"id": "once", "label": "Once", "kind": "approve"}], "toolInput": {"uri": "agenthost-content:/00112233445566778899aabbccddeeff/00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff/args.json", "nonce": "1"}}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "selectedOptionId": "once", "editedToolInput": "{}"}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "selectedOptionId": "once", "editedToolInput": "{}"}
                keep "{}" as /args.json
                c1: 10 s1.chat chat/toolCallReady {"toolInput":{"uri":"agenthost-content:/args.json?43acf4f51e7901f492f09ca969467e3b.44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","sizeHint":2,"contentType":"application/json","nonce":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"turnId":"t","toolCallId":"c","invocationMessage":"Run it"}
                c1: 11 s1.chat by a chat/toolCallConfirmed {"selectedOptionId":"once","turnId":"t","toolCallId":"c","approved":true,"confirmed":"user-action","editedToolInput":"{}"}
                agent s1: decide c Approved { option: Some("once"), edited_input: Some("{}") }
        "#]],
    );
}

/// TOO-10: arguments can be edited only if the host stores them and the call is editable. Denying a
/// call stores nothing.
#[test]
fn arguments_that_are_not_stored_or_editable_cannot_be_edited() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 starts t
        - agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "sh", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "Run it", "editable": true, "toolInput": {"uri": "file:///args.json"}}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "editedToolInput": "{}"}
        - agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "Run it", "toolInput": {"uri": "agenthost-content:/../../etc/passwd"}}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "editedToolInput": "{}"}
        - agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "Run it", "editable": false, "toolInput": {"uri": "agenthost-content:/00112233445566778899aabbccddeeff/00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff/args.json"}}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "editedToolInput": "{}"}
        - agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "Run it", "editable": true}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": false, "editedToolInput": "{}"}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "editedToolInput": "{}"}
                c1: 10 rejected: the arguments are not stored by the host and can't be edited
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "editedToolInput": "{}"}
                c1: 13 rejected: the arguments are not stored by the host and can't be edited
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": true, "editedToolInput": "{}"}
                c1: 16 rejected: the arguments can't be edited
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t", "toolCallId": "c", "approved": false, "editedToolInput": "{}"}
                agent s1: decide c Denied { option: None, reason: Denied, suggestion: None }
        "#]],
    );
}

/// Stored content is read by a file job, like any file. Write access to it can't be requested.
#[test]
fn stored_content_is_read_only() {
    check(
        r#"
        - c1 joins a
        c1 resourceRead {"uri": "agenthost-content:/1/2/3"}
        c1 resourceRequest {"uri": "agenthost-content:/1/2/3", "write": true}
        c1 createResourceWatch {"uri": "agenthost-content:/1/2/3"}
        c1 createSession agenthost-content:/1/2/3
        "#,
        expect![[r#"
            c1 resourceRead {"uri": "agenthost-content:/1/2/3"}
                files in []
            c1 resourceRequest {"uri": "agenthost-content:/1/2/3", "write": true}
                c1: error -32009 `agenthost-content:/1/2/3` is stored content, which is read-only
            c1 createResourceWatch {"uri": "agenthost-content:/1/2/3"}
                await ahp-resource-watch:/watch-00000000000000000000000000000006 30000
                c1: watch ahp-resource-watch:/watch-00000000000000000000000000000006
            c1 createSession agenthost-content:/1/2/3
                c1: error -32602 `agenthost-content:/1/2/3` is not an address of ahp-session
        "#]],
    );
}

/// Findings 6 and 16: VS Code watches each version of a file that it shows. It subscribes to the
/// watch, and logs an error if there is none.
#[test]
fn a_watch_of_stored_content_reports_no_changes() {
    check(
        r#"
        - c1 joins a
        c1 createResourceWatch {"uri": "agenthost-git:/w/a%20b.rs?43acf4f51e7901f492f09ca969467e3b.0123456789012345678901234567890123456789", "recursive": false}
        c1 subscribe ahp-resource-watch:/watch-00000000000000000000000000000004
        unwatched ahp-resource-watch:/watch-00000000000000000000000000000004
        c1 unsubscribe ahp-resource-watch:/watch-00000000000000000000000000000004
        "#,
        expect![[r#"
            c1 createResourceWatch {"uri": "agenthost-git:/w/a%20b.rs?43acf4f51e7901f492f09ca969467e3b.0123456789012345678901234567890123456789", "recursive": false}
                await ahp-resource-watch:/watch-00000000000000000000000000000004 30000
                c1: watch ahp-resource-watch:/watch-00000000000000000000000000000004
            c1 subscribe ahp-resource-watch:/watch-00000000000000000000000000000004
                c1: snapshot of ahp-resource-watch:/watch-00000000000000000000000000000004 at 0
            unwatched ahp-resource-watch:/watch-00000000000000000000000000000004
                nothing
            c1 unsubscribe ahp-resource-watch:/watch-00000000000000000000000000000004
                unwatch ahp-resource-watch:/watch-00000000000000000000000000000004
        "#]],
    );
}

/// The content of a session is deleted with it.
#[test]
fn disposing_a_session_deletes_its_content() {
    let mut test_host = TestHost::new();
    run(&mut test_host, "c1 joins a\nc1 opens s1");
    let request = r#"{"jsonrpc":"2.0","id":99,"method":"disposeSession","params":{"channel":"ahp-session:/s1"}}"#;
    let effects = test_host.step(agenthost_core::Input::Received {
        connection: agenthost_core::ConnectionId(1),
        message: crate::script::received(request),
    });
    let forgets = |effect: &Effect| matches!(effect, Effect::DeleteContent { session } if *session == uri("s1"));
    assert_eq!(effects.effects.iter().filter(|one| forgets(one)).count(), 1);
}

#[test]
fn malformed_content_uris_are_rejected() {
    let session = SessionKey::of(&uri("s1"));
    let address = ContentAddress::of(&session, b"hello", "a b.TXT");
    expect!["agenthost-content:/a%20b.TXT?43acf4f51e7901f492f09ca969467e3b.2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"]
        .assert_eq(address.uri().as_str());
    assert_eq!(address.content_type(), Some("text/plain"));
    assert_eq!(ContentAddress::parse(&address.uri()), Some(Ok(address)));
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "../x",
        "\0",
        &"x/".repeat(3_000),
        "ü",
        "/w/a b(1)+@'#?.rs",
    ] {
        let made = ContentAddress::of(&session, b"", name);
        assert_eq!(ContentAddress::parse(&made.uri()), Some(Ok(made)), "{name}");
    }
    assert_eq!(ContentAddress::parse(&uri("file:///x")), None);
    let (key, hash) = ("0".repeat(32), "0".repeat(64));
    let (long, upper) = ("0".repeat(65), "A".repeat(32));
    for rest in [
        String::new(),
        "/".to_owned(),
        format!("/{key}/{hash}"),
        format!("/{key}/{hash}/"),
        format!("/{key}/{hash}/.."),
        format!("/{key}/{hash}/%2e%2e"),
        format!("/{key}/{hash}/a%2fb"),
        format!("/{key}/{hash}/%ff"),
        format!("/{key}/{hash}/a%00"),
        format!("/{key}/{hash}/a/b"),
        format!("//{key}/{hash}/a"),
        format!("/{key}/{long}/a"),
        format!("/{upper}/{hash}/a"),
        format!("/{hash}/{key}/a"),
        format!("/../{hash}/a"),
        format!("{key}/{hash}/a"),
        format!("a?{key}.{hash}"),
        format!("/%ff?{key}.{hash}"),
        format!("/a?{key}"),
        format!("/a?{key}.{hash}/"),
        format!("/a?{key}.{long}"),
        format!("/a?{upper}.{hash}"),
        format!("/a?...{hash}"),
    ] {
        let uri = Uri::from(format!("agenthost-content:{rest}"));
        assert!(matches!(ContentAddress::parse(&uri), Some(Err(_))), "{uri}");
    }
}

/// A content URI is recognized in every encoding that VS Code produces, and in the form that
/// earlier hosts have stored.
#[test]
fn a_content_uri_is_parsed_in_every_encoding() {
    let session = SessionKey::of(&uri("s1"));
    let address = ContentAddress::of(&session, b"hello", "/w/ä b+(1)@'.rs");
    let (key, hash) = (session.as_str(), address.hash());
    let path = "/w/%C3%A4%20b%2B%281%29%40%27.rs";
    assert_eq!(
        address.uri().as_str(),
        format!("agenthost-content:{path}?{key}.{hash}")
    );
    for printed in [
        format!("agenthost-content:{path}?{key}.{hash}"),
        format!("agenthost-content:{path}?{key}%2E{hash}"),
        format!("agenthost-content:{path}?{key}.{hash}#L1"),
        format!("agenthost-content:/w/ä%20b+(1)@'%2Ers?{key}.{hash}"),
    ] {
        let read = ContentAddress::parse(&Uri::from(printed.clone()));
        assert_eq!(read, Some(Ok(address.clone())), "{printed}");
    }
    let old = format!("agenthost-content:/{key}/{hash}/a%20b.rs");
    let old = ContentAddress::parse(&Uri::from(old)).unwrap().unwrap();
    assert_eq!((old.session(), old.hash()), (&session, hash));
    let name = old.uri();
    assert_eq!(name, ContentAddress::of(&session, b"hello", "a b.rs").uri());
}
