//! What is asked of whoever reads customizations, and what comes back.
//!
//! Files, programs and what they say stay there: the host gets to know what
//! clients may see, and what a turn needs (CUS-19).

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::common::ModelSelection;
use agenthost_protocol::ids::{ClientId, CustomizationId, ProviderId, TurnId};
use agenthost_protocol::resource::{ResourceListResult, ResourceReadResult};
use agenthost_protocol::session::{ClientPluginCustomization, Customization};
use agenthost_protocol::uri::Uri;

use crate::agent::SlashCommand;
use crate::connection::host_requests::ClientReadError;
use crate::tools::tool_use::{HookCheckId, ToolHookPhase, ToolUse};

/// What the host wants to know about customizations.
#[derive(Debug, Clone)]
pub enum CustomizationCommand {
    /// Find out what a session has, and go on telling until it is forgotten.
    /// Asked again, it replaces what was asked before.
    Track {
        /// The session.
        session: Uri,
        /// Its agent.
        provider: ProviderId,
        /// Its folders, the primary one first.
        directories: Vec<Uri>,
    },
    /// Nobody needs to know about a session any more.
    Untrack {
        /// The session.
        session: Uri,
    },
    /// Plugins that clients brought for a session: all of them. One that is not
    /// among them any more is gone.
    SetClientPlugins {
        /// The session.
        session: Uri,
        /// The plugins.
        plugins: Vec<ClientPlugin>,
    },
    /// What a client said to something that was wanted of it.
    QueryAnswered {
        /// What was wanted.
        id: QueryId,
        /// What the client said, or why nothing came of it.
        reply: Result<ResourceReply, ClientReadError>,
    },
    /// What is off in a session: all of it. A container that is off means all
    /// that is in it.
    SetDisabled {
        /// The session.
        session: Uri,
        /// What is off.
        ids: BTreeSet<CustomizationId>,
    },
    /// Code of packages that a person allowed to run: all of it.
    SetTrustedCode {
        /// What was allowed, as whoever reads it names it.
        keys: BTreeSet<String>,
    },
    /// A turn is about to begin: find out what it needs.
    Prepare(Box<TurnPreparation>),
    /// A turn is over.
    TurnEnded {
        /// The session.
        session: Uri,
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
    },
    /// A tool is about to be used: find out whether hooks are against it.
    CheckTool {
        /// What the answer has to name.
        id: HookCheckId,
        /// The tool, and what it is used with.
        tool_use: Box<ToolUse>,
    },
    /// Nobody wants to know that any more.
    CancelCheck {
        /// The session.
        session: Uri,
        /// What was asked.
        id: HookCheckId,
    },
    /// A tool was used. Nothing waits for what hooks have to say to that.
    ToolUsed(Box<ToolUse>),
}

/// A plugin that a client brought.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlugin {
    /// The client.
    pub client: ClientId,
    /// The plugin as the client told of it.
    pub plugin: ClientPluginCustomization,
}

/// Tells one thing that was wanted of a client from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u64);

/// What a client said.
#[derive(Clone)]
pub enum ResourceReply {
    /// What is in a folder.
    Listed(ResourceListResult),
    /// What is in a file.
    Read(Arc<ResourceReadResult>),
}

/// Shows nothing of what is in files.
impl std::fmt::Debug for ResourceReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ResourceReply::Listed(listed) => f.debug_tuple("Listed").field(listed).finish(),
            ResourceReply::Read(_) => f.write_str("Read(…)"),
        }
    }
}

/// A turn that is about to begin.
#[derive(Clone)]
pub struct TurnPreparation {
    /// The session.
    pub session: Uri,
    /// The chat.
    pub chat: Uri,
    /// The turn.
    pub turn: TurnId,
    /// What the user said.
    pub text: String,
    /// The custom agent that is to answer.
    pub agent: Option<Uri>,
    /// Files that the message refers to or that the chat has changed, for rules
    /// that are about some files.
    pub files: Vec<Uri>,
    /// What the agent understands by itself at the beginning of a message.
    pub own_commands: Vec<String>,
}

/// Shows nothing of what was said.
impl std::fmt::Debug for TurnPreparation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnPreparation")
            .field("chat", &self.chat)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

/// What is told about the customizations of a session.
#[derive(Debug, Clone)]
pub enum CustomizationEvent {
    /// All that it has, with what is known so far. Comes first, and again when
    /// there are others.
    CustomizationsFound {
        /// In the order that people get to see.
        all: Vec<Customization>,
    },
    /// One of them was read, or has changed.
    CustomizationUpdated(Box<Customization>),
    /// One of them is gone, with all that was in it.
    CustomizationRemoved(CustomizationId),
    /// Something is needed that a client has.
    ResourceRequested {
        /// What the answer has to name.
        id: QueryId,
        /// The client.
        client: ClientId,
        /// What.
        query: ResourceQuery,
    },
    /// What can stand at the beginning of a message: all of it.
    CommandsChanged {
        /// The commands.
        commands: Vec<SlashCommand>,
    },
    /// It is known what a turn needs.
    TurnPrepared {
        /// The chat.
        chat: Uri,
        /// The turn.
        turn: TurnId,
        /// What it needs, or why it must not begin.
        outcome: Box<Result<PreparedTurn, PreparationError>>,
    },
    /// When hooks of tools that may run are to be run: all of it. Told before
    /// the first turn begins, and again when it is something else.
    ToolHooksChanged {
        /// The moments.
        phases: BTreeSet<ToolHookPhase>,
    },
    /// Hooks have looked at a tool that is about to be used.
    ToolChecked {
        /// What was asked.
        id: HookCheckId,
        /// Why it must not be used, if it must not.
        verdict: Result<(), HookDenial>,
    },
}

/// Why a turn must not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreparationError {
    /// A hook denies it, for this reason.
    #[error("{0}")]
    Denied(String),
    /// The custom agent that was chosen can't be used.
    #[error("the custom agent `{0}` is not there, or is off")]
    AgentNotEnabled(String),
}

/// Why a tool that hooks look at must not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookDenial {
    /// A hook denies it, for this reason.
    #[error("{0}")]
    Denied(String),
    /// The hooks can't be run.
    #[error("its hooks could not be run")]
    HooksNotRun,
    /// As many tools wait for hooks as may.
    #[error("Too many tools wait for hooks")]
    TooManyChecks,
    /// The turn ended before the hooks did.
    #[error("The turn is over")]
    TurnOver,
    /// The chat was disposed of before the hooks ended.
    #[error("The chat is gone")]
    ChatGone,
    /// The session ended before the hooks did.
    #[error("The session is over")]
    SessionOver,
    /// The agent gave the call up before the hooks ended.
    #[error("The agent does not wait for it any more")]
    CallAbandoned,
    /// The host said nothing to the call, and does not wait for it any more.
    #[error("the call was not answered")]
    Unanswered,
}

/// Something that a client has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceQuery {
    /// What is in a folder.
    List(Uri),
    /// What is in a file.
    Read(Uri),
}

/// What a turn needs.
#[derive(Clone, Default, PartialEq)]
pub struct PreparedTurn {
    /// What the agent is to be told in place of what the user said: a prompt
    /// that stood behind a name.
    pub text: Option<String>,
    /// What the agent has to go by: rules, a custom agent, skills that it can
    /// use. All of it, whether it has heard of it before or not.
    pub instructions: Option<Arc<str>>,
    /// What is good to know for this turn alone.
    pub context: Option<String>,
    /// The model that a custom agent wants.
    pub model: Option<ModelSelection>,
    /// The tools that a custom agent is to use, as its file names them; without
    /// a list, all (CUS-18).
    pub tools: Option<Vec<String>>,
}

/// Shows nothing of what is said.
impl std::fmt::Debug for PreparedTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Prepared(…)")
    }
}
