//! Tests for file edits of running turns (TOO-26).

use expect_test::expect;

use crate::script::check;

/// Finding 16: "Restore Checkpoint" of VS Code writes back the contents from the edits of completed
/// calls, so these have to include what a command has changed. The edits are in a call of their
/// own, because VS Code shows edits instead of the output of their call.
#[test]
fn edits_of_a_command_are_reported_before_the_turn_ends() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - c1 subscribe s1.chat
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "shell", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run", "confirmed": "not-needed"}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran"}}
        agent s1 end t1
        surveyed a.txt +new.txt -gone.txt
        "#,
        expect![[r#"
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran"}}
                c1: 8 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"c"}
                changes s1: survey t1 All
            agent s1 end t1
                nothing
            surveyed a.txt +new.txt -gone.txt
                c1: 9 s1.chat chat/toolCallStart {"displayName":"Changed files","turnId":"t1","toolCallId":"changes","_meta":{"kind":"edit"},"toolName":"changes"}
                c1: 10 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"changes","invocationMessage":"Changed 3 files"}
                c1: 11 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Changed 3 files","content":[{"type":"fileEdit","before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?before"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?after"}}},{"type":"fileEdit","after":{"uri":"file:///w/new.txt","content":{"uri":"agenthost-content:/w/new.txt?after"}}},{"type":"fileEdit","before":{"uri":"file:///w/gone.txt","content":{"uri":"agenthost-content:/w/gone.txt?before"}}}]},"turnId":"t1","toolCallId":"changes"}
                c1: 12 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
        "#]],
    );
}

/// A part of a file is not its content, and an overwritten file is not a new one: the host replaces
/// such edits, because a client that restores files would lose the rest.
#[test]
fn reported_edits_are_replaced_by_surveyed_ones() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - c1 subscribe s1.chat
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "edit", "displayName": "Edit", "_meta": {"kind": "edit"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Edit", "confirmed": "not-needed"}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "text", "text": "done"}, {"type": "fileEdit", "after": {"uri": "file:///w/ä%20b.txt", "content": {"uri": "agenthost-content:/part"}}}, {"type": "fileEdit", "after": {"uri": "file:///w/ignored.txt", "content": {"uri": "agenthost-content:/new"}}}, {"type": "fileEdit", "after": {"uri": "file:///w/%C3%A4%20b.txt", "content": {"uri": "agenthost-content:/part"}}}]}}
        agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p", "content": "It is "}}
        agent s1 chat/delta {"turnId": "t1", "partId": "p", "content": "done."}
        agent s1 end t1
        surveyed %C3%A4%20b.txt other.txt
        "#,
        expect![[r#"
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "text", "text": "done"}, {"type": "fileEdit", "after": {"uri": "file:///w/ä%20b.txt", "content": {"uri": "agenthost-content:/part"}}}, {"type": "fileEdit", "after": {"uri": "file:///w/ignored.txt", "content": {"uri": "agenthost-content:/new"}}}, {"type": "fileEdit", "after": {"uri": "file:///w/%C3%A4%20b.txt", "content": {"uri": "agenthost-content:/part"}}}]}}
                changes s1: survey t1 All file:///w/ä%20b.txt file:///w/ignored.txt file:///w/%C3%A4%20b.txt
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "p", "content": "It is "}}
                nothing
            agent s1 chat/delta {"turnId": "t1", "partId": "p", "content": "done."}
                nothing
            agent s1 end t1
                nothing
            surveyed %C3%A4%20b.txt other.txt
                c1: 8 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Edited","content":[{"type":"text","text":"done"},{"type":"fileEdit","before":{"uri":"file:///w/%C3%A4%20b.txt","content":{"uri":"agenthost-content:/w/%C3%A4%20b.txt?before"}},"after":{"uri":"file:///w/%C3%A4%20b.txt","content":{"uri":"agenthost-content:/w/%C3%A4%20b.txt?after"}}},{"type":"resource","uri":"agenthost-content:/new"}]},"turnId":"t1","toolCallId":"c"}
                c1: 9 s1.chat chat/toolCallStart {"displayName":"Changed files","turnId":"t1","toolCallId":"changes","_meta":{"kind":"edit"},"toolName":"changes"}
                c1: 10 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"changes","invocationMessage":"Changed 1 file"}
                c1: 11 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Changed 1 file","content":[{"type":"fileEdit","before":{"uri":"file:///w/other.txt","content":{"uri":"agenthost-content:/w/other.txt?before"}},"after":{"uri":"file:///w/other.txt","content":{"uri":"agenthost-content:/w/other.txt?after"}}}]},"turnId":"t1","toolCallId":"changes"}
                c1: 12 s1.chat chat/responsePart {"part":{"kind":"markdown","id":"p","content":"It is "},"turnId":"t1"}
                c1: 13 s1.chat chat/delta {"content":"done.","turnId":"t1","partId":"p"}
                c1: 14 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
        "#]],
    );
}

/// Edits have a fixed place in the response, so later events of the agent wait for the survey, and
/// then for the next one.
#[test]
fn calls_are_surveyed_one_after_the_other() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - c1 subscribe s1.chat
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "shell", "displayName": "Shell"}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "d", "toolName": "shell", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run", "confirmed": "not-needed"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "d", "invocationMessage": "Run", "confirmed": "not-needed"}
        - agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran"}}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "d", "result": {"success": false, "pastTenseMessage": "Ran"}}
        agent s1 end t1
        surveyed a.txt
        surveyed
        "#,
        expect![[r#"
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "d", "result": {"success": false, "pastTenseMessage": "Ran"}}
                nothing
            agent s1 end t1
                nothing
            surveyed a.txt
                c1: 11 s1.chat chat/toolCallStart {"displayName":"Changed files","turnId":"t1","toolCallId":"changes","_meta":{"kind":"edit"},"toolName":"changes"}
                c1: 12 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"changes","invocationMessage":"Changed 1 file"}
                c1: 13 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Changed 1 file","content":[{"type":"fileEdit","before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?before"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?after"}}}]},"turnId":"t1","toolCallId":"changes"}
                c1: 14 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"d"}
                changes s1: survey t1 All
            surveyed
                c1: 15 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
        "#]],
    );
}

/// For a file that the host can't compare, the edit that the agent reported is kept if it is
/// complete.
#[test]
fn confirmed_edits_stay() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - c1 subscribe s1.chat
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "edit", "displayName": "Edit"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Edit", "confirmed": "not-needed"}
        - agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "fileEdit", "before": {"uri": "file:///w/ignored.txt", "content": {"uri": "agenthost-content:/old"}}, "after": {"uri": "file:///w/ignored.txt", "content": {"uri": "agenthost-content:/new"}}}]}}
        surveyed confirmed
        "#,
        expect![[r#"
            surveyed confirmed
                c1: 8 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Edited","content":[{"type":"fileEdit","before":{"uri":"file:///w/ignored.txt","content":{"uri":"agenthost-content:/old"}},"after":{"uri":"file:///w/ignored.txt","content":{"uri":"agenthost-content:/new"}}}]},"turnId":"t1","toolCallId":"c"}
        "#]],
    );
}

/// Calls that only read, and turns without calls, do not wait for a survey.
#[test]
fn a_turn_that_changes_nothing_ends_at_once() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "read", "displayName": "Read", "_meta": {"kind": "read"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Read", "confirmed": "not-needed"}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Read"}}
        agent s1 end t1
        - c1 starts t2
        agent s1 end t2
        "#,
        expect![[r#"
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Read"}}
                nothing
            agent s1 end t1
                changes s1: mark after t1, chat since before t1
            agent s1 end t2
                changes s1: mark after t2, chat since before t1
        "#]],
    );
}

/// TUR-16: a cancelled turn does not wait for its survey, and a late result is dropped. VS Code
/// cancels a turn before it restores files.
#[test]
fn a_cancelled_turn_does_not_wait_for_its_edits() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - c1 subscribe s1.chat
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "shell", "displayName": "Shell"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run", "confirmed": "not-needed"}
        - agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran"}}
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1842}
        surveyed a.txt
        c1 ! s1.chat chat/truncated {}
        c1 starts t2
        "#,
        expect![[r#"
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1842}
                c1: 9 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                agent s1: cancel t1
                changes s1: mark after t1, chat since before t1
            surveyed a.txt
                nothing
            c1 ! s1.chat chat/truncated {}
                c1: 11 s1.chat by a chat/truncated {}
                agent s1: rewind to None
            c1 starts t2
                c1: 12 s1.chat by a chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t2
                agent s1: prompt t2 "go"
        "#]],
    );
}

/// The turn had ended before its agent stopped, so it does not fail.
#[test]
fn an_agent_that_stops_does_not_fail_an_ended_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - c1 subscribe s1.chat
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "edit", "displayName": "Edit"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Edit", "confirmed": "not-needed"}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "fileEdit", "after": {"uri": "file:///w/a.txt", "content": {"uri": "agenthost-content:/new"}}}]}}
        agent s1 end t1
        agent s1 stopped
        surveyed +a.txt
        "#,
        expect![[r#"
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "fileEdit", "after": {"uri": "file:///w/a.txt", "content": {"uri": "agenthost-content:/new"}}}]}}
                changes s1: survey t1 All file:///w/a.txt
            agent s1 end t1
                nothing
            agent s1 stopped
                c1: 8 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Edited","content":[{"type":"resource","uri":"agenthost-content:/new"}]},"turnId":"t1","toolCallId":"c"}
                c1: 9 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                changes s1: mark after t1, chat since before t1
            surveyed +a.txt
                nothing
        "#]],
    );
}

/// The edits of a worker are reported in its own turn and in the turn that it works for.
#[test]
fn edits_of_a_worker_are_also_reported_in_the_parent_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "agent", "displayName": "Agent"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Work", "confirmed": "not-needed"}
        - agent s1 worker ahp-chat:/w c read-only
        - c1 subscribe ahp-chat:/w
        - c1 subscribe s1.chat
        - agent s1 in ahp-chat:/w begin w1 {"text": "go", "origin": {"kind": "agent"}}
        - agent s1 in ahp-chat:/w chat/toolCallStart {"turnId": "w1", "toolCallId": "e", "toolName": "edit", "displayName": "Edit"}
        - agent s1 in ahp-chat:/w chat/toolCallReady {"turnId": "w1", "toolCallId": "e", "invocationMessage": "Edit", "confirmed": "not-needed"}
        agent s1 in ahp-chat:/w chat/toolCallComplete {"turnId": "w1", "toolCallId": "e", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "fileEdit", "after": {"uri": "file:///w/a.txt", "content": {"uri": "agenthost-content:/part"}}}]}}
        surveyed a.txt
        agent s1 in ahp-chat:/w end w1
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Worked"}}
        surveyed a.txt
        "#,
        expect![[r#"
            agent s1 in ahp-chat:/w chat/toolCallComplete {"turnId": "w1", "toolCallId": "e", "result": {"success": true, "pastTenseMessage": "Edited", "content": [{"type": "fileEdit", "after": {"uri": "file:///w/a.txt", "content": {"uri": "agenthost-content:/part"}}}]}}
                changes s1: survey w1 since t1 Claimed file:///w/a.txt
            surveyed a.txt
                c1: 14 ahp-chat:/w chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Edited","content":[{"type":"fileEdit","before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?before"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?after"}}}]},"turnId":"w1","toolCallId":"e"}
            agent s1 in ahp-chat:/w end w1
                c1: 15 ahp-chat:/w chat/turnComplete {"duration":0,"turnId":"w1"}
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Worked"}}
                c1: 17 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Worked","content":[{"type":"subagent","resource":"ahp-chat:/w","title":"a worker"}]},"turnId":"t1","toolCallId":"c"}
                changes s1: survey t1 All
            surveyed a.txt
                c1: 18 s1.chat chat/toolCallStart {"displayName":"Changed files","turnId":"t1","toolCallId":"changes","_meta":{"kind":"edit"},"toolName":"changes"}
                c1: 19 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"changes","invocationMessage":"Changed 1 file"}
                c1: 20 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Changed 1 file","content":[{"type":"fileEdit","before":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?before"}},"after":{"uri":"file:///w/a.txt","content":{"uri":"agenthost-content:/w/a.txt?after"}}}]},"turnId":"t1","toolCallId":"changes"}
        "#]],
    );
}
