//! The replay of a conversation that an agent sends when it resumes a session.
//!
//! The log of the host is authoritative. For a session that the host knows, the replayed user
//! messages are compared with the log, and the rest is dropped. For an imported session, the
//! replay becomes its turns.

use agenthost_protocol::chat::Turn;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::text::truncate_chars;
use serde_json::Value;

use super::prompt::tags;
use crate::mapper::ChatMapper;
use crate::mapper::events::MappedEvent;

/// The maximum number of imported turns. The oldest turns are dropped first.
const MAX_IMPORTED_TURNS: usize = 2000;

/// The maximum number of events in all imported turns. The oldest turns are dropped first.
const MAX_IMPORTED_EVENTS: usize = 50_000;

/// The number of stored user messages, from the last one, that are compared with the replay.
/// One match is enough.
const COMPARED_MESSAGES: usize = 3;

/// The minimum length of a message, in bytes, for a match as a substring of another. Agents add
/// text around messages or truncate them.
const MIN_MATCH_BYTES: usize = 12;

/// The number of characters of a message that are compared.
const MAX_COMPARED_CHARS: usize = 200;

/// Collects the updates that an agent replays.
#[derive(Debug)]
pub(crate) struct SessionReplay {
    /// The id that the agent gave the session.
    pub(crate) id: String,
    pub(crate) purpose: ReplayPurpose,
    chat: Uri,
    mapper: ChatMapper,
    /// The number of turns that have begun.
    turn_count: usize,
    turns: Vec<ReplayedTurn>,
    /// The number of events in `turns`.
    event_count: usize,
    /// Events about the whole session, which apply after the replay.
    session_events: Vec<MappedEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayPurpose {
    /// To continue a session that the host knows.
    Resume,
    /// To import a session that the host does not know.
    Import,
}

#[derive(Debug)]
pub(crate) struct ReplayedTurn {
    /// The id that the host gives the turn.
    pub(crate) id: TurnId,
    /// The text of the user's message.
    pub(crate) user_text: String,
    /// The events of the agent's response.
    pub(crate) events: Vec<MappedEvent>,
}

impl ReplayedTurn {
    fn new(id: TurnId) -> Self {
        ReplayedTurn {
            id,
            user_text: String::new(),
            events: Vec::new(),
        }
    }
}

impl SessionReplay {
    /// Creates an empty replay.
    pub(crate) fn new(id: String, purpose: ReplayPurpose, chat: Uri, mapper: ChatMapper) -> Self {
        SessionReplay {
            id,
            purpose,
            chat,
            mapper,
            turn_count: 0,
            turns: Vec::new(),
            event_count: 0,
            session_events: Vec::new(),
        }
    }

    /// Adds an update of the agent.
    pub(crate) fn push_update(&mut self, update: &Value) {
        let kind = update.get("sessionUpdate").and_then(Value::as_str);
        if kind == Some("user_message_chunk") {
            self.push_user_text(update);
            return;
        }
        let events = self.mapper.map_update(update);
        let (turn_events, session_events) = events.into_iter().partition(|event| match event {
            MappedEvent::StoreContent(_) | MappedEvent::Turn(_) | MappedEvent::Terminal(..) => true,
            MappedEvent::TitleChanged(_)
            | MappedEvent::SlashCommandsChanged(_)
            | MappedEvent::OptionsChanged(_)
            | MappedEvent::ModeChanged(_) => false,
        });
        self.session_events.extend::<Vec<_>>(session_events);
        if let (ReplayPurpose::Import, Some(last)) = (self.purpose, self.turns.last_mut()) {
            self.event_count += turn_events.len();
            last.events.extend::<Vec<_>>(turn_events);
            while self.event_count > MAX_IMPORTED_EVENTS && self.turns.len() > 1 {
                self.event_count -= self.turns.remove(0).events.len();
            }
        } else if !turn_events.is_empty()
            && let Some(last) = self.turns.last_mut()
        {
            // One event is enough to recognize the boundary between two turns.
            last.events = turn_events.into_iter().take(1).collect();
        }
    }

    /// Adds text of the user. Some agents send one message in several chunks.
    fn push_user_text(&mut self, update: &Value) {
        let is_continuation = self.turns.last().is_some_and(|last| last.events.is_empty());
        if !is_continuation {
            if self.turns.len() >= MAX_IMPORTED_TURNS {
                self.turns.remove(0);
            }
            self.turn_count += 1;
            let id = TurnId::from(format!("adopted-{}", self.turn_count));
            self.mapper.end_turn();
            self.mapper.begin_turn(&self.chat, &id);
            self.turns.push(ReplayedTurn::new(id));
        }
        let text = update.pointer("/content/text").and_then(Value::as_str);
        if let (Some(text), Some(last)) = (text, self.turns.last_mut()) {
            last.user_text.push_str(text);
        }
    }

    /// Returns `true` if the replay can belong to the stored chat. An empty replay always
    /// matches.
    pub(crate) fn matches_history(&self, stored: &List<Turn>) -> bool {
        let beginning_of = |text: &str| truncate_chars(text.trim(), MAX_COMPARED_CHARS);
        let replayed = self.turns.iter();
        let replayed: Vec<_> = replayed
            .map(|turn| beginning_of(&tags::strip_host_tags(&turn.user_text)))
            .collect();
        let replayed = replayed.iter().filter(|replayed| !replayed.is_empty());
        if replayed.clone().next().is_none() || stored.items().next().is_none() {
            return true;
        }
        let stored = stored.items().rev();
        let stored = stored.map(|turn| beginning_of(&turn.message.text));
        let stored = stored.filter(|stored| !stored.is_empty());
        // Several messages are compared, because the agent may not have stored the last one.
        let stored: Vec<_> = stored.take(COMPARED_MESSAGES).collect();
        let replayed_count = replayed.clone().count();
        let mut replayed = replayed.skip(replayed_count.saturating_sub(10 * COMPARED_MESSAGES));
        replayed.any(|replayed| {
            let is_same = |stored: &String| {
                let is_contained =
                    replayed.contains(stored.as_str()) || stored.contains(replayed.as_str());
                replayed == stored
                    || is_contained && replayed.len().min(stored.len()) >= MIN_MATCH_BYTES
            };
            stored.iter().any(is_same)
        })
    }

    /// Returns the turns and the events about the whole session.
    pub(crate) fn finish(mut self) -> (Vec<ReplayedTurn>, Vec<MappedEvent>) {
        for turn in &mut self.turns {
            turn.user_text = tags::strip_host_tags(&turn.user_text);
        }
        (self.turns, self.session_events)
    }
}
