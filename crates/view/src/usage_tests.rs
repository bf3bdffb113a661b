use expect_test::expect;
use serde_json::json;

use super::*;
use crate::samples::{chat, check, session, turn};

#[test]
fn totals_of_a_session_are_those_of_the_host() {
    let session = session(json!({
        "chats": [{"resource": "chat:/1", "title": "Main", "status": 1,
                   "modifiedAt": "2026-07-09T10:00:00.000Z"}],
        "_meta": {"agenthost.usage": {"inputTokens": 15, "outputTokens": 7, "cacheReadTokens": 3,
            "chats": {"chat:/1": {"inputTokens": 10}, "chat:/gone": {"inputTokens": 5}}}}
    }));
    check(
        &SessionUsage::of_session(&session),
        expect![[r#"
            {
              "usage": {
                "inputTokens": 15,
                "outputTokens": 7,
                "cacheReadTokens": 3
              },
              "chats": [
                {
                  "key": "chat:/1",
                  "title": "Main",
                  "usage": {
                    "inputTokens": 10
                  }
                },
                {
                  "key": "chat:/gone",
                  "title": "",
                  "usage": {
                    "inputTokens": 5
                  }
                }
              ]
            }
        "#]],
    );
}

#[test]
fn days_begin_at_local_midnight_and_costs_are_differences() {
    let cost = |amount: f64| json!({"cost": {"amount": amount, "currency": "USD"}});
    let usage = |tokens: u64, amount: f64| json!({"inputTokens": tokens, "_meta": cost(amount)});
    let at = |time: &str, usage: Json| json!({"startedAt": time, "usage": usage});
    let chat = chat(json!({"turns": [
        turn("t1", at("2026-07-08T22:30:00.000Z", usage(10, 0.5))),
        turn("t2", at("2026-07-09T09:00:00.000Z", usage(20, 1.25))),
        turn("t3", json!({"usage": usage(40, 2.0)})),
        turn("t4", at("2026-07-10T09:00:00.000Z", usage(80, 0.01))),
    ]}));
    check(
        &daily_usage([&chat], 0),
        expect![[r#"
        {"day":"2026-07-08","turns":1,"usage":{"inputTokens":10,"cost":"$0.50"}}
        {"day":"2026-07-09","turns":1,"usage":{"inputTokens":20,"cost":"$0.75"}}
        {"day":"2026-07-10","turns":1,"usage":{"inputTokens":80,"cost":"$0.0100"}}
    "#]],
    );
    check(
        &daily_usage([&chat], 120),
        expect![[r#"
        {"day":"2026-07-09","turns":2,"usage":{"inputTokens":30,"cost":"$1.25"}}
        {"day":"2026-07-10","turns":1,"usage":{"inputTokens":80,"cost":"$0.0100"}}
    "#]],
    );
}

#[test]
fn an_amount_is_printed_with_its_unit() {
    let text = |amount, currency: &str| {
        let currency = currency.to_owned();
        CostAmount { amount, currency }.to_string()
    };
    assert_eq!(text(1.2, "USD"), "$1.20");
    assert_eq!(text(0.0042, "USD"), "$0.0042");
    assert_eq!(text(3.0, "credits"), "3.00 credits");
    let mut sum = CostSum::default();
    assert_eq!(sum.to_text(), None);
    for (amount, currency) in [(1.0, "USD"), (0.5, "EUR"), (0.25, "USD")] {
        let currency = currency.to_owned();
        sum.add(CostAmount { amount, currency });
    }
    assert_eq!(sum.to_text().unwrap(), "0.50 EUR + $1.25");
}
