//! Tests for agent questions, client tools, steering and archiving.

use expect_test::expect;

use crate::script::check;

const QUESTIONS: &str = r#"{"request": {"id": "r", "questions": [
    {"kind": "text", "id": "name", "message": "Name?", "required": true, "min": 2, "max": 5},
    {"kind": "integer", "id": "age", "message": "Age?", "min": 0, "max": 150},
    {"kind": "boolean", "id": "sure", "message": "Sure?"},
    {"kind": "single-select", "id": "one", "message": "One?", "options": [{"id": "a", "label": "A"}]},
    {"kind": "multi-select", "id": "many", "message": "Many?", "max": 1, "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]}
]}}"#;

fn answer(question: &str, state: &str, value: &str) -> String {
    format!(
        r#"c1 ! s1.chat chat/inputAnswerChanged {{"requestId": "r", "questionId": "{question}", "answer": {{"state": "{state}", "value": {value}}}}}"#
    )
}

/// INP-1 to INP-7, INP-9, INP-10; the rows of table 7.1.
#[test]
fn answers_of_an_input_request_are_validated() {
    let questions = QUESTIONS.replace('\n', " ");
    let script = [
        r#"- c1 joins a
        - c1 opens s1
        - c1 starts t1
        - c1 subscribe s1.chat"#
            .to_owned(),
        format!("- agent s1 chat/inputRequested {questions}"),
        r#"c1 ! s1.chat chat/inputAnswerChanged {"requestId": "x", "questionId": "name"}"#.to_owned(),
        r#"c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "x"}"#.to_owned(),
        answer("name", "draft", r#"{"kind": "number", "value": 3}"#),
        answer("name", "draft", r#"{"kind": "text", "value": "x"}"#),
        answer("name", "submitted", r#"{"kind": "text", "value": "x"}"#),
        answer("name", "submitted", r#"{"kind": "text", "value": "longer"}"#),
        answer("age", "submitted", r#"{"kind": "number", "value": 1.5}"#),
        answer("age", "submitted", r#"{"kind": "number", "value": 200}"#),
        answer("sure", "submitted", r#"{"kind": "text", "value": "yes"}"#),
        answer("one", "submitted", r#"{"kind": "selected", "value": "z"}"#),
        answer("many", "submitted", r#"{"kind": "selected-many", "value": ["a", "b"]}"#),
        answer("many", "submitted", r#"{"kind": "selected-many", "value": ["a"]}"#),
        r#"c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept"}"#.to_owned(),
        r#"c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept", "answers": {"name": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}}}"#.to_owned(),
        r#"c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "cancel"}"#.to_owned(),
        "agent s1 end t1".to_owned(),
    ]
    .join("\n");
    check(
        &script,
        expect![[r#"
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "x", "questionId": "name"}
            c1: 9 rejected: there is no open request `x`
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "x"}
            c1: 10 rejected: there is no question `x`
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "name", "answer": {"state": "draft", "value": {"kind": "number", "value": 3}}}
            c1: 11 rejected: question `name` asks for text
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "name", "answer": {"state": "draft", "value": {"kind": "text", "value": "x"}}}
            c1: 12 s1.chat by a chat/inputAnswerChanged {"answer":{"state":"draft","value":{"kind":"text","value":"x"}},"requestId":"r","questionId":"name"}
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "name", "answer": {"state": "submitted", "value": {"kind": "text", "value": "x"}}}
            c1: 14 rejected: question `name` asks for at least 2 characters
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "name", "answer": {"state": "submitted", "value": {"kind": "text", "value": "longer"}}}
            c1: 15 rejected: question `name` asks for at most 5 characters
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "age", "answer": {"state": "submitted", "value": {"kind": "number", "value": 1.5}}}
            c1: 16 rejected: question `age` asks for a whole number
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "age", "answer": {"state": "submitted", "value": {"kind": "number", "value": 200}}}
            c1: 17 rejected: question `age` asks for at most 150
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "sure", "answer": {"state": "submitted", "value": {"kind": "text", "value": "yes"}}}
            c1: 18 rejected: question `sure` asks for yes or no
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "one", "answer": {"state": "submitted", "value": {"kind": "selected", "value": "z"}}}
            c1: 19 rejected: question `one` has no such choice
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "many", "answer": {"state": "submitted", "value": {"kind": "selected-many", "value": ["a", "b"]}}}
            c1: 20 rejected: question `many` asks for at most 1 choices
        c1 ! s1.chat chat/inputAnswerChanged {"requestId": "r", "questionId": "many", "answer": {"state": "submitted", "value": {"kind": "selected-many", "value": ["a"]}}}
            c1: 21 s1.chat by a chat/inputAnswerChanged {"answer":{"state":"submitted","value":{"kind":"selected-many","value":["a"]}},"requestId":"r","questionId":"many"}
        c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept"}
            c1: 23 rejected: question `name` needs an answer
        c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept", "answers": {"name": {"state": "submitted", "value": {"kind": "text", "value": "Ada"}}}}
            c1: 24 s1.chat by a chat/inputCompleted {"answers":{"name":{"state":"submitted","value":{"kind":"text","value":"Ada"}}},"requestId":"r","response":"accept"}
            agent s1: answer r accept {"name":{"state":"submitted","value":{"kind":"text","value":"Ada"}},"many":{"state":"submitted","value":{"kind":"selected-many","value":["a"]}}}
        c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "cancel"}
            c1: 27 rejected: there is no open request `r`
        agent s1 end t1
            c1: 28 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
    "#]],
    );
}

/// TUR-13, AGG-4: a question that is open when its turn ends is closed with the turn.
#[test]
fn the_end_of_a_turn_closes_its_input_requests() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 starts t1
        - c1 subscribe s1
        agent s1 chat/inputRequested {"request": {"id": "r", "message": "Go on?"}}
        c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
        c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept"}
        "#,
        expect![[r#"
            agent s1 chat/inputRequested {"request": {"id": "r", "message": "Go on?"}}
                c1: 7 s1 session/chatUpdated {"changes":{"status":24},"chat":"s1.chat"}
                c1: 8 s1 session/inputNeededSet {"request":{"kind":"chatInput","id":"input:r@s1.chat","chat":"s1.chat","request":{"id":"r","message":"Go on?"}}}
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 0}
                c1: 10 s1 session/chatUpdated {"changes":{"status":1,"modifiedAt":"2026-01-05T09:00:00.000Z"},"chat":"s1.chat"}
                c1: 11 s1 session/inputNeededRemoved {"id":"input:r@s1.chat"}
                agent s1: cancel t1
            c1 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept"}
                c1: 12 rejected: there is no open request `r`
        "#]],
    );
}

/// CLT-1 to CLT-9, CLT-12, CLT-14, TOO-27.
#[test]
fn calls_of_a_disconnected_client_fail() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1
        - c1 subscribe s1
        - c1 subscribe s1.chat
        c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": []}}
        c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": [{"name": "look"}, {"name": "look"}]}}
        c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": [{"name": "look"}]}}
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "b"}}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Look", "confirmed": "not-needed"}
        c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Looked"}}
        c2 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Looked"}}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "d", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "b"}}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "e", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "b"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "e", "invocationMessage": "Look", "confirmed": "not-needed"}
        - c2 leave
        grace b
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "f", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "b"}}
        "#,
        expect![[r#"
            c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": []}}
                c2: 3 rejected: a client can only do this for itself
            c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": [{"name": "look"}, {"name": "look"}]}}
                c2: 4 rejected: tool `look` is given twice
            c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": [{"name": "look"}]}}
                c1: 5 s1 by b session/activeClientSet {"activeClient":{"clientId":"b","tools":[{"name":"look"}]}}
                agent s1: tools [look]
            agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Look", "confirmed": "not-needed"}
                c1: 10 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"c","invocationMessage":"Look"}
                c1: 11 s1 session/inputNeededSet {"request":{"kind":"toolClientExecution","id":"execute:c@s1.chat","chat":"s1.chat","turnId":"t1","clientId":"b","toolCall":{"status":"running","toolCallId":"c","toolName":"look","displayName":"Look","contributor":{"kind":"client","clientId":"b"},"invocationMessage":"Look","confirmed":"not-needed"}}}
                await execute:c@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Looked"}}
                c1: 12 rejected: tool call `c` is not executed by this client
            c2 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Looked"}}
                c1: 13 s1.chat by b chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Looked"},"turnId":"t1","toolCallId":"c"}
                c1: 14 s1 session/inputNeededRemoved {"id":"execute:c@s1.chat"}
                agent s1: completed c true
            grace b
                c1: 19 s1 session/activeClientRemoved {"clientId":"b"}
                c1: 20 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"d","invocationMessage":"Look"}
                c1: 21 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client that runs Look has disconnected","error":{"message":"The client that runs Look has disconnected"}},"turnId":"t1","toolCallId":"d"}
                agent s1: completed d false
                c1: 22 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client that runs Look has disconnected","error":{"message":"The client that runs Look has disconnected"}},"turnId":"t1","toolCallId":"e"}
                c1: 23 s1 session/inputNeededRemoved {"id":"execute:e@s1.chat"}
                agent s1: completed e false
                agent s1: tools []
            agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "f", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "b"}}
                c1: 24 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"b"},"turnId":"t1","toolCallId":"f","toolName":"look","displayName":"Look"}
                c1: 25 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"f","invocationMessage":"Look"}
                c1: 26 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client that runs Look has disconnected","error":{"message":"The client that runs Look has disconnected"}},"turnId":"t1","toolCallId":"f"}
                agent s1: completed f false
        "#]],
    );
}

/// PEN-1, PEN-5, PEN-6, PEN-9.
#[test]
fn a_steering_message_reaches_the_running_turn() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "m", "message": {"text": "be brief", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
        c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "n", "message": {"text": "no, long", "origin": {"kind": "user"}}}
        agent s1 steered m
        agent s1 steered n
        c1 ! s1.chat chat/pendingMessageRemoved {"kind": "steering", "id": "n"}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "m", "message": {"text": "be brief", "origin": {"kind": "user"}}}
                c1: 3 s1.chat by a chat/pendingMessageSet {"message":{"text":"be brief","origin":{"kind":"user"}},"kind":"steering","id":"m"}
            c1 ! s1.chat chat/turnStarted {"turnId": "t1", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}}}
                c1: 4 s1.chat by a chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
                agent s1: prompt t1 "go"
                agent s1: steer t1 by m "be brief"
            c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "n", "message": {"text": "no, long", "origin": {"kind": "user"}}}
                c1: 7 s1.chat by a chat/pendingMessageSet {"message":{"text":"no, long","origin":{"kind":"user"}},"kind":"steering","id":"n"}
                agent s1: steer t1 by n "no, long"
            agent s1 steered m
                nothing
            agent s1 steered n
                c1: 8 s1.chat chat/pendingMessageRemoved {"id":"n","kind":"steering"}
            c1 ! s1.chat chat/pendingMessageRemoved {"kind": "steering", "id": "n"}
                c1: 9 rejected: there is no pending message `n`
        "#]],
    );
}

/// CLT-13, TOO-14.
#[test]
fn a_client_can_decline_an_unknown_tool() {
    check(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1
        - c1 subscribe s1.chat
        - c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": [{"name": "look"}]}}
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "b"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Look", "confirmed": "not-needed"}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": false}
        c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true}
        c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": false}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": false}
                c1: 10 rejected: tool call `c` is not waiting for this action
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true}
                c2: 11 rejected: tool call `c` is not waiting for this action
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": false}
                c1: 12 s1.chat by b chat/toolCallConfirmed {"approved":false,"turnId":"t1","toolCallId":"c"}
                c1: 13 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client declined to run it","error":{"message":"The client declined to run it"}},"turnId":"t1","toolCallId":"c"}
                agent s1: completed c false
        "#]],
    );
}

/// TOO-16: the agent does not receive the result of a client tool before the result is approved.
/// PRT-3: an id can be used only once in a turn.
#[test]
fn an_unapproved_result_is_not_sent_to_the_agent() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1 {"activeClient": {"clientId": "a", "tools": [{"name": "look"}]}}
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c1", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "a"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c1", "invocationMessage": "Looking", "confirmed": "not-needed"}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c2", "toolName": "look", "displayName": "Look", "contributor": {"kind": "client", "clientId": "a"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c2", "invocationMessage": "Looking", "confirmed": "not-needed"}
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c1", "toolName": "look", "displayName": "Look"}
        agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "c1", "content": "x"}}
        c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c1", "requiresResultConfirmation": true, "result": {"success": true, "pastTenseMessage": "Looked"}}
        c1 ! s1.chat chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "c1", "approved": true}
        c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c2", "requiresResultConfirmation": true, "result": {"success": true, "pastTenseMessage": "Looked"}}
        c1 ! s1.chat chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "c2", "approved": false}
        "#,
        expect![[r#"
            agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c1", "toolName": "look", "displayName": "Look"}
                discarded s1.chat chat/toolCallStart: its id is in use in this turn
            agent s1 chat/responsePart {"turnId": "t1", "part": {"kind": "markdown", "id": "c1", "content": "x"}}
                discarded s1.chat chat/responsePart: its id is in use in this turn
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c1", "requiresResultConfirmation": true, "result": {"success": true, "pastTenseMessage": "Looked"}}
                nothing
            c1 ! s1.chat chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "c1", "approved": true}
                agent s1: decide c1 ResultApproved
                agent s1: completed c1 true
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "c2", "requiresResultConfirmation": true, "result": {"success": true, "pastTenseMessage": "Looked"}}
                nothing
            c1 ! s1.chat chat/toolCallResultConfirmed {"turnId": "t1", "toolCallId": "c2", "approved": false}
                agent s1: decide c2 ResultDenied
        "#]],
    );
}

/// A-12: a session and its default chat are archived together; other chats are not affected.
#[test]
fn a_session_is_archived_with_its_default_chat() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 createChat s1 {"chat": "ahp-chat:/1"}
        - quiet
        - c1 subscribe s1
        c1 ! s1.chat chat/isArchivedChanged {"isArchived": true}
        c1 ! s1 session/isArchivedChanged {"isArchived": false}
        c1 ! ahp-chat:/1 chat/isArchivedChanged {"isArchived": true}
        "#,
        expect![[r#"
            c1 ! s1.chat chat/isArchivedChanged {"isArchived": true}
                c1: 5 s1 session/chatUpdated {"changes":{"status":65},"chat":"s1.chat"}
                c1: 6 s1 session/isArchivedChanged {"isArchived":true}
            c1 ! s1 session/isArchivedChanged {"isArchived": false}
                c1: 7 s1 by a session/isArchivedChanged {"isArchived":false}
                c1: 9 s1 session/chatUpdated {"changes":{"status":1},"chat":"s1.chat"}
            c1 ! ahp-chat:/1 chat/isArchivedChanged {"isArchived": true}
                c1: 11 s1 session/chatUpdated {"changes":{"status":65},"chat":"ahp-chat:/1"}
        "#]],
    );
}

/// Clients show who answered a request. Neither a client nor an agent can forge it, and it stays
/// when the agent replaces the `_meta` of the call.
#[test]
fn an_answer_names_the_client_that_gave_it() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1.chat
        - c2 connect phone/operate
        - c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b", "clientInfo": {"name": "page", "title": "Chrome"}}
        - c3 connect me
        - c3 initialize {"protocolVersions": ["1.0.0"], "clientId": "d", "clientInfo": {"name": "tui", "title": "two\nlines\u001b[31m\u202e"}}
        - c1 starts t1
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "c", "toolName": "run", "displayName": "Run", "_meta": {"toolKind": "terminal", "agenthost.answeredBy": "forged"}}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "c", "invocationMessage": "Run it"}
        c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true}
        agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran"}, "_meta": {"toolKind": "read", "agenthost.answeredBy": "forged"}}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "e", "toolName": "run", "displayName": "Run"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "e", "invocationMessage": "Run it"}
        c3 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "e", "approved": false, "_meta": {"x": 1, "agenthost.answeredBy": "somebody"}}
        - agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "f", "toolName": "run", "displayName": "Run"}
        - agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "f", "invocationMessage": "Run it"}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "f", "approved": true, "_meta": {"agenthost.answeredBy": "somebody"}}
        "#,
        expect![[r#"
            c2 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "c", "approved": true}
                c1: 10 s1.chat by b chat/toolCallConfirmed {"confirmed":"user-action","turnId":"t1","toolCallId":"c","_meta":{"toolKind":"terminal","agenthost.answeredBy":{"name":"phone","clientId":"b"}},"approved":true}
                agent s1: decide c Approved { option: None, edited_input: None }
            agent s1 chat/toolCallComplete {"turnId": "t1", "toolCallId": "c", "result": {"success": true, "pastTenseMessage": "Ran"}, "_meta": {"toolKind": "read", "agenthost.answeredBy": "forged"}}
                c1: 13 s1.chat chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"c","_meta":{"toolKind":"read","agenthost.answeredBy":{"name":"phone","clientId":"b"}}}
            c3 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "e", "approved": false, "_meta": {"x": 1, "agenthost.answeredBy": "somebody"}}
                c1: 18 s1.chat by d chat/toolCallConfirmed {"reason":"denied","turnId":"t1","toolCallId":"e","_meta":{"x":1,"agenthost.answeredBy":{"name":"two lines[31m","clientId":"d"}},"approved":false}
                agent s1: decide e Denied { option: None, reason: Denied, suggestion: None }
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "f", "approved": true, "_meta": {"agenthost.answeredBy": "somebody"}}
                c1: 25 s1.chat by a chat/toolCallConfirmed {"confirmed":"user-action","turnId":"t1","toolCallId":"f","_meta":{},"approved":true}
                agent s1: decide f Approved { option: None, edited_input: None }
        "#]],
    );
}

/// A form has no `_meta`, so the session says who answered it. Only the host writes the list, which
/// keeps the latest forms.
#[test]
fn the_session_names_the_client_that_answered_a_form() {
    check(
        r#"
        - c1 joins a
        - c1 opens s1
        - c1 subscribe s1
        - c2 connect phone/operate
        - c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b", "clientInfo": {"name": "page", "title": "Chrome"}}
        - c1 starts t1
        - agent s1 chat/inputRequested {"request": {"id": "r", "message": "Go on?"}}
        c2 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "decline"}
        c2 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept"}
        "#,
        expect![[r#"
            c2 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "decline"}
                c1: 10 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: 11 s1 session/inputNeededRemoved {"id":"input:r@s1.chat"}
                agent s1: answer r decline {}
                c1: 12 s1 session/metaChanged {"_meta":{"agenthost.answeredForms":[{"name":"phone","clientId":"b","chat":"s1.chat","requestId":"r"}]}}
            c2 ! s1.chat chat/inputCompleted {"requestId": "r", "response": "accept"}
                c2: 13 rejected: there is no open request `r`
        "#]],
    );
}
