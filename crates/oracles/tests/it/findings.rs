//! Collects the differences that an oracle finds and reports them in a few lines.

use std::collections::BTreeMap;

use agenthost_oracles::OracleReading;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Json;
use agenthost_testkit::json::normalize;

/// Findings for a release. Equal problems in several documents are counted under one entry, with
/// one example.
pub(crate) struct Findings {
    release: Release,
    found: BTreeMap<(String, String), (u32, String)>,
}

/// Number of findings that a failed test prints; `FINDINGS` in the environment overrides it.
const MAX_PRINTED_FINDINGS: usize = 20;

impl Findings {
    pub(crate) fn of(release: Release) -> Self {
        Findings {
            release,
            found: BTreeMap::new(),
        }
    }

    /// Records a problem with a document. `example` helps to reproduce it.
    pub(crate) fn record(&mut self, what: &str, problem: &str, example: impl FnOnce() -> String) {
        let key = (what.to_owned(), without_numbers(problem));
        let (count, _) = self.found.entry(key).or_insert_with(|| (0, example()));
        *count += 1;
    }

    /// Records what the crate of a release did not understand in a document: errors, unknown
    /// values, and dropped or changed fields.
    pub(crate) fn check(
        &mut self,
        what: &str,
        given: &Json,
        read: &Result<Option<OracleReading>, String>,
        seed: u64,
    ) {
        let example = || format!("seed {seed}: {given}");
        match read {
            Err(error) => self.record(what, error, example),
            Ok(None) => self.record(what, "there is no such thing in this release", example),
            Ok(Some(reading)) => {
                for unknown in &reading.unknown_values {
                    if !is_known_bug(self.release, unknown) {
                        let start: String = unknown.chars().take(72).collect();
                        self.record(what, &start, || format!("seed {seed}: {unknown}"));
                    }
                }
                let mut lost = Vec::new();
                compare(
                    "",
                    &normalize(given),
                    &normalize(&reading.encoded),
                    &mut lost,
                );
                for (place, problem) in lost {
                    if !is_extra_field(self.release, &place) {
                        self.record(what, &place, || format!("seed {seed}: {problem}"));
                    }
                }
            }
        }
    }

    /// Panics with a list of the findings if there are any.
    pub(crate) fn conclude(self) {
        let told = std::env::var("FINDINGS")
            .ok()
            .and_then(|told| told.parse().ok());
        let lines = self.found.iter().take(told.unwrap_or(MAX_PRINTED_FINDINGS));
        let lines: Vec<_> = lines
            .map(|((what, problem), (count, example))| {
                let problem: String = problem.chars().take(300).collect();
                let example: String = example.chars().take(500).collect();
                format!(
                    "{} {what}: {problem} ({count} times)\n    {example}",
                    self.release
                )
            })
            .collect();
        let count = self.found.len();
        assert!(count == 0, "{count} findings\n{}", lines.join("\n"));
    }
}

/// The official types from 0.6 on can't parse a tool call that waits for authentication: its
/// `status` is both the tag and a field.
pub(crate) fn is_known_bug(release: Release, unknown: &str) -> bool {
    release >= Release::V0_6 && unknown.contains(r#""status": String("auth-required")"#)
}

/// Fields that are sent although the release does not define them: first release, last release, end
/// of the path. They are harmless, and each has a reason.
const EXTRA_FIELDS: &[(Release, Release, &str)] = &[
    // The Rust type of 0.9 does not have this field, but clients in other languages read it.
    (Release::V0_2, Release::V0_9, ".customizations[].type"),
];

fn is_extra_field(release: Release, place: &str) -> bool {
    let mut known = EXTRA_FIELDS.iter();
    known.any(|(since, until, end)| (*since..=*until).contains(&release) && place.ends_with(end))
}

/// Adds to `problems` the fields that are missing in `back` and the values that differ from
/// `given`. Fields that only `back` has are ignored: official crates add defaults.
fn compare(path: &str, given: &Json, back: &Json, problems: &mut Vec<(String, String)>) {
    match (given, back) {
        (Json::Object(given), Json::Object(back)) => {
            for (key, value) in given {
                let path = format!("{path}.{key}");
                match back.get(key) {
                    Some(other) => compare(&path, value, other, problems),
                    None => problems.push((path, "is not kept".to_owned())),
                }
            }
        }
        (Json::Array(given), Json::Array(back)) if given.len() == back.len() => {
            for (value, other) in given.iter().zip(back) {
                compare(&format!("{path}[]"), value, other, problems);
            }
        }
        (given, back) if given == back => {}
        (given, back) => {
            let problem = format!("is {given} and becomes {back}");
            problems.push((path.to_owned(), problem));
        }
    }
}

/// Replaces every number with `0`, so that one problem at several indices is counted once.
fn without_numbers(problem: &str) -> String {
    let mut short = String::new();
    for character in problem.chars() {
        if !character.is_ascii_digit() {
            short.push(character);
        } else if !short.ends_with('0') {
            short.push('0');
        }
    }
    short
}
