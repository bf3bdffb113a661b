use expect_test::expect;
use serde_json::json;

use super::*;
use crate::samples::{chat, check, session, summary, turn};

#[test]
fn a_report_has_turns_models_and_days() {
    let session = session(json!({"_meta": {"agenthost.usage": {"inputTokens": 30}}}));
    let message = |text: &str| json!({"text": text, "origin": {"kind": "user"}});
    let chat = chat(json!({"turns": [
        turn("t1", json!({"message": message("\n first \nmore"), "usage": {"inputTokens": 10,
            "outputTokens": 2, "model": "small", "_meta": {"cost": {"amount": 0.5, "currency": "USD"}}}})),
        turn("t2", json!({"usage": {"inputTokens": 20, "model": "large",
            "_meta": {"cost": {"amount": 2.0, "currency": "USD"}}}})),
        turn("t3", json!({}))]}));
    let totals = |day: &str, count: u64| {
        json!({"modifiedAt": format!("2026-07-{day}T23:30:00.000Z"),
               "_meta": {"agenthost.usage": {"inputTokens": count, "outputTokens": 1,
                         "cost": {"amount": 1.0, "currency": "USD"}}}})
    };
    let sessions = [
        summary("s:/1", totals("08", 5)),
        summary("s:/2", totals("08", 6)),
        summary("s:/3", totals("06", 7)),
        summary("s:/4", json!({})),
    ];
    let source = UsageSource {
        session: Some(&session),
        chat: Some(&chat),
        utc_offset_minutes: 60,
    };
    check(
        &UsageReport::compute(source, &sessions),
        expect![[r#"
        {
          "session": {
            "usage": {
              "inputTokens": 30
            },
            "chats": []
          },
          "turns": [
            {
              "key": "t1",
              "label": "first",
              "tokens": 12,
              "usage": {
                "inputTokens": 10,
                "outputTokens": 2,
                "cost": "$0.50",
                "model": "small"
              }
            },
            {
              "key": "t2",
              "label": "go",
              "tokens": 20,
              "usage": {
                "inputTokens": 20,
                "cost": "$1.50",
                "model": "large"
              }
            }
          ],
          "models": [
            {
              "key": "large",
              "count": 1,
              "tokens": 20,
              "usage": {
                "inputTokens": 20,
                "cost": "$1.50"
              }
            },
            {
              "key": "small",
              "count": 1,
              "tokens": 12,
              "usage": {
                "inputTokens": 10,
                "outputTokens": 2,
                "cost": "$0.50"
              }
            }
          ],
          "partial": false,
          "days": [
            {
              "key": "2026-07-07",
              "count": 1,
              "tokens": 8,
              "usage": {
                "inputTokens": 7,
                "outputTokens": 1,
                "cost": "$1.00"
              }
            },
            {
              "key": "2026-07-09",
              "count": 2,
              "tokens": 13,
              "usage": {
                "inputTokens": 11,
                "outputTokens": 2,
                "cost": "$2.00"
              }
            }
          ]
        }
    "#]],
    );
}

#[test]
fn a_partly_loaded_chat_does_not_count_the_cost_before_it() {
    let usage = json!({"inputTokens": 1, "_meta": {"cost": {"amount": 9.0, "currency": "USD"}}});
    let chat =
        chat(json!({"turnsNextCursor": "x", "turns": [turn("t9", json!({"usage": usage}))]}));
    let source = UsageSource {
        session: None,
        chat: Some(&chat),
        utc_offset_minutes: 0,
    };
    let report = UsageReport::compute(source, &[]);
    assert!(report.partial);
    assert_eq!(
        report.turns.first().map(|turn| turn.usage.cost.clone()),
        Some(None)
    );
}
