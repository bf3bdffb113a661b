//! Reads channels: a snapshot, and the later actions of the log.

use agenthost_core::{LoadExtent, LoadedChannel};
use agenthost_protocol::action::{Action, ActionEnvelope};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::uri::Uri;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::StoreError;
use crate::rows;
use crate::turns;
use crate::turns::StoredTurns;

/// Returns the snapshot of a channel and the sequence number of the last action in it.
pub(crate) fn read_snapshot(
    connection: &Connection,
    channel: &Uri,
) -> Result<Option<(i64, ChannelState)>, StoreError> {
    let row = connection
        .prepare_cached("SELECT seq, state FROM channels WHERE channel = ?1")?
        .query_row([channel.as_str()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    let Some((seq, text)) = row else {
        return Ok(None);
    };
    let state = rows::decode_row(|| format!("the state of {channel}"), &text)?;
    Ok(Some((seq, state)))
}

/// Applies later actions to a snapshot. Also returns the turns that the tables contain.
pub(crate) fn rebuild_state(
    connection: &Connection,
    channel: &Uri,
    state: ChannelState,
    later: Vec<ActionEnvelope>,
    extent: LoadExtent,
) -> Result<(LoadedChannel, StoredTurns), StoreError> {
    let cut = |envelope: &ActionEnvelope| {
        matches!(&*envelope.action, Action::Chat(ChatAction::Truncated(_)))
    };
    // A chat can be truncated at any turn, so all turns are needed.
    let extent = if later.iter().any(cut) {
        LoadExtent::Whole
    } else {
        extent
    };
    let mut loaded = turns::read_turns(connection, channel, state, extent)?;
    let stored = StoredTurns::from_loaded(&loaded);
    for envelope in later {
        match loaded.state.reduce(&envelope.action) {
            Outcome::Applied | Outcome::NoOp => {}
            outcome @ (Outcome::WrongChannel | Outcome::Invalid(_)) => {
                return Err(StoreError::Unreadable {
                    what: format!("action {}", envelope.server_seq.0),
                    problem: format!("{outcome:?}"),
                });
            }
        }
    }
    Ok((loaded, stored))
}

/// Returns the actions of a channel after a sequence number.
pub(crate) fn actions_after(
    connection: &Connection,
    channel: &Uri,
    seq: i64,
) -> Result<Vec<ActionEnvelope>, StoreError> {
    let mut query = connection.prepare_cached(
        "SELECT seq, envelope FROM log WHERE channel = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut found = query.query(params![channel.as_str(), seq])?;
    let mut later = Vec::new();
    while let Some(row) = found.next()? {
        let seq: i64 = row.get(0)?;
        let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        later.push(rows::decode_row(|| format!("action {seq}"), text)?);
    }
    Ok(later)
}
