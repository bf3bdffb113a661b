//! `agenthost doctor --deep`: checks every row of the database, and the stored content.

use std::collections::BTreeMap;
use std::path::Path;

use agenthost_protocol::uri::Uri;
use agenthost_store::{
    DATABASE_FILE, DatabaseReport, RowKind, RowProblem, check_database, verify_audit,
};
use agenthost_workspace::ContentStore;

use super::DoctorCheck;
use crate::output;

/// Directory of the content store, in the data directory.
const CONTENT_DIR: &str = "content";

/// Maximum number of problems that are printed for each kind of row.
const MAX_PRINTED_PROBLEMS: usize = 20;

/// Checks the data of a host without changing it. Returns one line per problem, or one line if
/// there is none.
pub(super) fn check_data(directory: &Path, json: bool) -> anyhow::Result<Vec<DoctorCheck>> {
    let what = "deep check";
    if !directory.join(DATABASE_FILE).exists() {
        return Ok(vec![DoctorCheck::passed(what, "there is no database yet")]);
    }
    let mut progress = |subject: &str| {
        if !json {
            output::print_note(&format!("checking {subject}"));
        }
    };
    let mut report = match check_database(directory, &mut progress) {
        Ok(report) => report,
        Err(error) => {
            let hint = "stop the host, keep a copy of the data directory, and restore a backup";
            return Ok(vec![DoctorCheck::failed(what, error.to_string(), hint)]);
        }
    };
    progress("content");
    let problems = check_contents(directory, &report);
    report.problems.extend(problems);
    progress("audit log");
    let audit = check_audit(directory);
    if report.problems.is_empty() && audit.is_empty() {
        let found = format!(
            "{} rows of {} sessions and {} stored contents are intact",
            report.rows,
            report.sessions,
            report.contents.len()
        );
        return Ok(vec![DoctorCheck::passed(what, found)]);
    }
    let mut checks = describe_problems(&report);
    checks.extend(audit);
    Ok(checks)
}

/// Checks that the entries of the audit log are those that were appended.
fn check_audit(directory: &Path) -> Vec<DoctorCheck> {
    let what = "audit log";
    let hint = "find out who had access to the database, and compare it with a backup";
    match verify_audit(directory) {
        Ok(report) => {
            let problems = report.problems.iter().take(MAX_PRINTED_PROBLEMS);
            let checks =
                problems.map(|problem| DoctorCheck::failed(what, problem.to_string(), hint));
            checks.collect()
        }
        Err(error) => vec![DoctorCheck::failed(what, error.to_string(), hint)],
    }
}

/// Checks that the content exists that rows refer to.
fn check_contents(directory: &Path, report: &DatabaseReport) -> Vec<RowProblem> {
    let path = directory.join(CONTENT_DIR);
    if report.contents.is_empty() {
        return Vec::new();
    }
    // Opening creates a missing directory, which the check must not.
    let contents = path.is_dir().then(|| ContentStore::open(&path));
    let check = |uri: &Uri| match &contents {
        Some(Ok(contents)) => match contents.is_intact(uri) {
            Ok(true) => None,
            Ok(false) => Some("it was altered".to_owned()),
            Err(error) => Some(error.to_string()),
        },
        Some(Err(error)) => Some(error.to_string()),
        None => Some(format!("`{}` does not exist", path.display())),
    };
    let broken = report.contents.iter().filter_map(|(uri, reference)| {
        let problem = check(uri)?;
        let problem = format!("{problem}; {}", reference.problem);
        Some(RowProblem {
            problem,
            ..reference.clone()
        })
    });
    broken.collect()
}

fn describe_problems(report: &DatabaseReport) -> Vec<DoctorCheck> {
    let mut by_kind: BTreeMap<RowKind, Vec<&RowProblem>> = BTreeMap::new();
    for problem in &report.problems {
        by_kind.entry(problem.kind).or_default().push(problem);
    }
    let mut checks = Vec::new();
    for (kind, problems) in by_kind {
        for problem in problems.iter().take(MAX_PRINTED_PROBLEMS) {
            let session = problem.session.as_ref().map(Uri::as_str);
            let session = session.filter(|session| *session != problem.name);
            let owner = session.map_or(String::new(), |session| format!(" (session {session})"));
            let found = format!("{}: {}{owner}", problem.name, problem.problem);
            checks.push(DoctorCheck::failed(title(kind), found, advice(kind)));
        }
        let hidden = problems.len().saturating_sub(MAX_PRINTED_PROBLEMS);
        if hidden > 0 {
            let found = format!("{hidden} more of this kind");
            checks.push(DoctorCheck::failed(title(kind), found, advice(kind)));
        }
    }
    if report.further_problems > 0 {
        let found = format!("{} more problems", report.further_problems);
        checks.push(DoctorCheck::failed(
            "deep check",
            found,
            advice(RowKind::Page),
        ));
    }
    checks
}

fn title(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Page => "damaged file",
        RowKind::Number => "damaged number",
        RowKind::Session => "damaged session",
        RowKind::Channel => "damaged state",
        RowKind::Turn => "damaged turn",
        RowKind::Action => "damaged action",
        RowKind::Client => "damaged client",
        RowKind::AgentOptions => "damaged agent",
        RowKind::Content => "lost content",
    }
}

/// Returns the effect of the damage, and its remedy.
fn advice(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Page => {
            "any session can be affected: stop the host, keep a copy of the data directory, and \
             restore a backup (`agenthost restore-backup`)"
        }
        RowKind::Number => {
            "clients may get snapshots in place of replays; the host corrects it or ignores it"
        }
        RowKind::Session => {
            "the session is missing in lists; restore a backup, or go on without it"
        }
        RowKind::Channel => {
            "clients can't open it; other sessions work; restore a backup, or dispose of the session"
        }
        RowKind::Turn => {
            "clients can't open this chat; other chats work; restore a backup, or dispose of the \
             session"
        }
        RowKind::Action => {
            "clients may not be able to open this channel, or to get a replay of it; restore a \
             backup, or dispose of the session"
        }
        RowKind::Client => "the client has to start over; nothing has to be done",
        RowKind::AgentOptions => "the host asks the agent again; nothing has to be done",
        RowKind::Content => {
            "the rest of a large output can't be read; everything else works; a backup has it"
        }
    }
}
