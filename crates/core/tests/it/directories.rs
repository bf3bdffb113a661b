//! Directories of sessions and chats.

use expect_test::expect;

use crate::script::check;

/// DIR-1 to DIR-11, SES-9; the rows of table 7.1.
#[test]
fn directories_of_a_chat_are_directories_of_its_session() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///a", "file:///b"]}
        c1 ! s1 session/workingDirectorySet {"directory": "file:///c"}
        c1 ! s1.chat chat/workingDirectorySet {"directory": "file:///a"}
        - c1 opens s2 {"provider": "roaming", "workingDirectories": ["file:///a", "file:///b"]}
        - c1 subscribe s2
        - c1 createChat s2 {"chat": "ahp-chat:/1", "workingDirectories": ["file:///b"]}
        - c1 subscribe ahp-chat:/1
        c1 ! s2 session/workingDirectorySet {"directory": "no address"}
        c1 ! s2 session/workingDirectorySet {"directory": "file:///c"}
        c1 ! s2 session/workingDirectoryRemoved {"directory": "file:///a"}
        c1 ! s2 session/workingDirectoryReplaced {"directory": "file:///x", "replacement": "file:///d"}
        c1 ! s2 session/workingDirectoryReplaced {"directory": "file:///a", "replacement": "file:///d"}
        c1 ! ahp-chat:/1 chat/workingDirectorySet {"directory": "file:///a"}
        c1 ! ahp-chat:/1 chat/workingDirectorySet {"directory": "file:///c"}
        - c1 unsubscribe ahp-chat:/1
        - quiet
        - c1 subscribe ahp-chat:/1
        c1 ! s2 session/workingDirectoryReplaced {"directory": "file:///b", "replacement": "file:///e"}
        c1 ! s2 session/workingDirectoryRemoved {"directory": "file:///c"}
        "#,
        expect![[r#"
            c1 ! s1 session/workingDirectorySet {"directory": "file:///c"}
                c1: 3 rejected: the agent does not support several working directories
            c1 ! s1.chat chat/workingDirectorySet {"directory": "file:///a"}
                c1: 4 rejected: the agent does not support several working directories
            c1 ! s2 session/workingDirectorySet {"directory": "no address"}
                c1: 8 rejected: `no address` is not an absolute URI of at most 2048 bytes
            c1 ! s2 session/workingDirectorySet {"directory": "file:///c"}
                c1: 9 s2 by a session/workingDirectorySet {"directory":"file:///c"}
                changes s2: mark start
                agent s2: directories [file:///a, file:///b, file:///c]
            c1 ! s2 session/workingDirectoryRemoved {"directory": "file:///a"}
                c1: 10 rejected: the primary directory of this session cannot be changed
            c1 ! s2 session/workingDirectoryReplaced {"directory": "file:///x", "replacement": "file:///d"}
                c1: 11 rejected: there is no directory `file:///x`
            c1 ! s2 session/workingDirectoryReplaced {"directory": "file:///a", "replacement": "file:///d"}
                c1: 12 s2 by a session/workingDirectoryReplaced {"replacement":"file:///d","directory":"file:///a"}
                changes s2: mark start
                agent s2: directories [file:///d, file:///b, file:///c]
            c1 ! ahp-chat:/1 chat/workingDirectorySet {"directory": "file:///a"}
                c1: 13 rejected: there is no directory of the session `file:///a`
            c1 ! ahp-chat:/1 chat/workingDirectorySet {"directory": "file:///c"}
                c1: 14 ahp-chat:/1 by a chat/workingDirectorySet {"directory":"file:///c"}
                c1: 15 s2 session/chatUpdated {"changes":{"workingDirectories":["file:///b","file:///c"]},"chat":"ahp-chat:/1"}
            c1 ! s2 session/workingDirectoryReplaced {"directory": "file:///b", "replacement": "file:///e"}
                c1: 16 s2 by a session/workingDirectoryReplaced {"replacement":"file:///e","directory":"file:///b"}
                c1: 17 ahp-chat:/1 chat/workingDirectorySet {"directory":"file:///e"}
                c1: 18 ahp-chat:/1 chat/workingDirectoryRemoved {"directory":"file:///b"}
                c1: 19 s2 session/chatUpdated {"changes":{"workingDirectories":["file:///c","file:///e"]},"chat":"ahp-chat:/1"}
                changes s2: mark start
                agent s2: directories [file:///d, file:///e, file:///c]
            c1 ! s2 session/workingDirectoryRemoved {"directory": "file:///c"}
                c1: 20 s2 by a session/workingDirectoryRemoved {"directory":"file:///c"}
                c1: 21 ahp-chat:/1 chat/workingDirectoryRemoved {"directory":"file:///c"}
                c1: 22 s2 session/chatUpdated {"changes":{"workingDirectories":["file:///e"]},"chat":"ahp-chat:/1"}
                changes s2: mark start
                agent s2: directories [file:///d, file:///e]
        "#]],
    );
}

/// Finding 6: VS Code parses and prints the addresses of folders and files, and
/// encodes other characters than other clients do.
#[test]
fn a_directory_uri_is_recognized_in_every_encoding() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"provider": "roaming", "workingDirectories": ["file:///w/a+b@(1)'", "file:///w/ü"]}
        - c1 subscribe s1
        c1 createChat s1 {"chat": "ahp-chat:/1", "workingDirectories": ["file:///w/%C3%BC"]}
        c1 ! ahp-chat:/1 chat/workingDirectorySet {"directory": "file:///w/a%2Bb%40%281%29%27"}
        c1 ! s1 session/workingDirectorySet {"directory": "file:///w/%C3%BC"}
        c1 ! s1 session/workingDirectoryReplaced {"directory": "file:///w/a%2Bb%40%281%29%27", "replacement": "file:///w/c"}
        c1 ! s1 session/workingDirectoryRemoved {"directory": "file:///w/%c3%bc"}
        - c1 ! s1 session/workingDirectorySet {"directory": "file:///w/a+b@(1)'"}
        c1 createResourceWatch {"uri": "file:///w/a%2Bb%40%281%29%27/x%20%23y", "recursive": false}
        c1 resourceRequest {"uri": "file:///w/a%2Bb%40%281%29%27", "write": true}
        c1 createResourceWatch {"uri": "file:///w/a%2Bb%40%281%29%27%2F%2e%2e/x"}
        c1 createResourceWatch {"uri": "file:///w/a%2Bb%40%281%29%27x"}
        "#,
        expect![[r#"
            c1 createChat s1 {"chat": "ahp-chat:/1", "workingDirectories": ["file:///w/%C3%BC"]}
                c1: 3 s1 session/chatAdded {"summary":{"resource":"ahp-chat:/1","title":"","status":1,"modifiedAt":"2026-01-05T09:00:00.000Z","origin":{"kind":"user"},"movable":true,"workingDirectories":["file:///w/ü"]}}
                c1: null
            c1 ! ahp-chat:/1 chat/workingDirectorySet {"directory": "file:///w/a%2Bb%40%281%29%27"}
                c1: 5 s1 session/chatUpdated {"changes":{"workingDirectories":["file:///w/ü","file:///w/a+b@(1)'"]},"chat":"ahp-chat:/1"}
            c1 ! s1 session/workingDirectorySet {"directory": "file:///w/%C3%BC"}
                c1: 6 s1 by a session/workingDirectorySet {"directory":"file:///w/ü"}
                changes s1: mark start
                agent s1: directories [file:///w/a+b@(1)', file:///w/ü]
            c1 ! s1 session/workingDirectoryReplaced {"directory": "file:///w/a%2Bb%40%281%29%27", "replacement": "file:///w/c"}
                c1: 7 s1 by a session/workingDirectoryReplaced {"replacement":"file:///w/c","directory":"file:///w/a+b@(1)'"}
                c1: 10 s1 session/chatUpdated {"changes":{"workingDirectories":["file:///w/ü","file:///w/c"]},"chat":"ahp-chat:/1"}
                changes s1: mark start
                agent s1: directories [file:///w/c, file:///w/ü]
            c1 ! s1 session/workingDirectoryRemoved {"directory": "file:///w/%c3%bc"}
                c1: 11 s1 by a session/workingDirectoryRemoved {"directory":"file:///w/ü"}
                c1: 13 s1 session/chatUpdated {"changes":{"workingDirectories":["file:///w/c"]},"chat":"ahp-chat:/1"}
                changes s1: mark start
                agent s1: directories [file:///w/c]
            c1 createResourceWatch {"uri": "file:///w/a%2Bb%40%281%29%27/x%20%23y", "recursive": false}
                watch file:///w/a%2Bb%40%281%29%27/x%20%23y as ahp-resource-watch:/watch-0000000000000000000000000000000d
            c1 resourceRequest {"uri": "file:///w/a%2Bb%40%281%29%27", "write": true}
                c1: {}
            c1 createResourceWatch {"uri": "file:///w/a%2Bb%40%281%29%27%2F%2e%2e/x"}
                c1: error -32009 `file:///w/a%2Bb%40%281%29%27%2F%2e%2e/x` is outside of the granted folders; `agenthost allow` grants more
            c1 createResourceWatch {"uri": "file:///w/a%2Bb%40%281%29%27x"}
                c1: error -32009 `file:///w/a%2Bb%40%281%29%27x` is outside of the granted folders; `agenthost allow` grants more
        "#]],
    );
}
