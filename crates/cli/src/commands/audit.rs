//! `agenthost audit`: shows and verifies the audit log.

use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use agenthost_store::{AuditFilter, AuditRecord, DATABASE_FILE, read_audit, verify_audit};
use anyhow::bail;
use serde_json::json;

use crate::commands::sessions::SessionAge;
use crate::connect::{HostOptions, check_owner};
use crate::output;
use crate::session_lookup::{is_named, short_id};

/// Width of the column with the event.
const KIND_COLUMNS: usize = 22;

/// Show who connected, approved, allowed, changed and removed what
///
/// Prints time, event, actor and details of each entry, the oldest first. An entry contains no
/// messages and no arguments of tools, but their SHA-256. A host may run meanwhile.
#[derive(clap::Args)]
#[command(after_help = AUDIT_EXAMPLES)]
pub(crate) struct AuditArgs {
    /// Only entries about this session, which may have been removed
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only entries since this time: 2026-01-31, 2026-01-31T12:00:00Z, or an age such as 7d
    #[arg(long, value_name = "TIME")]
    since: Option<AuditTime>,
    /// Check that no entry was altered, removed or inserted; the exit code is 1 if one was
    #[arg(long, conflicts_with_all = ["session", "since"])]
    verify: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostOptions,
}

const AUDIT_EXAMPLES: &str = "\
Examples:
  agenthost audit --since 24h
  agenthost audit --verify";

/// A moment, given as a time or as an age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AuditTime(Millis);

/// The error of a text that is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a date, a time in UTC or an age, such as 2026-01-31, 2026-01-31T12:00:00Z or 7d")]
struct InvalidTime;

impl FromStr for AuditTime {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        if let Ok(age) = text.parse::<SessionAge>() {
            return Ok(AuditTime(age.moment()));
        }
        let time = match text.contains('T') {
            true => Timestamp::from(text),
            false => Timestamp::from(format!("{text}T00:00:00Z")),
        };
        time.to_millis().map(AuditTime).map_err(|_| InvalidTime)
    }
}

pub(crate) fn run(arguments: &AuditArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    check_owner(directory)?;
    if !directory.join(DATABASE_FILE).exists() {
        bail!("there is no host data in `{}`", directory.display());
    }
    if arguments.verify {
        return verify(directory, arguments.json);
    }
    let filter = AuditFilter {
        session: None,
        since: arguments.since.map(|since| since.0),
    };
    let mut records = Vec::new();
    read_audit(directory, &filter, |record| {
        let session = record.session.as_ref();
        let is_wanted = |named: &String| session.is_some_and(|session| is_named(session, named));
        if arguments.session.as_ref().is_none_or(is_wanted) {
            records.push(record);
        }
    })?;
    for record in &records {
        let line = match arguments.json {
            true => record_json(record).to_string(),
            false => output::escape_invisible(&record_line(record)),
        };
        output::print_data(&line)?;
    }
    if records.is_empty() && !arguments.json {
        output::print_note("no entry fits");
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(directory: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let report = verify_audit(directory)?;
    let problems: Vec<_> = report.problems.iter().map(ToString::to_string).collect();
    if as_json {
        let line = json!({
            "entries": report.entries,
            "first": report.first,
            "last": report.last,
            "hash": report.hash,
            "problems": problems,
        });
        output::print_data(&line.to_string())?;
    } else {
        for problem in &problems {
            output::print_data(&format!("problem {problem}"))?;
        }
        let state = match problems.is_empty() {
            true => "intact",
            false => "altered",
        };
        output::print_data(&format!(
            "{state}: {} entries; entry {} has the hash {}",
            report.entries, report.last, report.hash
        ))?;
    }
    Ok(match problems.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn record_json(record: &AuditRecord) -> Json {
    json!({
        "number": record.number,
        "at": Timestamp::from_millis(record.at).to_string(),
        "kind": record.kind,
        "session": record.session.as_ref().map(Uri::as_str),
        "actor": record.actor,
        "details": record.details,
        "hash": record.hash,
    })
}

fn record_line(record: &AuditRecord) -> String {
    let at = Timestamp::from_millis(record.at);
    let actor = describe_actor(&record.actor);
    let session = record.session.as_ref();
    let session = session.map_or(String::new(), |session| {
        format!("  session={}", short_id(session))
    });
    let details = describe_details(&record.details);
    format!(
        "{at}  {:<KIND_COLUMNS$}  {actor}{session}{details}",
        record.kind
    )
}

/// Describes an actor: the name of a device, or the program that has the token of the host.
fn describe_actor(actor: &Object) -> String {
    let text = |key: &str| actor.get(key).and_then(Json::as_str);
    match text("kind") {
        Some("host") => "the host".to_owned(),
        Some("unauthenticated") => text("address").unwrap_or("unknown").to_owned(),
        _ => {
            let name = text("device").or_else(|| text("principal"));
            let name = name.unwrap_or("unknown");
            match text("program") {
                Some(program) => format!("{name} ({program})"),
                None => name.to_owned(),
            }
        }
    }
}

fn describe_details(details: &Object) -> String {
    let fields = details.iter().map(|(key, value)| match value.as_str() {
        Some(text) => format!("  {key}={text}"),
        None => format!("  {key}={value}"),
    });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_moments() {
        let day = AuditTime(Millis(1_767_225_600_000));
        assert_eq!("2026-01-01".parse(), Ok(day));
        assert_eq!("2026-01-01T00:00:00Z".parse(), Ok(day));
        assert!("7d".parse::<AuditTime>().is_ok());
        for invalid in ["", "yesterday", "2026-13-01", "12:00"] {
            assert_eq!(invalid.parse::<AuditTime>(), Err(InvalidTime), "{invalid}");
        }
    }
}
