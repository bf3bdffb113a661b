//! Files: reading after a watch has started, lost connections, changes of folders.

use serde_json::{Value, json};

use super::{Page, slice};

const ROOT: &str = "file:///work";
pub(super) const FILE: &str = "file:///work/a.rs";

fn watch_channel(target: &str) -> String {
    format!("ahp-resource-watch:/{}", target.len())
}

/// Answers the requests that start a watch.
fn answer_watch(page: &mut Page, target: &str) {
    let request = page.sent("createResourceWatch");
    assert_eq!(
        (&request["params"]["uri"], &request["params"]["recursive"]),
        (&json!(target), &json!(false))
    );
    let channel = watch_channel(target);
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"channel": channel}}));
    let state = json!({"root": target, "recursive": false});
    let snapshot = json!({"resource": channel, "fromSeq": 0, "state": state});
    page.answer("subscribe", &json!({"snapshot": snapshot}));
}

pub(super) fn refuse(page: &mut Page, method: &str, code: i64, message: &str) -> Value {
    let request = page.sent(method);
    let error = json!({"code": code, "message": message});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    request
}

fn entries(names: &[&str]) -> Value {
    let entries: Vec<_> = names
        .iter()
        .map(|name| match name.strip_suffix('/') {
            Some(folder) => json!({"name": folder, "type": "directory"}),
            None => json!({"name": name, "type": "file"}),
        })
        .collect();
    json!({"entries": entries})
}

/// A page that shows the folder of the selected session.
pub(super) fn browsing(names: &[&str]) -> Page {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.command(json!({"op": "file.show", "flat": false}));
    answer_watch(&mut page, ROOT);
    page.answer("resourceList", &entries(names));
    page.done.clear();
    page
}

pub(super) fn metadata(etag: &str, size: u64) -> Value {
    json!({"uri": FILE, "type": "file", "size": size, "etag": etag})
}

/// Opens the file, which has this text.
fn open_file(page: &mut Page, text: &str, etag: &str) {
    page.command(json!({"op": "file.open", "uri": FILE}));
    answer_watch(page, FILE);
    page.answer("resourceResolve", &metadata(etag, text.len() as u64));
    page.answer("resourceRead", &json!({"data": text, "encoding": "utf-8"}));
    page.done.clear();
}

fn change(page: &mut Page, target: &str, uri: &str, kind: &str) {
    let changes = json!({"items": [{"uri": uri, "type": kind}]});
    let action = json!({"type": "resourceWatch/changed", "changes": changes});
    page.act(&watch_channel(target), 0, None, action);
}

fn rows(patches: &[Value]) -> Vec<String> {
    let order = slice(patches, "files")["order"].as_array().unwrap().iter();
    order.map(|key| key.as_str().unwrap().to_owned()).collect()
}

pub(super) fn result(page: &mut Page) -> Value {
    assert_eq!(page.done.len(), 1, "{:?}", page.done);
    page.done.remove(0)
}

#[test]
fn a_folder_is_read_after_its_watch_and_again_after_a_change() {
    let mut page = browsing(&["a.rs", "src/"]);
    assert_eq!(rows(&page.frame()), ["file:///work/src", FILE]);
    change(&mut page, ROOT, "file:///work/b.rs", "added");
    let request = page.sent("resourceList");
    // Changes during the request lead to one more, not to one each.
    change(&mut page, ROOT, "file:///work/c.rs", "added");
    change(&mut page, ROOT, "file:///work/d.rs", "deleted");
    assert!(page.sent.is_empty());
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": entries(&["a.rs"])}));
    page.answer("resourceList", &entries(&["b.rs", "c.rs"]));
    assert_eq!(
        rows(&page.frame()),
        ["file:///work/b.rs", "file:///work/c.rs"]
    );
    // New content of a file does not change the list.
    change(&mut page, ROOT, "file:///work/b.rs", "updated");
    assert!(page.sent.is_empty() && !page.wants_frame);
}

#[test]
fn a_closed_folder_is_not_watched_any_more() {
    let mut page = browsing(&["src/"]);
    page.command(json!({"op": "file.expand", "uri": "file:///work/src"}));
    answer_watch(&mut page, "file:///work/src");
    page.answer("resourceList", &entries(&["main.rs"]));
    page.command(json!({"op": "file.collapse", "uri": "file:///work/src"}));
    assert_eq!(
        page.sent("unsubscribe")["params"]["channel"],
        watch_channel("file:///work/src")
    );
    page.command(json!({"op": "file.hide"}));
    assert_eq!(
        page.sent("unsubscribe")["params"]["channel"],
        watch_channel(ROOT)
    );
    assert!(page.sent.is_empty());
}

#[test]
fn a_host_without_watches_is_read_at_once() {
    let mut page = Page::open();
    page.select();
    page.sent.clear();
    page.command(json!({"op": "file.show", "flat": true}));
    refuse(&mut page, "createResourceWatch", -32601, "unknown method");
    page.answer("resourceList", &entries(&["a.rs"]));
    let patches = page.frame();
    assert_eq!(rows(&patches), [FILE]);
    assert_eq!(slice(&patches, "files")["value"]["isLive"], false);
    // Refreshing asks for a watch again.
    page.command(json!({"op": "file.refresh"}));
    answer_watch(&mut page, ROOT);
    page.answer("resourceList", &entries(&[]));
    let patches = page.frame();
    assert_eq!(slice(&patches, "files")["value"]["isLive"], true);
    assert_eq!(rows(&patches), ["file:///work#"]);
}

#[test]
fn a_refused_folder_shows_the_reason() {
    let mut page = browsing(&["a.rs"]);
    page.command(json!({"op": "file.refresh"}));
    let request = page.sent("resourceList");
    let data = json!({"request": {"channel": "ahp-root://", "uri": ROOT, "read": true}});
    let error = json!({"code": -32009, "message": "outside\u{202e}", "data": data});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    let patches = page.frame();
    page.done.clear();
    let row = &slice(&patches, "files")["set"]["file:///work#"];
    assert_eq!(
        (&row["kind"], &row["label"], &row["canRequest"]),
        (&json!("failed"), &json!("outside\\u{202e}"), &json!(true))
    );
    page.command(json!({"op": "file.requestAccess", "uri": ROOT}));
    page.answer("resourceRequest", &json!({}));
    page.answer("resourceList", &entries(&["b.rs"]));
    assert_eq!(result(&mut page)["value"]["state"], "done");
    assert_eq!(rows(&page.frame()), ["file:///work/b.rs"]);
}

#[test]
fn folders_and_files_are_read_again_after_a_reconnect() {
    let mut page = browsing(&["a.rs"]);
    open_file(&mut page, "text", "e1");
    page.command(json!({"op": "file.refresh"}));
    page.sent.clear();
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    page.input(json!({"kind": "timer"}));
    page.input(json!({"kind": "socketOpened"}));
    let request = page.sent("reconnect");
    let subscriptions = request["params"]["subscriptions"].as_array().unwrap();
    let channels: Vec<_> = subscriptions
        .iter()
        .map(|entry| match entry["channel"].as_str() {
            // The host has ended this watch.
            Some(uri) if uri == watch_channel(ROOT) => json!({"kind": "missing", "channel": uri}),
            Some(uri) => json!({"kind": "replay", "channel": uri, "actions": []}),
            None => panic!("{entry}"),
        })
        .collect();
    let result = json!({"channels": channels});
    page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    let methods: Vec<_> = page
        .sent
        .iter()
        .map(|message| message["method"].clone())
        .collect();
    assert!(
        methods.contains(&json!("createResourceWatch")),
        "{methods:?}"
    );
    assert!(methods.contains(&json!("resourceResolve")), "{methods:?}");
    page.sent
        .retain(|message| message["method"] == "createResourceWatch");
    answer_watch(&mut page, ROOT);
    page.answer("resourceList", &entries(&["new.rs"]));
    assert_eq!(rows(&page.frame()), ["file:///work/new.rs"]);
}

#[test]
fn an_open_file_is_read_in_lines_and_follows_its_changes() {
    let mut page = browsing(&["a.rs"]);
    open_file(&mut page, "one\ntw\u{202e}o\n", "e1");
    let patches = page.frame();
    let file = &slice(&patches, "file")["value"];
    assert_eq!(
        (
            &file["status"],
            &file["lines"],
            &file["etag"],
            &file["editable"]
        ),
        (&json!("text"), &json!(3), &json!("e1"), &json!(true))
    );
    let revision = file["revision"].clone();
    page.command(json!({"op": "file.lines", "start": 1, "end": 900}));
    let value = &result(&mut page)["value"];
    assert_eq!(value["lines"], json!(["tw\\u{202e}o", ""]));
    assert_eq!(value["revision"], revision);
    page.command(json!({"op": "file.text"}));
    assert_eq!(result(&mut page)["value"]["text"], "one\ntw\u{202e}o\n");

    change(&mut page, FILE, FILE, "updated");
    // Only the metadata is read if the content is the same.
    page.answer("resourceResolve", &metadata("e1", 9));
    assert!(page.sent.is_empty());
    change(&mut page, FILE, FILE, "updated");
    page.answer("resourceResolve", &metadata("e2", 3));
    page.answer("resourceRead", &json!({"data": "new", "encoding": "utf-8"}));
    let patches = page.frame();
    let file = &slice(&patches, "file")["value"];
    assert_eq!((&file["lines"], &file["etag"]), (&json!(1), &json!("e2")));
    assert_ne!(file["revision"], revision);

    change(&mut page, FILE, FILE, "deleted");
    refuse(&mut page, "resourceResolve", -32008, "does not exist");
    let patches = page.frame();
    assert_eq!(slice(&patches, "file")["value"]["status"], "gone");
}

#[test]
fn late_content_of_a_closed_file_is_ignored() {
    let mut page = browsing(&["a.rs"]);
    page.command(json!({"op": "file.open", "uri": FILE}));
    answer_watch(&mut page, FILE);
    let first = page.sent("resourceResolve");
    page.command(json!({"op": "file.open", "uri": "/work/other name"}));
    page.sent("unsubscribe");
    answer_watch(&mut page, "file:///work/other%20name");
    let second = page.sent("resourceResolve");
    for (request, size) in [(second, 9_000_000), (first, 1)] {
        let value = metadata("e", size);
        page.text(&json!({"jsonrpc": "2.0", "id": request["id"], "result": value}));
    }
    let patches = page.frame();
    let file = &slice(&patches, "file")["value"];
    assert_eq!(
        (&file["label"], &file["status"]),
        (&json!("other name"), &json!("large"))
    );
    assert!(page.sent.is_empty());
    page.done.clear();
    for op in ["file.text", "file.lines"] {
        page.command(json!({"op": op, "start": 0, "end": 1}));
        assert_eq!(result(&mut page)["error"], "no text file is open");
    }
}

#[test]
fn names_with_a_path_are_rejected() {
    let mut page = browsing(&["a.rs"]);
    for name in ["../x", "", "..", "a/b", "\u{202e}\0"] {
        for command in [
            json!({"op": "file.create", "folder": ROOT, "name": name, "data": "", "replace": false}),
            json!({"op": "file.createFolder", "folder": ROOT, "name": name}),
            json!({"op": "file.rename", "uri": FILE, "name": name}),
        ] {
            page.command(command);
            let error = result(&mut page)["error"].as_str().unwrap().to_owned();
            assert!(error.ends_with("is not the name of a file"), "{error}");
            assert!(!error.contains('\u{202e}'));
        }
    }
    assert!(page.sent.is_empty());
}

#[test]
fn files_are_created_renamed_and_deleted() {
    let mut page = browsing(&["a.rs"]);
    let create = |replace: bool| json!({"op": "file.create", "folder": ROOT, "name": "ü 1", "data": "YQ==", "replace": replace});
    page.command(create(false));
    let params = refuse(&mut page, "resourceWrite", -32010, "exists")["params"].clone();
    assert_eq!(
        (&params["uri"], &params["createOnly"], &params["encoding"]),
        (
            &json!("file:///work/%C3%BC%201"),
            &json!(true),
            &json!("base64")
        )
    );
    assert_eq!(result(&mut page)["value"]["state"], "exists");
    page.sent.clear();
    page.command(create(true));
    let request = page.sent("resourceWrite");
    assert_eq!(request["params"].get("createOnly"), None);
    page.sent.clear();
    page.done.clear();

    open_file(&mut page, "text", "e1");
    page.command(json!({"op": "file.rename", "uri": FILE, "name": "b.rs"}));
    let params = page.sent("resourceMove");
    assert_eq!(params["params"]["failIfExists"], true);
    page.text(&json!({"jsonrpc": "2.0", "id": params["id"], "result": {}}));
    assert_eq!(
        result(&mut page)["value"],
        json!({"state": "done", "uri": "file:///work/b.rs"})
    );
    // The open file has the new name.
    let patches = page.frame();
    assert_eq!(slice(&patches, "file")["value"]["label"], "b.rs");
    page.sent.clear();
    page.command(json!({"op": "file.delete", "uri": "file:///work/b.rs"}));
    assert_eq!(page.sent("resourceDelete")["params"]["recursive"], true);
}

#[test]
fn broken_answers_are_reported() {
    let mut page = browsing(&["a.rs"]);
    page.command(json!({"op": "file.refresh"}));
    page.answer("resourceList", &json!({"entries": 7}));
    let patches = page.frame();
    let row = &slice(&patches, "files")["set"]["file:///work#"];
    assert_eq!(row["kind"], "failed");
    for (kind, status) in [("directory", "failed"), ("socket", "failed")] {
        page.command(json!({"op": "file.open", "uri": format!("file:///work/{kind}")}));
        page.sent
            .retain(|message| message["method"] != "unsubscribe");
        answer_watch(&mut page, &format!("file:///work/{kind}"));
        let value = json!({"uri": FILE, "type": kind});
        page.answer("resourceResolve", &value);
        let patches = page.frame();
        assert_eq!(slice(&patches, "file")["value"]["status"], status);
    }
}

#[test]
fn another_session_has_its_own_folders() {
    let mut page = browsing(&["a.rs", "src/"]);
    page.frame();
    page.act(
        super::SESSION,
        9,
        None,
        json!({"type": "session/workingDirectoriesChanged", "workingDirectories": ["file:///other"]}),
    );
    page.command(json!({"op": "selectSession", "session": "shell:/none"}));
    let patches = page.frame();
    assert_eq!(slice(&patches, "files")["value"]["roots"], json!([]));
}
