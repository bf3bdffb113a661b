//! Comments: confirmation, refusal, a lost connection, reviews.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice};

const ANNOTATIONS: &str = "shell:/s1/annotations";

fn annotation(id: &str) -> Value {
    json!({
        "id": id, "origin": {"session": SESSION}, "resource": "file:///work/a.rs", "resolved": false,
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}},
        "entries": [{"id": "e", "text": "Why?"}],
    })
}

/// A page with a session that has these annotations.
fn open(annotations: &[Value]) -> Page {
    let mut page = Page::open();
    page.select();
    let summary = json!({"resource": ANNOTATIONS, "annotationCount": 0, "entryCount": 0});
    let state = json!({
        "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready", "annotations": summary,
        "activeClients": [], "chats": [], "defaultChat": CHAT,
    });
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.sent.clear();
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
    let replay = |channel| json!({"kind": "replay", "channel": channel, "actions": []});
    let snapshot = json!({"kind": "snapshot", "channel": SESSION, "snapshot": session});
    page.answer(
        "reconnect",
        &json!({"channels": [replay("ahp-root://"), replay(CHAT), snapshot]}),
    );
    page.sent.retain(|message| message["method"] == "subscribe");
    page.answer("subscribe", &snapshot_of(annotations));
    page.sent.clear();
    page.done.clear();
    page
}

fn snapshot_of(annotations: &[Value]) -> Value {
    let state = json!({ "annotations": annotations });
    json!({"snapshot": {"resource": ANNOTATIONS, "fromSeq": 2, "state": state}})
}

fn reject(page: &mut Page, dispatched: &Value, reason: &str) {
    let params = json!({
        "channel": dispatched["params"]["channel"], "serverSeq": 9,
        "action": dispatched["params"]["action"], "rejectionReason": reason,
        "origin": {"clientId": "web-0", "clientSeq": dispatched["params"]["clientSeq"]},
    });
    page.text(&json!({"jsonrpc": "2.0", "method": "action", "params": params}));
}

fn review(page: &mut Page) -> Value {
    page.done.clear();
    page.command(json!({"op": "annotation.preview", "summary": "sum"}));
    let review = page.done.remove(0)["value"].clone();
    let (text, keys) = (&review["text"], &review["keys"]);
    page.command(json!({"op": "annotation.sendReview", "text": text, "keys": keys}));
    page.sent("dispatchAction")
}

#[test]
fn a_reply_is_shown_at_once_and_reverted_by_a_rejection() {
    let mut page = open(&[annotation("n")]);
    page.frame();
    page.command(json!({"op": "annotation.reply", "key": "n", "text": "Because."}));
    let dispatched = page.sent("dispatchAction");
    let entry = &dispatched["params"]["action"]["entry"];
    assert_eq!(entry["_meta"]["agenthost.author"]["name"], "laptop");
    let patches = page.frame();
    let row = &slice(&patches, "annotations")["set"]["n"];
    assert_eq!(row["entries"][1]["text"], "Because.");
    assert_eq!(row["delivery"], "unconfirmed");
    reject(&mut page, &dispatched, "read only");
    assert_eq!(page.done[0]["error"], "read only");
    let patches = page.frame();
    let row = &slice(&patches, "annotations")["set"]["n"];
    assert_eq!(row["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn changes_of_removed_comments_and_comments_without_a_diff_are_refused() {
    let mut page = open(&[]);
    for command in [
        json!({"op": "annotation.reply", "key": "x", "text": "t"}),
        json!({"op": "annotation.resolve", "key": "x", "resolved": true}),
        json!({"op": "annotation.remove", "key": "x", "entry": "e"}),
        json!({"op": "annotation.edit", "key": "x", "entry": "e", "text": "t"}),
        json!({"op": "annotation.add", "file": "f", "side": "after", "first": 0, "last": 9, "text": "t"}),
    ] {
        page.done.clear();
        page.command(command);
        assert!(page.done[0]["error"].is_string(), "{:?}", page.done);
    }
    assert!(page.sent.is_empty());
}

#[test]
fn the_last_comment_is_removed_with_its_thread() {
    let mut page = open(&[annotation("n")]);
    page.command(json!({"op": "annotation.remove", "key": "n", "entry": "e"}));
    let action = &page.sent("dispatchAction")["params"]["action"];
    assert_eq!(action["type"], "annotations/removed");
}

#[test]
fn a_confirmed_review_resolves_its_comments_and_a_refused_one_does_not() {
    let mut page = open(&[annotation("n")]);
    let dispatched = review(&mut page);
    let action = dispatched["params"]["action"].clone();
    assert!(action["message"]["text"].as_str().unwrap().contains("sum"));
    page.done.clear();
    page.command(json!({"op": "annotation.preview", "summary": ""}));
    assert_eq!(page.done.remove(0)["value"]["keys"], json!([]));
    reject(&mut page, &dispatched, "a turn is in progress");
    assert!(page.sent.is_empty());

    let dispatched = review(&mut page);
    let action = dispatched["params"]["action"].clone();
    let seq = dispatched["params"]["clientSeq"].as_u64();
    page.act(CHAT, 10, seq, action);
    let update = &page.sent("dispatchAction")["params"]["action"];
    assert_eq!(update["type"], "annotations/updated");
    assert_eq!(update["resolved"], true);
}

#[test]
fn an_unconfirmed_comment_is_sent_again_after_a_snapshot_without_it() {
    let mut page = open(&[annotation("n")]);
    page.command(json!({"op": "annotation.reply", "key": "n", "text": "Because."}));
    let first = page.sent("dispatchAction");
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    let replay = |channel| json!({"kind": "replay", "channel": channel, "actions": []});
    let mut snapshot = snapshot_of(&[annotation("n")]);
    snapshot["kind"] = json!("snapshot");
    snapshot["channel"] = json!(ANNOTATIONS);
    let channels = [
        replay("ahp-root://"),
        replay(SESSION),
        replay(CHAT),
        snapshot,
    ];
    page.answer("reconnect", &json!({ "channels": channels }));
    page.sent
        .retain(|message| message["method"] == "dispatchAction");
    let second = page.sent("dispatchAction");
    assert_eq!(second["params"]["action"], first["params"]["action"]);
    assert!(page.sent.is_empty() && page.done.is_empty());
}
