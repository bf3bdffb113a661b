//! Compares rows with each other: counters, epochs, and channels with their actions.

use agenthost_core::LoadExtent;
use agenthost_protocol::uri::Uri;
use rusqlite::OptionalExtension;

use super::{DatabaseCheck, RowKind};
use crate::channels;
use crate::error::StoreError;

impl DatabaseCheck<'_> {
    /// Returns a counter of the host, if it exists.
    pub(super) fn read_number(&self, name: &str) -> Result<Option<i64>, StoreError> {
        let query = "SELECT value FROM numbers WHERE name = ?1";
        let mut query = self.connection.prepare_cached(query)?;
        Ok(query.query_row([name], |row| row.get(0)).optional()?)
    }

    /// Checks the counters and the writer epochs.
    pub(super) fn check_numbers(&mut self) -> Result<(), StoreError> {
        for name in ["seq", "log_start", "log_bytes"] {
            if self.read_number(name)?.is_none() {
                self.report(RowKind::Number, name, "it is missing");
            }
        }
        let query = "SELECT coalesce(sum(length(CAST(envelope AS BLOB))), 0) FROM log";
        let bytes: i64 = self.connection.query_row(query, [], |row| row.get(0))?;
        if let Some(counted) = self
            .read_number("log_bytes")?
            .filter(|counted| *counted != bytes)
        {
            let problem = format!("it is {counted}, and the log has {bytes} bytes");
            self.report(RowKind::Number, "log_bytes", problem);
        }
        let query = "SELECT first, last FROM epochs ORDER BY first";
        let mut query = self.connection.prepare(query)?;
        let epochs = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let epochs: Vec<(i64, Option<i64>)> = epochs.collect::<Result<_, _>>()?;
        let open = epochs.iter().filter(|(_, last)| last.is_none()).count();
        if open != 1 {
            self.report(
                RowKind::Number,
                "epochs",
                format!("{open} of them are current"),
            );
        }
        for (before, after) in epochs.iter().zip(epochs.iter().skip(1)) {
            if before.1.is_none_or(|last| last >= after.0) {
                let problem = format!("the epochs {} and {} overlap", before.0, after.0);
                self.report(RowKind::Number, "epochs", problem);
            }
        }
        Ok(())
    }

    /// Loads each channel completely, as the host would.
    pub(super) fn rebuild_channels(&mut self) -> Result<(), StoreError> {
        self.begin("states");
        let last = self.read_number("seq")?.unwrap_or(i64::MAX);
        for (name, session) in self.channels.clone() {
            if let Some(session) = session.filter(|one| !self.sessions.contains(one.as_str())) {
                let problem = format!("its session {session} does not exist");
                self.report(RowKind::Channel, &name, problem);
            }
            let channel = Uri::from(name.as_str());
            let loaded = channels::read_snapshot(self.connection, &channel);
            let rebuilt = loaded.and_then(|snapshot| {
                let Some((seq, state)) = snapshot else {
                    return Ok(None);
                };
                let later = channels::actions_after(self.connection, &channel, seq)?;
                let whole = LoadExtent::Whole;
                channels::rebuild_state(self.connection, &channel, state, later, whole)?;
                Ok(Some(seq))
            });
            match rebuilt {
                Ok(Some(seq)) if seq > last => {
                    let problem = format!("it has action {seq}, and the last is {last}");
                    self.report(RowKind::Channel, &name, problem);
                }
                Ok(_) => {}
                Err(StoreError::Unreadable { what, problem }) => {
                    self.report(RowKind::Channel, &name, format!("{what}: {problem}"));
                }
                Err(error) => return Err(error),
            }
        }
        for session in self.sessions.clone() {
            if !self.channels.contains_key(&session) {
                self.report(RowKind::Session, &session, "it has no state");
            }
        }
        Ok(())
    }
}
