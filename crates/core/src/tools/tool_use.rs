//! The use of a tool, as hooks get to know it.

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

/// When hooks of tools are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolHookPhase {
    /// Before a tool is used. A hook can refuse it.
    Before,
    /// A tool was used, and it went well.
    After,
    /// A tool was used, and it failed.
    Failed,
}

/// Tells one use of a tool that waits for hooks from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookCheckId(pub u64);

/// A tool that is used.
#[derive(Clone, PartialEq)]
pub struct ToolUse {
    /// The session.
    pub session: Uri,
    /// The chat.
    pub chat: Uri,
    /// When.
    pub phase: ToolHookPhase,
    /// What it is called. The first is what hooks are told, and a hook that is
    /// about any of them is about this use.
    pub names: Vec<String>,
    /// What it is used with.
    pub input: Json,
    /// What came of it, when it was used.
    pub response: Option<Json>,
}

/// Shows nothing of what it is used with, and of what came of it.
impl std::fmt::Debug for ToolUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolUse")
            .field("chat", &self.chat)
            .field("moment", &self.phase)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}
