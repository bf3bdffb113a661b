//! What an agent tells again when it takes up a session.
//!
//! The log of the host is the truth: of a session that the host knows, the
//! user's words are compared with the log, and the rest is dropped. Of one that
//! it does not know, all of it becomes turns.

use agenthost_protocol::chat::Turn;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use serde_json::Value;

use super::mapper::ChatMapper;
use super::marks;
use super::told::Told;

/// Most turns that are taken over.
const TURNS: usize = 2000;

/// Most that is told in all of them.
const TOLD: usize = 50_000;

/// How many of the last messages of the user have to be told again: any of them.
const LATEST: usize = 3;

/// How long a message has to be to be found within another, in bytes: agents
/// put something around messages, or cut them.
const TELLING: usize = 12;

/// How much of a message is compared, in characters.
const COMPARED: usize = 200;

/// Collects what is told again.
#[derive(Debug)]
pub(crate) struct Replay {
    /// What the agent calls its session.
    pub(crate) id: String,
    pub(crate) purpose: Purpose,
    chat: Uri,
    mapper: ChatMapper,
    /// How many turns have begun.
    begun: usize,
    turns: Vec<Replayed>,
    /// How much is told in them.
    told: usize,
    /// What is about the whole session, and holds from now on.
    about: Vec<Told>,
}

/// What it is collected for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To go on with what the host knows.
    GoOn,
    /// To get to know it.
    Adopt,
}

/// A turn, as the agent remembers it.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// A name for it.
    pub(crate) id: TurnId,
    /// What the user said.
    pub(crate) said: String,
    /// What came of it.
    pub(crate) told: Vec<Told>,
}

impl Replayed {
    fn new(id: TurnId) -> Self {
        Replayed {
            id,
            said: String::new(),
            told: Vec::new(),
        }
    }
}

impl Replay {
    /// Nothing was told yet.
    pub(crate) fn new(id: String, purpose: Purpose, chat: Uri, mapper: ChatMapper) -> Self {
        Replay {
            id,
            purpose,
            chat,
            mapper,
            begun: 0,
            turns: Vec::new(),
            told: 0,
            about: Vec::new(),
        }
    }

    /// Takes in an update.
    pub(crate) fn update(&mut self, update: &Value) {
        let kind = update.get("sessionUpdate").and_then(Value::as_str);
        if kind == Some("user_message_chunk") {
            self.hear(update);
            return;
        }
        let told = self.mapper.update(update);
        let (turn, about) = told.into_iter().partition(|told| match told {
            Told::Keep(_) | Told::Turn(_) | Told::Terminal(..) => true,
            Told::Title(_) | Told::Commands(_) | Told::Options(_) | Told::Mode(_) => false,
        });
        self.about.extend::<Vec<_>>(about);
        if let (Purpose::Adopt, Some(last)) = (self.purpose, self.turns.last_mut()) {
            self.told += turn.len();
            last.told.extend::<Vec<_>>(turn);
            while self.told > TOLD && self.turns.len() > 1 {
                self.told -= self.turns.remove(0).told.len();
            }
        } else if let (true, Some(last)) = (!turn.is_empty(), self.turns.last_mut()) {
            // That something was said is enough to tell turns apart.
            last.told = turn.into_iter().take(1).collect();
        }
    }

    /// Words of the user. Some agents tell one message in several chunks.
    fn hear(&mut self, update: &Value) {
        let goes_on = self.turns.last().is_some_and(|last| last.told.is_empty());
        if !goes_on {
            if self.turns.len() >= TURNS {
                self.turns.remove(0);
            }
            self.begun += 1;
            let id = TurnId::from(format!("adopted-{}", self.begun));
            self.mapper.end();
            self.mapper.begin(&self.chat, &id);
            self.turns.push(Replayed::new(id));
        }
        let text = update.pointer("/content/text").and_then(Value::as_str);
        if let (Some(text), Some(last)) = (text, self.turns.last_mut()) {
            last.said.push_str(text);
        }
    }

    /// Whether this can be the chat that the host knows. An agent that tells
    /// nothing again is believed.
    pub(crate) fn fits(&self, known: &List<Turn>) -> bool {
        let begins = |text: &str| text.trim().chars().take(COMPARED).collect::<String>();
        let said = self.turns.iter();
        let said: Vec<_> = said
            .map(|turn| begins(&marks::own_words(&turn.said)))
            .collect();
        let said = said.iter().filter(|said| !said.is_empty());
        if said.clone().next().is_none() || known.items().next().is_none() {
            return true;
        }
        let known = known.items().rev();
        let known = known.map(|turn| begins(&turn.message.text));
        let known = known.filter(|known| !known.is_empty());
        // The last may not have got to where the agent keeps things.
        let known: Vec<_> = known.take(LATEST).collect();
        let told = said.clone().count();
        let mut said = said.skip(told.saturating_sub(10 * LATEST));
        said.any(|said| {
            let same = |known: &String| {
                let within = said.contains(known.as_str()) || known.contains(said.as_str());
                said == known || within && said.len().min(known.len()) >= TELLING
            };
            known.iter().any(same)
        })
    }

    /// The turns, and what is about the whole session.
    pub(crate) fn finish(mut self) -> (Vec<Replayed>, Vec<Told>) {
        for turn in &mut self.turns {
            turn.said = marks::own_words(&turn.said);
        }
        (self.turns, self.about)
    }
}
