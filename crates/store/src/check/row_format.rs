//! Decodes every row.

use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::Turn;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Wire;

use super::{DatabaseCheck, RowKind};
use crate::error::StoreError;
use crate::rows;
use crate::rows::{AgentOptionsRow, ClientRow};
use crate::store::seq_from_sql;

/// The reason why a row can't be used, as text for the user.
struct RowDamage(String);

impl DatabaseCheck<'_> {
    /// Checks the structure of the database file.
    pub(super) fn check_pages(&mut self) -> Result<(), StoreError> {
        self.begin("pages");
        let mut query = self.connection.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let found: String = row.get(0)?;
            if found != "ok" {
                self.report(RowKind::Page, "database", found);
            }
        }
        Ok(())
    }

    /// Reads which session owns which channel.
    pub(super) fn read_owners(&mut self) -> Result<(), StoreError> {
        let mut query = self
            .connection
            .prepare("SELECT channel, session FROM channels")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let session: Option<String> = row.get(1)?;
            self.channels.insert(row.get(0)?, session.map(Uri::from));
        }
        Ok(())
    }

    /// Decodes all rows, and compares their names with their contents.
    pub(super) fn decode_rows(&mut self) -> Result<(), StoreError> {
        self.begin("sessions");
        self.decode_named(
            RowKind::Session,
            "SELECT session, summary FROM sessions",
            |name, row| {
                let summary: SessionSummary = row?;
                check_name(summary.resource.as_str(), name)
            },
        )?;
        self.report.sessions = self.sessions.len() as u64;
        self.decode_named(
            RowKind::Client,
            "SELECT client, record FROM clients",
            |_, row| row.map(|_: ClientRow| ()),
        )?;
        let options = "SELECT provider, options FROM agent_options";
        self.decode_named(RowKind::AgentOptions, options, |_, row| {
            row.map(|_: AgentOptionsRow| ())
        })?;
        self.begin("channels");
        self.decode_named(
            RowKind::Channel,
            "SELECT channel, state FROM channels",
            |_, row| row.map(|_: ChannelState| ()),
        )?;
        self.begin("turns");
        self.decode_turns()?;
        self.begin("actions");
        self.decode_actions()
    }

    fn decode_named<T: Wire>(
        &mut self,
        kind: RowKind,
        query: &str,
        check: impl Fn(&str, Result<T, RowDamage>) -> Result<(), RowDamage>,
    ) -> Result<(), StoreError> {
        let mut query = self.connection.prepare(query)?;
        let mut found = query.query([])?;
        while let Some(row) = found.next()? {
            self.report.rows += 1;
            let name: String = row.get(0)?;
            let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from);
            let decoded = text
                .map_err(|error| RowDamage(error.to_string()))
                .and_then(decode);
            if kind == RowKind::Session {
                self.sessions.insert(name.clone());
            }
            if let Err(RowDamage(problem)) = check(&name, decoded) {
                self.report(kind, &name, problem);
            }
            if kind == RowKind::Channel {
                let session = self.session_of(kind, &name);
                self.find_contents(session, kind, &name, row.get_ref(1)?.as_str().unwrap_or(""));
            }
        }
        Ok(())
    }

    fn decode_turns(&mut self) -> Result<(), StoreError> {
        let query = "SELECT channel, position, turn, content FROM turns ORDER BY channel, position";
        let mut query = self.connection.prepare(query)?;
        let mut found = query.query([])?;
        let mut expected = (String::new(), 0);
        while let Some(row) = found.next()? {
            self.report.rows += 1;
            let (channel, position): (String, i64) = (row.get(0)?, row.get(1)?);
            let id: String = row.get(2)?;
            let name = format!("turn {id} of {channel}");
            let session = self.session_of(RowKind::Channel, &channel);
            let text = row.get_ref(3)?.as_str().unwrap_or_default();
            let decoded = decode(text).and_then(|turn: Turn| check_name(turn.id.as_str(), &id));
            if expected.0 != channel {
                expected = (channel.clone(), 0);
            }
            let problem = if !self.channels.contains_key(&channel) {
                Some("its chat does not exist".to_owned())
            } else if position != expected.1 {
                Some(format!(
                    "{} turns before it are missing",
                    position - expected.1
                ))
            } else {
                decoded.err().map(|damage| damage.0)
            };
            expected.1 = position + 1;
            if let Some(problem) = problem {
                self.report_in(session.clone(), RowKind::Turn, &name, problem);
            }
            self.find_contents(session, RowKind::Turn, &name, text);
        }
        Ok(())
    }

    fn decode_actions(&mut self) -> Result<(), StoreError> {
        let last = self.read_number("seq")?;
        let query = "SELECT seq, channel, envelope FROM log ORDER BY seq";
        let mut query = self.connection.prepare(query)?;
        let mut found = query.query([])?;
        while let Some(row) = found.next()? {
            self.report.rows += 1;
            let (seq, channel): (i64, String) = (row.get(0)?, row.get(1)?);
            let name = format!("action {seq} of {channel}");
            let session = self.session_of(RowKind::Channel, &channel);
            let text = row.get_ref(2)?.as_str().unwrap_or_default();
            let decoded = decode(text).and_then(|envelope: ActionEnvelope| {
                if envelope.server_seq != seq_from_sql(seq) {
                    let found = envelope.server_seq.0;
                    return Err(RowDamage(format!("it has the number {found}")));
                }
                check_name(envelope.channel.as_str(), &channel)
            });
            let decoded = match last {
                Some(last) if seq > last => {
                    Err(RowDamage(format!("the last number in use is {last}")))
                }
                _ => decoded,
            };
            if let Err(RowDamage(problem)) = decoded {
                self.report_in(session.clone(), RowKind::Action, &name, problem);
            }
            self.find_contents(session, RowKind::Action, &name, text);
        }
        Ok(())
    }
}

fn decode<T: Wire>(text: &str) -> Result<T, RowDamage> {
    rows::decode_row(String::new, text).map_err(|error| match error {
        StoreError::Unreadable { problem, .. } => RowDamage(problem),
        other => RowDamage(other.to_string()),
    })
}

fn check_name(found: &str, name: &str) -> Result<(), RowDamage> {
    match found == name {
        true => Ok(()),
        false => Err(RowDamage(format!("it contains `{found}`"))),
    }
}
