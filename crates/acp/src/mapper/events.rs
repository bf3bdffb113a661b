//! Events that the mapper derives from the messages of an agent.

use agenthost_core::agent::SlashCommand;
use agenthost_core::{ContentAddress, SessionKey};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::Uri;
use serde_json::Value;

use agenthost_agents::TurnEvent;

/// An event that follows from a message of an agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MappedEvent {
    /// Content to store, because later events refer to it.
    StoreContent(ContentBlob),
    /// An event of the running turn.
    Turn(TurnEvent),
    /// A new title of the chat.
    TitleChanged(String),
    /// The complete list of slash commands of the agent.
    SlashCommandsChanged(Vec<SlashCommand>),
    /// The complete list of options with their values, in the encoding of the agent.
    OptionsChanged(Value),
    /// The mode that the agent switched to.
    ModeChanged(String),
    /// A change of the terminal with this URI, which a tool call shows.
    Terminal(Uri, TerminalUpdate),
}

/// A change of a terminal that a tool call shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TerminalUpdate {
    /// The agent opened a terminal that it runs itself.
    Opened {
        title: String,
        /// The working directory of the terminal.
        cwd: Option<Uri>,
        /// The tool call that shows the terminal.
        call: ToolCallId,
    },
    /// The tool call that the terminal belongs to became known.
    Claimed(ToolCallId),
    /// An action on the terminal channel.
    Action(Box<TerminalAction>),
}

/// Content for the content store.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ContentBlob {
    /// A file name that describes the content.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Prints the size, not the content.
impl std::fmt::Debug for ContentBlob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentBlob")
            .field("name", &self.name)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Collects the events that follow from a message.
///
/// Content is identified by its hash, so its reference is known before the content is stored. A
/// `StoreContent` event precedes the events that refer to it.
pub(crate) struct EventCollector<'a> {
    session: &'a SessionKey,
    /// The events in order.
    pub(crate) events: Vec<MappedEvent>,
}

impl<'a> EventCollector<'a> {
    /// Creates an empty collector.
    pub(crate) fn new(session: &'a SessionKey) -> Self {
        EventCollector {
            session,
            events: Vec::new(),
        }
    }

    /// Adds an event of the turn.
    pub(crate) fn push_turn_event(&mut self, event: TurnEvent) {
        self.events.push(MappedEvent::Turn(event));
    }

    /// Adds an event that stores content, and returns the reference to it.
    pub(crate) fn store_content(&mut self, name: &str, bytes: Vec<u8>) -> ContentRef {
        let address = ContentAddress::of(self.session, &bytes, name);
        let reference = address.reference(bytes.len());
        let name = name.to_owned();
        self.events
            .push(MappedEvent::StoreContent(ContentBlob { name, bytes }));
        reference
    }
}
