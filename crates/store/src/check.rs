//! Checks every row of a database without changing it.

mod consistency;
mod contents;
mod row_format;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agenthost_protocol::uri::Uri;
use rusqlite::Connection;

use crate::copy;
use crate::error::StoreError;

/// Maximum number of problems in a report. A damaged page can affect thousands of rows.
const MAX_PROBLEMS: usize = 1_000;

/// The result of [`check_database`].
#[derive(Debug, Default)]
pub struct DatabaseReport {
    /// The number of rows that were decoded.
    pub rows: u64,
    /// The number of stored sessions.
    pub sessions: u64,
    /// The content that rows refer to, with a row that does.
    pub contents: BTreeMap<Uri, RowProblem>,
    /// The damage that was found, at most 1,000 entries.
    pub problems: Vec<RowProblem>,
    /// The number of problems that are not in the list.
    pub further_problems: u64,
}

/// Damage of one row, or of something that a row refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowProblem {
    pub kind: RowKind,
    /// The name of the row.
    pub name: String,
    /// The session that is affected, if it is known.
    pub session: Option<Uri>,
    /// The reason, as text for the user.
    pub problem: String,
}

/// The kind of a row, which determines the effect of its damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKind {
    /// A page of the database.
    Page,
    /// A counter of the host, or a writer epoch.
    Number,
    /// The summary of a session.
    Session,
    /// The state of a channel.
    Channel,
    /// A turn of a chat.
    Turn,
    /// An action of the log.
    Action,
    /// The record of a client.
    Client,
    /// The options of an agent.
    AgentOptions,
    /// Content that is too large for a state.
    Content,
}

/// The state of a running check.
struct DatabaseCheck<'a> {
    connection: &'a Connection,
    /// The channels with the sessions that own them.
    channels: BTreeMap<String, Option<Uri>>,
    sessions: BTreeSet<String>,
    report: DatabaseReport,
    progress: &'a mut dyn FnMut(&str),
}

/// Checks the database of a data directory: its pages, every row, and their consistency. A host
/// may run meanwhile. `progress` receives the next subject.
///
/// The caller checks [`DatabaseReport::contents`], which are files.
///
/// # Errors
///
/// If the database can't be opened or read at all, or has rows of an older release.
pub fn check_database(
    directory: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<DatabaseReport, StoreError> {
    let connection = copy::open_read_only(directory)?;
    // One transaction reads one state, although a running host appends.
    let transaction = connection.unchecked_transaction()?;
    crate::schema::check_version(&transaction)?;
    crate::migration::check_release(&transaction)?;
    let mut check = DatabaseCheck {
        connection: &transaction,
        channels: BTreeMap::new(),
        sessions: BTreeSet::new(),
        report: DatabaseReport::default(),
        progress,
    };
    check.check_pages()?;
    check.read_owners()?;
    check.decode_rows()?;
    check.check_numbers()?;
    check.rebuild_channels()?;
    Ok(check.report)
}

impl DatabaseCheck<'_> {
    fn begin(&mut self, what: &str) {
        (self.progress)(what);
    }

    fn report(&mut self, kind: RowKind, name: &str, problem: impl Into<String>) {
        let session = self.session_of(kind, name);
        self.report_in(session, kind, name, problem);
    }

    fn report_in(
        &mut self,
        session: Option<Uri>,
        kind: RowKind,
        name: &str,
        problem: impl Into<String>,
    ) {
        if self.report.problems.len() >= MAX_PROBLEMS {
            self.report.further_problems += 1;
            return;
        }
        self.report.problems.push(RowProblem {
            kind,
            name: name.to_owned(),
            session,
            problem: problem.into(),
        });
    }

    /// Returns the session that the damage of a row affects.
    fn session_of(&self, kind: RowKind, name: &str) -> Option<Uri> {
        match kind {
            RowKind::Session => Some(Uri::from(name)),
            RowKind::Channel => self.channels.get(name)?.clone(),
            RowKind::Page
            | RowKind::Number
            | RowKind::Turn
            | RowKind::Action
            | RowKind::Client
            | RowKind::AgentOptions
            | RowKind::Content => None,
        }
    }
}
