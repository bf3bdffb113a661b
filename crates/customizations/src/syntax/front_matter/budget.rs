//! Limits for the work of parsing front matter.
//!
//! With aliases, a few bytes of YAML can stand for millions of values. Each parse has its
//! own limits, and all files of a container share a budget. Both count events of the parser
//! and not time, so the same files always have the same result.

use std::cell::Cell;
use std::rc::Rc;

use agenthost_stdx::text::truncate_chars;
use serde_json::Value;
use serde_saphyr::Error;

/// Budget for the front matter of one container: bytes of text, plus events of the parser,
/// including those that aliases stand for.
pub(super) const MAX_CONTAINER_WORK: usize = 2 * 1024 * 1024;

/// Maximum number of events of one parse. Without aliases, 64 KiB of text have fewer.
const MAX_EVENTS: usize = 100_000;

/// Maximum number of events that the aliases of one parse stand for.
const MAX_ALIAS_EVENTS: usize = 10_000;

/// Maximum depth of nested values.
const MAX_DEPTH: usize = 32;

/// Work that is charged for each parse, even for a short text.
const PARSE_WORK: usize = 64;

/// The remaining work for a container.
#[derive(Debug)]
pub(crate) struct ParseBudget {
    left: usize,
}

/// The reason why YAML was not parsed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum YamlError {
    /// The container has used up its budget, so the text was not parsed.
    BudgetExhausted,
    /// A limit of one file was exceeded.
    TooLarge(String),
    /// The text is not valid YAML.
    Invalid(String),
}

impl Default for ParseBudget {
    fn default() -> Self {
        ParseBudget {
            left: MAX_CONTAINER_WORK,
        }
    }
}

impl ParseBudget {
    /// Parses a text and charges the work to the budget.
    pub(super) fn parse(&mut self, text: &str) -> Result<Value, YamlError> {
        if self.left == 0 {
            return Err(YamlError::BudgetExhausted);
        }
        let events = Rc::new(Cell::new(0));
        let counter = events.clone();
        let report = move |report: serde_saphyr::budget::BudgetReport| {
            counter.set(report.events.saturating_add(report.recorded_anchor_events));
        };
        // With strict booleans, `description: y` is a text as in YAML 1.2.
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            budget: serde_saphyr::budget! {
                max_events: MAX_EVENTS,
                max_nodes: MAX_EVENTS,
                max_recorded_anchor_events: MAX_EVENTS,
                max_depth: MAX_DEPTH,
            },
            budget_report_cb: Some(Rc::new(std::cell::RefCell::new(report))),
            alias_limits: serde_saphyr::alias_limits! {
                max_total_replayed_events: MAX_ALIAS_EVENTS,
            },
        };
        let result = serde_saphyr::from_str_with_options(text, options);
        let work = PARSE_WORK
            .saturating_add(text.len())
            .saturating_add(events.get());
        self.left = self.left.saturating_sub(work);
        result.map_err(|error| to_yaml_error(&error))
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left
    }
}

fn to_yaml_error(error: &Error) -> YamlError {
    let mut cause = error;
    while let Error::AliasError { error, .. } | Error::WithSnippet { error, .. } = cause {
        cause = error;
    }
    match cause {
        Error::AliasReplayLimitExceeded { .. } => {
            YamlError::TooLarge("its aliases expand to too many values".to_owned())
        }
        Error::Budget { .. } => {
            YamlError::TooLarge("it has too many values, or they are nested too deeply".to_owned())
        }
        _ => YamlError::Invalid(truncate_problem(&error.to_string())),
    }
}

/// Returns the beginning of the parser's error message.
fn truncate_problem(problem: &str) -> String {
    let line = problem.lines().next().unwrap_or_default();
    truncate_chars(line, 160)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns nested aliases, each of which stands for ten values of the level below.
    fn alias_bomb(levels: usize) -> String {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..levels {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        text
    }

    #[test]
    fn anchors_and_merge_keys_are_supported() {
        let mut budget = ParseBudget::default();
        let text = "base: &base {model: m, tools: [a, b]}\nglobs: &globs [x, y]\npaths: *globs\nagent:\n  <<: *base\n  model: n\n";
        assert_eq!(
            budget.parse(text),
            Ok(json!({
                "base": {"model": "m", "tools": ["a", "b"]},
                "globs": ["x", "y"],
                "paths": ["x", "y"],
                "agent": {"model": "n", "tools": ["a", "b"]},
            }))
        );
    }

    #[test]
    fn a_bomb_is_refused_after_a_bounded_number_of_events() {
        for levels in [5, 6, 9] {
            let mut budget = ParseBudget::default();
            let text = alias_bomb(levels);
            assert_eq!(
                budget.parse(&text),
                Err(YamlError::TooLarge(
                    "its aliases expand to too many values".to_owned()
                ))
            );
            let work = MAX_CONTAINER_WORK - budget.left();
            assert!(work < 4 * MAX_ALIAS_EVENTS + text.len(), "{work}");
        }
    }

    #[test]
    fn all_bombs_of_a_container_share_its_budget() {
        let mut budget = ParseBudget::default();
        let text = alias_bomb(6);
        let mut parsed = 0;
        let mut most = 0;
        for _ in 0..500 {
            let before = budget.left();
            match budget.parse(&text) {
                Err(YamlError::BudgetExhausted) => assert_eq!(before, 0),
                _ => {
                    parsed += 1;
                    most = most.max(before - budget.left());
                }
            }
        }
        assert!((20..500).contains(&parsed), "{parsed}");
        // The last parse can exceed the budget by at most its own limit.
        assert!((parsed - 1) * most <= MAX_CONTAINER_WORK, "{parsed} {most}");
        assert_eq!(
            ParseBudget { left: 0 }.parse("a: 1"),
            Err(YamlError::BudgetExhausted)
        );
    }

    #[test]
    fn depth_is_limited() {
        let mut budget = ParseBudget::default();
        let nested = |depth: usize| format!("a: {}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(budget.parse(&nested(MAX_DEPTH - 1)).is_ok());
        let problem = "it has too many values, or they are nested too deeply";
        assert_eq!(
            budget.parse(&nested(MAX_DEPTH + 1)),
            Err(YamlError::TooLarge(problem.to_owned()))
        );
    }

    #[test]
    fn a_long_text_without_aliases_is_not_refused() {
        let mut budget = ParseBudget::default();
        let text = format!("a:\n{}", "- x\n".repeat(16_000));
        assert!(budget.parse(&text).is_ok());
    }
}
