//! Tests for creating, listing and disposing sessions.

use expect_test::expect;

use crate::script::check;

/// SES-1 to SES-7, SES-12, ROOT-4, ROOT-10, A-17.
#[test]
fn a_session_exists_at_once_and_becomes_ready_later() {
    check(
        r#"
        - c1 connect
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
        c1 createSession s1 {"workingDirectories": ["file:///a", "file:///b"]}
        c1 createSession s1
        c1 createSession s2 {"provider": "nobody"}
        c1 createSession s2 {"activeClient": {"clientId": "other", "tools": []}}
        c1 subscribe s1
        agent s1 opened
        c1 createSession s2 {"provider": "other"}
        c1 subscribe s2
        agent s2 stopped
        c1 listSessions
        "#,
        expect![[r#"
            c1 createSession s1 {"workingDirectories": ["file:///a", "file:///b"]}
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"project":{"uri":"file:///a","displayName":"a"},"workingDirectories":["file:///a"],"annotations":{"resource":"s1/annotations","annotationCount":0,"entryCount":0},"resource":"s1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s1.chat"}}
                c1: 1 root root/activeSessionsChanged {"activeSessions":1}
                changes s1: mark start
                agent s1: open
            c1 createSession s1
                c1: error -32003 session `ahp-session:/s1` already exists
            c1 createSession s2 {"provider": "nobody"}
                c1: error -32002 there is no agent `nobody`
            c1 createSession s2 {"activeClient": {"clientId": "other", "tools": []}}
                c1: error -32602 activeClient: a client can only do this for itself
            c1 subscribe s1
                c1: snapshot of s1 at 1
            agent s1 opened
                c1: 2 s1 session/ready {}
            c1 createSession s2 {"provider": "other"}
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"other","title":"","status":1,"annotations":{"resource":"s2/annotations","annotationCount":0,"entryCount":0},"resource":"s2","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s2.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s2.chat"}}
                c1: 3 root root/activeSessionsChanged {"activeSessions":2}
                agent s2: open
            c1 subscribe s2
                c1: snapshot of s2 at 3
            agent s2 stopped
                c1: 4 s2 session/creationFailed {"error":{"errorType":"test","message":"no such file"}}
                c1: root/sessionSummaryChanged {"changes":{"status":2,"_meta":{"agenthost.creationError":"no such file"}},"session":"s2"}
            c1 listSessions
                c1: sessions [s1, s2]
        "#]],
    );
}

/// SES-17, SES-18, SES-21, SUB-22, ROOT-11.
#[test]
fn disposing_a_session_removes_its_chats() {
    check(
        r#"
        - c1 connect
        - c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "initialSubscriptions": ["ahp-root://"]}
        - c1 opens s1
        - c1 subscribe s1
        - c1 subscribe s1.chat
        c1 disposeSession s1
        c1 disposeSession s1
        c1 ! s1 session/titleChanged {"title": "gone"}
        agent s1 opened
        c1 subscribe s1.chat
        c1 createSession s1
        "#,
        expect![[r#"
            c1 disposeSession s1
                agent s1: close
                changes s1: forget
                c1: 3 s1 session/chatRemoved {"chat":"s1.chat"}
                c1: root/sessionRemoved {"session":"s1"}
                c1: 4 root root/activeSessionsChanged {"activeSessions":0}
                c1: null
            c1 disposeSession s1
                c1: error -32001 there is no session or chat `ahp-session:/s1`
            c1 ! s1 session/titleChanged {"title": "gone"}
                nothing
            agent s1 opened
                nothing
            c1 subscribe s1.chat
                c1: error -32001 there is no session or chat `ahp-chat://default/YWhwLXNlc3Npb246L3Mx`
            c1 createSession s1
                c1: null
                c1: root/sessionAdded {"summary":{"provider":"shell","title":"","status":1,"annotations":{"resource":"s1/annotations","annotationCount":0,"entryCount":0},"resource":"s1","createdAt":"2026-01-05T09:00:00.000Z","modifiedAt":"2026-01-05T09:00:00.000Z","chats":[{"resource":"s1.chat","title":"","origin":{"kind":"user"},"status":1}],"defaultChat":"s1.chat"}}
                c1: 5 root root/activeSessionsChanged {"activeSessions":1}
                agent s1: open
        "#]],
    );
}

/// ROOT-7 to ROOT-9.
#[test]
fn sessions_are_listed_latest_first_and_in_pages() {
    check(
        r#"
        - c1 joins a
        - c1 createSession s1
        - wait 1000
        - c1 createSession s2
        - wait 1000
        - c1 createSession s3
        c1 listSessions
        c1 listSessions {"limit": 2}
        c1 listSessions {"limit": 2, "cursor": "1767603601000:ahp-session:/s2"}
        c1 listSessions {"limit": 0}
        c1 listSessions {"cursor": "nonsense"}
        "#,
        expect![[r#"
            c1 listSessions
                c1: sessions [s3, s2, s1]
            c1 listSessions {"limit": 2}
                c1: sessions [s3, s2] and more
            c1 listSessions {"limit": 2, "cursor": "1767603601000:ahp-session:/s2"}
                c1: sessions [s1]
            c1 listSessions {"limit": 0}
                c1: sessions [s3] and more
            c1 listSessions {"cursor": "nonsense"}
                c1: error -32602 cursor: unknown
        "#]],
    );
}

/// SEC-5, SES-1: a client can't create a channel with a URI that has another meaning for the host.
#[test]
fn reserved_uris_are_rejected_for_new_channels() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        c1 createChat s1 {"chat": "ahp-chat://default/YWhwLXNlc3Npb246L3My"}
        c1 createSession ahp-chat://default/YWhwLXNlc3Npb246L3My
        c1 createSession ahp-terminal:/x/1
        c1 createSession AHP-SESSION:/x
        c1 createSession ahp-session:/
        c1 createSession ahp-root://
        c1 createChat s1 {"chat": "ahp-terminal:/x/1"}
        c1 createChat s1 {"chat": "ahp-session:/s2"}
        c1 createSession s2
        c1 createSession copilot:/x
        "#,
        expect![[r#"
            c1 createChat s1 {"chat": "ahp-chat://default/YWhwLXNlc3Npb246L3My"}
                c1: error -32602 `ahp-chat://default/YWhwLXNlc3Npb246L3My` is the default chat of another session
            c1 createSession ahp-chat://default/YWhwLXNlc3Npb246L3My
                c1: error -32602 `ahp-chat://default/YWhwLXNlc3Npb246L3My` is not an address of ahp-session
            c1 createSession ahp-terminal:/x/1
                c1: error -32602 `ahp-terminal:/x/1` is not an address of ahp-session
            c1 createSession AHP-SESSION:/x
                c1: error -32602 `AHP-SESSION:/x` is not an address of ahp-session
            c1 createSession ahp-session:/
                c1: error -32602 `ahp-session:/` is not an address of ahp-session
            c1 createSession ahp-root://
                c1: error -32602 `ahp-root://` is not an address of ahp-session
            c1 createChat s1 {"chat": "ahp-terminal:/x/1"}
                c1: error -32602 `ahp-terminal:/x/1` is not an address of ahp-chat
            c1 createChat s1 {"chat": "ahp-session:/s2"}
                c1: error -32602 `ahp-session:/s2` is not an address of ahp-chat
            c1 createSession s2
                c1: null
                agent s2: open
            c1 createSession copilot:/x
                c1: null
                agent copilot:/x: open
        "#]],
    );
}

/// The host titles a session by its first message. A title from the agent replaces that, and a
/// title from a user replaces both.
#[test]
fn titles_of_agents_replace_only_derived_titles() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        - c1 says t1 look at this
        agent s1 title About this
        agent s1 title About this
        agent s1 title
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        agent s1 in ahp-chat:/1 title Something else
        c1 ! s1 session/titleChanged {"title": "Mine"}
        agent s1 title Better
        "#,
        expect![[r#"
            agent s1 title About this
                c1: 6 s1 session/titleChanged {"title":"About this"}
            agent s1 title About this
                nothing
            agent s1 title
                nothing
            agent s1 in ahp-chat:/1 title Something else
                nothing
            c1 ! s1 session/titleChanged {"title": "Mine"}
                c1: 8 s1 by a session/titleChanged {"title":"Mine"}
            agent s1 title Better
                nothing
        "#]],
    );
}
