use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::away::AwayChat;
use crate::samples::{chat, check, summary, turn};

fn by_key(sessions: impl IntoIterator<Item = SessionSummary>) -> BTreeMap<Uri, SessionSummary> {
    let keyed = sessions.into_iter();
    keyed
        .map(|session| (session.resource.clone(), session))
        .collect()
}

fn cost(amount: f64) -> Value {
    json!({"agenthost.usage": {"cost": {"amount": amount, "currency": "USD"}}})
}

#[test]
fn a_summary_lists_sessions_with_news_and_adds_them_up() {
    let before = by_key([
        summary("s:/same", json!({})),
        summary("s:/read", json!({"status": 1})),
        summary(
            "s:/done",
            json!({"title": "Build", "status": 40, "_meta": cost(1.0),
            "changes": {"files": 2}}),
        ),
        summary("s:/open", json!({"title": "Open"})),
    ]);
    let after = by_key([
        summary("s:/same", json!({"title": "Renamed"})),
        summary("s:/read", json!({"status": 33})),
        summary(
            "s:/done",
            json!({"title": "Build", "status": 1, "_meta": cost(1.5),
            "changes": {"files": 5}, "modifiedAt": "2026-07-09T12:00:00.000Z"}),
        ),
        summary("s:/open", json!({"title": "Open"})),
        summary("s:/new", json!({"title": "New", "status": 24})),
    ]);
    let (old, new) = (
        chat(json!({})),
        chat(json!({"turns": [turn("t1", json!({}))]})),
    );
    let pair = AwayChat {
        before: Some(&old),
        after: &new,
    };
    let digest = AwayDigest::compare([pair], &"me".into());
    let open = Some((Uri::from("s:/open"), digest));
    let since = Timestamp::from("2026-07-09T11:00:00.000Z");
    let summary = AwaySummary::compare(since, &before, after.values(), open);
    check(
        &summary,
        expect![[r#"
        {
          "since": "2026-07-09T11:00:00.000Z",
          "sessions": [
            {
              "key": "s:/done",
              "title": "Build",
              "status": "idle",
              "isNew": false,
              "files": 3,
              "cost": "$0.50"
            },
            {
              "key": "s:/new",
              "title": "New",
              "status": "waiting",
              "isNew": true,
              "files": 0
            },
            {
              "key": "s:/open",
              "title": "Open",
              "status": "idle",
              "isNew": false,
              "files": 0,
              "digest": {
                "turns": [
                  {
                    "chat": "chat:/1",
                    "turnId": "t1",
                    "state": "complete"
                  }
                ],
                "answers": [],
                "files": []
              }
            }
          ],
          "total": 3,
          "files": 3,
          "cost": "$0.50"
        }
    "#]],
    );
}

#[test]
fn a_summary_without_changes_is_empty() {
    let sessions = by_key([summary("s:/same", json!({"_meta": cost(1.0)}))]);
    let since = Timestamp::from("2026-07-09T11:00:00.000Z");
    let open = Some((Uri::from("s:/same"), AwayDigest::default()));
    let summary = AwaySummary::compare(since, &sessions, sessions.values(), open);
    assert_eq!(summary, None);
}
