//! Turns of chats, each in a row of its own.
//!
//! A chat grows at its end, so keeping one writes the turns that are new, and
//! loading one may read its tail alone.

use std::sync::Arc;

use agenthost_core::{Extent, Loaded};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::Turn;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use rusqlite::{Connection, Transaction, params};

use crate::error::StoreError;
use crate::rows;

/// Turns that are read when the tail of a chat will do.
pub(crate) const TAIL: usize = 32;

/// Turns as they stand in the rows of a chat, from a position on. Shared with
/// the states that were read or kept, so what is the same can be told by its
/// place in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    first: usize,
    turns: List<Turn>,
}

impl Kept {
    pub(crate) fn of(loaded: &Loaded) -> Self {
        Kept {
            first: loaded.earlier.len(),
            turns: turns_of(&loaded.state).cloned().unwrap_or_default(),
        }
    }

    fn has(&self, position: usize, turn: &Arc<Turn>) -> bool {
        let index = position.checked_sub(self.first);
        let kept = index.and_then(|index| self.turns.get(index));
        kept.is_some_and(|kept| Arc::ptr_eq(kept, turn))
    }
}

/// A state as its row has it: of a chat, without the turns.
pub(crate) fn row_of(state: &ChannelState) -> Result<String, StoreError> {
    let text = match state {
        ChannelState::Chat(chat) => {
            let mut chat = (**chat).clone();
            chat.turns = List::new();
            serde_json::to_string(&chat)
        }
        other => serde_json::to_string(other),
    };
    Ok(text?)
}

/// Makes the rows of a chat what its turns are, from the first that is in
/// memory. Does nothing for other channels.
pub(crate) fn write(
    transaction: &Transaction<'_>,
    channel: &Uri,
    loaded: &Loaded,
    kept: &Kept,
) -> Result<(), StoreError> {
    let Some(turns) = turns_of(&loaded.state) else {
        return Ok(());
    };
    let first = loaded.earlier.len();
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO turns (channel, position, turn, content) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (index, turn) in turns.iter().enumerate() {
        let position = first + index;
        if !kept.has(position, turn) {
            let content = serde_json::to_string(&**turn)?;
            let row = params![
                channel.as_str(),
                number(position),
                turn.id.as_str(),
                content
            ];
            insert.execute(row)?;
        }
    }
    let end = number(first + turns.len());
    transaction
        .prepare_cached("DELETE FROM turns WHERE channel = ?1 AND position >= ?2")?
        .execute(params![channel.as_str(), end])?;
    Ok(())
}

/// Puts turns back into a state that was read without them.
pub(crate) fn read(
    connection: &Connection,
    channel: &Uri,
    state: ChannelState,
    extent: Extent,
) -> Result<Loaded, StoreError> {
    let ChannelState::Chat(mut chat) = state else {
        return Ok(Loaded::whole(state));
    };
    let total: i64 = connection
        .prepare_cached("SELECT count(*) FROM turns INDEXED BY turn_names WHERE channel = ?1")?
        .query_row([channel.as_str()], |row| row.get(0))?;
    let first = match extent {
        Extent::Whole => 0,
        Extent::Tail => total.saturating_sub(number(TAIL)).max(0),
    };
    let mut query = connection.prepare_cached(
        "SELECT turn FROM turns INDEXED BY turn_names
         WHERE channel = ?1 AND position < ?2 ORDER BY position",
    )?;
    let earlier = query.query_map(params![channel.as_str(), first], |row| {
        Ok(TurnId::from(row.get::<_, String>(0)?))
    })?;
    let earlier = earlier.collect::<Result<_, _>>()?;
    let mut query = connection.prepare_cached(
        "SELECT turn, content FROM turns WHERE channel = ?1 AND position >= ?2 ORDER BY position",
    )?;
    let mut found = query.query(params![channel.as_str(), first])?;
    let turns = &mut Arc::make_mut(&mut chat).turns;
    while let Some(row) = found.next()? {
        let name: String = row.get(0)?;
        let content = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let turn: Turn = rows::read(|| format!("turn {name} of {channel}"), content)?;
        turns.push(turn);
    }
    Ok(Loaded {
        state: ChannelState::Chat(chat),
        earlier,
    })
}

fn turns_of(state: &ChannelState) -> Option<&List<Turn>> {
    match state {
        ChannelState::Chat(chat) => Some(&chat.turns),
        _ => None,
    }
}

fn number(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}
