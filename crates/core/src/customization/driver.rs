//! Commands to the customization driver, and its events.
//!
//! Files, programs and their output stay in the driver. The host receives only the data that
//! clients may see and that a turn needs (CUS-19).

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::common::ModelSelection;
use agenthost_protocol::ids::{ClientId, CustomizationId, ProviderId, TurnId};
use agenthost_protocol::resource::{ResourceListResult, ResourceReadResult};
use agenthost_protocol::session::{ClientPluginCustomization, Customization};
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::agent::SlashCommand;
use crate::connection::host_requests::ClientReadError;
use crate::tools::tool_use::{HookCheckId, ToolHookPhase, ToolUse};

/// A command of the host to the customization driver.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum CustomizationCommand {
    /// Reads the customizations of a session and reports changes until `Untrack`. A second
    /// `Track` replaces the first.
    Track {
        /// Channel URI of the session.
        session: Uri,
        /// The agent of the session, which decides what containers apply.
        provider: ProviderId,
        /// The working directories of the session, the primary one first.
        directories: Vec<Uri>,
    },
    /// Stops tracking a session.
    Untrack {
        /// Channel URI of the session.
        session: Uri,
    },
    /// Replaces the client plugins of a session. A plugin that is not in the list was removed.
    SetClientPlugins {
        /// Channel URI of the session.
        session: Uri,
        /// All plugins of all active clients.
        plugins: Vec<ClientPlugin>,
    },
    /// The response of a client to a resource request of the driver.
    QueryAnswered {
        /// The id of the request.
        id: QueryId,
        /// The reply, or the reason why the client could not be read.
        reply: Result<ResourceReply, ClientReadError>,
    },
    /// Replaces the set of disabled ids of a session. A disabled container disables everything
    /// in it.
    SetDisabled {
        /// Channel URI of the session.
        session: Uri,
        /// Ids of containers and of single children.
        ids: BTreeSet<CustomizationId>,
    },
    /// Replaces the set of code of packages that the user has approved.
    SetTrustedCode {
        /// Keys of approved code, in the driver's own format.
        keys: BTreeSet<String>,
    },
    /// Prepares a turn that is about to start.
    Prepare(Box<TurnPreparation>),
    /// Reports that a turn has ended, so that its hooks can run.
    TurnEnded {
        /// Channel URI of the session.
        session: Uri,
        /// The chat of the turn.
        chat: Uri,
        /// The turn that has ended.
        turn: TurnId,
    },
    /// Runs the hooks before a tool call, which can deny it.
    CheckTool {
        /// The id that the response has to carry.
        id: HookCheckId,
        /// The tool and its input.
        tool_use: Box<ToolUse>,
    },
    /// Cancels a hook check whose result is no longer needed.
    CancelCheck {
        /// The session of the tool call.
        session: Uri,
        /// The id of the check to cancel.
        id: HookCheckId,
    },
    /// Runs the hooks after a tool call. The call does not wait for their result.
    ToolUsed(Box<ToolUse>),
}

/// A plugin that an active client offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientPlugin {
    /// The client that has the files.
    pub client: ClientId,
    /// The plugin as the client declared it.
    pub plugin: ClientPluginCustomization,
}

/// Identifies one resource request of the driver to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueryId(pub u64);

/// A successful response of a client to a [`ResourceQuery`].
#[derive(Clone, Serialize, Deserialize)]
pub enum ResourceReply {
    /// The entries of a folder.
    Listed(ResourceListResult),
    /// The content of a file.
    Read(Arc<ResourceReadResult>),
}

/// Omits file contents, so that they never reach the log.
impl std::fmt::Debug for ResourceReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ResourceReply::Listed(listed) => f.debug_tuple("Listed").field(listed).finish(),
            ResourceReply::Read(_) => f.write_str("Read(…)"),
        }
    }
}

/// The facts about a turn that the driver needs to prepare it.
#[derive(Clone, Serialize, Deserialize)]
pub struct TurnPreparation {
    /// Channel URI of the session.
    pub session: Uri,
    /// The chat of the turn.
    pub chat: Uri,
    /// The turn that is about to start.
    pub turn: TurnId,
    /// The text of the user's message.
    pub text: String,
    /// The custom agent that the message selects.
    pub agent: Option<Uri>,
    /// Files that the message refers to or that the chat has changed, for rules that apply to
    /// certain files.
    pub files: Vec<Uri>,
    /// Names of the slash commands that the agent itself handles.
    pub own_commands: Vec<String>,
}

/// Omits the message text, so that it never reaches the log.
impl std::fmt::Debug for TurnPreparation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnPreparation")
            .field("chat", &self.chat)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

/// An event of the customization driver for one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum CustomizationEvent {
    /// All customizations of the session, as far as they are known. This is the first event,
    /// and it is sent again when the list changes.
    CustomizationsFound {
        /// All of them, in display order.
        all: Vec<Customization>,
    },
    /// One customization was read or has changed.
    CustomizationUpdated(Box<Customization>),
    /// One customization was removed, with everything in it.
    CustomizationRemoved(CustomizationId),
    /// The driver needs a file or folder that only a client has.
    ResourceRequested {
        /// The id that the response has to carry.
        id: QueryId,
        /// The client that has the resource.
        client: ClientId,
        /// The file or folder to read.
        query: ResourceQuery,
    },
    /// Replaces the list of slash commands of the session.
    CommandsChanged {
        /// All commands, in the order of the completion list.
        commands: Vec<SlashCommand>,
    },
    /// The result of [`CustomizationCommand::Prepare`].
    TurnPrepared {
        /// The chat of the turn.
        chat: Uri,
        /// The turn of the request.
        turn: TurnId,
        /// The prepared turn, or the reason why it must not start.
        outcome: Box<Result<PreparedTurn, PreparationError>>,
    },
    /// Replaces the set of phases in which permitted tool hooks run. Sent before the first turn
    /// starts, and again when the set changes.
    ToolHooksChanged {
        /// Empty if no tool hook may run.
        phases: BTreeSet<ToolHookPhase>,
    },
    /// The result of a hook check.
    ToolChecked {
        id: HookCheckId,
        /// The reason if a hook denied the tool call.
        verdict: Result<(), HookDenial>,
    },
}

/// The reason why a turn must not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PreparationError {
    /// A hook denied the turn with this reason.
    #[error("{0}")]
    Denied(String),
    /// The selected custom agent does not exist or is disabled.
    #[error("custom agent `{0}` does not exist or is disabled")]
    AgentNotEnabled(String),
}

/// The reason why a tool call was denied during its hook check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum HookDenial {
    /// A hook denied the tool call with this reason.
    #[error("{0}")]
    Denied(String),
    /// The hooks could not be run.
    #[error("its hooks could not be run")]
    HooksNotRun,
    /// The limit of concurrent hook checks is reached.
    #[error("too many tool calls wait for hooks")]
    TooManyChecks,
    /// The turn ended before the hooks did.
    #[error("the turn has ended")]
    TurnOver,
    /// The chat was disposed before the hooks ended.
    #[error("the chat was removed")]
    ChatGone,
    /// The session ended before the hooks did.
    #[error("the session has ended")]
    SessionOver,
    /// The agent abandoned the call before the hooks ended.
    #[error("the agent abandoned the call")]
    CallAbandoned,
    /// The host did not answer the call in time and dropped it.
    #[error("the call was not answered")]
    Unanswered,
}

/// A resource request to a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceQuery {
    /// Lists the entries of a folder.
    List(Uri),
    /// Reads the content of a file.
    Read(Uri),
}

/// The result of preparing a turn.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PreparedTurn {
    /// Replacement for the user's text, if the message was a slash command that expands to a
    /// prompt.
    pub text: Option<String>,
    /// Instructions for the agent: rules, the custom agent and the available skills. Always
    /// complete, also if the agent has received them before.
    pub instructions: Option<Arc<str>>,
    /// Additional context for this turn only.
    pub context: Option<String>,
    /// The model that the custom agent requests.
    pub model: Option<ModelSelection>,
    /// The tools that the custom agent may use, as named in its file. `None` allows all tools
    /// (CUS-18).
    pub tools: Option<Vec<String>>,
}

/// Omits the contents, so that they never reach the log.
impl std::fmt::Debug for PreparedTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PreparedTurn(…)")
    }
}
