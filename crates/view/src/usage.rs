//! Token usage and cost of turns, chats, sessions and days.
//!
//! Tokens of a turn are in its `usage`; those of a session are the totals that the host publishes
//! in `_meta`. Agents report the cost of a chat as a running total, so the cost of a turn is the
//! difference to the turn before it.

use std::fmt;

use agenthost_protocol::chat::ChatState;
use agenthost_protocol::common::{Meta, UsageInfo};
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionState;
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::wire::{Json, Object};
use serde::Serialize;

/// The `_meta` key of the totals of a session.
const SESSION_USAGE_KEY: &str = "agenthost.usage";

/// Token usage and cost of a turn, a chat, a session or a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// Number of input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Number of input tokens that were read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Cost as text with its currency, such as `$1.20`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    /// Model that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Number of tokens in the context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_used: Option<u64>,
    /// Size of the context window, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_size: Option<u64>,
}

/// The usage of a chat in its session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatUsage {
    /// URI of the chat channel.
    pub key: String,
    /// Title of the chat; empty if the chat was removed.
    pub title: String,
    /// Tokens of all turns of the chat.
    pub usage: UsageRow,
}

/// The usage of a session, also by chat.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionUsage {
    /// Tokens of all turns, also of removed chats.
    pub usage: UsageRow,
    /// Usage by chat, in the order of the host.
    pub chats: Vec<ChatUsage>,
}

/// The usage of a day over all chats.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageDay {
    /// The day, such as `2026-07-09`.
    pub day: String,
    /// Number of turns that started on the day.
    pub turns: u64,
    /// Tokens and cost of these turns.
    pub usage: UsageRow,
}

/// An amount of money or of another unit.
#[derive(Debug, Clone, PartialEq)]
pub struct CostAmount {
    /// Amount in units of the currency.
    pub amount: f64,
    /// Currency code, or another unit such as `credits`.
    pub currency: String,
}

/// Running totals of costs, by currency. Units are never added to each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostSum(SortedMap<String, f64>);

impl SessionUsage {
    /// Returns the totals that the host publishes; `None` if it has published none.
    pub fn of_session(session: &SessionState) -> Option<Self> {
        let totals = totals_of(session.meta.as_ref())?;
        let chats = totals.get("chats").and_then(Json::as_object);
        let chats = chats.into_iter().flatten().map(|(key, counts)| {
            let summary = session
                .chats
                .items()
                .find(|chat| chat.resource.as_str() == key);
            ChatUsage {
                key: key.clone(),
                title: summary.map_or_else(String::new, |chat| chat.title.clone()),
                usage: counts.as_object().map(row_of_totals).unwrap_or_default(),
            }
        });
        Some(SessionUsage {
            usage: row_of_totals(totals),
            chats: chats.collect(),
        })
    }
}

impl UsageRow {
    /// Returns the totals in the `_meta` of a session or of its summary.
    pub fn of_meta(meta: Option<&Meta>) -> Option<Self> {
        totals_of(meta).map(row_of_totals)
    }

    /// Returns the usage of a turn. `cost` is the share of the turn, not the running total.
    pub fn of_turn(usage: &UsageInfo, cost: Option<&CostAmount>) -> Self {
        let number = |key| usage.meta.as_ref()?.get(key)?.as_u64();
        UsageRow {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cost: cost.map(CostAmount::to_string),
            model: usage.model.clone(),
            context_used: number("contextUsed"),
            context_size: number("contextSize"),
        }
    }
}

impl CostAmount {
    /// Returns the running total that a turn reports, if the agent reports costs.
    pub fn of_usage(usage: &UsageInfo) -> Option<Self> {
        Self::of_json(usage.meta.as_ref()?.get("cost")?)
    }

    /// Returns the total in the `_meta` of a session or of its summary.
    pub fn of_meta(meta: Option<&Meta>) -> Option<Self> {
        Self::of_json(totals_of(meta)?.get("cost")?)
    }

    /// Returns the cost since an earlier running total. An agent that restarts counts from zero.
    #[must_use]
    pub fn since(&self, before: Option<&CostAmount>) -> CostAmount {
        let counted = match before {
            Some(before) if before.currency == self.currency && before.amount <= self.amount => {
                before.amount
            }
            Some(_) | None => 0.0,
        };
        CostAmount {
            amount: self.amount - counted,
            currency: self.currency.clone(),
        }
    }

    fn of_json(cost: &Json) -> Option<Self> {
        Some(CostAmount {
            amount: cost.get("amount")?.as_f64()?,
            currency: cost.get("currency")?.as_str()?.to_owned(),
        })
    }
}

impl CostSum {
    /// Adds an amount to the total of its currency.
    pub fn add(&mut self, cost: CostAmount) {
        *self.0.or_default(cost.currency) += cost.amount;
    }

    /// Returns the totals as text; `None` if nothing was added.
    pub fn to_text(&self) -> Option<String> {
        let amounts = self.0.iter().map(|(currency, amount)| {
            let cost = CostAmount {
                amount: *amount,
                currency: currency.clone(),
            };
            cost.to_string()
        });
        let amounts: Vec<_> = amounts.collect();
        (!amounts.is_empty()).then(|| amounts.join(" + "))
    }
}

impl fmt::Display for CostAmount {
    /// Prints cents, and two more digits for an amount below ten cents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, scale) = if self.amount != 0.0 && self.amount.abs() < 0.1 {
            (4, 10_000_u32)
        } else {
            (2, 100)
        };
        // Integers, because the code that prints floats is large. Larger amounts saturate.
        let units = (self.amount.abs() * f64::from(scale)).round() as u64;
        let (whole, part) = (units / u64::from(scale), units % u64::from(scale));
        let sign = if self.amount < 0.0 { "-" } else { "" };
        match self.currency.as_str() {
            "USD" => write!(f, "${sign}{whole}.{part:0digits$}"),
            other => write!(f, "{sign}{whole}.{part:0digits$} {other}"),
        }
    }
}

/// Returns the usage of all turns by day, oldest first. The offset of the local time from UTC
/// decides where a day begins. Turns without a time are left out.
pub fn daily_usage<'a>(
    chats: impl IntoIterator<Item = &'a ChatState>,
    utc_offset_minutes: i64,
) -> Vec<UsageDay> {
    let mut days = SortedMap::<String, (UsageDay, CostSum)>::new();
    for chat in chats {
        let mut before: Option<CostAmount> = None;
        let ended = chat
            .turns
            .items()
            .map(|turn| (turn.started_at.as_ref(), turn.usage.as_ref()));
        let active = chat.active_turn.as_ref();
        let active = active.map(|turn| (Some(&turn.started_at), turn.usage.as_ref()));
        for (index, (started_at, usage)) in ended.chain(active).enumerate() {
            let total = usage.and_then(CostAmount::of_usage);
            // The first turn of a partly loaded chat reports the cost of turns before it, too.
            let is_known = index > 0 || chat.turns_next_cursor.is_none();
            let cost = total.as_ref().filter(|_| is_known);
            let cost = cost.map(|total| total.since(before.as_ref()));
            before = total.or(before);
            let Some(day) = started_at.and_then(|at| local_day(at, utc_offset_minutes)) else {
                continue;
            };
            let (row, costs) = days.or_insert_with(day.clone(), || empty_day(day));
            row.turns += 1;
            if let Some(usage) = usage {
                add_tokens(&mut row.usage, usage);
            }
            if let Some(cost) = cost {
                costs.add(cost);
            }
        }
    }
    let rows = days.into_values().map(|(mut row, costs)| {
        row.usage.cost = costs.to_text();
        row
    });
    rows.collect()
}

fn empty_day(day: String) -> (UsageDay, CostSum) {
    let row = UsageDay {
        day,
        turns: 0,
        usage: UsageRow::default(),
    };
    (row, CostSum::default())
}

pub(crate) fn add_tokens(row: &mut UsageRow, usage: &UsageInfo) {
    for (total, count) in [
        (&mut row.input_tokens, usage.input_tokens),
        (&mut row.output_tokens, usage.output_tokens),
        (&mut row.cache_read_tokens, usage.cache_read_tokens),
    ] {
        if let Some(count) = count {
            *total = Some(total.unwrap_or(0).saturating_add(count));
        }
    }
}

/// Returns the day of a time such as `2026-07-09`; `None` if it is not a valid time.
pub(crate) fn local_day(at: &Timestamp, utc_offset_minutes: i64) -> Option<String> {
    let utc = at.to_millis().ok()?;
    let offset = utc_offset_minutes.saturating_mul(60_000);
    let local = Timestamp::from_millis(Millis(utc.0.saturating_add(offset)));
    Some(local.as_str().split('T').next()?.to_owned())
}

fn totals_of(meta: Option<&Meta>) -> Option<&Object> {
    meta?.get(SESSION_USAGE_KEY)?.as_object()
}

fn row_of_totals(totals: &Object) -> UsageRow {
    let number = |key| totals.get(key).and_then(Json::as_u64);
    let cost = totals.get("cost").and_then(CostAmount::of_json);
    UsageRow {
        input_tokens: number("inputTokens"),
        output_tokens: number("outputTokens"),
        cache_read_tokens: number("cacheReadTokens"),
        cost: cost.map(|cost| cost.to_string()),
        ..UsageRow::default()
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
