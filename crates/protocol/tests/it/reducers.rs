//! Tests for what each action does, and when it does nothing: one table per channel.
//!
//! A table is a list of cases, each applied to the same state. A line that is not indented is an
//! action; the lines below it are its effect. To add a case, write the action, run with
//! `UPDATE_EXPECT=1`, and review the result.

mod chat;
mod chat_calls;
mod other_channels;
mod session;

use std::collections::BTreeMap;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_testkit::json::diff;
use expect_test::Expect;
use serde_json::json;

use crate::effects::{ALWAYS_APPLIED, NEVER_APPLIED};

/// Runs the cases of a table against a state.
fn check(state: &Json, table: Expect) {
    let mut result = String::new();
    for (name, payload) in cases(table.data()) {
        let space = if payload.is_empty() { "" } else { " " };
        result.push_str(&format!("{name}{space}{payload}\n"));
        for line in outcome(state, &name, &payload).lines() {
            result.push_str(&format!("    {line}\n"));
        }
    }
    table.assert_eq(&result);
}

/// Returns the actions of a table, as name and payload.
fn cases(table: &str) -> Vec<(String, String)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    let least = lines.clone().map(indent).min().unwrap_or(0);
    lines
        .filter(|line| indent(line) == least)
        .map(|line| {
            let line = line.trim();
            let (name, payload) = line.split_once(' ').unwrap_or((line, ""));
            (name.to_owned(), payload.to_owned())
        })
        .collect()
}

fn outcome(state: &Json, name: &str, payload: &str) -> String {
    let mut json: Json = match payload {
        "" => json!({}),
        payload => {
            serde_json::from_str(payload).unwrap_or_else(|error| panic!("{payload}: {error}"))
        }
    };
    json["type"] = json!(name);
    let action: Action = match wire::from_str(&json.to_string()) {
        Ok(action) => action,
        Err(error) => panic!("{name} {payload}: {error}"),
    };
    let mut channel: ChannelState = wire::from_str(&state.to_string()).unwrap();
    let outcome = channel.reduce(&action);
    let changes = diff(state, &serde_json::to_value(&channel).unwrap());
    match outcome {
        Outcome::Applied if changes.is_empty() => "the same".to_owned(),
        Outcome::Applied => changes,
        other => {
            assert_eq!(changes, "", "{name} {payload}: {other:?} changed the state");
            match other {
                Outcome::NoOp => "no-op".to_owned(),
                Outcome::WrongChannel => "wrong channel".to_owned(),
                Outcome::Invalid(reason) => format!("invalid: {reason}"),
                Outcome::Applied => unreachable!("handled above"),
            }
        }
    }
}

#[test]
fn every_action_has_cases_with_and_without_an_effect() {
    let sources = [
        include_str!("reducers/chat.rs"),
        include_str!("reducers/chat_calls.rs"),
        include_str!("reducers/session.rs"),
        include_str!("reducers/other_channels.rs"),
    ];
    let names: Vec<_> = Action::table().map(|info| info.name).collect();
    let mut seen: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
    for source in sources {
        let mut lines = source.lines().map(str::trim).peekable();
        while let Some(line) = lines.next() {
            let name = line.split(' ').next().unwrap_or_default();
            let Some(name) = names.iter().find(|known| **known == name) else {
                continue;
            };
            let result = lines.peek().copied().unwrap_or_default();
            let idle = result == "no-op" || result.starts_with("invalid:");
            seen.entry(name).or_default()[usize::from(idle)] = true;
        }
    }
    for name in names {
        let [effect, idle] = seen.get(name).copied().unwrap_or_default();
        assert!(
            effect || NEVER_APPLIED.contains(&name),
            "no case shows the effect of {name}"
        );
        assert!(
            idle || ALWAYS_APPLIED.contains(&name),
            "no case shows when {name} does nothing"
        );
    }
}
