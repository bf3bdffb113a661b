//! Tool uses, as they are reported to hooks.

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use serde::{Deserialize, Serialize};

/// The time at which tool hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ToolHookPhase {
    /// Before the tool call. A hook can deny it.
    Before,
    /// After a successful tool call.
    After,
    /// After a failed tool call.
    Failed,
}

/// Identifies one hook check of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HookCheckId(pub u64);

/// The use of a tool, as input of its hooks.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// Channel URI of the session.
    pub session: Uri,
    /// Channel URI of the chat.
    pub chat: Uri,
    pub phase: ToolHookPhase,
    /// The names of the tool. Hooks receive the first. A hook that matches any of them applies
    /// to this use.
    pub names: Vec<String>,
    /// The arguments of the call.
    pub input: Json,
    /// The result, if the tool was executed.
    pub response: Option<Json>,
}

/// Omits input and result, so that they never reach the log.
impl std::fmt::Debug for ToolUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolUse")
            .field("chat", &self.chat)
            .field("phase", &self.phase)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}
