//! The usage panel: the selected session by turn and by model, and all sessions by day.

use agenthost_protocol::chat::{ChatState, Message};
use agenthost_protocol::common::UsageInfo;
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::sorted::{SortedMap, sort_by_key};
use serde::Serialize;

use crate::usage::{CostAmount, CostSum, SessionUsage, UsageRow, add_tokens, local_day};

/// Turns that are listed, the latest ones.
const MAX_REPORT_TURNS: usize = 100;

/// Days that are listed, the latest ones.
const MAX_REPORT_DAYS: usize = 31;

/// Characters of a message in the label of its turn.
const MAX_LABEL_CHARS: usize = 80;

/// The content of the usage panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// Totals of the selected session, as the host publishes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionUsage>,
    /// Turns of the selected chat that report usage, oldest first.
    pub turns: Vec<TurnUsage>,
    /// Loaded turns of the selected chat by model, largest first.
    pub models: Vec<UsageGroup>,
    /// `true` if the chat has earlier turns that are not loaded.
    pub partial: bool,
    /// All sessions by the day of their last activity, oldest first.
    pub days: Vec<UsageGroup>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage {
    pub key: TurnId,
    /// First line of the message.
    pub label: String,
    /// Number of input and output tokens.
    pub tokens: u64,
    /// Tokens and cost of the turn.
    pub usage: UsageRow,
}

/// The usage of several turns or sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageGroup {
    /// Name of the model, or the day such as `2026-07-09`; empty for an unknown model.
    pub key: String,
    /// Number of turns or sessions in the group.
    pub count: u64,
    /// Number of input and output tokens.
    pub tokens: u64,
    /// Tokens and cost of the group.
    pub usage: UsageRow,
}

/// The inputs of the report.
#[derive(Debug, Clone, Copy)]
pub struct UsageSource<'a> {
    pub session: Option<&'a SessionState>,
    pub chat: Option<&'a ChatState>,
    /// Offset of the local time from UTC, which decides where a day begins.
    pub utc_offset_minutes: i64,
}

#[derive(Debug, Default)]
struct GroupSum {
    count: u64,
    usage: UsageRow,
    costs: CostSum,
}

impl UsageReport {
    pub fn compute<'a>(
        source: UsageSource<'_>,
        sessions: impl IntoIterator<Item = &'a SessionSummary>,
    ) -> Self {
        let mut report = UsageReport {
            session: source.session.and_then(SessionUsage::of_session),
            partial: source
                .chat
                .is_some_and(|chat| chat.turns_next_cursor.is_some()),
            ..UsageReport::default()
        };
        if let Some(chat) = source.chat {
            report.add_turns(chat);
        }
        let mut days = SortedMap::<String, GroupSum>::new();
        for summary in sessions {
            let Some(usage) = UsageRow::of_meta(summary.meta.as_ref()) else {
                continue;
            };
            let day = local_day(&summary.modified_at, source.utc_offset_minutes);
            let Some(day) = day.filter(|_| usage != UsageRow::default()) else {
                continue;
            };
            let info = UsageInfo {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cache_read_tokens: usage.cache_read_tokens,
                model: None,
                meta: None,
            };
            let cost = CostAmount::of_meta(summary.meta.as_ref());
            days.or_default(day).add(Some(&info), cost);
        }
        let skipped = days.len().saturating_sub(MAX_REPORT_DAYS);
        let days = days.into_iter().skip(skipped);
        report.days = days.map(|(day, sum)| sum.into_group(day)).collect();
        report
    }

    fn add_turns(&mut self, chat: &ChatState) {
        let ended = chat.turns.items();
        let ended = ended.map(|turn| (&turn.id, &*turn.message, turn.usage.as_ref()));
        let active = chat.active_turn.iter();
        let active = active.map(|turn| (&turn.id, &*turn.message, turn.usage.as_ref()));
        let mut models = SortedMap::<String, GroupSum>::new();
        let mut before: Option<CostAmount> = None;
        for (index, (id, message, usage)) in ended.chain(active).enumerate() {
            let Some(usage) = usage else { continue };
            let total = CostAmount::of_usage(usage);
            // The first loaded turn of a chat reports the cost of turns before it, too.
            let is_known = index > 0 || !self.partial;
            let cost = total.as_ref().filter(|_| is_known);
            let cost = cost.map(|total| total.since(before.as_ref()));
            before = total.or(before);
            let row = UsageRow::of_turn(usage, cost.as_ref());
            let model = row.model.clone().unwrap_or_default();
            models.or_default(model).add(Some(usage), cost);
            self.turns.push(TurnUsage {
                key: id.clone(),
                label: label_of(message),
                tokens: tokens_of(&row),
                usage: row,
            });
        }
        let skipped = self.turns.len().saturating_sub(MAX_REPORT_TURNS);
        self.turns.drain(..skipped);
        let models = models.into_iter().map(|(model, sum)| sum.into_group(model));
        self.models = models.collect();
        sort_by_key(&mut self.models, |group| -i128::from(group.tokens));
    }
}

impl GroupSum {
    fn add(&mut self, usage: Option<&UsageInfo>, cost: Option<CostAmount>) {
        self.count += 1;
        if let Some(usage) = usage {
            add_tokens(&mut self.usage, usage);
        }
        if let Some(cost) = cost {
            self.costs.add(cost);
        }
    }

    fn into_group(self, key: String) -> UsageGroup {
        UsageGroup {
            key,
            count: self.count,
            tokens: tokens_of(&self.usage),
            usage: UsageRow {
                cost: self.costs.to_text(),
                ..self.usage
            },
        }
    }
}

fn tokens_of(row: &UsageRow) -> u64 {
    let (input, output) = (row.input_tokens, row.output_tokens);
    input.unwrap_or(0).saturating_add(output.unwrap_or(0))
}

fn label_of(message: &Message) -> String {
    let line = message.text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or_default()
        .trim()
        .chars()
        .take(MAX_LABEL_CHARS)
        .collect()
}

#[cfg(test)]
#[path = "usage_report_tests.rs"]
mod tests;
