use agenthost_protocol::annotations::AnnotationsState;
use agenthost_protocol::sorted::{SortedMap, SortedSet};
use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::diff::FileDiff;
use crate::samples::{check, decode};

fn uri(name: &str) -> String {
    format!("file:///w/{name}")
}

/// An annotation on one line of the new text, with its code.
fn annotation(id: &str, name: &str, line: u64, quote: &str, text: &str) -> Value {
    json!({
        "id": id, "origin": {"session": "s:/1"}, "resource": uri(name), "resolved": false,
        "range": {"start": {"line": line - 1, "character": 0}, "end": {"line": line - 1, "character": 3}},
        "entries": [{"id": "e", "text": text, "_meta": {
            "agenthost.author": {"clientId": "web-0", "name": "laptop"},
            "agenthost.at": "2026-07-09T10:00:00.000Z"}}],
        "_meta": {"agenthost.side": "after", "agenthost.quote": quote},
    })
}

fn state(annotations: &[Value]) -> AnnotationsState {
    decode(json!({ "annotations": annotations }))
}

fn threads(state: &AnnotationsState) -> (Vec<CommentThread>, CommentTotals) {
    let side = |name: &str| json!({"uri": uri(name), "content": {"uri": "agenthost-git:/x"}});
    let changeset: agenthost_protocol::changeset::ChangesetState = decode(json!({
        "status": "ready",
        "files": [{"id": "f1", "edit": {"before": side("old.rs"), "after": side("a.rs")}}],
    }));
    let context = ThreadContext {
        client_id: "web-0",
        changeset: Some(&changeset),
        unconfirmed: &SortedSet::from_iter(["new".into()]),
        in_review: &SortedSet::from_iter(["sent".into()]),
    };
    comment_threads(state, context)
}

fn places(state: &AnnotationsState, before: &str, after: &str) -> Vec<String> {
    let diff = FileDiff::compute(before, after, 1).unwrap();
    let uri = Uri::from(uri("a.rs"));
    let places = thread_places(state, &[&uri], &diff, |wanted| diff.unified_rows_of(wanted));
    let lines = places
        .iter()
        .map(|(id, place)| format!("{id} {}", serde_json::to_value(place).unwrap()));
    lines.collect()
}

#[test]
fn threads_are_sorted_and_counted_by_file() {
    let mut resolved = annotation("resolved", "a.rs", 1, "x", "done");
    resolved["resolved"] = json!(true);
    let state = state(&[
        annotation("late", "a.rs", 9, "let b", "second"),
        annotation("new", "a.rs", 2, "let a", "first"),
        annotation("sent", "old.rs", 2, "let c", "of the old name"),
        annotation("gone", "gone.rs", 4, "let d", "file without changes"),
        resolved,
    ]);
    let (rows, totals) = threads(&state);
    let rows: Vec<_> = rows
        .iter()
        .map(|row| json!([row.key, row.path, row.lines, row.file, row.delivery]))
        .collect();
    check(
        &rows,
        expect![[r#"
            ["resolved","/w/a.rs",[1,1],"f1",null]
            ["new","/w/a.rs",[2,2],"f1","unconfirmed"]
            ["late","/w/a.rs",[9,9],"f1",null]
            ["gone","/w/gone.rs",[4,4],null,null]
            ["sent","/w/old.rs",[2,2],"f1","inReview"]
        "#]],
    );
    check(
        &totals,
        expect![[r#"
            {
              "open": 4,
              "total": 5,
              "hidden": 0,
              "files": {
                "f1": 3
              }
            }
        "#]],
    );
}

#[test]
fn text_of_peers_is_visible_and_bounded() {
    let long = "ä".repeat(40_000);
    let mut hostile = annotation("h", "\u{202e}sr.a", 1, "a\u{200b}b", "<b>\u{202e}evil");
    hostile["entries"][0]["_meta"] = json!({
        "agenthost.author": {"name": "\u{1b}[31mroot\u{202e}", "clientId": 7}, "agenthost.at": "yesterday",
    });
    let mut entries = vec![hostile["entries"][0].clone()];
    entries.push(json!({"id": "long", "text": long, "_meta": {"agenthost.author": "me"}}));
    for index in 0..300 {
        entries.push(json!({"id": format!("n{index}"), "text": {"markdown": "*m*"}}));
    }
    hostile["entries"] = json!(entries);
    let (rows, _) = threads(&state(&[hostile]));
    let row = &rows[0];
    assert_eq!((row.entries.len(), row.hidden_entries), (200, 102));
    assert!(row.entries[1].cut && row.entries[1].text.len() <= 64 * 1024);
    assert_eq!(row.entries[0].source.as_deref(), Some("<b>\u{202e}evil"));
    let mut first = serde_json::to_value(&row.entries[0]).unwrap();
    first.as_object_mut().unwrap().remove("source");
    let shown = json!([row.path, row.quote, first, row.entries[2].text]);
    check(
        &shown,
        expect![[r#"
            "/w/\\u{202e}sr.a"
            "a\\u{200b}b"
            {"id":"e","text":"<b>\\u{202e}evil","edited":false,"cut":false,"author":"\\u{1b}[31mroot\\u{202e}","own":false}
            "*m*"
        "#]],
    );
}

#[test]
fn threads_beyond_the_limit_are_counted() {
    let many: Vec<_> = (0..MAX_SHOWN_THREADS as u64 + 5)
        .map(|index| annotation(&format!("n{index}"), "a.rs", index + 1, "x", "text"))
        .collect();
    let (rows, totals) = threads(&state(&many));
    assert_eq!((rows.len(), totals.hidden), (MAX_SHOWN_THREADS, 5));
    assert_eq!(totals.total, MAX_SHOWN_THREADS + 5);
}

#[test]
fn comments_stay_at_their_code() {
    let mut old = annotation("removed", "a.rs", 2, "two", "why?");
    old["_meta"]["agenthost.side"] = json!("before");
    let mut whole = annotation("whole", "a.rs", 1, "", "all of it");
    whole.as_object_mut().unwrap().remove("range");
    let mut foreign = annotation("foreign", "a.rs", 3, "", "no quote");
    foreign.as_object_mut().unwrap().remove("_meta");
    let mut far = annotation("far", "a.rs", 900, "", "behind the end");
    far.as_object_mut().unwrap().remove("_meta");
    let state = state(&[
        annotation("same", "a.rs", 1, "one", "unchanged"),
        annotation("moved", "a.rs", 2, "new", "was in line 2"),
        annotation("gone", "a.rs", 2, "not there", "code is gone"),
        annotation("hidden", "a.rs", 9, "nine", "not in the context"),
        annotation("other", "b.rs", 1, "one", "another file"),
        old,
        whole,
        foreign,
        far,
    ]);
    let before = "one\ntwo\nthree\n4\n5\n6\n7\n8\nnine\n";
    let after = "one\ninserted\nnew\nthree\n4\n5\n6\n7\n8\nnine\n";
    expect![[r#"
        far {"kind":"gone"}
        foreign {"kind":"row","row":4,"first":3,"last":3}
        gone {"kind":"gone"}
        hidden {"kind":"leftOut"}
        moved {"kind":"row","row":4,"first":3,"last":3}
        removed {"kind":"row","row":2,"first":2,"last":2}
        same {"kind":"row","row":1,"first":1,"last":1}
        whole {"kind":"file"}"#]]
    .assert_eq(&places(&state, before, after).join("\n"));
}

#[test]
fn rows_of_both_layouts_are_found() {
    let diff = FileDiff::compute("a\nb\n", "a\nc\nd\n", 1).unwrap();
    let wanted = [
        (TextSide::Before, 2),
        (TextSide::After, 3),
        (TextSide::After, 9),
    ];
    let wanted = wanted.map(|(side, line)| crate::diff::LinePlace { side, line });
    let wanted = SortedSet::from_iter(wanted);
    let rows = |found: SortedMap<_, usize>| found.into_values().collect::<Vec<_>>();
    assert_eq!(rows(diff.unified_rows_of(&wanted)), [2, 4]);
    assert_eq!(rows(diff.split_rows_of(&wanted)), [2, 3]);
}

#[test]
fn ranges_count_whole_lines() {
    let diff = FileDiff::compute("", "one\r\ntwö\n", 3).unwrap();
    let range = line_range(&diff, TextSide::After, 1, 2).unwrap();
    assert_eq!((range.end.line, range.end.character), (1, 3));
    assert_eq!(lines_of_range(range), (1, 2));
    assert_eq!(quote_lines(&diff, TextSide::After, 1..=2), "one\ntwö");
    for (first, last) in [(0, 1), (2, 1), (1, 3), (u32::MAX, u32::MAX)] {
        assert_eq!(line_range(&diff, TextSide::After, first, last), None);
    }
    let end_of_line: TextRange = decode(json!({
        "start": {"line": 4, "character": 0}, "end": {"line": 6, "character": 0}}));
    assert_eq!(lines_of_range(end_of_line), (5, 6));
}

#[test]
fn a_review_has_every_open_comment_with_its_code() {
    let mut old = annotation("b", "src/b.rs", 3, "fn b() {\n```\n}", "old code");
    old["range"]["end"] = json!({"line": 4, "character": 1});
    old["_meta"]["agenthost.side"] = json!("before");
    let mut answered = annotation("a", "src/a.rs", 7, "let a = 1;", "Why 1?");
    let first = answered["entries"][0].clone();
    answered["entries"] = json!([first, {"id": "r", "text": "It should be 2."}]);
    let mut resolved = annotation("r", "src/a.rs", 1, "x", "resolved");
    resolved["resolved"] = json!(true);
    let sent = annotation("s", "src/a.rs", 1, "x", "is being sent");
    let state = state(&[old, answered, resolved, sent]);
    let excluded = SortedSet::from_iter(["s".into()]);
    let review = compose_review(&state, &excluded, Some("/w"), " Nearly done. \n");
    assert_eq!((&review.visible, review.left_out), (&review.text, 0));
    expect![[r#"
        Please work on my review: 2 comments in 2 files.

        Nearly done.

        1. src/a.rs, line 7

        ```
        let a = 1;
        ```

        Why 1?

        It should be 2.

        2. src/b.rs, lines 3-5 of the old version

        ````
        fn b() {
        ```
        }
        ````

        old code"#]]
    .assert_eq(&review.text);
    assert_eq!(review.keys, ["a".into(), "b".into()]);
}

#[test]
fn a_review_has_a_limit_and_shows_hidden_characters() {
    let text = "x".repeat(60_000);
    let many: Vec<_> = (0..10)
        .map(|index| annotation(&format!("n{index}"), "a.rs", index + 1, "a\u{202e}b", &text))
        .collect();
    let review = compose_review(&state(&many), &SortedSet::new(), None, "");
    assert_eq!((review.keys.len(), review.left_out), (4, 6));
    assert!(review.text.len() <= MAX_REVIEW_BYTES + 200);
    assert!(review.text.contains("a\u{202e}b") && review.visible.contains("a\\u{202e}b"));
    assert!(!review.visible.contains('\u{202e}'));
}
