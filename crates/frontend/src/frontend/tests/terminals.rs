//! Terminals: the list, output, input and claims.

use serde_json::{Value, json};

use super::{CHAT, Page, SESSION, slice, to_input};
use agenthost_protocol::wire::read_input;

const TERMINAL: &str = "ahp-terminal:/t1";

fn state(output: &str) -> Value {
    json!({
        "title": "Terminal", "cols": 80, "rows": 24, "lifecycle": {"status": "running"},
        "content": [{"type": "unclassified", "value": output}],
        "claim": {"kind": "session", "session": SESSION, "chat": CHAT},
    })
}

fn snapshot(output: &str, seq: u64) -> Value {
    json!({"snapshot": {"resource": TERMINAL, "fromSeq": seq, "state": state(output)}})
}

fn data(text: &str) -> Value {
    json!({"type": "terminal/data", "data": text})
}

/// Lets the core draw, and returns the output for terminals: `(is_reset, data)`.
fn output(page: &mut Page) -> Vec<(bool, String)> {
    page.now += 1;
    let input = json!({"now": page.now, "input": to_input(json!({"kind": "frame"}))});
    let effects = page.core.step(read_input(&input.to_string()).unwrap());
    page.wants_frame = false;
    let effects = serde_json::to_value(effects).unwrap();
    let effects = effects.as_array().unwrap().iter();
    let output = effects.filter(|effect| effect["kind"] == "terminalOutput");
    let output = output.map(|effect| {
        assert_eq!(effect["uri"], TERMINAL);
        let text = effect["data"].as_str().unwrap().to_owned();
        (effect["isReset"].as_bool().unwrap(), text)
    });
    output.collect()
}

fn open_terminal(page: &mut Page) {
    page.command(json!({"op": "terminal.open", "uri": TERMINAL}));
    page.answer("subscribe", &snapshot("one", 10));
}

#[test]
fn output_is_passed_once() {
    let mut page = Page::open();
    open_terminal(&mut page);
    assert_eq!(output(&mut page), [(true, "one".to_owned())]);
    page.act(TERMINAL, 11, None, data("two"));
    page.act(TERMINAL, 12, None, data("three"));
    assert_eq!(output(&mut page), [(false, "twothree".to_owned())]);
    assert_eq!(output(&mut page), []);
    // The host trims the output: everything is drawn again.
    page.act(TERMINAL, 13, None, json!({"type": "terminal/cleared"}));
    page.act(TERMINAL, 14, None, data("rest"));
    assert_eq!(output(&mut page), [(true, "rest".to_owned())]);
    // A terminal that is not shown has no output.
    page.command(json!({"op": "terminal.leave", "uri": TERMINAL}));
    assert_eq!(page.sent("unsubscribe")["params"]["channel"], TERMINAL);
    assert_eq!(output(&mut page), []);
}

fn reconnect(page: &mut Page, terminal: &Value) {
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.sent.clear();
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    let root = json!({"kind": "replay", "channel": "ahp-root://", "actions": []});
    page.answer("reconnect", &json!({"channels": [root, terminal]}));
}

#[test]
fn a_replay_adds_the_missed_output_and_a_snapshot_replaces_it() {
    let mut page = Page::open();
    open_terminal(&mut page);
    output(&mut page);
    let missed = json!({"channel": TERMINAL, "serverSeq": 11, "action": data("missed")});
    reconnect(
        &mut page,
        &json!({"kind": "replay", "channel": TERMINAL, "actions": [missed]}),
    );
    assert_eq!(output(&mut page), [(false, "missed".to_owned())]);
    let snapshot = json!({"resource": TERMINAL, "fromSeq": 20, "state": state("all of it")});
    reconnect(
        &mut page,
        &json!({"kind": "snapshot", "channel": TERMINAL, "snapshot": snapshot}),
    );
    assert_eq!(output(&mut page), [(true, "all of it".to_owned())]);
}

#[test]
fn refused_input_is_reported_without_a_note() {
    let mut page = Page::open();
    open_terminal(&mut page);
    page.frame();
    page.done.clear();
    page.command(json!({"op": "terminal.input", "uri": TERMINAL, "data": "ls\r"}));
    let action = page.sent("dispatchAction")["params"]["action"].clone();
    assert_eq!(action, json!({"type": "terminal/input", "data": "ls\r"}));
    let params = json!({
        "channel": TERMINAL, "serverSeq": 11, "action": action, "rejectionReason": "not allowed",
        "origin": {"clientId": "web-0", "clientSeq": 1},
    });
    page.text(&json!({"jsonrpc": "2.0", "method": "action", "params": params}));
    assert_eq!(page.done[0]["error"], "not allowed");
    let patches = page.frame();
    assert!(!patches.iter().any(|patch| patch["slice"] == "notes"));
}

#[test]
fn input_without_a_connection_is_not_stored() {
    let mut page = Page::open();
    open_terminal(&mut page);
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.done.clear();
    page.command(json!({"op": "terminal.input", "uri": TERMINAL, "data": "secret"}));
    assert_eq!(page.done[0]["error"], "there is no connection to the host");
    page.input(json!({"kind": "hidden"}));
    let saved = page.saved.unwrap();
    assert!(!saved.contains(TERMINAL) && !saved.contains("secret"));
}

#[test]
fn a_terminal_of_the_session_is_created_listed_and_removed() {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.done.clear();
    page.command(json!({"op": "terminal.create", "cols": 80, "rows": 24}));
    let request = page.sent("createTerminal");
    assert_eq!(request["params"]["claim"]["session"], SESSION);
    let uri = request["params"]["channel"].clone();
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": null}));
    assert_eq!(page.done[0]["value"]["uri"], uri);

    open_terminal(&mut page);
    let info = json!({
        "resource": TERMINAL, "title": "Terminal", "lifecycle": {"status": "running"},
        "claim": {"kind": "client", "clientId": "web-9"},
    });
    page.act(
        "ahp-root://",
        20,
        None,
        json!({"type": "root/terminalsChanged", "terminals": [info]}),
    );
    let patches = page.frame();
    let row = &slice(&patches, "terminals")["value"]["rows"][0];
    assert_eq!(
        (&row["owner"], &row["size"]["cols"]),
        (&json!("otherClient"), &json!(80))
    );
    page.act(
        "ahp-root://",
        21,
        None,
        json!({"type": "root/terminalsChanged", "terminals": []}),
    );
    let patches = page.frame();
    let view = &slice(&patches, "terminals")["value"];
    assert_eq!(
        (&view["gone"], &view["rows"]),
        (&json!([TERMINAL]), &json!([]))
    );
}

#[test]
fn a_watched_terminal_has_its_end_as_plain_text() {
    let mut page = Page::open();
    page.command(json!({"op": "terminal.watch", "uri": TERMINAL}));
    page.answer("subscribe", &snapshot("\u{1b}[31mred\u{1b}[0m\r\n<b>", 10));
    let patches = page.frame();
    let tail = &slice(&patches, "tails")["set"][TERMINAL]["text"];
    assert_eq!(tail, "red\n<b>");
    page.command(json!({"op": "terminal.unwatch", "uri": TERMINAL}));
    page.sent("unsubscribe");
    let patches = page.frame();
    assert_eq!(slice(&patches, "tails")["order"], json!([]));
}
