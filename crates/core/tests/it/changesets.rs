//! Tests for changesets: discovery, diffs, reviews and operations.

use expect_test::expect;

use crate::script::check;

/// CHS-1, CHS-2, CHS-4, CHS-17: the host takes checkpoints before a prompt is sent and after its
/// turn, and publishes the git status, changesets and totals to clients.
#[test]
fn the_catalogue_of_changesets_is_published() {
    check(
        r#"
        - c1 joins one
        c1 createSession s1 {"workingDirectories": ["file:///w"]}
        - agent s1 opened
        - c1 subscribe s1
        - c1 subscribe s1.chat
        marked {"git": {"branch": "work", "base": "main", "uncommitted": 1}}
        - c1 starts t1
        marked {"git": {"branch": "work", "base": "main", "uncommitted": 1}}
        agent s1 end t1
        marked {"git": {"branch": "work", "base": "main", "uncommitted": 2}, "session": [1, 2, 1], "chat": [1, 2, 1]}
        "#,
        expect![[r#"
            c1 createSession s1 {"workingDirectories": ["file:///w"]}
                c1: null
                changes s1: mark start
                agent s1: open
            marked {"git": {"branch": "work", "base": "main", "uncommitted": 1}}
                c1: 3 s1 session/metaChanged {"_meta":{"git":{"branchName":"work","baseBranchName":"main","uncommittedChanges":1}}}
                c1: 4 s1 session/changesetsChanged {"changesets":[{"label":"Branch changes","uriTemplate":"s1/changeset/branch","description":"work → main","changeKind":"branch","capabilities":{"review":{}}},{"label":"Uncommitted changes","uriTemplate":"s1/changeset/uncommitted","description":"Changes that are not committed","changeKind":"uncommitted","capabilities":{"review":{}}},{"label":"Session changes","uriTemplate":"s1/changeset/session","description":"Changes since the session began","changeKind":"session","capabilities":{"review":{}}},{"label":"Turn changes","uriTemplate":"s1/changeset/turn/{turnId}","description":"Changes during a turn","changeKind":"turn","capabilities":{"review":{}}},{"label":"Changes between turns","uriTemplate":"s1/changeset/compare/{originalTurnId}/{modifiedTurnId}","description":"Changes from the end of one turn to the end of another","changeKind":"compare-turns","capabilities":{"review":{}}}]}
                c1: 5 s1.chat chat/changesetsChanged {"changesets":[{"label":"Branch changes","uriTemplate":"s1.chat/changeset/branch","description":"work → main","changeKind":"branch","capabilities":{"review":{}}},{"label":"Uncommitted changes","uriTemplate":"s1.chat/changeset/uncommitted","description":"Changes that are not committed","changeKind":"uncommitted","capabilities":{"review":{}}},{"label":"Turn changes","uriTemplate":"s1.chat/changeset/turn/{turnId}","description":"Changes during a turn","changeKind":"turn","capabilities":{"review":{}}},{"label":"Changes between turns","uriTemplate":"s1.chat/changeset/compare/{originalTurnId}/{modifiedTurnId}","description":"Changes from the end of one turn to the end of another","changeKind":"compare-turns","capabilities":{"review":{}}}]}
            marked {"git": {"branch": "work", "base": "main", "uncommitted": 1}}
                agent s1: prompt t1 "go"
            agent s1 end t1
                c1: 9 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                c1: 10 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"s1.chat"}
                changes s1: mark after t1, chat since before t1
            marked {"git": {"branch": "work", "base": "main", "uncommitted": 2}, "session": [1, 2, 1], "chat": [1, 2, 1]}
                c1: 11 s1 session/metaChanged {"_meta":{"git":{"branchName":"work","baseBranchName":"main","uncommittedChanges":2}}}
                c1: 12 s1 session/chatUpdated {"changes":{"changes":{"additions":1,"deletions":2,"files":1}},"chat":"s1.chat"}
        "#]],
    );
}

/// CHS-3, CHS-6: a changeset is created and computed when a client subscribes to it.
#[test]
fn a_changeset_is_computed_on_the_first_subscription() {
    check(
        r#"
        - c1 joins one
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        c1 subscribe ahp-session:/s1/changeset/uncommitted
        compared a.txt+1-0 b.txt+2-2 {"branch": "main"}
        look
        compared a.txt+1-0 b.txt+2-2 {"branch": "main"}
        look
        compared a.txt+1-0=y {"branch": "main"}
        c1 unsubscribe ahp-session:/s1/changeset/uncommitted
        look
        c1 subscribe ahp-session:/s1/changeset/nothing
        c1 subscribe ahp-session:/s1/changeset/turn/t9
        c1 subscribe ahp-session:/s9/changeset/session
        c1 subscribe ahp-session:/s1/changeset/session
        compared failed git is not installed
        c1 createSession ahp-session:/s1/changeset/session {}
        "#,
        expect![[r#"
            c1 subscribe ahp-session:/s1/changeset/uncommitted
                changes s1: compare the commit with now for s1/changeset/uncommitted
                c1: snapshot of ahp-session:/s1/changeset/uncommitted at 5
            compared a.txt+1-0 b.txt+2-2 {"branch": "main"}
                c1: 6 ahp-session:/s1/changeset/uncommitted changeset/contentChanged {"operations":[{"id":"stage","label":"Stage","description":"Stage the changes for the next commit","scopes":["changeset","resource"],"icon":"add","status":"idle"},{"id":"commit","label":"Commit","description":"Commit all changes","scopes":["changeset"],"icon":"git-commit","status":"idle"},{"id":"discard","label":"Discard","description":"Restore files to the last commit","scopes":["changeset","resource"],"confirmation":"Uncommitted changes will be lost. Discard them?","icon":"discard","status":"idle"},{"id":"show-patch","label":"Show as patch","description":"Show all differences as text","scopes":["changeset"],"icon":"diff","status":"idle"}],"files":[{"id":"file:///w/a.txt","edit":{"before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/x","nonce":"x"}},"diff":{"added":1,"removed":0}}},{"id":"file:///w/b.txt","edit":{"before":{"uri":"file:///w/b.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/b.txt","content":{"uri":"agenthost-git:/k/x","nonce":"x"}},"diff":{"added":2,"removed":2}}}]}
                c1: 7 ahp-session:/s1/changeset/uncommitted changeset/statusChanged {"status":"ready"}
                look again at s1/changeset/uncommitted 1000
            look
                changes s1: compare the commit with now for s1/changeset/uncommitted
            compared a.txt+1-0 b.txt+2-2 {"branch": "main"}
                look again at s1/changeset/uncommitted 2000
            look
                changes s1: compare the commit with now for s1/changeset/uncommitted
            compared a.txt+1-0=y {"branch": "main"}
                c1: 8 ahp-session:/s1/changeset/uncommitted changeset/fileSet {"file":{"id":"file:///w/a.txt","edit":{"before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/y","nonce":"y"}},"diff":{"added":1,"removed":0}}}}
                c1: 9 ahp-session:/s1/changeset/uncommitted changeset/fileRemoved {"fileId":"file:///w/b.txt"}
                look again at s1/changeset/uncommitted 1000
            c1 unsubscribe ahp-session:/s1/changeset/uncommitted
                nothing
            look
                nothing
            c1 subscribe ahp-session:/s1/changeset/nothing
                c1: error -32008 `ahp-session:/s1/changeset/nothing` does not exist
            c1 subscribe ahp-session:/s1/changeset/turn/t9
                c1: error -32008 `ahp-session:/s1/changeset/turn/t9` does not exist
            c1 subscribe ahp-session:/s9/changeset/session
                c1: error -32008 `ahp-session:/s9/changeset/session` does not exist
            c1 subscribe ahp-session:/s1/changeset/session
                changes s1: compare start with now for s1/changeset/session
                c1: snapshot of ahp-session:/s1/changeset/session at 9
            compared failed git is not installed
                c1: 10 ahp-session:/s1/changeset/session changeset/statusChanged {"error":{"errorType":"changesNotKnown","message":"git is not installed"},"status":"error"}
                look again at s1/changeset/session 1000
            c1 createSession ahp-session:/s1/changeset/session {}
                c1: error -32602 `ahp-session:/s1/changeset/session` is an address of a changeset
        "#]],
    );
}

/// The changeset of a running turn ends at the working tree, that of a finished turn at its last
/// checkpoint.
#[test]
fn the_changeset_of_a_running_turn_is_refreshed() {
    check(
        r#"
        - c1 joins one
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        - c1 starts t1
        - marked {"git": {"branch": "main"}}
        c1 subscribe ahp-session:/s1/changeset/turn/t1
        compared a.txt+1-0 {"branch": "main"}
        look
        agent s1 end t1
        compared a.txt+2-0 {"branch": "main"}
        marked {"git": {"branch": "main"}}
        compared a.txt+3-0 {"branch": "main"}
        - c1 starts t2
        - marked
        agent s1 end t2
        - marked
        c1 subscribe ahp-session:/s1/changeset/compare/t1/t2
        "#,
        expect![[r#"
            c1 subscribe ahp-session:/s1/changeset/turn/t1
                changes s1: compare before t1 with now for s1/changeset/turn/t1
                c1: snapshot of ahp-session:/s1/changeset/turn/t1 at 8
            compared a.txt+1-0 {"branch": "main"}
                c1: 9 ahp-session:/s1/changeset/turn/t1 changeset/contentChanged {"operations":[{"id":"undo","label":"Undo","description":"Restore files to their state before these changes","scopes":["changeset","resource"],"confirmation":"Files are restored to their state before these changes. Undo them?","icon":"discard","status":"idle"},{"id":"restore","label":"Restore","description":"Restore all files to their state before this turn","scopes":["changeset"],"confirmation":"All files are restored to their state before this turn. Later changes are lost. Restore them?","icon":"history","status":"idle"},{"id":"show-patch","label":"Show as patch","description":"Show all differences as text","scopes":["changeset"],"icon":"diff","status":"idle"}],"files":[{"id":"file:///w/a.txt","edit":{"before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/x","nonce":"x"}},"diff":{"added":1,"removed":0}}}]}
                c1: 10 ahp-session:/s1/changeset/turn/t1 changeset/statusChanged {"status":"ready"}
                look again at s1/changeset/turn/t1 1000
            look
                changes s1: compare before t1 with now for s1/changeset/turn/t1
            agent s1 end t1
                changes s1: mark after t1, chat since before t1
            compared a.txt+2-0 {"branch": "main"}
                c1: 13 ahp-session:/s1/changeset/turn/t1 changeset/fileSet {"file":{"id":"file:///w/a.txt","edit":{"before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/x","nonce":"x"}},"diff":{"added":2,"removed":0}}}}
            marked {"git": {"branch": "main"}}
                c1: 14 ahp-session:/s1/changeset/turn/t1 changeset/statusChanged {"status":"recomputing"}
                changes s1: compare before t1 with after t1 for s1/changeset/turn/t1
            compared a.txt+3-0 {"branch": "main"}
                c1: 15 ahp-session:/s1/changeset/turn/t1 changeset/fileSet {"file":{"id":"file:///w/a.txt","edit":{"before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-git:/k/x","nonce":"x"}},"diff":{"added":3,"removed":0}}}}
                c1: 16 ahp-session:/s1/changeset/turn/t1 changeset/statusChanged {"status":"ready"}
            agent s1 end t2
                changes s1: mark after t2, chat since before t1
            c1 subscribe ahp-session:/s1/changeset/compare/t1/t2
                changes s1: compare after t1 with after t2 for s1/changeset/compare/t1/t2
                c1: snapshot of ahp-session:/s1/changeset/compare/t1/t2 at 23
        "#]],
    );
}

/// CHS-10: a file stays reviewed until its content changes.
#[test]
fn a_file_stays_reviewed_until_its_content_changes() {
    check(
        r#"
        - c1 joins one
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        - c1 subscribe ahp-session:/s1/changeset/session
        - compared a.txt+1-0 b.txt+2-2
        c1 ! ahp-session:/s1/changeset/session changeset/filesReviewChanged {"files": ["file:///w/a.txt", "file:///w/b.txt", "unknown"], "reviewed": true}
        - look
        compared a.txt+1-0 b.txt+3-2=y
        c1 ! ahp-session:/s1/changeset/session changeset/cleared {}
        - c1 createSession s2 {"workingDirectories": ["file:///v"]}
        - marked failed git is not installed
        - c1 subscribe ahp-session:/s2/changeset/session
        c1 ! ahp-session:/s2/changeset/session changeset/filesReviewChanged {"files": [], "reviewed": true}
        "#,
        expect![[r#"
            c1 ! ahp-session:/s1/changeset/session changeset/filesReviewChanged {"files": ["file:///w/a.txt", "file:///w/b.txt", "unknown"], "reviewed": true}
                c1: 9 ahp-session:/s1/changeset/session by one changeset/filesReviewChanged {"reviewed":true,"files":["file:///w/a.txt","file:///w/b.txt","unknown"]}
            compared a.txt+1-0 b.txt+3-2=y
                c1: 10 ahp-session:/s1/changeset/session changeset/fileSet {"file":{"id":"file:///w/b.txt","edit":{"before":{"uri":"file:///w/b.txt","content":{"uri":"agenthost-git:/k/o","nonce":"o"}},"after":{"uri":"file:///w/b.txt","content":{"uri":"agenthost-git:/k/y","nonce":"y"}},"diff":{"added":3,"removed":2}},"reviewed":false}}
                look again at s1/changeset/session 1000
            c1 ! ahp-session:/s1/changeset/session changeset/cleared {}
                c1: 11 rejected: `changeset/cleared` can only be dispatched by the host
            c1 ! ahp-session:/s2/changeset/session changeset/filesReviewChanged {"files": [], "reviewed": true}
                c1: 14 rejected: the agent does not support reviews of this changeset
        "#]],
    );
}

/// CHS-11 to CHS-16.
#[test]
fn changeset_operations_are_checked_and_run() {
    check(
        r#"
        - c1 joins one
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        - c1 subscribe ahp-session:/s1/changeset/uncommitted
        - compared a.txt+1-0 {"branch": "main"}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "nothing"}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit", "target": {"kind": "resource", "resource": "file:///w/a.txt"}}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard", "target": {"kind": "resource", "resource": "file:///etc/passwd"}}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard", "target": {"kind": "range", "resource": "file:///w/a.txt", "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}}}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/branch {"operationId": "merge"}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard", "target": {"kind": "resource", "resource": "file:///w/a.txt"}}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard"}
        operated failed the disk is full
        compared a.txt+1-0 {"branch": "main"}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit", "_meta": {"agenthost.message": "Fix it"}}
        operated Committed abc Fix it
        compared {"branch": "main"}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit"}
        - look
        - compared a.txt+1-0 {"branch": "main", "under_way": "a merge"}
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit"}
        - c1 starts t1
        c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard"}
        "#,
        expect![[r#"
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "nothing"}
                c1: error -32602 operationId: this changeset has no operation `nothing`
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit", "target": {"kind": "resource", "resource": "file:///w/a.txt"}}
                c1: error -32602 target: operation `commit` does not support this scope
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard", "target": {"kind": "resource", "resource": "file:///etc/passwd"}}
                c1: error -32602 target: the file is not in the changeset
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard", "target": {"kind": "range", "resource": "file:///w/a.txt", "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}}}
                c1: error -32602 target: operation `discard` does not support this scope
            c1 invokeChangesetOperation ahp-session:/s1/changeset/branch {"operationId": "merge"}
                c1: error -32602 subscribe to this changeset first: it is computed for its subscribers
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard", "target": {"kind": "resource", "resource": "file:///w/a.txt"}}
                c1: 8 ahp-session:/s1/changeset/uncommitted changeset/operationStatusChanged {"status":"running","operationId":"discard"}
                changes s1: discard file:///w/a.txt as Undo: "Changes of a session"
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard"}
                c1: error -32602 operation `discard` is already running
            operated failed the disk is full
                c1: 9 ahp-session:/s1/changeset/uncommitted changeset/operationStatusChanged {"error":{"errorType":"operationFailed","message":"the disk is full"},"operationId":"discard","status":"error"}
                c1: error -32603 the disk is full
                c1: 10 ahp-session:/s1/changeset/uncommitted changeset/statusChanged {"status":"recomputing"}
                changes s1: compare the commit with now for s1/changeset/uncommitted
            compared a.txt+1-0 {"branch": "main"}
                c1: 11 ahp-session:/s1/changeset/uncommitted changeset/statusChanged {"status":"ready"}
                look again at s1/changeset/uncommitted 2000
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit", "_meta": {"agenthost.message": "Fix it"}}
                c1: 12 ahp-session:/s1/changeset/uncommitted changeset/operationStatusChanged {"status":"running","operationId":"commit"}
                changes s1: commit as Commit: "Fix it"
            operated Committed abc Fix it
                c1: 13 ahp-session:/s1/changeset/uncommitted changeset/operationStatusChanged {"status":"idle","operationId":"commit"}
                c1: 14 ahp-session:/s1/changeset/uncommitted changeset/cleared {}
                c1: {"message":"Committed abc Fix it"}
                c1: 15 ahp-session:/s1/changeset/uncommitted changeset/statusChanged {"status":"recomputing"}
                changes s1: compare the commit with now for s1/changeset/uncommitted
            compared {"branch": "main"}
                c1: 16 ahp-session:/s1/changeset/uncommitted changeset/operationsChanged {"operations":[{"id":"stage","label":"Stage","description":"Stage the changes for the next commit. Not now: there are no differences","scopes":["changeset","resource"],"icon":"add","status":"disabled"},{"id":"commit","label":"Commit","description":"Commit all changes. Not now: there are no differences","scopes":["changeset"],"icon":"git-commit","status":"disabled"},{"id":"discard","label":"Discard","description":"Restore files to the last commit. Not now: there are no differences","scopes":["changeset","resource"],"confirmation":"Uncommitted changes will be lost. Discard them?","icon":"discard","status":"disabled"},{"id":"show-patch","label":"Show as patch","description":"Show all differences as text. Not now: there are no differences","scopes":["changeset"],"icon":"diff","status":"disabled"}]}
                c1: 17 ahp-session:/s1/changeset/uncommitted changeset/statusChanged {"status":"ready"}
                look again at s1/changeset/uncommitted 2000
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit"}
                c1: error -32602 operation `commit` is disabled: there are no differences
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "commit"}
                c1: error -32602 operation `commit` is disabled: a merge is in progress: finish it first
            c1 invokeChangesetOperation ahp-session:/s1/changeset/uncommitted {"operationId": "discard"}
                c1: error -32004 a turn is in progress in `ahp-session:/s1`
        "#]],
    );
}

/// SES-19, CHS-16: the changesets of a session are removed with it, and so are its checkpoints.
#[test]
fn disposing_a_session_removes_its_changesets() {
    check(
        r#"
        - c1 joins one
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        - c1 subscribe ahp-session:/s1/changeset/session
        - compared a.txt+1-0
        c1 disposeSession s1 {}
        "#,
        expect![[r#"
            c1 disposeSession s1 {}
                agent s1: close
                c1: 9 ahp-session:/s1/changeset/session changeset/cleared {}
                changes s1: forget
                c1: null
        "#]],
    );
}

/// After a restart, a changeset still has its last content, and is computed again.
#[test]
fn changesets_survive_a_restart() {
    check(
        r#"
        - c1 joins one
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked {"git": {"branch": "main"}}
        - c1 subscribe ahp-session:/s1/changeset/session
        - compared a.txt+1-0
        - c1 ! ahp-session:/s1/changeset/session changeset/filesReviewChanged {"files": ["file:///w/a.txt"], "reviewed": true}
        restart
        - c2 connect me was c1
        c2 reconnect {"clientId": "one", "lastSeenServerSeq": 9, "subscriptions": ["ahp-session:/s1/changeset/session"]}
        compared a.txt+1-0
        - c2 leave
        - c3 joins two
        c3 subscribe ahp-session:/s1/changeset/session
        "#,
        expect![[r#"
            restart
                nothing
            c2 reconnect {"clientId": "one", "lastSeenServerSeq": 9, "subscriptions": ["ahp-session:/s1/changeset/session"]}
                c2: replay (9, 9] of [ahp-session:/s1/changeset/session], missing []
                changes s1: compare start with now for s1/changeset/session
            compared a.txt+1-0
                look again at s1/changeset/session 1000
            c3 subscribe ahp-session:/s1/changeset/session
                changes s1: compare start with now for s1/changeset/session
                c3: snapshot of ahp-session:/s1/changeset/session at 10
        "#]],
    );
}

/// A session can be created with a worktree of its own.
#[test]
fn a_session_can_have_its_own_worktree() {
    check(
        r#"
        - c1 joins one
        c1 resolveSessionConfig {"workingDirectory": "file:///w"}
        c1 resolveSessionConfig {}
        c1 createSession s1 {"workingDirectories": ["file:///w"], "config": {"isolation": "worktree", "branch": "main", "worktreeName": "one", "worktreeFiles": [".env"], "worktreeSetup": "make"}}
        - c1 subscribe s1
        worktree file:///kept/w
        agent s1 opened
        - c1 createSession s2 {"workingDirectories": ["file:///w"], "config": {"isolation": "worktree"}}
        - c1 subscribe s2
        - marked
        worktree failed the folder is not in a git repository
        c1 createSession s3 {"config": {"isolation": "worktree"}}
        c1 createSession s3 {"workingDirectories": ["file:///w"], "config": {"isolation": "moon"}}
        "#,
        expect![[r#"
            c1 resolveSessionConfig {"workingDirectory": "file:///w"}
                c1: schema of [autoApprove, permissions, isolation, branch, worktreeName, worktreeFiles, worktreeIncludeFiles, worktreeSetup], {"autoApprove":"default","isolation":"folder"}
            c1 resolveSessionConfig {}
                c1: schema of [autoApprove, permissions], {"autoApprove":"default"}
            c1 createSession s1 {"workingDirectories": ["file:///w"], "config": {"isolation": "worktree", "branch": "main", "worktreeName": "one", "worktreeFiles": [".env"], "worktreeSetup": "make"}}
                c1: null
                changes s1: worktree WorktreeWish { name: Some("one"), base: Some("main"), files: [".env"], setup: Some(CommandLine(4 bytes)) }
            worktree file:///kept/w
                c1: 2 s1 session/workingDirectoryReplaced {"replacement":"file:///kept/w","directory":"file:///w"}
                changes s1: mark start
                agent s1: open
            agent s1 opened
                c1: 3 s1 session/ready {}
            worktree failed the folder is not in a git repository
                c1: 7 s2 session/creationFailed {"error":{"errorType":"worktree","message":"the folder is not in a git repository"}}
            c1 createSession s3 {"config": {"isolation": "worktree"}}
                c1: error -32602 config.isolation: there is no such property
            c1 createSession s3 {"workingDirectories": ["file:///w"], "config": {"isolation": "moon"}}
                c1: error -32602 config.isolation: expected one of the values that are offered
        "#]],
    );
}

/// CHS-17: the agent and `!` commands start only after the checkpoint was taken. A checkpoint that
/// fails does not block them.
#[test]
fn a_turn_waits_for_its_checkpoint() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - marked
        c1 says t1 go
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        c1 says t2 !make
        marked failed no git
        marked failed no git
        marked
        "#,
        expect![[r#"
            c1 says t1 go
                changes s1: mark before t1
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                changes s1: mark after t1, chat since before t1
            c1 says t2 !make
                changes s1: mark before t2
            marked failed no git
                nothing
            marked failed no git
                nothing
            marked
                agent s1: prompt t1 "go"
                agent s1: cancel t1
                terminal run: open "make" in file:///w, 120 by 30
        "#]],
    );
}
