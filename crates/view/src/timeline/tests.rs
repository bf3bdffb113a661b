use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::wire;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::samples::{call, chat, session, turn};

fn context() -> TimelineContext {
    let session = session(json!({"workingDirectories": ["file:///w"]}));
    TimelineContext::of_chat(&"s:/1".into(), &session, &"chat:/1".into())
}

/// A chat with its timeline, changed by actions.
struct Fixture {
    state: ChannelState,
    timeline: Timeline,
}

impl Fixture {
    fn new(fields: Value) -> Self {
        Fixture {
            state: ChannelState::Chat(Arc::new(chat(fields))),
            timeline: Timeline::new(context()),
        }
    }

    fn act(&mut self, action: Value) -> TimelinePatch {
        let action = wire::from_str(&action.to_string()).unwrap();
        assert_eq!(
            self.state.reduce(&action),
            agenthost_protocol::outcome::Outcome::Applied
        );
        self.update()
    }

    fn update(&mut self) -> TimelinePatch {
        let patch = self.timeline.update(self.state.as_chat().unwrap());
        // Every update must lead to the rows that a new timeline has.
        let mut fresh = Timeline::new(context());
        fresh.update(self.state.as_chat().unwrap());
        let without_delivery = |timeline: &Timeline| {
            let rows = timeline.rows().map(|row| {
                let mut row = serde_json::to_value(row).unwrap();
                if row["kind"] == "message" {
                    row.as_object_mut().unwrap().remove("state");
                }
                row
            });
            rows.collect::<Vec<_>>()
        };
        assert_eq!(without_delivery(&self.timeline), without_delivery(&fresh));
        let keys: Vec<_> = self.timeline.rows().map(|row| row.key.clone()).collect();
        assert_eq!(self.timeline.order, keys);
        patch
    }
}

/// Describes a patch in one line: the splice, and the keys of the computed rows.
fn brief(patch: &TimelinePatch) -> String {
    let splice = patch.splice.as_ref().map(|splice| {
        let keys: Vec<_> = splice.keys.iter().map(RowKey::as_str).collect();
        format!("at {} -{} +{keys:?}, ", splice.start, splice.remove)
    });
    let set: Vec<_> = patch.set.iter().map(|row| row.key.as_str()).collect();
    format!("{}set {set:?}", splice.unwrap_or_default())
}

fn check_rows(parts: Value, expected: Expect) {
    let mut fixture = Fixture::new(json!({"turns": [turn("t1", json!({
        "startedAt": "2026-07-09T10:00:00.000Z", "duration": 1500,
        "usage": {"inputTokens": 5, "model": "m1"}, "responseParts": parts}))]}));
    fixture.update();
    let rows = fixture.timeline.rows();
    let lines = rows.map(|row| serde_json::to_string(row).unwrap() + "\n");
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_turn_is_a_message_its_parts_and_an_end() {
    check_rows(
        json!([
            {"kind": "reasoning", "id": "p1", "content": "**Look around**\n\nfirst"},
            {"kind": "markdown", "id": "p2", "content": "Use `x`."},
            {"kind": "later", "id": "p3"},
            {"kind": "systemNotification", "content": "*done*"},
            {"kind": "contentRef", "uri": "content:/1", "contentType": "text/plain"},
            {"kind": "inputRequest", "request": {"id": "r1", "message": "?"}, "response": "decline"},
            {"kind": "error", "error": {"errorType": "x", "message": "it broke"}, "resumable": true},
        ]),
        expect![[r#"
            {"key":"t1/message","turnId":"t1","kind":"message","from":"user","blocks":[{"kind":"paragraph","children":[{"kind":"text","text":"go"}]}],"text":"go","attachments":[],"at":"2026-07-09T10:00:00.000Z"}
            {"key":"t1/0","turnId":"t1","kind":"reasoning","blocks":[{"kind":"paragraph","children":[{"kind":"strong","children":[{"kind":"text","text":"Look around"}]}]},{"kind":"paragraph","children":[{"kind":"text","text":"first"}]}],"open":false,"summary":"Look around"}
            {"key":"t1/1","turnId":"t1","kind":"text","blocks":[{"kind":"paragraph","children":[{"kind":"text","text":"Use "},{"kind":"code","text":"x"},{"kind":"text","text":"."}]}],"open":false}
            {"key":"t1/3","turnId":"t1","kind":"notice","blocks":[{"kind":"paragraph","children":[{"kind":"text","text":"*done*"}]}]}
            {"key":"t1/4","turnId":"t1","kind":"resource","uri":"content:/1","contentType":"text/plain"}
            {"key":"t1/5","turnId":"t1","kind":"form","card":{"kind":"form","key":"form r1 chat:/1","session":"s:/1","chat":"chat:/1","requestId":"r1","message":"?","questions":[]},"response":"decline"}
            {"key":"t1/6","turnId":"t1","kind":"error","message":"it broke","resumable":true}
            {"key":"t1/end","turnId":"t1","kind":"turnEnd","state":"complete","durationMs":1500,"usage":{"inputTokens":5,"model":"m1"}}
        "#]],
    );
}

#[test]
fn a_tool_call_has_its_decision_and_the_client_that_made_it() {
    let completed = |fields: Value| {
        let mut fields = fields;
        let result = json!({"success": true, "pastTenseMessage": "Ran it", "confirmed": "setting"});
        for (key, value) in result.as_object().unwrap() {
            let fields = fields.as_object_mut().unwrap();
            fields.entry(key.clone()).or_insert(value.clone());
        }
        call("c1", "completed", fields)
    };
    check_rows(
        json!([
            completed(json!({"confirmed": "user-action", "toolInput": "ls -l",
                "selectedOption": {"id": "o", "label": "Always", "kind": "approve"},
                "_meta": {"toolKind": "terminal", "agenthost.answeredBy": "phone"},
                "content": [{"type": "terminal", "resource": "term:/1", "title": "ls",
                             "result": {"exitCode": 0, "preview": "x"}}]})),
            completed(
                json!({"success": false, "error": {"message": "no such file"},
                "contributor": {"kind": "mcp", "customizationId": "files"},
                "content": [{"type": "subagent", "resource": "chat:/2", "title": "Reader"},
                            {"type": "text", "text": "<b>"}, {"type": "later"}]})
            ),
            call(
                "c2",
                "cancelled",
                json!({"reason": "denied", "reasonMessage": "not now"})
            ),
            call("c3", "streaming", json!({"partialInput": "{\"a"})),
            completed(json!({"toolName": "update_plan",
                "content": [{"type": "text", "text": "- [x] one\n- [~] two\n- [ ] three"}]})),
        ]),
        expect![[r#"
            {"key":"t1/message","turnId":"t1","kind":"message","from":"user","blocks":[{"kind":"paragraph","children":[{"kind":"text","text":"go"}]}],"text":"go","attachments":[],"at":"2026-07-09T10:00:00.000Z"}
            {"key":"t1/0","turnId":"t1","kind":"toolCall","callId":"c1","name":"Bash","title":"Ran it","status":"completed","command":"ls -l","content":[{"kind":"terminal","uri":"term:/1","title":"ls","exitCode":0,"preview":"x","ended":true}],"decision":"user","selectedOption":"Always","answeredBy":"phone"}
            {"key":"t1/1","turnId":"t1","kind":"toolCall","callId":"c1","name":"Bash","title":"Ran it","status":"failed","contributor":"files","content":[{"kind":"worker","chat":"chat:/2","title":"Reader"},{"kind":"text","text":"<b>"}],"decision":"setting","reason":"no such file"}
            {"key":"t1/2","turnId":"t1","kind":"toolCall","callId":"c2","name":"Bash","title":"Run it","status":"cancelled","content":[],"outcome":"denied","reason":"not now"}
            {"key":"t1/3","turnId":"t1","kind":"toolCall","callId":"c3","name":"Bash","title":"Run it","status":"streaming","input":"{\"a","content":[]}
            {"key":"t1/4","turnId":"t1","kind":"plan","entries":[{"text":"one","status":"done"},{"text":"two","status":"running"},{"text":"three","status":"pending"}]}
            {"key":"t1/end","turnId":"t1","kind":"turnEnd","state":"complete","durationMs":1500,"usage":{"inputTokens":5,"model":"m1"}}
        "#]],
    );
}

fn active(id: &str, parts: Value) -> Value {
    json!({"id": id, "startedAt": "2026-07-09T10:00:00.000Z", "responseParts": parts,
           "message": {"text": "go", "origin": {"kind": "user"}}})
}

#[test]
fn a_delta_in_a_chat_of_1000_turns_computes_one_row() {
    let part = |id: &str| json!({"kind": "markdown", "id": id, "content": "Some *text*.\n\nMore."});
    let turns = (0..1000).map(|index| {
        let parts = json!([
            part("p1"),
            call("c", "cancelled", json!({"reason": "skipped"}))
        ]);
        turn(&format!("t{index}"), json!({"responseParts": parts}))
    });
    let mut fixture = Fixture::new(json!({
        "turns": turns.collect::<Vec<_>>(),
        "activeTurn": active("now", json!([part("p1"), part("p2")]))
    }));
    assert_eq!(fixture.update().set.len(), 4003);
    let before: Vec<_> = fixture.timeline.rows().map(Arc::clone).collect();
    let delta = json!({"type": "chat/delta", "turnId": "now", "partId": "p2", "content": " and"});
    for _ in 0..3 {
        assert_eq!(brief(&fixture.act(delta.clone())), r#"set ["now/1"]"#);
    }
    let after = fixture.timeline.rows();
    let kept = before
        .iter()
        .zip(after)
        .filter(|(before, after)| Arc::ptr_eq(before, after));
    assert_eq!(kept.count(), 4002);
    assert!(fixture.update().is_empty());
}

#[test]
fn a_delta_keeps_the_complete_blocks_of_its_part() {
    let text = "A paragraph.\n\n".repeat(100);
    let parts = json!([{"kind": "markdown", "id": "p1", "content": text}]);
    let mut fixture = Fixture::new(json!({"activeTurn": active("t1", parts)}));
    let blocks = |fixture: &Fixture| {
        let rows = fixture.timeline.rows().filter_map(|row| match &row.body {
            RowBody::Text { blocks, .. } => Some(blocks.clone()),
            _ => None,
        });
        rows.flatten().collect::<Vec<_>>()
    };
    fixture.update();
    let before = blocks(&fixture);
    let delta = json!({"type": "chat/delta", "turnId": "t1", "partId": "p1", "content": " part"});
    fixture.act(delta);
    let after = blocks(&fixture);
    let pairs = before.iter().zip(&after);
    let kept = pairs.filter(|(before, after)| Arc::ptr_eq(before, after));
    assert!(kept.count() >= 98);
}

#[test]
fn an_update_does_not_make_the_next_action_copy_the_text() {
    let parts = json!([{"kind": "markdown", "id": "p1", "content": "x".repeat(1000)}]);
    let mut fixture = Fixture::new(json!({"activeTurn": active("t1", parts)}));
    let text = |fixture: &Fixture| {
        let turn = fixture
            .state
            .as_chat()
            .unwrap()
            .active_turn
            .as_ref()
            .unwrap();
        match turn.response_parts.item(0) {
            Some(agenthost_protocol::chat::ResponsePart::Markdown(part)) => part.content.as_ptr(),
            other => panic!("expected a text, found {other:?}"),
        }
    };
    let delta = json!({"type": "chat/delta", "turnId": "t1", "partId": "p1", "content": "y"});
    fixture.act(delta.clone());
    let before = text(&fixture);
    fixture.act(delta);
    assert_eq!(text(&fixture), before);
}

#[test]
fn a_turn_from_its_start_to_its_end_changes_only_its_own_rows() {
    let mut fixture = Fixture::new(json!({"turns": [turn("t1", json!({}))]}));
    let mut log = vec![brief(&fixture.update())];
    let started = json!({"type": "chat/turnStarted", "turnId": "t2",
        "startedAt": "2026-07-09T10:00:00.000Z",
        "message": {"text": "go", "origin": {"kind": "user"}}});
    fixture
        .timeline
        .set_unconfirmed(SortedSet::from_iter(["t2".into()]));
    log.push(brief(&fixture.act(started)));
    fixture.timeline.set_unconfirmed(SortedSet::new());
    log.push(brief(&fixture.update()));
    for action in [
        json!({"type": "chat/responsePart", "turnId": "t2",
               "part": {"kind": "markdown", "id": "p1", "content": "Hel"}}),
        json!({"type": "chat/delta", "turnId": "t2", "partId": "p1", "content": "lo"}),
        json!({"type": "chat/toolCallStart", "turnId": "t2", "toolCallId": "c1", "toolName": "sh",
               "displayName": "Shell"}),
        json!({"type": "chat/toolCallReady", "turnId": "t2", "toolCallId": "c1",
               "invocationMessage": "Run"}),
        json!({"type": "chat/toolCallConfirmed", "turnId": "t2", "toolCallId": "c1",
               "approved": true, "confirmed": "user-action"}),
        json!({"type": "chat/turnComplete", "turnId": "t2", "duration": 5}),
        json!({"type": "chat/truncated", "turnId": "t1"}),
    ] {
        let name = action["type"].as_str().unwrap().to_owned();
        log.push(format!("{name}: {}", brief(&fixture.act(action))));
    }
    expect![[r#"
        at 0 -0 +["t1/message", "t1/end"], set ["t1/message", "t1/end"]
        at 2 -0 +["t2/message"], set ["t2/message"]
        set ["t2/message"]
        chat/responsePart: at 3 -0 +["t2/0"], set ["t2/0"]
        chat/delta: set ["t2/0"]
        chat/toolCallStart: at 4 -0 +["t2/1"], set ["t2/0", "t2/1"]
        chat/toolCallReady: set ["t2/1"]
        chat/toolCallConfirmed: set ["t2/1"]
        chat/turnComplete: at 5 -0 +["t2/end"], set ["t2/1", "t2/end"]
        chat/truncated: at 2 -4 +[], set []
    "#]]
    .assert_eq(&(log.join("\n") + "\n"));
}

#[test]
fn earlier_turns_are_inserted_before_the_others() {
    let cost = |amount: f64| {
        json!({"usage": {"_meta": {"cost": {"amount": amount,
                                                               "currency": "USD"}}}})
    };
    let mut fixture = Fixture::new(
        json!({"turns": [turn("t2", cost(3.0)), turn("t3", cost(3.5))],
                                          "turnsNextCursor": "more"}),
    );
    let costs = |fixture: &Fixture| {
        let rows = fixture.timeline.rows().filter_map(|row| match &row.body {
            RowBody::TurnEnd { usage, .. } => Some(usage.clone()?.cost.unwrap_or("?".to_owned())),
            _ => None,
        });
        rows.collect::<Vec<_>>().join(" ")
    };
    fixture.update();
    assert_eq!(costs(&fixture), "? $0.50");
    let turns = [
        turn("t1", cost(1.0)),
        turn("t2", cost(3.0)),
        turn("t3", cost(3.5)),
    ];
    fixture.state = ChannelState::Chat(Arc::new(chat(json!({"turns": turns}))));
    let patch = fixture.update();
    assert_eq!(patch.splice.unwrap().keys.len(), 2);
    assert_eq!(costs(&fixture), "$1.00 $2.00 $0.50");
}

#[test]
fn a_long_text_has_rows_of_a_few_blocks_and_a_delta_changes_the_last_one() {
    let paragraphs = |count: usize| "A *paragraph*.\n\n".repeat(count);
    let parts = json!([
        {"kind": "reasoning", "id": "p1", "content": paragraphs(130)},
        {"kind": "markdown", "id": "p2", "content": paragraphs(20)},
    ]);
    let mut fixture = Fixture::new(json!({"activeTurn": active("t1", parts)}));
    let mut log = vec![brief(&fixture.update())];
    for text in ["And", " more.\n\n", &paragraphs(6), "End"] {
        let delta = json!({"type": "chat/delta", "turnId": "t1", "partId": "p2", "content": text});
        log.push(brief(&fixture.act(delta)));
    }
    let complete = json!({"type": "chat/turnComplete", "turnId": "t1", "duration": 5});
    log.push(brief(&fixture.act(complete)));
    expect![[r#"
        at 0 -0 +["t1/message", "t1/0", "t1/0.1", "t1/0.2", "t1/1", "t1/1.1", "t1/1.2"], set ["t1/message", "t1/0", "t1/0.1", "t1/0.2", "t1/1", "t1/1.1", "t1/1.2"]
        set ["t1/1.2"]
        set ["t1/1.2"]
        at 7 -0 +["t1/1.3"], set ["t1/1.2", "t1/1.3"]
        set ["t1/1.3"]
        at 8 -0 +["t1/end"], set ["t1/1.3", "t1/end"]
    "#]].assert_eq(&(log.join("\n") + "\n"));
    let rows = fixture.timeline.rows().map(|row| match &row.body {
        RowBody::Text {
            blocks,
            open,
            continues,
        } => format!("{} open={open} continues={continues}", blocks.len()),
        RowBody::Reasoning {
            blocks, summary, ..
        } => format!("{} {summary:?}", blocks.len()),
        _ => String::new(),
    });
    expect![[r#"

        64 "A *paragraph*."
        64 ""
        2 ""
        8 open=false continues=true
        8 open=false continues=true
        8 open=false continues=true
        4 open=false continues=false
    "#]]
    .assert_eq(&rows.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_text_without_blocks_has_one_row_and_a_shorter_one_loses_rows() {
    let text = |content: &str| {
        let parts = json!([{"kind": "markdown", "id": "p1", "content": content}]);
        ChannelState::Chat(Arc::new(chat(json!({"activeTurn": active("t1", parts)}))))
    };
    let mut fixture = Fixture::new(json!({}));
    let mut log = Vec::new();
    for content in ["", &"# Title\n".repeat(17), "short", ""] {
        fixture.state = text(content);
        log.push(brief(&fixture.update()));
    }
    expect![[r#"
        at 0 -0 +["t1/message", "t1/0"], set ["t1/message", "t1/0"]
        at 2 -0 +["t1/0.1", "t1/0.2"], set ["t1/message", "t1/0", "t1/0.1", "t1/0.2"]
        at 2 -2 +[], set ["t1/message", "t1/0"]
        set ["t1/message", "t1/0"]
    "#]]
    .assert_eq(&(log.join("\n") + "\n"));
}

#[test]
fn a_form_says_who_answered() {
    let part = json!({"kind": "inputRequest", "request": {"id": "q1"}, "response": "accept"});
    let turn = turn("t1", json!({"responseParts": [part]}));
    let forms = json!([
        {"chat": "chat:/1", "requestId": "q1", "name": "phone\u{202e}", "clientId": "c"},
        {"chat": "chat:/2", "requestId": "q1", "name": "other", "clientId": "d"},
    ]);
    let session = session(json!({"_meta": {"agenthost.answeredForms": forms}}));
    let context = TimelineContext::of_chat(&"s:/1".into(), &session, &"chat:/1".into());
    let mut timeline = Timeline::new(context);
    timeline.update(&chat(json!({"turns": [turn]})));
    let mut rows = timeline
        .rows()
        .map(|row| serde_json::to_value(row).unwrap());
    let form = rows.find(|row| row["kind"] == "form").unwrap();
    assert_eq!(form["answeredBy"], r"phone\u{202e}");
}

#[test]
fn characters_that_reorder_text_are_visible() {
    let spoofed = "a\u{202e}b\u{2066}c";
    let visible = r"a\u{202e}b\u{2066}c";
    let parts = json!([
        {"kind": "markdown", "id": "m", "content": format!("{spoofed} `{spoofed}` [{spoofed}](https://x.test)\n\n```\n{spoofed}\n```")},
        {"kind": "error", "error": {"errorType": "x", "message": spoofed}},
        call("c1", "running", json!({"invocationMessage": spoofed, "displayName": spoofed, "confirmed": "not-needed",
            "intention": spoofed, "content": [{"type": "text", "text": spoofed}]})),
    ]);
    let turn = turn("t1", json!({"responseParts": parts}));
    let mut timeline = Timeline::new(context());
    timeline.update(&chat(json!({"turns": [turn]})));
    for row in timeline.rows() {
        let text = serde_json::to_value(row).unwrap().to_string();
        assert!(!text.contains(['\u{202e}', '\u{2066}']), "{text}");
    }
    let text: String = timeline.rows().map(|row| format!("{row:?}")).collect();
    assert!(
        text.contains(&format!("{visible:?}").trim_matches('"').to_owned()),
        "{text}"
    );
}
