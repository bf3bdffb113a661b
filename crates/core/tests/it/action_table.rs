//! Tests for every action that a client may dispatch: when it is accepted, and when and why it is
//! refused. There is one row for each row of the table of rules (7.1).
//!
//! A refused action is answered with the reason and changes nothing (DSP-2); an accepted one is
//! echoed.

use std::collections::BTreeSet;

use agenthost_core::Input;
use agenthost_core::agent::AgentEvent;
use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::terminal::{
    TerminalClaim, TerminalClientClaim, TerminalSessionClaim, TerminalState,
};
use agenthost_protocol::uri::Uri;

use crate::script::{run, uri};
use crate::test_host::TestHost;

/// The state in which an action is dispatched.
#[derive(Debug, Clone, Copy)]
enum InitialState {
    /// A ready session of the default agent, without turns.
    Ready,
    /// The same, before its agent is ready.
    Creating,
    /// A session of the agent with several directories and a configuration.
    Roaming,
    /// Turn `t` runs.
    Running,
    /// A client is subscribed to a changeset.
    Changed,
    /// The same, where changes are not tracked.
    Untracked,
    /// Turn `t` is complete.
    Over,
    /// Turn `t` has failed and can be resumed.
    Failed,
    /// Turn `t` runs. Of its tool calls, `asks` waits for confirmation, `held` for confirmation of
    /// its result, `own` is run by the client, `other` by another client, `host` by the host,
    /// `token` waits for a token, and `done` is complete. `r` is an open question.
    Busy,
    /// A worker's chat, `ahp-chat:/w`.
    Worker,
    /// Messages `q1` and `q2` are queued behind turn `t`, and `s` steers it.
    Queued,
    /// The same after turn `t` was cancelled: the messages wait for a client.
    Waiting,
    /// Terminals: `ahp-terminal:/mine`, `/theirs`, `/session`, `/over`.
    Terminals,
    /// An annotation `a` with an entry `e`.
    Annotated,
}

struct Row {
    action: &'static str,
    scene: InitialState,
    channel: &'static str,
    accepted: &'static [&'static str],
    refused: &'static [(&'static str, &'static str)],
}

const CHAT: &str = "s1.chat";

const USER: &str = r#""message": {"text": "go", "origin": {"kind": "user"}}"#;

const AT: &str = r#""startedAt": "2026-01-05T09:00:00Z""#;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { action: "root/configChanged", scene: InitialState::Ready, channel: "root",
        accepted: &[r#"{"config": {"defaultAgent": "other"}}"#, r#"{"config": {}, "replace": true}"#],
        refused: &[
            (r#"{"config": {"colour": 1}}"#, "`colour`: there is no such setting"),
            (r#"{"config": {"defaultAgent": 1}}"#, "`defaultAgent`: expected a value of type string"),
            (r#"{"config": {"defaultAgent": "x"}}"#, "`defaultAgent`: expected one of the values that are offered"),
            (r#"{"config": 1}"#, "action.config: expected an object, found 1"),
        ] },
    Row { action: "session/titleChanged", scene: InitialState::Ready, channel: "s1",
        accepted: &[r#"{"title": "new"}"#, r#"{"title": ""}"#],
        refused: &[
            (r#"{"title": 1}"#, "action.title: expected a string, found 1"),
            (r#"{"title": "<501 bytes>"}"#, "a title has at most 500 characters"),
        ] },
    Row { action: "session/activeClientSet", scene: InitialState::Ready, channel: "s1",
        accepted: &[r#"{"activeClient": {"clientId": "a", "tools": [{"name": "x"}]}}"#],
        refused: &[
            (r#"{"activeClient": {"clientId": "b", "tools": []}}"#, "a client can only do this for itself"),
            (r#"{"activeClient": {"clientId": "a", "tools": [{"name": "x", "description": "<4194304 bytes>"}]}}"#, "an active client may have at most 4194304 bytes"),
            (r#"{"activeClient": {"clientId": "a", "tools": [{"name": "x"}, {"name": "x"}]}}"#, "tool `x` is given twice"),
            (r#"{"activeClient": {"clientId": "a", "tools": [{"name": ""}]}}"#, "the name of a tool has 1 to 200 bytes"),
            (r#"{"activeClient": {"clientId": "a", "tools": [], "customizations": [{"type": "directory", "id": "d", "uri": "file:///d", "name": "d"}]}}"#,
                "action.activeClient.customizations[0].type: expected `plugin`, found \"directory\""),
        ] },
    Row { action: "session/activeClientRemoved", scene: InitialState::Ready, channel: "s1",
        accepted: &[r#"{"clientId": "a"}"#],
        refused: &[(r#"{"clientId": "b"}"#, "a client can only do this for itself")] },
    Row { action: "session/workingDirectorySet", scene: InitialState::Roaming, channel: "s1",
        accepted: &[r#"{"directory": "file:///c"}"#, r#"{"directory": "file:///a"}"#],
        refused: &[
            (r#"{"directory": "nowhere"}"#, "`nowhere` is not an absolute URI of at most 2048 bytes"),
            (r#"{"directory": "http://x"}"#, "`http://x` is not a folder of this machine (file:///…)"),
        ] },
    Row { action: "session/workingDirectorySet", scene: InitialState::Ready, channel: "s1",
        accepted: &[],
        refused: &[(r#"{"directory": "file:///c"}"#, "the agent does not support several working directories")] },
    Row { action: "session/workingDirectoryRemoved", scene: InitialState::Roaming, channel: "s1",
        accepted: &[r#"{"directory": "file:///b"}"#, r#"{"directory": "file:///none"}"#],
        refused: &[(r#"{"directory": "file:///a"}"#, "the primary directory of this session cannot be changed")] },
    Row { action: "session/workingDirectoryRemoved", scene: InitialState::Ready, channel: "s1",
        accepted: &[],
        refused: &[(r#"{"directory": "file:///a"}"#, "the agent does not support several working directories")] },
    Row { action: "session/workingDirectoryReplaced", scene: InitialState::Roaming, channel: "s1",
        accepted: &[r#"{"directory": "file:///a", "replacement": "file:///c"}"#, r#"{"directory": "file:///b", "replacement": "file:///a"}"#],
        refused: &[
            (r#"{"directory": "file:///gone", "replacement": "file:///c"}"#, "there is no directory `file:///gone`"),
            (r#"{"directory": "file:///a", "replacement": "nowhere"}"#, "`nowhere` is not an absolute URI of at most 2048 bytes"),
        ] },
    Row { action: "session/workingDirectoryReplaced", scene: InitialState::Ready, channel: "s1",
        accepted: &[],
        refused: &[(r#"{"directory": "file:///a", "replacement": "file:///c"}"#, "the agent does not support several working directories")] },
    Row { action: "session/customizationToggled", scene: InitialState::Ready, channel: "s1",
        accepted: &[],
        refused: &[(r#"{"id": "x", "enablement": []}"#, "there is no customization `x`")] },
    Row { action: "session/mcpServerStartRequested", scene: InitialState::Ready, channel: "s1",
        accepted: &[], refused: &[(r#"{"id": "x"}"#, "there is no server `x`")] },
    Row { action: "session/mcpServerStopRequested", scene: InitialState::Ready, channel: "s1",
        accepted: &[], refused: &[(r#"{"id": "x"}"#, "there is no server `x`")] },
    Row { action: "session/mcpServerBackgroundRequested", scene: InitialState::Ready, channel: "s1",
        accepted: &[], refused: &[(r#"{"id": "x"}"#, "there is no server `x`")] },
    Row { action: "session/isReadChanged", scene: InitialState::Ready, channel: "s1",
        accepted: &[r#"{"isRead": true}"#, r#"{"isRead": false}"#],
        refused: &[(r#"{}"#, "action.isRead: missing")] },
    Row { action: "session/isArchivedChanged", scene: InitialState::Ready, channel: "s1",
        accepted: &[r#"{"isArchived": true}"#],
        refused: &[(r#"{}"#, "action.isArchived: missing")] },
    Row { action: "session/configChanged", scene: InitialState::Roaming, channel: "s1",
        accepted: &[r#"{"config": {"mode": "do"}}"#, r#"{"config": {"mode": "do"}, "replace": true}"#],
        refused: &[
            (r#"{"config": {"branch": "x"}}"#, "there is no mutable property `branch`"),
            (r#"{"config": {"mode": "x"}}"#, "mode: expected one of the values that are offered"),
            (r#"{"config": {"other": 1}}"#, "there is no mutable property `other`"),
        ] },
    Row { action: "session/configChanged", scene: InitialState::Ready, channel: "s1",
        accepted: &[r#"{"config": {}}"#],
        refused: &[(r#"{"config": {"isolation": "worktree"}}"#, "there is no mutable property `isolation`")] },
    Row { action: "chat/turnStarted", scene: InitialState::Ready, channel: CHAT,
        accepted: &[r#"{"turnId": "n", AT, USER}"#],
        refused: &[
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "agent"}}}"#, "a client can only send messages of kind `user`"),
            (r#"{"turnId": "", AT, USER}"#, "the name of a turn has 1 to 200 bytes"),
            (r#"{"turnId": "n", AT, USER, "_meta": {"m": "<65529 bytes>"}}"#, "`_meta` may have at most 65536 bytes"),
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "c", "modelRepresentation": "x", "_meta": {"m": "<65529 bytes>"}}]}}"#, "`_meta` may have at most 65536 bytes"),
            (r#"{"turnId": "n", "startedAt": "yesterday", USER}"#, "startedAt: `yesterday` is not an RFC 3339 timestamp such as `2026-07-09T20:00:00.000Z`"),
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "model": {"id": "none"}}}"#, "there is no model `none`"),
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "agent": {"uri": "file:///none"}}}"#, "there is no custom agent `file:///none`"),
            (r#"{"turnId": "n", AT, "queuedMessageId": "none", USER}"#, "there is no pending message `none`"),
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "c", "resource": "ahp-chat:/none"}]}}"#, "there is no chat `ahp-chat:/none`"),
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "simple", "label": "c"}]}}"#, "attachment `c`: modelRepresentation is missing"),
        ] },
    Row { action: "chat/turnStarted", scene: InitialState::Creating, channel: CHAT,
        accepted: &[], refused: &[(r#"{"turnId": "n", AT, USER}"#, "the session is not ready")] },
    Row { action: "chat/turnStarted", scene: InitialState::Running, channel: CHAT,
        accepted: &[], refused: &[(r#"{"turnId": "n", AT, USER}"#, "turn `t` is in progress")] },
    Row { action: "chat/turnStarted", scene: InitialState::Over, channel: CHAT,
        accepted: &[r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "c", "resource": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "endTurn": "t"}]}}"#],
        refused: &[
            (r#"{"turnId": "t", AT, USER}"#, "turn id `t` is in use"),
            (r#"{"turnId": "n", AT, "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "c", "resource": "ahp-chat://default/YWhwLXNlc3Npb246L3Mx", "endTurn": "x"}]}}"#, "there is no completed turn `x`"),
        ] },
    Row { action: "chat/turnStarted", scene: InitialState::Waiting, channel: CHAT,
        accepted: &[r#"{"turnId": "n", AT, "queuedMessageId": "q1", USER}"#, r#"{"turnId": "n", AT, USER}"#],
        refused: &[(r#"{"turnId": "n", AT, "queuedMessageId": "q1", "message": {"text": "stop", "origin": {"kind": "user"}}}"#, "the message differs from pending message `q1`")] },
    Row { action: "chat/turnStarted", scene: InitialState::Worker, channel: "ahp-chat:/w",
        accepted: &[], refused: &[(r#"{"turnId": "n", AT, USER}"#, "this chat is read-only")] },
    Row { action: "chat/turnCancelled", scene: InitialState::Running, channel: CHAT,
        accepted: &[r#"{"turnId": "t", "duration": 1}"#, r#"{"turnId": "t", "duration": -5}"#],
        refused: &[
            (r#"{"turnId": "x", "duration": 1}"#, "turn `x` is not in progress"),
            (r#"{"turnId": "t", "duration": 1, "_meta": {"m": "<65529 bytes>"}}"#, "`_meta` may have at most 65536 bytes"),
        ] },
    Row { action: "chat/turnCancelled", scene: InitialState::Over, channel: CHAT,
        accepted: &[], refused: &[(r#"{"turnId": "t", "duration": 1}"#, "turn `t` is not in progress")] },
    Row { action: "chat/turnResume", scene: InitialState::Failed, channel: CHAT,
        accepted: &[r#"{"turnId": "t"}"#], refused: &[(r#"{"turnId": "x"}"#, "turn `x` can't be resumed")] },
    Row { action: "chat/turnResume", scene: InitialState::Over, channel: CHAT,
        accepted: &[], refused: &[(r#"{"turnId": "t"}"#, "turn `t` can't be resumed")] },
    Row { action: "chat/turnResume", scene: InitialState::Running, channel: CHAT,
        accepted: &[], refused: &[(r#"{"turnId": "t"}"#, "turn `t` is in progress")] },
    Row { action: "chat/truncated", scene: InitialState::Over, channel: CHAT,
        accepted: &[r#"{"turnId": "t"}"#, r#"{}"#],
        refused: &[
            (r#"{"turnId": "x"}"#, "there is no turn `x`"),
            (r#"{"turnId": null}"#, "action.turnId: expected a value, or no field at all, found null"),
        ] },
    Row { action: "chat/truncated", scene: InitialState::Worker, channel: "ahp-chat:/w",
        accepted: &[], refused: &[(r#"{}"#, "this chat is read-only")] },
    Row { action: "chat/toolCallConfirmed", scene: InitialState::Busy, channel: CHAT,
        accepted: &[
            r#"{"turnId": "t", "toolCallId": "asks", "approved": true}"#,
            r#"{"turnId": "t", "toolCallId": "asks", "approved": true, "selectedOptionId": "yes"}"#,
            r#"{"turnId": "t", "toolCallId": "asks", "approved": false, "selectedOptionId": "no", "reason": "skipped"}"#,
            r#"{"turnId": "t", "toolCallId": "own", "approved": false}"#,
        ],
        refused: &[
            (r#"{"turnId": "x", "toolCallId": "asks", "approved": true}"#, "turn `x` is not in progress"),
            (r#"{"turnId": "t", "toolCallId": "x", "approved": true}"#, "there is no tool call `x`"),
            (r#"{"turnId": "t", "toolCallId": "host", "approved": true}"#, "tool call `host` is not waiting for this action"),
            (r#"{"turnId": "t", "toolCallId": "other", "approved": false}"#, "tool call `other` is not waiting for this action"),
            (r#"{"turnId": "t", "toolCallId": "asks", "approved": true, "editedToolInput": "x"}"#, "the arguments can't be edited"),
            (r#"{"turnId": "t", "toolCallId": "asks", "approved": true, "selectedOptionId": "x"}"#, "there is no option `x`"),
            (r#"{"turnId": "t", "toolCallId": "asks", "approved": false, "userSuggestion": {"text": "x", "origin": {"kind": "agent"}}}"#, "a client can only send messages of kind `user`"),
            (r#"{"turnId": "t", "toolCallId": "asks", "approved": true, "selectedOptionId": "no"}"#, "the option and the decision contradict each other"),
        ] },
    Row { action: "chat/toolCallResultConfirmed", scene: InitialState::Busy, channel: CHAT,
        accepted: &[r#"{"turnId": "t", "toolCallId": "held", "approved": true}"#, r#"{"turnId": "t", "toolCallId": "held", "approved": false}"#],
        refused: &[(r#"{"turnId": "t", "toolCallId": "asks", "approved": true}"#, "tool call `asks` is not waiting for this action")] },
    Row { action: "chat/toolCallComplete", scene: InitialState::Busy, channel: CHAT,
        accepted: &[
            r#"{"turnId": "t", "toolCallId": "own", "result": {"success": true, "pastTenseMessage": "Did"}}"#,
            r#"{"turnId": "t", "toolCallId": "token", "result": {"success": false, "pastTenseMessage": "Gave up"}}"#,
        ],
        refused: &[
            (r#"{"turnId": "t", "toolCallId": "other", "result": {"success": true, "pastTenseMessage": "Did"}}"#, "tool call `other` is not executed by this client"),
            (r#"{"turnId": "t", "toolCallId": "host", "result": {"success": true, "pastTenseMessage": "Did"}}"#, "tool call `host` is not executed by this client"),
            (r#"{"turnId": "t", "toolCallId": "token", "result": {"success": true, "pastTenseMessage": "Did"}}"#, "tool call `token` is not waiting for this action"),
            (r#"{"turnId": "t", "toolCallId": "asks", "result": {"success": true, "pastTenseMessage": "Did"}}"#, "tool call `asks` is not waiting for this action"),
            (r#"{"turnId": "t", "toolCallId": "done", "result": {"success": true, "pastTenseMessage": "Did"}}"#, "tool call `done` is not waiting for this action"),
        ] },
    Row { action: "chat/toolCallContentChanged", scene: InitialState::Busy, channel: CHAT,
        accepted: &[r#"{"turnId": "t", "toolCallId": "own", "content": []}"#],
        refused: &[
            (r#"{"turnId": "t", "toolCallId": "other", "content": []}"#, "tool call `other` is not executed by this client"),
            (r#"{"turnId": "t", "toolCallId": "done", "content": []}"#, "tool call `done` is not waiting for this action"),
            (r#"{"turnId": "t", "toolCallId": "token", "content": []}"#, "tool call `token` is not waiting for this action"),
        ] },
    Row { action: "chat/pendingMessageSet", scene: InitialState::Running, channel: CHAT,
        accepted: &[
            r#"{"kind": "queued", "id": "m", USER}"#, r#"{"kind": "steering", "id": "m", USER}"#,
            r#"{"kind": "queued", "id": "m", "message": {"text": "<8388608 bytes>", "origin": {"kind": "user"}}}"#,
        ],
        refused: &[
            (r#"{"kind": "queued", "id": "m", "message": {"text": "<8388609 bytes>", "origin": {"kind": "user"}}}"#, "the pending messages of a chat may have at most 8388608 bytes"),
            (r#"{"kind": "steering", "id": "m", "message": {"text": "", "origin": {"kind": "user"}, "attachments": [{"type": "embeddedResource", "label": "", "data": "<8388609 bytes>", "contentType": "image/png"}]}}"#, "the pending messages of a chat may have at most 8388608 bytes"),
            (r#"{"kind": "queued", "id": "", USER}"#, "the name of a pending message has 1 to 200 bytes"),
            (r#"{"kind": "queued", "id": "m", "message": {"text": "go", "origin": {"kind": "tool"}}}"#, "a client can only send messages of kind `user`"),
            (r#"{"kind": "queued", "id": "m", "message": {"text": "go", "origin": {"kind": "user"}, "attachments": [{"type": "chat", "label": "c", "resource": "ahp-chat:/none"}]}}"#, "there is no chat `ahp-chat:/none`"),
        ] },
    Row { action: "chat/pendingMessageSet", scene: InitialState::Worker, channel: "ahp-chat:/w",
        accepted: &[], refused: &[(r#"{"kind": "queued", "id": "m", USER}"#, "this chat is read-only")] },
    Row { action: "chat/pendingMessageRemoved", scene: InitialState::Queued, channel: CHAT,
        accepted: &[r#"{"kind": "queued", "id": "q1"}"#, r#"{"kind": "steering", "id": "s"}"#],
        refused: &[
            (r#"{"kind": "queued", "id": "x"}"#, "there is no pending message `x`"),
            (r#"{"kind": "steering", "id": "q1"}"#, "there is no pending message `q1`"),
        ] },
    Row { action: "chat/queuedMessagesReordered", scene: InitialState::Queued, channel: CHAT,
        accepted: &[r#"{"order": ["q2", "q1"]}"#, r#"{"order": ["x"]}"#, r#"{"order": []}"#],
        refused: &[(r#"{"order": 1}"#, "action.order: expected an array, found 1")] },
    Row { action: "chat/draftChanged", scene: InitialState::Ready, channel: CHAT,
        accepted: &[
            r#"{"draft": {"text": "hm", "origin": {"kind": "user"}}}"#, r#"{}"#,
            r#"{"draft": {"text": "<8388608 bytes>", "origin": {"kind": "user"}}}"#,
            r#"{"draft": {"text": "hm", "origin": {"kind": "user"}, "_meta": {"m": "<65528 bytes>"}}}"#,
        ],
        refused: &[
            (r#"{"draft": {"text": "hm", "origin": {"kind": "agent"}}}"#, "a client can only send messages of kind `user`"),
            (r#"{"draft": {"text": "<8388609 bytes>", "origin": {"kind": "user"}}}"#, "a draft may have at most 8388608 bytes"),
            (r#"{"draft": {"text": "hm", "origin": {"kind": "user"}, "_meta": {"m": "<65529 bytes>"}}}"#, "`_meta` may have at most 65536 bytes"),
        ] },
    Row { action: "chat/isReadChanged", scene: InitialState::Ready, channel: CHAT,
        accepted: &[r#"{"isRead": true}"#], refused: &[(r#"{}"#, "action.isRead: missing")] },
    Row { action: "chat/isArchivedChanged", scene: InitialState::Ready, channel: CHAT,
        accepted: &[r#"{"isArchived": true}"#], refused: &[(r#"{}"#, "action.isArchived: missing")] },
    Row { action: "chat/inputAnswerChanged", scene: InitialState::Busy, channel: CHAT,
        accepted: &[
            r#"{"requestId": "r", "questionId": "q", "answer": {"state": "draft", "value": {"kind": "text", "value": ""}}}"#,
            r#"{"requestId": "r", "questionId": "q"}"#,
            r#"{"requestId": "r", "questionId": "q", "answer": {"state": "draft", "value": {"kind": "text", "value": "<1048524 bytes>"}}}"#,
        ],
        refused: &[
            (r#"{"requestId": "x", "questionId": "q"}"#, "there is no open request `x`"),
            (r#"{"requestId": "r", "questionId": "q", "answer": {"state": "draft", "value": {"kind": "text", "value": "<1048525 bytes>"}}}"#, "the answers to a request may have at most 1048576 bytes"),
            (r#"{"requestId": "r", "questionId": "x"}"#, "there is no question `x`"),
            (r#"{"requestId": "r", "questionId": "q", "answer": {"state": "draft"}}"#, "action.answer.value: missing"),
            (r#"{"requestId": "r", "questionId": "q", "answer": {"state": "draft", "value": {"kind": "number", "value": 1}}}"#, "question `q` asks for text"),
        ] },
    Row { action: "chat/inputCompleted", scene: InitialState::Busy, channel: CHAT,
        accepted: &[
            r#"{"requestId": "r", "response": "accept", "answers": {"q": {"state": "submitted", "value": {"kind": "text", "value": "x"}}}}"#,
            r#"{"requestId": "r", "response": "decline"}"#,
            r#"{"requestId": "r", "response": "cancel"}"#,
        ],
        refused: &[
            (r#"{"requestId": "x", "response": "accept"}"#, "there is no open request `x`"),
            (r#"{"requestId": "r", "response": "accept", "answers": {"q": {"state": "submitted", "value": {"kind": "text", "value": "<1048515 bytes>"}}}}"#, "the answers to a request may have at most 1048576 bytes"),
            (r#"{"requestId": "r", "response": "accept"}"#, "question `q` needs an answer"),
        ] },
    Row { action: "chat/workingDirectorySet", scene: InitialState::Roaming, channel: CHAT,
        accepted: &[r#"{"directory": "file:///b"}"#],
        refused: &[(r#"{"directory": "file:///c"}"#, "there is no directory of the session `file:///c`")] },
    Row { action: "chat/workingDirectorySet", scene: InitialState::Ready, channel: CHAT,
        accepted: &[], refused: &[(r#"{"directory": "file:///a"}"#, "the agent does not support several working directories")] },
    Row { action: "chat/workingDirectoryRemoved", scene: InitialState::Roaming, channel: CHAT,
        accepted: &[r#"{"directory": "file:///b"}"#, r#"{"directory": "file:///none"}"#], refused: &[] },
    Row { action: "chat/workingDirectoryRemoved", scene: InitialState::Ready, channel: CHAT,
        accepted: &[], refused: &[(r#"{"directory": "file:///a"}"#, "the agent does not support several working directories")] },
    Row { action: "terminal/input", scene: InitialState::Terminals, channel: "ahp-terminal:/mine",
        accepted: &[r#"{"data": "x"}"#], refused: &[(r#"{"data": 1}"#, "action.data: expected a string, found 1")] },
    Row { action: "terminal/input", scene: InitialState::Terminals, channel: "ahp-terminal:/theirs",
        accepted: &[], refused: &[(r#"{"data": "x"}"#, "the terminal is claimed by another client or session")] },
    Row { action: "terminal/input", scene: InitialState::Terminals, channel: "ahp-terminal:/session",
        accepted: &[r#"{"data": "x"}"#], refused: &[] },
    Row { action: "terminal/input", scene: InitialState::Terminals, channel: "ahp-terminal:/over",
        accepted: &[], refused: &[(r#"{"data": "x"}"#, "the terminal has exited")] },
    Row { action: "terminal/resized", scene: InitialState::Terminals, channel: "ahp-terminal:/session",
        accepted: &[r#"{"cols": 80, "rows": 24}"#],
        refused: &[(r#"{"cols": 0, "rows": 24}"#, "a terminal has 1 to 1000 columns and rows")] },
    Row { action: "terminal/resized", scene: InitialState::Terminals, channel: "ahp-terminal:/over",
        accepted: &[r#"{"cols": 80, "rows": 24}"#],
        refused: &[(r#"{"cols": 0, "rows": 24}"#, "a terminal has 1 to 1000 columns and rows")] },
    Row { action: "terminal/claimed", scene: InitialState::Terminals, channel: "ahp-terminal:/mine",
        accepted: &[r#"{"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat:/1"}}"#, r#"{"claim": {"kind": "client", "clientId": "a"}}"#],
        refused: &[(r#"{"claim": {"kind": "client", "clientId": "b"}}"#, "a client can only do this for itself")] },
    Row { action: "terminal/claimed", scene: InitialState::Terminals, channel: "ahp-terminal:/theirs",
        accepted: &[], refused: &[(r#"{"claim": {"kind": "client", "clientId": "a"}}"#, "the terminal is claimed by another client or session")] },
    Row { action: "terminal/claimed", scene: InitialState::Terminals, channel: "ahp-terminal:/session",
        accepted: &[r#"{"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat:/1"}}"#],
        refused: &[
            (r#"{"claim": {"kind": "session", "session": "ahp-session:/s2", "chat": "ahp-chat:/1"}}"#, "the terminal is claimed by another client or session"),
            (r#"{"claim": {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat:/1", "turnId": "other"}}"#, "the terminal is claimed by another client or session"),
            (r#"{"claim": {"kind": "client", "clientId": "a"}}"#, "the terminal is claimed by another client or session"),
        ] },
    Row { action: "terminal/titleChanged", scene: InitialState::Terminals, channel: "ahp-terminal:/theirs",
        accepted: &[r#"{"title": "x"}"#, r#"{"title": "<500 bytes>"}"#],
        refused: &[
            (r#"{}"#, "action.title: missing"),
            (r#"{"title": "<501 bytes>"}"#, "a title has at most 500 characters"),
        ] },
    Row { action: "terminal/cleared", scene: InitialState::Terminals, channel: "ahp-terminal:/theirs",
        accepted: &["{}"], refused: &[] },
    Row { action: "annotations/set", scene: InitialState::Annotated, channel: "ahp-session:/s1/annotations",
        accepted: &[
            r#"{"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1", "chat": "ahp-chat:/1", "turnId": "t"}, "resource": "file:///f", "resolved": false, "entries": [{"id": "e", "text": "x"}]}}"#,
            r#"{"annotation": {"id": "a", "origin": {"session": "ahp-session:/s1", "chat": "ahp-chat:/1", "turnId": "t"}, "resource": "file:///f", "resolved": true, "entries": [{"id": "e", "text": "x"}]}}"#,
        ],
        refused: &[
            (r#"{"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1", "chat": "ahp-chat:/1", "turnId": "t"}, "resource": "file:///f", "resolved": false, "entries": []}}"#, "an annotation needs at least one entry"),
            (r#"{"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1", "chat": "ahp-chat:/1", "turnId": "t"}, "resource": "file:///f", "resolved": true, "entries": [{"id": "e", "text": "x"}]}}"#, "a new annotation cannot be resolved"),
            (r#"{"annotation": {"id": "n", "origin": {"session": "ahp-session:/s1"}, "resource": "file:///f", "resolved": false, "entries": [{"id": "e", "text": "x"}, {"id": "e", "text": "y"}]}}"#, "entry `e` is given twice"),
            (r#"{"annotation": {"id": "n", "origin": {"session": "ahp-session:/s2", "chat": "ahp-chat:/1", "turnId": "t"}, "resource": "file:///f", "resolved": false, "entries": [{"id": "e", "text": "x"}]}}"#, "origin.session is not the session of this channel"),
        ] },
    Row { action: "annotations/updated", scene: InitialState::Annotated, channel: "ahp-session:/s1/annotations",
        accepted: &[r#"{"annotationId": "a", "resolved": true}"#],
        refused: &[(r#"{"annotationId": "x", "resolved": true}"#, "there is no annotation `x`")] },
    Row { action: "annotations/removed", scene: InitialState::Annotated, channel: "ahp-session:/s1/annotations",
        accepted: &[r#"{"annotationId": "a"}"#],
        refused: &[(r#"{"annotationId": "x"}"#, "there is no annotation `x`")] },
    Row { action: "annotations/entrySet", scene: InitialState::Annotated, channel: "ahp-session:/s1/annotations",
        accepted: &[r#"{"annotationId": "a", "entry": {"id": "e2", "text": "y"}}"#],
        refused: &[
            (r#"{"annotationId": "x", "entry": {"id": "e2", "text": "y"}}"#, "there is no annotation `x`"),
            (r#"{"annotationId": "a", "entry": {"id": "e2", "text": "y", "_meta": {"m": "<65529 bytes>"}}}"#, "`_meta` may have at most 65536 bytes"),
        ] },
    Row { action: "annotations/entryRemoved", scene: InitialState::Annotated, channel: "ahp-session:/s1/annotations",
        accepted: &[r#"{"annotationId": "a", "entryId": "x"}"#],
        refused: &[(r#"{"annotationId": "a", "entryId": "e"}"#, "the last entry can't be removed: remove the annotation")] },
    Row { action: "changeset/filesReviewChanged", scene: InitialState::Changed, channel: "ahp-session:/s1/changeset/session",
        accepted: &[r#"{"files": ["file:///w/a.txt"], "reviewed": true}"#, r#"{"files": ["unknown"], "reviewed": true}"#],
        refused: &[(r#"{"files": "all", "reviewed": true}"#, "action.files: expected an array, found a string")] },
    Row { action: "changeset/filesReviewChanged", scene: InitialState::Untracked, channel: "ahp-session:/s1/changeset/session",
        accepted: &[],
        refused: &[(r#"{"files": ["file:///w/a.txt"], "reviewed": true}"#, "the agent does not support reviews of this changeset")] },
];

/// Actions of channels that this host does not have yet: on the wrong channel they are refused, on
/// their own they have no effect (DSP-3).
const UNSUPPORTED_ACTIONS: &[&str] = &[
    "automation/createRequested",
    "automation/updateRequested",
    "automation/removed",
    "automationRun/cancelRequested",
];

impl InitialState {
    fn set(self) -> TestHost {
        let mut test_host = TestHost::new();
        let turn = format!(r#"c1 ! s1.chat chat/turnStarted {{"turnId": "t", {AT}, {USER}}}"#);
        let session = match self {
            InitialState::Roaming => {
                r#"c1 createSession s1 {"provider": "roaming", "workingDirectories": ["file:///a", "file:///b"]}"#
            }
            _ => r#"c1 createSession s1 {"workingDirectories": ["file:///a"]}"#,
        };
        let begin = format!(
            r#"c1 connect
            c1 initialize {{"protocolVersions": ["1.0.0"], "clientId": "a"}}
            {session}"#
        );
        let opened = "agent s1 opened";
        let more = match self {
            InitialState::Creating => String::new(),
            InitialState::Ready | InitialState::Roaming | InitialState::Terminals => {
                opened.to_owned()
            }
            InitialState::Running => format!("{opened}\n{turn}"),
            InitialState::Over => format!("{opened}\n{turn}\nagent s1 end t"),
            InitialState::Failed => format!("{opened}\n{turn}\nagent s1 resumable t"),
            InitialState::Busy => format!("{opened}\n{turn}\n{BUSY}"),
            InitialState::Worker => format!("{opened}\n{turn}\n{WORKER}"),
            InitialState::Queued => format!("{opened}\n{turn}\n{QUEUED}"),
            InitialState::Waiting => format!("{opened}\n{turn}\n{QUEUED}\n{CANCEL}"),
            InitialState::Annotated => format!("{opened}\n{ANNOTATED}"),
            InitialState::Changed => format!("{opened}\nmarked\n{CHANGED}\ncompared a.txt+1-0"),
            InitialState::Untracked => format!("{opened}\nmarked failed no git\n{CHANGED}"),
        };
        run(
            &mut test_host,
            &format!("{begin}\n{more}").replace("USER", USER),
        );
        if let InitialState::Terminals = self {
            open_terminals(&mut test_host);
        }
        test_host
    }
}

const CHANGED: &str = "c1 subscribe ahp-session:/s1/changeset/session";

const BUSY: &str = r#"
    c2 connect
    c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "b"}
    c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [{"name": "x"}]}}
    c2 ! s1 session/activeClientSet {"activeClient": {"clientId": "b", "tools": [{"name": "y"}]}}
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "asks", "toolName": "x", "displayName": "X"}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "asks", "invocationMessage": "x", "options": [{"id": "yes", "label": "Yes", "kind": "approve"}, {"id": "no", "label": "No", "kind": "deny"}]}
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "held", "toolName": "x", "displayName": "X"}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "held", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 chat/toolCallComplete {"turnId": "t", "toolCallId": "held", "requiresResultConfirmation": true, "result": {"success": true, "pastTenseMessage": "Did"}}
    surveyed
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "own", "toolName": "x", "displayName": "X", "contributor": {"kind": "client", "clientId": "a"}}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "own", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "other", "toolName": "y", "displayName": "Y", "contributor": {"kind": "client", "clientId": "b"}}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "other", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "host", "toolName": "x", "displayName": "X"}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "host", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "token", "toolName": "x", "displayName": "X", "contributor": {"kind": "mcp", "customizationId": "m"}}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "token", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 chat/toolCallAuthRequired {"turnId": "t", "toolCallId": "token", "auth": {"reason": "required", "resource": {"resource": "https://example", "authorization_servers": []}}}
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "done", "toolName": "x", "displayName": "X"}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "done", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 chat/toolCallComplete {"turnId": "t", "toolCallId": "done", "result": {"success": true, "pastTenseMessage": "Did"}}
    surveyed
    agent s1 chat/inputRequested {"request": {"id": "r", "questions": [{"kind": "text", "id": "q", "message": "?", "required": true}]}}
"#;

const WORKER: &str = r#"
    agent s1 chat/toolCallStart {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X"}
    agent s1 chat/toolCallReady {"turnId": "t", "toolCallId": "c", "invocationMessage": "x", "confirmed": "not-needed"}
    agent s1 worker ahp-chat:/w c read-only
"#;

const QUEUED: &str = r#"
    c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q1", USER}
    c1 ! s1.chat chat/pendingMessageSet {"kind": "queued", "id": "q2", USER}
    c1 ! s1.chat chat/pendingMessageSet {"kind": "steering", "id": "s", USER}
"#;

const CANCEL: &str = r#"c1 ! s1.chat chat/turnCancelled {"turnId": "t", "duration": 1}"#;

const ANNOTATED: &str = r#"
    c1 ! ahp-session:/s1/annotations annotations/set {"annotation": {"id": "a", "origin": {"session": "ahp-session:/s1", "chat": "ahp-chat:/1", "turnId": "t"}, "resource": "file:///f", "resolved": false, "entries": [{"id": "e", "text": "x"}]}}
"#;

fn open_terminals(test_host: &mut TestHost) {
    let client = |name: &str| {
        let client_id = name.into();
        TerminalClaim::Client(TerminalClientClaim { client_id })
    };
    let session = TerminalClaim::Session(TerminalSessionClaim {
        session: uri("s1"),
        chat: Uri::from("ahp-chat:/1"),
        turn_id: Some("t".into()),
        tool_call_id: None,
    });
    let terminals = [
        ("ahp-terminal:/mine", client("a")),
        ("ahp-terminal:/theirs", client("b")),
        ("ahp-terminal:/session", session),
        ("ahp-terminal:/over", client("a")),
    ];
    for (name, claim) in terminals {
        let terminal = Uri::from(name);
        let opened = AgentEvent::TerminalOpened {
            terminal: terminal.clone(),
            state: Box::new(TerminalState::new("x", claim)),
            command: None,
        };
        let session = uri("s1");
        test_host.step(Input::Agent {
            session: session.clone(),
            event: opened,
        });
        if name.ends_with("over") {
            let exited = serde_json::json!({"type": "terminal/exited"}).to_string();
            let Action::Terminal(exited) = agenthost_protocol::wire::from_str(&exited).unwrap()
            else {
                panic!("an action of terminals");
            };
            let event = AgentEvent::Terminal {
                terminal,
                action: Box::new(exited),
            };
            test_host.step(Input::Agent { session, event });
        }
    }
}

/// Dispatches an action. Returns the reason as an error if the client gets a rejection.
fn dispatch(
    test_host: &mut TestHost,
    channel: &str,
    action: &str,
    payload: &str,
) -> Result<(), String> {
    let payload = payload
        .replace("USER", USER)
        .replace("AT,", &format!("{AT},"));
    let line = format!("c1 ! {channel} {action} {payload}");
    let before = test_host.log.channels.clone();
    run(test_host, &format!("c1 subscribe {channel}"));
    let result = run(test_host, &line);
    let rejected = result.lines().find_map(|line| {
        let (_, reason) = line.split_once(" rejected: ")?;
        line.trim_start()
            .starts_with("c1: ")
            .then(|| reason.to_owned())
    });
    match rejected {
        Some(reason) => {
            let same: BTreeSet<_> = before.keys().collect();
            assert_eq!(same, test_host.log.channels.keys().collect(), "{line}");
            for (channel, state) in &before {
                assert_eq!(
                    *state, test_host.log.channels[channel],
                    "{line} changed {channel}"
                );
            }
            Err(reason)
        }
        None => {
            // Terminal input is echoed only to the client that typed it.
            let echoes = [format!(" by a {action} "), format!(" shown {action} ")];
            assert!(
                echoes.iter().any(|echo| result.contains(echo)),
                "{line}: no echo in\n{result}"
            );
            Ok(())
        }
    }
}

#[test]
fn every_row_of_the_action_table_holds() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let accepted = row.accepted.iter().map(|payload| (*payload, Ok(())));
        let refused = row.refused.iter();
        let refused = refused.map(|(payload, reason)| (*payload, Err((*reason).to_owned())));
        for (payload, expected) in accepted.chain(refused) {
            let mut test_host = row.scene.set();
            let result = dispatch(&mut test_host, row.channel, row.action, payload);
            test_host.check_mirrors();
            if result != expected {
                let (action, scene) = (row.action, row.scene);
                wrong.push(format!("{action} {payload} ({scene:?}): {result:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every action is covered: those of clients are in the table, those of the host are refused
/// (DSP-4), and none is accepted on a channel of another kind (DSP-5).
#[test]
fn every_action_has_a_row_or_is_host_only() {
    let rows: BTreeSet<_> = ROWS.iter().map(|row| row.action).collect();
    let listed: BTreeSet<_> = rows.iter().chain(UNSUPPORTED_ACTIONS).copied().collect();
    let clients = Action::table().filter(|info| info.dispatcher == Dispatcher::Client);
    assert_eq!(listed, clients.map(|info| info.name).collect());
    assert_eq!(listed.len(), 47);

    let mut test_host = InitialState::Running.set();
    for info in Action::table() {
        let shape = agenthost_testkit::GeneratorOptions {
            optional: 0.0,
            unknown: 0.0,
            name_count: 1,
            max_items: 1,
            max_depth: 3,
            excluded_variants: &[],
        };
        let mut generator = agenthost_testkit::Generator::new(1, shape);
        let payload = generator.generate_action(info.name);
        let channel = match info.channel {
            agenthost_protocol::channel::ChannelKind::Chat => "s1",
            _ => "s1.chat",
        };
        let refused = dispatch(&mut test_host, channel, info.name, &payload.to_string());
        let reason = match info.dispatcher {
            Dispatcher::Host => format!("`{}` can only be dispatched by the host", info.name),
            Dispatcher::Client => format!("`{}` does not belong on this channel", info.name),
        };
        assert_eq!(refused, Err(reason));
    }
    let ChannelState::Chat(chat) = &test_host.log.channels[&uri("s1.chat")] else {
        panic!("a chat");
    };
    assert!(chat.active_turn.is_some(), "and nothing has happened");
}
