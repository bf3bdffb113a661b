//! Plans of agents, which the host publishes as tool calls.

use agenthost_protocol::chat::{ToolCall, ToolResultContent};
use serde::Serialize;

use crate::visible_text::visible_order;

/// The tool name of calls that show the plan of the agent.
const PLAN_TOOL_NAME: &str = "update_plan";

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanEntry {
    /// Text of the entry.
    pub text: String,
    /// Progress of the entry.
    pub status: PlanStatus,
}

/// The progress of a plan entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PlanStatus {
    /// The agent has not started the entry.
    Pending,
    /// The agent works on the entry.
    Running,
    /// The entry is complete.
    Done,
}

/// Returns the entries of a plan; `None` if the call is no plan. Each line of a plan is an entry
/// with a check box.
pub(super) fn plan_entries(call: &ToolCall) -> Option<Vec<PlanEntry>> {
    if call.head()?.tool_name != PLAN_TOOL_NAME {
        return None;
    }
    let [ToolResultContent::Text(content)] = call.content() else {
        return None;
    };
    let lines = content.text.lines().filter(|line| !line.trim().is_empty());
    let entries: Option<Vec<_>> = lines.map(plan_entry).collect();
    entries.filter(|entries| !entries.is_empty())
}

fn plan_entry(line: &str) -> Option<PlanEntry> {
    let boxes = [
        ("- [ ] ", PlanStatus::Pending),
        ("- [~] ", PlanStatus::Running),
        ("- [x] ", PlanStatus::Done),
    ];
    boxes.into_iter().find_map(|(mark, status)| {
        let text = visible_order(line.strip_prefix(mark)?);
        Some(PlanEntry { text, status })
    })
}
