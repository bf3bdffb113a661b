//! What becomes of what an agent sends.

use agenthost_core::agent::SlashCommand;
use agenthost_core::{ContentAddress, SessionKey};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::Uri;
use serde_json::Value;

use agenthost_agents::TurnEvent;

/// Something that follows from a message of an agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MappedEvent {
    /// Some content is referred to from now on.
    StoreContent(ContentBlob),
    /// Something happened in the turn.
    Turn(TurnEvent),
    /// The chat is called something else.
    TitleChanged(String),
    /// What it understands at the beginning of a message; all of it.
    SlashCommandsChanged(Vec<SlashCommand>),
    /// What can be chosen, and what is; all of it, as the agent has it.
    OptionsChanged(Value),
    /// It works in another mode.
    ModeChanged(String),
    /// Something about a terminal that a call shows, by its address.
    Terminal(Uri, TerminalUpdate),
}

/// Something about a terminal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TerminalUpdate {
    /// It can be watched from now on; the agent itself runs it.
    Opened {
        /// Its title.
        title: String,
        /// Where it is.
        cwd: Option<Uri>,
        /// The call that shows it.
        call: ToolCallId,
    },
    /// It is known which call it is for.
    Claimed(ToolCallId),
    /// Something happened in it.
    Action(Box<TerminalAction>),
}

/// Content to keep.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ContentBlob {
    /// A name for it, that says what it is.
    pub(crate) name: String,
    /// The content.
    pub(crate) bytes: Vec<u8>,
}

/// Shows how much, not what.
impl std::fmt::Debug for ContentBlob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentBlob")
            .field("name", &self.name)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Collects what follows from a message.
///
/// Content is referred to by its hash, so that the reference is known before
/// the content is kept; what is to be kept comes first.
pub(crate) struct EventCollector<'a> {
    session: &'a SessionKey,
    /// What follows, in order.
    pub(crate) events: Vec<MappedEvent>,
}

impl<'a> EventCollector<'a> {
    /// One that has nothing to tell yet.
    pub(crate) fn new(session: &'a SessionKey) -> Self {
        EventCollector {
            session,
            events: Vec::new(),
        }
    }

    /// Something happened in the turn.
    pub(crate) fn push_turn_event(&mut self, event: TurnEvent) {
        self.events.push(MappedEvent::Turn(event));
    }

    /// Has some content kept, and says how to refer to it.
    pub(crate) fn store_content(&mut self, name: &str, bytes: Vec<u8>) -> ContentRef {
        let address = ContentAddress::of(self.session, &bytes, name);
        let reference = address.reference(bytes.len());
        let name = name.to_owned();
        self.events
            .push(MappedEvent::StoreContent(ContentBlob { name, bytes }));
        reference
    }
}
