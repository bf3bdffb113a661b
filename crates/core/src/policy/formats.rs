//! Checks texts against the formats that the questions of an input request can require.

use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;

use crate::resource::uris;

/// Checks a text against a format. The error describes the expected format. An unknown format
/// accepts any text (FWD-2).
pub(super) fn check_format(format: &str, text: &str) -> Result<(), &'static str> {
    let (fits, wanted) = match format {
        "email" => (is_email(text), "an e-mail address"),
        "uri" => (uris::check_uri(&Uri::from(text)).is_ok(), "an absolute URI"),
        "date" => (is_date(text), "a date such as 2026-01-05"),
        "date-time" => (
            Timestamp::from(text).to_millis().is_ok(),
            "a time such as 2026-01-05T09:00:00Z",
        ),
        _ => (true, ""),
    };
    if fits { Ok(()) } else { Err(wanted) }
}

/// Returns `true` for a local part, a single `@`, and a domain with a dot.
fn is_email(text: &str) -> bool {
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let (name, place) = text.rsplit_once('@').unwrap_or_default();
    let dotted = place.split('.').count() > 1 && place.split('.').all(|part| !part.is_empty());
    plain && !name.is_empty() && !name.contains('@') && dotted
}

/// Returns `true` for an existing day in the form `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    let midnight = format!("{text}T00:00:00Z");
    text.len() == 10 && Timestamp::from(midnight.as_str()).to_millis().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_checked_against_their_format() {
        let good = [
            ("email", "ada@example.org"),
            ("uri", "https://example.org/x?y"),
            ("date", "2024-02-29"),
            ("date-time", "2026-01-05T09:00:00+01:00"),
            ("phone", "anything"),
            ("", "anything"),
        ];
        for (format, text) in good {
            assert_eq!(check_format(format, text), Ok(()), "{format}: {text}");
        }
        let bad = [
            ("email", "notmail"),
            ("email", "a@b"),
            ("email", "a b@example.org"),
            ("email", "@example.org"),
            ("uri", "not a uri"),
            ("date", "2026-13-45"),
            ("date", "2025-02-29"),
            ("date", "2026-01-05T09:00:00Z"),
            ("date-time", "yesterday"),
        ];
        for (format, text) in bad {
            assert!(check_format(format, text).is_err(), "{format}: {text}");
        }
    }
}
