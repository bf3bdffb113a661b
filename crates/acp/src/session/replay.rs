//! What an agent tells again when it takes up a session.
//!
//! The log of the host is the truth: of a session that the host knows, the
//! user's words are compared with the log, and the rest is dropped. Of one that
//! it does not know, all of it becomes turns.

use agenthost_protocol::chat::Turn;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::text::truncate_chars;
use serde_json::Value;

use super::prompt::tags;
use crate::mapper::ChatMapper;
use crate::mapper::events::MappedEvent;

/// Most turns that are taken over.
const MAX_IMPORTED_TURNS: usize = 2000;

/// Most that is told in all of them.
const MAX_IMPORTED_EVENTS: usize = 50_000;

/// How many of the last messages of the user have to be told again: any of them.
const COMPARED_MESSAGES: usize = 3;

/// How long a message has to be to be found within another, in bytes: agents
/// put something around messages, or cut them.
const MIN_MATCH_BYTES: usize = 12;

/// How much of a message is compared, in characters.
const MAX_COMPARED_CHARS: usize = 200;

/// Collects what is told again.
#[derive(Debug)]
pub(crate) struct SessionReplay {
    /// What the agent calls its session.
    pub(crate) id: String,
    pub(crate) purpose: ReplayPurpose,
    chat: Uri,
    mapper: ChatMapper,
    /// How many turns have begun.
    turn_count: usize,
    turns: Vec<ReplayedTurn>,
    /// How much is told in them.
    event_count: usize,
    /// What is about the whole session, and holds from now on.
    session_events: Vec<MappedEvent>,
}

/// What it is collected for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayPurpose {
    /// To go on with what the host knows.
    Resume,
    /// To get to know it.
    Import,
}

/// A turn, as the agent remembers it.
#[derive(Debug)]
pub(crate) struct ReplayedTurn {
    /// A name for it.
    pub(crate) id: TurnId,
    /// What the user said.
    pub(crate) user_text: String,
    /// What came of it.
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
    /// Nothing was told yet.
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

    /// Takes in an update.
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
            // That something was said is enough to tell turns apart.
            last.events = turn_events.into_iter().take(1).collect();
        }
    }

    /// Words of the user. Some agents tell one message in several chunks.
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

    /// Whether this can be the chat that the host knows. An agent that tells
    /// nothing again is believed.
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
        // The last may not have got to where the agent keeps things.
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

    /// The turns, and what is about the whole session.
    pub(crate) fn finish(mut self) -> (Vec<ReplayedTurn>, Vec<MappedEvent>) {
        for turn in &mut self.turns {
            turn.user_text = tags::strip_host_tags(&turn.user_text);
        }
        (self.turns, self.session_events)
    }
}
