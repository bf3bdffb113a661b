//! Interprets the exit code and the output of a hook.

use agenthost_stdx::text::truncate_chars;
use serde_json::{Map, Value};

use super::{DenialReason, HookOutcome};
use crate::parse::HookEvent;

/// The exit code with which a hook denies an event.
const BLOCK_EXIT_CODE: i32 = 2;

/// Maximum length in characters of a denial reason that is reported.
const MAX_REASON_CHARS: usize = 4_000;

/// The exit code and the output of a finished hook.
pub(super) struct HookOutput {
    /// The exit code; `None` if the hook could not be started, or a signal or the timeout
    /// ended it.
    pub(super) exit_code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The permitted effects of a hook's output at an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HookPower {
    /// The hook can deny the event, and its output is added as context for the agent.
    BlockAndContext,
    /// The hook can deny the event.
    Block,
    /// The output is added as context for the agent.
    Context,
    /// A denial reason and explicit additional context are passed to the agent.
    Feedback,
}

impl HookOutput {
    /// Returns the output of a hook that could not be started or exceeded its timeout.
    pub(super) fn empty() -> Self {
        HookOutput {
            exit_code: None,
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    /// Returns the effect of the output at an event.
    pub(super) fn outcome(&self, event: HookEvent) -> HookOutcome {
        let power = hook_power(event);
        if self.exit_code == Some(BLOCK_EXIT_CODE) {
            return refusal_outcome(power, Some(self.stderr.trim().to_owned()));
        }
        if self.exit_code != Some(0) {
            return HookOutcome::default();
        }
        let output = self.stdout.trim();
        let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(output) else {
            return match power {
                HookPower::BlockAndContext | HookPower::Context => {
                    context_outcome(output.to_owned())
                }
                HookPower::Block | HookPower::Feedback => HookOutcome::default(),
            };
        };
        if let Some(reason) = parse_refusal(&answer) {
            return refusal_outcome(power, reason);
        }
        let specific = answer.get("hookSpecificOutput");
        let context = specific.and_then(|specific| to_text(specific.get("additionalContext")));
        match power {
            HookPower::BlockAndContext | HookPower::Context | HookPower::Feedback => {
                context_outcome(context.unwrap_or_default())
            }
            HookPower::Block => HookOutcome::default(),
        }
    }
}

fn hook_power(event: HookEvent) -> HookPower {
    match event {
        HookEvent::UserPromptSubmit => HookPower::BlockAndContext,
        // An `allow` decision of a hook is ignored: users approve tool calls.
        HookEvent::PreToolUse => HookPower::Block,
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => HookPower::Feedback,
        HookEvent::SessionStart
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::Unsupported => HookPower::Context,
    }
}

/// Returns the optional reason if the response denies the event, in the current or in a
/// legacy format.
fn parse_refusal(answer: &Map<String, Value>) -> Option<Option<String>> {
    let specific = answer.get("hookSpecificOutput");
    let decision = specific.and_then(|specific| to_text(specific.get("permissionDecision")));
    let decision = decision.or_else(|| to_text(answer.get("permissionDecision")));
    if decision.as_deref() == Some("deny") {
        let reason =
            specific.and_then(|specific| to_text(specific.get("permissionDecisionReason")));
        return Some(reason.or_else(|| to_text(answer.get("permissionDecisionReason"))));
    }
    let blocks = to_text(answer.get("decision"));
    let blocks = matches!(blocks.as_deref(), Some("block" | "deny"));
    let stops = answer.get("continue") == Some(&Value::Bool(false));
    (blocks || stops)
        .then(|| to_text(answer.get("reason")).or_else(|| to_text(answer.get("stopReason"))))
}

/// Returns the outcome of a denial.
fn refusal_outcome(power: HookPower, reason: Option<String>) -> HookOutcome {
    let reason = reason.filter(|reason| !reason.is_empty());
    match power {
        HookPower::BlockAndContext | HookPower::Block => {
            let reason = reason.map(|reason| truncate_chars(&reason, MAX_REASON_CHARS));
            HookOutcome {
                context: String::new(),
                refusal: Some(reason.map_or(DenialReason::Unexplained, DenialReason::Explained)),
            }
        }
        HookPower::Feedback => context_outcome(reason.unwrap_or_default()),
        HookPower::Context => HookOutcome::default(),
    }
}

fn context_outcome(context: String) -> HookOutcome {
    HookOutcome {
        context,
        refusal: None,
    }
}

fn to_text(value: Option<&Value>) -> Option<String> {
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
        let said = HookOutput {
            exit_code: Some(code),
            stdout: output,
            stderr: complaint.to_owned(),
        };
        let outcome = said.outcome(event);
        match outcome.refusal {
            Some(reason) => format!("no: {reason}"),
            None => outcome.context,
        }
    }

    #[test]
    fn a_pre_tool_hook_can_only_deny_a_call() {
        let before = |code, output: Value, complaint| {
            outcome(HookEvent::PreToolUse, code, &output, complaint)
        };
        let decision = |decision: &str| json!({"hookSpecificOutput": {"permissionDecision": decision, "permissionDecisionReason": "why"}});
        assert_eq!(before(2, json!("ignored"), " not here\n"), "no: not here");
        assert_eq!(before(2, json!(""), ""), "no: a hook denied it");
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
        // A hook that fails changes nothing, and neither does its plain output.
        assert_eq!(before(1, decision("deny"), "broken"), "");
        assert_eq!(before(0, json!("words"), ""), "");
        let long = "x".repeat(10_000);
        assert_eq!(
            before(2, json!(""), &long).len(),
            "no: ".len() + MAX_REASON_CHARS
        );
    }

    #[test]
    fn output_of_a_post_tool_hook_is_sent_to_the_agent() {
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
