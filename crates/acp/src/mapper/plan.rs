//! Maps the plan of an agent to a tool call.

use agenthost_agents::{ToolContent, ToolStart, TurnEvent};
use agenthost_protocol::chat::{ToolCallResult, ToolResultContent, ToolResultText};
use agenthost_protocol::common::Meta;
use agenthost_protocol::label::clean_label;
use agenthost_protocol::text::MaybeMarkdown;
use serde_json::Value;

use super::{ChatMapper, EventCollector, parse};
use crate::transport::schema::{Plan, PlanEntryStatus};

/// The id of the tool call that shows the plan: AHP has no other representation of a plan.
const PLAN_CALL_ID: &str = "plan";

/// The metadata key of the text that VS Code shows for a running tool call instead of its
/// invocation message. VS Code shows no content of such a call.
const PROGRESS_META_KEY: &str = "progressMessage";

impl ChatMapper {
    /// Maps a `plan` update, which contains the complete plan.
    pub(super) fn map_plan(&mut self, update: &Value, collector: &mut EventCollector<'_>) {
        let (Some(turn), Some(plan)) = (&mut self.turn, parse::<Plan>(update)) else {
            return;
        };
        let lines = plan.entries.iter().map(|entry| {
            let checkbox = match entry.status {
                PlanEntryStatus::Completed => "[x]",
                PlanEntryStatus::InProgress => "[~]",
                _ => "[ ]",
            };
            // An entry is one line of a list, so line breaks become spaces.
            let mut content = entry.content.clone();
            clean_label(&mut content);
            format!("- {checkbox} {content}")
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let mut progress = Meta::default();
        progress.insert(
            PROGRESS_META_KEY.to_owned(),
            Value::from(with_heading(&text)),
        );
        let content = vec![ToolResultContent::Text(ToolResultText { text })];
        if turn.plan.replace(content.clone()).is_none() {
            turn.last_speech = None;
            collector.push_turn_event(TurnEvent::ToolStarted(Box::new(ToolStart {
                id: PLAN_CALL_ID.into(),
                name: "update_plan".to_owned(),
                display_name: "Plan".to_owned(),
                message: "Plan".into(),
                input: None,
                question: None,
                meta: None,
            })));
        }
        collector.push_turn_event(TurnEvent::ToolContent(ToolContent {
            id: PLAN_CALL_ID.into(),
            content,
            meta: Some(progress),
        }));
    }

    /// Completes the tool call of the plan at the end of the turn.
    pub(super) fn finish_plan(&mut self, collector: &mut EventCollector<'_>) {
        let plan = self.turn.as_mut().and_then(|turn| turn.plan.take());
        if let Some(plan) = plan {
            let text = plan.iter().find_map(|content| match content {
                ToolResultContent::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            let result = ToolCallResult {
                success: true,
                past_tense_message: MaybeMarkdown::Markdown(with_heading(text.unwrap_or_default())),
                content: Some(plan),
                structured_content: None,
                error: None,
            };
            collector.push_turn_event(TurnEvent::ToolCompleted(
                PLAN_CALL_ID.into(),
                Box::new(result),
            ));
        }
    }
}

/// Returns the plan entries below a heading.
fn with_heading(entries: &str) -> String {
    format!("Plan\n\n{entries}")
}
