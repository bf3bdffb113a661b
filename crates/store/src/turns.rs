//! Turns of chats, each in a row of its own.
//!
//! A chat grows at its end, so storing it writes only the new turns, and loading it can
//! read only its tail.

use std::sync::Arc;

use agenthost_core::{LoadExtent, LoadedChannel};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::Turn;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;
use rusqlite::{Connection, Transaction, params};

use crate::error::StoreError;
use crate::rows;

/// Number of turns that [`LoadExtent::Tail`] reads: the chat is usable without loading its
/// whole history.
pub(crate) const TAIL_TURNS: usize = 32;

/// The turns in the rows of a chat, from a position on. They share memory with the states
/// that were loaded or stored, so comparing pointers finds the turns that have not changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredTurns {
    first: usize,
    turns: List<Turn>,
}

impl StoredTurns {
    pub(crate) fn from_loaded(loaded: &LoadedChannel) -> Self {
        StoredTurns {
            first: loaded.evicted_turns.len(),
            turns: turns_of(&loaded.state).cloned().unwrap_or_default(),
        }
    }

    fn contains(&self, position: usize, turn: &Arc<Turn>) -> bool {
        let index = position.checked_sub(self.first);
        let kept = index.and_then(|index| self.turns.get(index));
        kept.is_some_and(|kept| Arc::ptr_eq(kept, turn))
    }
}

/// Encodes a state for its row. Turns of a chat are left out, because they have their own
/// rows.
pub(crate) fn encode_state(state: &ChannelState) -> Result<String, StoreError> {
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

/// Makes the rows of a chat equal to its turns, from the first turn in memory. Does nothing
/// for other channels.
pub(crate) fn write_turns(
    transaction: &Transaction<'_>,
    channel: &Uri,
    loaded: &LoadedChannel,
    stored: &StoredTurns,
) -> Result<(), StoreError> {
    let Some(turns) = turns_of(&loaded.state) else {
        return Ok(());
    };
    let first = loaded.evicted_turns.len();
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO turns (channel, position, turn, content) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (index, turn) in turns.iter().enumerate() {
        let position = first + index;
        if !stored.contains(position, turn) {
            let content = serde_json::to_string(&**turn)?;
            let row = params![
                channel.as_str(),
                position_to_sql(position),
                turn.id.as_str(),
                content
            ];
            insert.execute(row)?;
        }
    }
    let end = position_to_sql(first + turns.len());
    transaction
        .prepare_cached("DELETE FROM turns WHERE channel = ?1 AND position >= ?2")?
        .execute(params![channel.as_str(), end])?;
    Ok(())
}

/// Adds the turns to a state that was read without them.
pub(crate) fn read_turns(
    connection: &Connection,
    channel: &Uri,
    state: ChannelState,
    extent: LoadExtent,
) -> Result<LoadedChannel, StoreError> {
    let ChannelState::Chat(mut chat) = state else {
        return Ok(LoadedChannel::whole(state));
    };
    let total: i64 = connection
        .prepare_cached("SELECT count(*) FROM turns INDEXED BY turn_names WHERE channel = ?1")?
        .query_row([channel.as_str()], |row| row.get(0))?;
    let first = match extent {
        LoadExtent::Whole => 0,
        LoadExtent::Tail => total.saturating_sub(position_to_sql(TAIL_TURNS)).max(0),
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
        let turn: Turn = rows::decode_row(|| format!("turn {name} of {channel}"), content)?;
        turns.push(turn);
    }
    Ok(LoadedChannel {
        state: ChannelState::Chat(chat),
        evicted_turns: earlier,
    })
}

fn turns_of(state: &ChannelState) -> Option<&List<Turn>> {
    match state {
        ChannelState::Chat(chat) => Some(&chat.turns),
        _ => None,
    }
}

fn position_to_sql(position: usize) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}
