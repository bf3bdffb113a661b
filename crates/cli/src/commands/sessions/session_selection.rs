//! Selects the sessions of a command that changes several: by name, or by their age.

use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use agenthost_client::Client;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionSummary;
use clap_complete::engine::ArgValueCandidates;

use crate::completion_values::session_ids;
use crate::session_lookup::{find_session, list_sessions};

/// The sessions of a command.
#[derive(clap::Args)]
pub(super) struct SelectionArgs {
    /// The sessions: their addresses, or the beginnings or ends of their ids
    #[arg(
        required_unless_present = "older_than",
        value_name = "SESSION",
        add = ArgValueCandidates::new(session_ids)
    )]
    pub(super) sessions: Vec<String>,
    /// All sessions that were not modified for this time, such as 90d, 12w or 36h; running ones
    /// are left out
    #[arg(long, value_name = "AGE", conflicts_with = "sessions")]
    pub(super) older_than: Option<SessionAge>,
}

/// A span of time up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionAge(pub(crate) Millis);

/// The error of a text that is no age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of hours, days or weeks, such as 36h, 90d or 12w")]
pub(crate) struct InvalidAge;

impl FromStr for SessionAge {
    type Err = InvalidAge;

    fn from_str(text: &str) -> Result<Self, InvalidAge> {
        let hours = match text.chars().last() {
            Some('h') => 1,
            Some('d') => 24,
            Some('w') => 7 * 24,
            _ => return Err(InvalidAge),
        };
        let number = text.get(..text.len() - 1).unwrap_or_default();
        let number: i64 = number.parse().map_err(|_| InvalidAge)?;
        let millis = number.checked_mul(hours * 60 * 60 * 1_000);
        let millis = millis.filter(|millis| *millis >= 0);
        Ok(SessionAge(Millis(millis.ok_or(InvalidAge)?)))
    }
}

impl SessionAge {
    /// Returns the moment that is as long ago.
    pub(crate) fn moment(self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_millis());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        Millis(now.saturating_sub(self.0.0))
    }
}

impl SelectionArgs {
    /// Returns the selected sessions. Each name has to match one session.
    pub(super) async fn resolve(&self, client: &mut Client) -> anyhow::Result<Vec<SessionSummary>> {
        let Some(age) = self.older_than else {
            let mut found: Vec<SessionSummary> = Vec::new();
            for named in &self.sessions {
                let session = find_session(client, named).await?;
                if !found.iter().any(|other| other.resource == session.resource) {
                    found.push(session);
                }
            }
            return Ok(found);
        };
        let moment = age.moment();
        let mut sessions = list_sessions(client).await?;
        sessions.retain(|summary| {
            let modified = summary.modified_at.to_millis().unwrap_or(Millis(i64::MAX));
            modified < moment && !is_running(summary)
        });
        Ok(sessions)
    }
}

/// Returns `true` if a turn of a session runs or waits for a user.
pub(super) fn is_running(summary: &SessionSummary) -> bool {
    summary.metadata.status.contains(SessionStatus::IN_PROGRESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        let hours = |text: &str| text.parse::<SessionAge>().map(|age| age.0.0 / 3_600_000);
        assert_eq!(hours("36h"), Ok(36));
        assert_eq!(hours("90d"), Ok(90 * 24));
        assert_eq!(hours("12w"), Ok(12 * 7 * 24));
        for invalid in [
            "",
            "d",
            "90",
            "-1d",
            "1.5d",
            "9 d",
            "90m",
            "99999999999999999d",
            "9€",
        ] {
            assert_eq!(hours(invalid), Err(InvalidAge), "{invalid}");
        }
    }
}
