//! What comes of what a hook said.

use serde_json::{Map, Value};

use super::Outcome;
use crate::parse::HookEvent;

/// The exit code that says no.
const REFUSED: i32 = 2;

/// Longest reason that is told, in characters.
const REASON: usize = 4_000;

/// What is said for a hook that has no reason.
const NO_REASON: &str = "a hook refused it";

/// What a hook said.
pub(super) struct Said {
    /// How it ended; nothing, if it did not end by itself.
    pub(super) code: Option<i32>,
    /// What it wrote.
    pub(super) output: String,
    /// What it wrote where errors go.
    pub(super) complaint: String,
}

/// What a word of a hook can do at an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Power {
    /// Its no holds something up, and its words are for the agent.
    RefusesAndTells,
    /// Its no holds something up.
    Refuses,
    /// Its words are for the agent.
    Tells,
    /// What it objects to is for the agent, and so is what it says on purpose.
    Objects,
}

impl Said {
    /// Nothing.
    pub(super) fn nothing() -> Self {
        Said {
            code: None,
            output: String::new(),
            complaint: String::new(),
        }
    }

    /// What comes of it.
    pub(super) fn outcome(&self, event: HookEvent) -> Outcome {
        let power = power_of(event);
        if self.code == Some(REFUSED) {
            return no(power, Some(self.complaint.trim().to_owned()));
        }
        if self.code != Some(0) {
            return Outcome::default();
        }
        let output = self.output.trim();
        let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(output) else {
            return match power {
                Power::RefusesAndTells | Power::Tells => told(output.to_owned()),
                Power::Refuses | Power::Objects => Outcome::default(),
            };
        };
        if let Some(reason) = refusal(&answer) {
            return no(power, reason);
        }
        let specific = answer.get("hookSpecificOutput");
        let context = specific.and_then(|specific| text(specific.get("additionalContext")));
        match power {
            Power::RefusesAndTells | Power::Tells | Power::Objects => {
                told(context.unwrap_or_default())
            }
            Power::Refuses => Outcome::default(),
        }
    }
}

fn power_of(event: HookEvent) -> Power {
    match event {
        HookEvent::UserPromptSubmit => Power::RefusesAndTells,
        // That it allows something is not asked: people decide that.
        HookEvent::PreToolUse => Power::Refuses,
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => Power::Objects,
        HookEvent::SessionStart
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::Elsewhere => Power::Tells,
    }
}

/// Whether an answer says no, and why: in today's words, or in older ones.
fn refusal(answer: &Map<String, Value>) -> Option<Option<String>> {
    let specific = answer.get("hookSpecificOutput");
    let decision = specific.and_then(|specific| text(specific.get("permissionDecision")));
    let decision = decision.or_else(|| text(answer.get("permissionDecision")));
    if decision.as_deref() == Some("deny") {
        let reason = specific.and_then(|specific| text(specific.get("permissionDecisionReason")));
        return Some(reason.or_else(|| text(answer.get("permissionDecisionReason"))));
    }
    let blocks = text(answer.get("decision"));
    let blocks = matches!(blocks.as_deref(), Some("block" | "deny"));
    let stops = answer.get("continue") == Some(&Value::Bool(false));
    (blocks || stops).then(|| text(answer.get("reason")).or_else(|| text(answer.get("stopReason"))))
}

/// What comes of a no.
fn no(power: Power, reason: Option<String>) -> Outcome {
    let reason = reason.filter(|reason| !reason.is_empty());
    match power {
        Power::RefusesAndTells | Power::Refuses => {
            let reason = reason.unwrap_or_else(|| NO_REASON.to_owned());
            Outcome {
                context: String::new(),
                refusal: Some(reason.chars().take(REASON).collect()),
            }
        }
        Power::Objects => told(reason.unwrap_or_default()),
        Power::Tells => Outcome::default(),
    }
}

fn told(context: String) -> Outcome {
    Outcome {
        context,
        refusal: None,
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(event: HookEvent, code: i32, output: &Value, complaint: &str) -> String {
        let output = match output {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let said = Said {
            code: Some(code),
            output,
            complaint: complaint.to_owned(),
        };
        let outcome = said.outcome(event);
        match outcome.refusal {
            Some(reason) => format!("no: {reason}"),
            None => outcome.context,
        }
    }

    #[test]
    fn a_hook_before_a_tool_can_refuse_and_nothing_else() {
        let before = |code, output: Value, complaint| {
            outcome(HookEvent::PreToolUse, code, &output, complaint)
        };
        let decision = |decision: &str| json!({"hookSpecificOutput": {"permissionDecision": decision, "permissionDecisionReason": "why"}});
        assert_eq!(before(2, json!("ignored"), " not here\n"), "no: not here");
        assert_eq!(before(2, json!(""), ""), "no: a hook refused it");
        assert_eq!(before(0, decision("deny"), ""), "no: why");
        for harmless in ["allow", "ask", "defer", ""] {
            assert_eq!(before(0, decision(harmless), ""), "");
        }
        let older = json!({"decision": "block", "reason": "older"});
        assert_eq!(before(0, older, ""), "no: older");
        assert_eq!(before(0, json!({"decision": "approve"}), ""), "");
        let stops = json!({"continue": false, "stopReason": "enough"});
        assert_eq!(before(0, stops, ""), "no: enough");
        let copilot = json!({"permissionDecision": "deny", "permissionDecisionReason": "flat"});
        assert_eq!(before(0, copilot, ""), "no: flat");
        // One that breaks changes nothing, and neither does what it prints.
        assert_eq!(before(1, decision("deny"), "broken"), "");
        assert_eq!(before(0, json!("words"), ""), "");
        let long = "x".repeat(10_000);
        assert_eq!(before(2, json!(""), &long).len(), "no: ".len() + REASON);
    }

    #[test]
    fn a_hook_after_a_tool_tells_the_agent_what_it_objects_to() {
        let after = |code, output: Value, complaint| {
            outcome(HookEvent::PostToolUse, code, &output, complaint)
        };
        assert_eq!(after(2, json!(""), "not formatted"), "not formatted");
        let blocks = json!({"decision": "block", "reason": "run the tests"});
        assert_eq!(after(0, blocks, ""), "run the tests");
        let adds = json!({"hookSpecificOutput": {"additionalContext": "by the way"}});
        assert_eq!(after(0, adds, ""), "by the way");
        assert_eq!(after(0, json!("formatted 3 files"), ""), "");
    }
}
