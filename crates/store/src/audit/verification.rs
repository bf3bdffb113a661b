//! Verifies that the entries of the audit log are those that were appended.

use std::path::Path;

use super::{AuditEnd, AuditRow, SELECT_ROWS, read_end};
use crate::copy::open_read_only;
use crate::error::StoreError;
use crate::schema;

/// Maximum number of problems in a report.
const MAX_PROBLEMS: usize = 100;

/// The result of [`verify_audit`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// The number of entries that were read.
    pub entries: u64,
    /// The number of the first entry that should exist. Earlier ones were removed because of
    /// their age.
    pub first: i64,
    /// The number of the last entry that was appended.
    pub last: i64,
    /// The hash of that entry. Someone who can write to the database can compute all hashes
    /// again, but not to this value, so it can be noted elsewhere.
    pub hash: String,
    /// The problems, at most 100, in the order of the entries.
    pub problems: Vec<AuditProblem>,
}

/// A difference between the table and the entries that were appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditProblem {
    #[error("entry {number} was altered")]
    Altered { number: i64 },
    #[error("entry {number} was inserted")]
    Inserted { number: i64 },
    #[error("{}", describe_removal(*.first, *.last))]
    Removed { first: i64, last: i64 },
}

fn describe_removal(first: i64, last: i64) -> String {
    match first == last {
        true => format!("entry {first} was removed"),
        false => format!("entries {first} to {last} were removed"),
    }
}

/// The entries that were read so far.
struct ChainCheck {
    report: AuditReport,
    /// The entry before the current one.
    before: AuditEnd,
    /// The hash of the entry before that.
    hash_before: String,
    last: AuditEnd,
}

/// Verifies the audit log of a data directory. A host may run meanwhile.
///
/// # Errors
///
/// If the database can't be read, or has another version than this program.
pub fn verify_audit(directory: &Path) -> Result<AuditReport, StoreError> {
    let connection = open_read_only(directory)?;
    // One transaction reads one state, although a running host appends.
    let transaction = connection.unchecked_transaction()?;
    schema::check_version(&transaction)?;
    let removed = read_end(&transaction, "removed")?;
    let last = read_end(&transaction, "last")?;
    let mut check = ChainCheck {
        report: AuditReport {
            first: removed.number + 1,
            last: last.number,
            hash: last.hash.clone(),
            ..AuditReport::default()
        },
        before: removed,
        hash_before: String::new(),
        last,
    };
    let mut query = transaction.prepare(&format!("{SELECT_ROWS} ORDER BY number"))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        check.check_row(AuditRow::read(row)?);
    }
    check.check_end();
    Ok(check.report)
}

impl ChainCheck {
    fn check_row(&mut self, row: AuditRow) {
        self.report.entries += 1;
        let number = row.number;
        if number < self.report.first || number > self.last.number {
            self.report(AuditProblem::Inserted { number });
            return;
        }
        let expected = self.before.number + 1;
        if number > expected {
            let last = number - 1;
            self.report(AuditProblem::Removed {
                first: expected,
                last,
            });
        }
        if row.hash != row.compute_hash() {
            self.report(AuditProblem::Altered { number });
        } else if number == expected && row.previous != self.before.hash {
            // This entry is intact, so the one before it is not the one that it was linked to.
            self.report_before(&row.previous);
        }
        let before = AuditEnd {
            number,
            hash: row.hash,
        };
        let before = std::mem::replace(&mut self.before, before);
        self.hash_before = before.hash;
    }

    /// Reports the entry before an entry that is linked to another one.
    fn report_before(&mut self, linked: &str) {
        let number = self.before.number;
        let problem = if linked == self.hash_before {
            AuditProblem::Inserted { number }
        } else {
            AuditProblem::Altered { number }
        };
        if self.report.problems.last() != Some(&problem) {
            self.report(problem);
        }
    }

    fn check_end(&mut self) {
        let last = self.last.number;
        let found = self.before.number;
        if found < last {
            let first = found + 1;
            self.report(AuditProblem::Removed { first, last });
        } else if self.before.hash != self.last.hash {
            let problem = AuditProblem::Altered { number: last };
            if self.report.problems.last() != Some(&problem) {
                self.report(problem);
            }
        }
    }

    fn report(&mut self, problem: AuditProblem) {
        if self.report.problems.len() < MAX_PROBLEMS {
            self.report.problems.push(problem);
        }
    }
}
