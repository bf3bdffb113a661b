//! What becomes of what an agent sends.

use agenthost_core::agent::SlashCommand;
use agenthost_core::{ContentAddress, SessionKey};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::Uri;
use serde_json::Value;

use crate::mapper::TurnEvent;

/// Something that follows from a message of an agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    /// Some content is referred to from now on.
    Keep(Kept),
    /// Something happened in the turn.
    Turn(TurnEvent),
    /// The chat is called something else.
    Title(String),
    /// What it understands at the beginning of a message; all of it.
    Commands(Vec<SlashCommand>),
    /// What can be chosen, and what is; all of it, as the agent has it.
    Options(Value),
    /// It works in another mode.
    Mode(String),
    /// Something about a terminal that a call shows, by its address.
    Terminal(Uri, TerminalTold),
}

/// Something about a terminal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TerminalTold {
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
pub(crate) struct Kept {
    /// A name for it, that says what it is.
    pub(crate) name: String,
    /// The content.
    pub(crate) bytes: Vec<u8>,
}

/// Shows how much, not what.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("name", &self.name)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// Collects what follows from a message.
///
/// Content is referred to by its hash, so that the reference is known before
/// the content is kept; what is to be kept comes first.
pub(crate) struct Teller<'a> {
    session: &'a SessionKey,
    /// What follows, in order.
    pub(crate) told: Vec<Told>,
}

impl<'a> Teller<'a> {
    /// One that has nothing to tell yet.
    pub(crate) fn new(session: &'a SessionKey) -> Self {
        Teller {
            session,
            told: Vec::new(),
        }
    }

    /// Something happened in the turn.
    pub(crate) fn turn(&mut self, event: TurnEvent) {
        self.told.push(Told::Turn(event));
    }

    /// Has some content kept, and says how to refer to it.
    pub(crate) fn keep(&mut self, name: &str, bytes: Vec<u8>) -> ContentRef {
        let address = ContentAddress::of(self.session, &bytes, name);
        let reference = address.reference(bytes.len());
        let name = name.to_owned();
        self.told.push(Told::Keep(Kept { name, bytes }));
        reference
    }
}
