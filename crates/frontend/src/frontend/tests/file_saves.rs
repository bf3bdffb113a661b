//! Saves of files, and their conflicts.

use serde_json::{Value, json};

use super::Page;
use super::files::{FILE, browsing, metadata, refuse, result};

fn save(page: &mut Page, text: &str, etag: &str) -> Value {
    page.command(json!({
        "op": "file.save", "uri": FILE, "text": text, "etag": etag, "isNew": false, "lineEnding": "crLf",
    }));
    let request = page.sent("resourceWrite");
    page.sent.insert(0, request.clone());
    request["params"].clone()
}

#[test]
fn a_save_is_checked_against_the_version_that_was_edited() {
    let mut page = browsing(&["a.rs"]);
    let params = save(&mut page, "a\nb", "e1");
    assert_eq!(
        (
            &params["data"],
            &params["ifMatch"],
            params.get("createOnly")
        ),
        (&json!("a\r\nb"), &json!("e1"), None)
    );
    page.answer("resourceWrite", &json!({}));
    page.answer("resourceResolve", &metadata("e2", 4));
    page.answer(
        "resourceRead",
        &json!({"data": "a\r\nb", "encoding": "utf-8"}),
    );
    assert_eq!(
        result(&mut page)["value"],
        json!({"state": "saved", "etag": "e2"})
    );
}

#[test]
fn conflicts_name_the_version_of_the_host() {
    // The file has another text, or it was changed right after the write.
    for refused in [true, false] {
        let mut page = browsing(&["a.rs"]);
        save(&mut page, "mine", "e1");
        if refused {
            refuse(&mut page, "resourceWrite", -32011, "changed");
        } else {
            page.answer("resourceWrite", &json!({}));
        }
        page.answer("resourceResolve", &metadata("e9", 6));
        page.answer(
            "resourceRead",
            &json!({"data": "theirs", "encoding": "utf-8"}),
        );
        assert_eq!(
            result(&mut page)["value"],
            json!({"state": "conflict", "etag": "e9"})
        );
    }
    // The file is gone, or so large that it cannot be the same.
    let mut page = browsing(&["a.rs"]);
    save(&mut page, "mine", "e1");
    refuse(&mut page, "resourceWrite", -32011, "changed");
    refuse(&mut page, "resourceResolve", -32008, "does not exist");
    assert_eq!(result(&mut page)["value"], json!({"state": "deleted"}));
    save(&mut page, "mine", "e1");
    refuse(&mut page, "resourceWrite", -32011, "changed");
    page.answer("resourceResolve", &metadata("e9", 99_000_000));
    assert_eq!(result(&mut page)["value"]["state"], "conflict");
}

#[test]
fn a_save_whose_answer_was_lost_is_no_conflict() {
    let mut page = browsing(&["a.rs"]);
    save(&mut page, "mine", "e1");
    refuse(&mut page, "resourceWrite", -32011, "changed");
    page.answer("resourceResolve", &metadata("e2", 4));
    page.answer(
        "resourceRead",
        &json!({"data": "mine", "encoding": "utf-8"}),
    );
    assert_eq!(
        result(&mut page)["value"],
        json!({"state": "saved", "etag": "e2"})
    );
}

#[test]
fn a_save_without_a_connection_or_with_a_refusal_fails_with_the_reason() {
    let mut page = browsing(&["a.rs"]);
    save(&mut page, "mine", "e1");
    refuse(
        &mut page,
        "resourceWrite",
        -32009,
        "needs the scope `operate`",
    );
    assert_eq!(result(&mut page)["error"], "needs the scope `operate`");
    save(&mut page, "mine", "e1");
    page.input(json!({"kind": "socketClosed", "code": 1006, "reason": ""}));
    assert_eq!(
        result(&mut page)["error"],
        "the connection was lost before the response arrived"
    );
    page.command(json!({
        "op": "file.save", "uri": FILE, "text": "x", "etag": "e1", "isNew": false, "lineEnding": "lf",
    }));
    assert_eq!(
        result(&mut page)["error"],
        "there is no connection to the host"
    );
}
