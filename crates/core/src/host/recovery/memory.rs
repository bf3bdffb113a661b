//! The working memory of the host: what it knows of running work besides the states of
//! channels.
//!
//! If agents and terminals run in a process of their own, they survive the host. The next
//! process of the host then needs this memory to continue their work. It is stored in parts, each
//! in the same transaction as the actions of the steps that changed it.

use std::collections::BTreeMap;
use std::fmt;

use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::Uri;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::AgentEvent;
use crate::changeset::turn_edits::EditSurveys;
use crate::chat::turn::{TurnRecovery, TurnTable};
use crate::connection::token_registry::TokenRegistry;
use crate::customization::session_state::SessionCustomizations;
use crate::host::Host;
use crate::host::input::Input;
use crate::session::index::SessionAgents;
use crate::terminal::TerminalTable;
use crate::terminal::output::TerminalEvent;
use crate::tools::ToolState;

/// Prefix of the names of parts with the customizations of a session.
const CUSTOMIZATIONS_PREFIX: &str = "customizations ";

/// One part of the memory.
#[derive(Clone, PartialEq, Eq)]
pub struct MemoryPart {
    /// The name of the part.
    pub name: String,
    /// The content as JSON; `None` if the part no longer exists.
    pub content: Option<String>,
}

/// Omits the content, which may contain prompts.
impl fmt::Debug for MemoryPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPart")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The memory of an earlier process of the host.
#[derive(Clone, Default)]
pub struct HostMemory {
    turns: TurnTable,
    terminals: TerminalTable,
    surveys: EditSurveys,
    tools: ToolState,
    agents: SessionAgents,
    tokens: TokenRegistry,
    customizations: BTreeMap<Uri, SessionCustomizations>,
}

/// Omits the content, which may contain prompts.
impl fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostMemory(…)")
    }
}

/// A part of the memory that can't be decoded.
#[derive(Debug, thiserror::Error)]
#[error("working memory `{part}`: line {line}, column {column}")]
pub struct MemoryError {
    part: String,
    line: usize,
    column: usize,
}

impl HostMemory {
    /// Decodes the stored parts.
    ///
    /// # Errors
    ///
    /// Returns an error if a part is not what this release stores.
    pub fn decode(parts: impl IntoIterator<Item = (String, String)>) -> Result<Self, MemoryError> {
        let mut memory = HostMemory::default();
        for (name, content) in parts {
            match name.as_str() {
                "turns" => memory.turns = decode_part(&name, &content)?,
                "terminals" => memory.terminals = decode_part(&name, &content)?,
                "surveys" => memory.surveys = decode_part(&name, &content)?,
                "tools" => memory.tools = decode_part(&name, &content)?,
                "agents" => memory.agents = decode_part(&name, &content)?,
                "tokens" => memory.tokens = decode_part(&name, &content)?,
                other => {
                    if let Some(session) = other.strip_prefix(CUSTOMIZATIONS_PREFIX) {
                        let known = decode_part(&name, &content)?;
                        memory.customizations.insert(Uri::from(session), known);
                    }
                }
            }
        }
        Ok(memory)
    }
}

impl HostMemory {
    /// Returns `true` if there is work that continues.
    pub fn has_work(&self) -> bool {
        self.turns.has_work() || !self.terminals.running.is_empty() || !self.agents.open.is_empty()
    }
}

impl Host {
    /// Returns `true` if a step with this input can change the memory. Streamed text and output
    /// are most of the inputs, and usually don't.
    pub fn may_change_memory(&self, input: &Input) -> bool {
        if let Input::Agent { event, .. } = input {
            if let AgentEvent::Chat { chat, action } = event {
                let is_text = matches!(**action, ChatAction::Delta(_) | ChatAction::Reasoning(_));
                return !is_text || self.changesets.edit_surveys.is_waiting(chat);
            }
            if let AgentEvent::Terminal { terminal, action } = event {
                let is_output = matches!(**action, TerminalAction::Data(_));
                return !is_output || self.terminals.has_silent_command(terminal);
            }
        }
        if let Input::Terminal { terminal, event } = input {
            let is_output = matches!(event, TerminalEvent::Output(_));
            return !is_output || self.terminals.has_silent_command(terminal);
        }
        true
    }

    /// Returns the parts of the memory, with those customizations that have changed since the
    /// last call.
    pub fn memory_parts(&mut self) -> Vec<MemoryPart> {
        let mut parts = vec![
            encode_part("turns", &self.turns),
            encode_part("terminals", &self.terminals),
            encode_part("surveys", &self.changesets.edit_surveys),
            encode_part("tools", &self.tools),
            encode_part("agents", &self.sessions.agents),
            encode_part("tokens", &self.tokens),
        ];
        for session in self.customizations.take_changed() {
            let name = format!("{CUSTOMIZATIONS_PREFIX}{session}");
            parts.push(match self.customizations.get(&session) {
                Some(known) => encode_part(&name, known),
                None => MemoryPart {
                    name,
                    content: None,
                },
            });
        }
        parts
    }

    /// Replaces the memory with that of an earlier process of the host.
    pub(crate) fn restore_memory(&mut self, memory: HostMemory) {
        self.turns = memory.turns;
        self.turns.recovery = TurnRecovery::Loading;
        self.terminals = memory.terminals;
        self.changesets.edit_surveys = memory.surveys;
        self.tools = memory.tools;
        self.sessions.agents = memory.agents;
        self.tokens = memory.tokens;
        self.customizations.restore(memory.customizations);
    }
}

fn encode_part<T: Serialize>(name: &str, part: &T) -> MemoryPart {
    MemoryPart {
        name: name.to_owned(),
        // The keys of all maps are strings or numbers, so this can't fail.
        content: serde_json::to_string(part).ok(),
    }
}

/// Decodes a part. The error has no excerpt, which may be a prompt.
fn decode_part<T: DeserializeOwned>(name: &str, content: &str) -> Result<T, MemoryError> {
    serde_json::from_str(content).map_err(|error| MemoryError {
        part: name.to_owned(),
        line: error.line(),
        column: error.column(),
    })
}
