//! Limits for the measures of the workspace, which only ever get stricter.
//!
//! A measure that meets its goal has the goal as its limit. One that does not has its present value
//! as its limit: the test fails if the value gets worse, and also if it gets better, so that the
//! limit follows. This command prints the table with the present values:
//!
//! ```sh
//! UPDATE_TIDY=1 cargo test -p agenthost-tidy ceilings -- --nocapture
//! ```

use crate::{WORKSPACE, Workspace, errors, names, prose, structure};

/// The limit of every measure: kind, measure, goal, limit. A limit may only be lowered; that of a
/// `floor` may only be raised.
const CEILINGS: &[Ceiling] = &[
    rate(Measure::OneWordTypes, 25.0, 25.0),
    rate(Measure::SharedTypeNames, 8.0, 8.0),
    count(Measure::RepeatedTypeNames, 0, 0),
    count(Measure::ParticipleModules, 0, 0),
    count(Measure::RepeatedConstants, 0, 0),
    rate(Measure::ImpersonalWords, 0.3, 0.3),
    floor(Measure::FieldTerms, 20.0, 20.0),
    rate(Measure::RiddleDocs, 5.0, 5.0),
    count(Measure::ThinDocs, 60, 60),
    count(Measure::WideComments, 0, 0),
    count(Measure::CrowdedFolders, 0, 0),
    count(Measure::LargestFolder, 12, 12),
    count(Measure::LongFunctions, 0, 0),
    count(Measure::ProcessCrates, 1, 1),
    count(Measure::HostFields, 12, 12),
    count(Measure::StringErrors, 0, 0),
    count(Measure::SilentDefaults, 0, 0),
    count(Measure::SilentDrops, 0, 0),
    count(Measure::PoisonHandlers, 2, 2),
    count(Measure::WildcardArms, 0, 0),
];

/// A failure message lists at most this many places.
const MAX_LISTED_PLACES: usize = 20;

/// A rate may be this much better than its limit before the limit has to follow.
const RATE_TOLERANCE: f64 = 0.1;

/// A property of the workspace that has a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    OneWordTypes,
    SharedTypeNames,
    RepeatedTypeNames,
    ParticipleModules,
    RepeatedConstants,
    ImpersonalWords,
    FieldTerms,
    RiddleDocs,
    ThinDocs,
    WideComments,
    CrowdedFolders,
    LargestFolder,
    LongFunctions,
    ProcessCrates,
    HostFields,
    StringErrors,
    SilentDefaults,
    SilentDrops,
    PoisonHandlers,
    WildcardArms,
}

/// The value of a measure, and the places that count against it.
pub(crate) struct Measurement {
    pub(crate) value: f64,
    pub(crate) places: Vec<String>,
    /// The change that improves the value.
    pub(crate) advice: &'static str,
}

/// A row of the table.
#[derive(Clone, Copy)]
struct Ceiling {
    kind: CeilingKind,
    measure: Measure,
    goal: f64,
    limit: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum CeilingKind {
    /// A number of places; the limit is exact.
    Count,
    /// A percentage or a number per 1,000 words.
    Rate,
    /// A rate that should be high: the limit is the lowest permitted value.
    Floor,
}

impl Measurement {
    /// Counts places.
    pub(crate) fn count(places: Vec<String>, advice: &'static str) -> Self {
        Self {
            value: places.len() as f64,
            places,
            advice,
        }
    }

    /// Computes how many of `total` the places are, per `unit`.
    pub(crate) fn share(
        places: Vec<String>,
        total: usize,
        unit: f64,
        advice: &'static str,
    ) -> Self {
        Self {
            value: unit * places.len() as f64 / total.max(1) as f64,
            places,
            advice,
        }
    }
}

impl Measure {
    fn take(self, workspace: &Workspace) -> Measurement {
        match self {
            Self::OneWordTypes => names::one_word_types(workspace),
            Self::SharedTypeNames => names::shared_type_names(workspace),
            Self::RepeatedTypeNames => names::repeated_type_names(workspace),
            Self::ParticipleModules => names::participle_modules(workspace),
            Self::RepeatedConstants => names::repeated_constants(workspace),
            Self::ImpersonalWords => prose::impersonal_words(workspace),
            Self::FieldTerms => prose::field_terms(workspace),
            Self::RiddleDocs => prose::riddle_docs(workspace),
            Self::ThinDocs => prose::thin_docs(workspace),
            Self::WideComments => prose::wide_comments(workspace),
            Self::CrowdedFolders => structure::crowded_folders(workspace),
            Self::LargestFolder => structure::largest_folder(workspace),
            Self::LongFunctions => structure::long_functions(workspace),
            Self::ProcessCrates => structure::process_crates(workspace),
            Self::HostFields => structure::host_fields(workspace),
            Self::StringErrors => errors::string_errors(workspace),
            Self::SilentDefaults => errors::silent_defaults(workspace),
            Self::SilentDrops => errors::silent_drops(workspace),
            Self::PoisonHandlers => errors::poison_handlers(workspace),
            Self::WildcardArms => errors::wildcard_arms(workspace),
        }
    }
}

impl Ceiling {
    /// Returns the limit that the table should have for this value.
    fn limit_for(self, value: f64) -> f64 {
        match self.kind {
            CeilingKind::Count => value.max(self.goal),
            CeilingKind::Rate => ((value * 100.0).ceil() / 100.0).max(self.goal),
            CeilingKind::Floor => ((value * 100.0).floor() / 100.0).min(self.goal),
        }
    }

    /// Returns the reason why a value breaks the rule.
    fn judge(self, measured: &Measurement) -> Result<(), String> {
        let (value, limit) = (measured.value, self.limit);
        let is_worse = match self.kind {
            CeilingKind::Count | CeilingKind::Rate => value > limit,
            CeilingKind::Floor => value < limit,
        };
        let is_better = match self.kind {
            CeilingKind::Count => value < limit,
            CeilingKind::Rate => value < limit * (1.0 - RATE_TOLERANCE),
            CeilingKind::Floor => value > limit * (1.0 + RATE_TOLERANCE),
        };
        if is_worse {
            let shown: Vec<_> = measured.places.iter().take(MAX_LISTED_PLACES).collect();
            let mut message = format!(
                "{:?} is {value:.2}, its limit is {limit} and its goal {}: {}",
                self.measure, self.goal, measured.advice
            );
            for place in &shown {
                message += &format!("\n    {place}");
            }
            if shown.len() < measured.places.len() {
                message += &format!("\n    and {} more", measured.places.len() - shown.len());
            }
            return Err(message);
        }
        if is_better && limit != self.goal {
            return Err(format!(
                "{:?} is {value:.2}, better than its limit {limit}: set the limit in \
                 crates/tidy/tests/tidy/ceilings.rs to {}, so that it stays so",
                self.measure,
                self.limit_for(value)
            ));
        }
        Ok(())
    }

    /// Returns the row as Rust code.
    fn row(self) -> String {
        let Self {
            measure,
            goal,
            limit,
            ..
        } = self;
        match self.kind {
            CeilingKind::Count => format!("count(Measure::{measure:?}, {goal}, {limit}),"),
            CeilingKind::Rate => format!("rate(Measure::{measure:?}, {goal:?}, {limit:?}),"),
            CeilingKind::Floor => format!("floor(Measure::{measure:?}, {goal:?}, {limit:?}),"),
        }
    }
}

const fn count(measure: Measure, goal: u32, limit: u32) -> Ceiling {
    Ceiling {
        kind: CeilingKind::Count,
        measure,
        goal: goal as f64,
        limit: limit as f64,
    }
}

const fn rate(measure: Measure, goal: f64, limit: f64) -> Ceiling {
    Ceiling {
        kind: CeilingKind::Rate,
        measure,
        goal,
        limit,
    }
}

const fn floor(measure: Measure, goal: f64, limit: f64) -> Ceiling {
    Ceiling {
        kind: CeilingKind::Floor,
        measure,
        goal,
        limit,
    }
}

/// Fails if the workspace breaks the limit of a measure, or if the limit should be stricter.
pub(crate) fn check(measure: Measure) {
    let row = CEILINGS.iter().find(|row| row.measure == measure);
    let row = row.unwrap_or_else(|| panic!("{measure:?} has no row in CEILINGS"));
    if let Err(message) = row.judge(&measure.take(&WORKSPACE)) {
        panic!("{message}");
    }
}

#[test]
fn every_measure_has_one_ceiling() {
    for (index, row) in CEILINGS.iter().enumerate() {
        let others = &CEILINGS[..index];
        let is_new = others.iter().all(|other| other.measure != row.measure);
        assert!(is_new, "{:?} has two rows", row.measure);
    }
    if std::env::var_os("UPDATE_TIDY").is_some() {
        println!("const CEILINGS: &[Ceiling] = &[");
        for row in CEILINGS {
            let limit = row.limit_for(row.measure.take(&WORKSPACE).value);
            println!("    {}", Ceiling { limit, ..*row }.row());
        }
        println!("];");
    }
}

#[test]
fn a_limit_follows_its_value_until_the_goal_is_met() {
    let judged = |row: Ceiling, value| {
        let measured = Measurement {
            value,
            places: Vec::new(),
            advice: "fix it",
        };
        row.judge(&measured).is_ok()
    };
    let row = count(Measure::LongFunctions, 2, 7);
    assert_eq!(
        [6.0, 7.0, 8.0].map(|value| judged(row, value)),
        [false, true, false]
    );
    let row = count(Measure::LongFunctions, 2, 2);
    assert_eq!(
        [0.0, 2.0, 3.0].map(|value| judged(row, value)),
        [true, true, false]
    );
    let row = rate(Measure::RiddleDocs, 5.0, 20.0);
    assert_eq!(
        [17.9, 18.1, 20.1].map(|value| judged(row, value)),
        [false, true, false]
    );
    assert_eq!(row.limit_for(4.0), 5.0);
    let row = floor(Measure::FieldTerms, 20.0, 10.0);
    assert_eq!(
        [9.9, 10.9, 11.1].map(|value| judged(row, value)),
        [false, true, false]
    );
    assert_eq!(row.limit_for(30.0), 20.0);
}
