use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::samples::{check, decode, session};

fn scope() -> RequestScope {
    RequestScope {
        session: "s:/1".into(),
        chat: "chat:/1".into(),
        folder: Some("/home/me".to_owned()),
        worker: None,
    }
}

fn card(fields: Value) -> RequestCard {
    let part = crate::samples::call("c1", "pending-confirmation", fields);
    let call = decode(part["toolCall"].clone());
    RequestCard::of_call(&scope(), &"t1".into(), &call).unwrap()
}

#[test]
fn an_approval_has_the_whole_command_and_the_options_of_the_agent() {
    let card = card(json!({
        "invocationMessage": {"markdown": "Run `rm`\n\n```sh\nrm -rf build\nls\n```"},
        "toolInput": "rm -rf build\nls", "intention": "clean", "_meta": {"kind": "execute"},
        "riskAssessment": {"status": "complete", "kind": "judge", "reason": "deletes", "safety": 0.2},
        "options": [{"id": "o1", "label": "Allow", "kind": "approve"},
                    {"id": "o2", "label": "Always", "kind": "approve"},
                    {"id": "o3", "label": "Odd", "kind": "later"}],
        "editable": true
    }));
    check(
        &card,
        expect![[r#"
        {
          "kind": "approval",
          "key": "approval t1 c1 chat:/1",
          "session": "s:/1",
          "chat": "chat:/1",
          "turnId": "t1",
          "callId": "c1",
          "tool": "bash",
          "title": "Run rm",
          "details": [
            {
              "kind": "paragraph",
              "children": [
                {
                  "kind": "text",
                  "text": "Run "
                },
                {
                  "kind": "code",
                  "text": "rm"
                }
              ]
            },
            {
              "kind": "code",
              "language": "sh",
              "text": "rm -rf build\nls",
              "open": false
            }
          ],
          "intention": "clean",
          "command": "rm -rf build\nls",
          "folder": "/home/me",
          "risk": "deletes",
          "safety": 0.2,
          "edits": [],
          "truncated": false,
          "options": [
            {
              "id": "o1",
              "label": "Allow",
              "kind": "approve"
            },
            {
              "id": "o2",
              "label": "Always",
              "kind": "approve"
            },
            {
              "label": "Deny",
              "kind": "deny"
            }
          ],
          "phase": "call",
          "editable": true
        }
    "#]],
    );
}

#[test]
fn an_approval_without_options_can_be_allowed_once_or_denied() {
    let side = |name: &str, id: &str| {
        json!({"uri": format!("file:///w/{name}"),
                                            "content": {"uri": format!("content:/{id}")}})
    };
    let card = card(json!({
        "confirmationTitle": "Edit two files?", "toolInput": "{\"b\":1,\"a\":[2]}",
        "edits": {"items": [
            {"before": side("a.rs", "1"), "after": side("a.rs", "2"), "diff": {"added": 3}},
            {"before": side("b.rs", "3"), "after": side("c.rs", "3")},
            {"after": side("new.rs", "4")}, {"before": side("old.rs", "5")}]}
    }));
    check(
        &card,
        expect![[r#"
        {
          "kind": "approval",
          "key": "approval t1 c1 chat:/1",
          "session": "s:/1",
          "chat": "chat:/1",
          "turnId": "t1",
          "callId": "c1",
          "tool": "bash",
          "title": "Edit two files?",
          "details": [
            {
              "kind": "paragraph",
              "children": [
                {
                  "kind": "text",
                  "text": "Run it"
                }
              ]
            }
          ],
          "input": "{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}",
          "folder": "/home/me",
          "edits": [
            {
              "path": "/w/a.rs",
              "status": "changed",
              "before": "content:/1",
              "after": "content:/2",
              "added": 3
            },
            {
              "path": "/w/c.rs",
              "status": "renamed",
              "before": "content:/3",
              "after": "content:/3",
              "renamedFrom": "/w/b.rs"
            },
            {
              "path": "/w/new.rs",
              "status": "added",
              "after": "content:/4"
            },
            {
              "path": "/w/old.rs",
              "status": "removed",
              "before": "content:/5"
            }
          ],
          "truncated": false,
          "options": [
            {
              "label": "Allow once",
              "kind": "approve"
            },
            {
              "label": "Deny",
              "kind": "deny"
            }
          ],
          "phase": "call",
          "editable": false
        }
    "#]],
    );
}

#[test]
fn a_form_has_every_kind_of_question_with_the_shared_answers() {
    let request = decode(json!({
        "id": "r1", "message": "Please", "url": "https://example.com",
        "questions": [
            {"kind": "text", "id": "q1", "title": "Name", "message": "Which?", "required": true,
             "format": "password", "min": 2, "defaultValue": "x"},
            {"kind": "number", "id": "q2", "message": "How much?", "max": 1.5},
            {"kind": "integer", "id": "q3", "message": "How many?", "defaultValue": 3},
            {"kind": "boolean", "id": "q4", "message": "Sure?", "defaultValue": true},
            {"kind": "single-select", "id": "q5", "message": "One", "allowFreeformInput": true,
             "options": [{"id": "a", "label": "A", "recommended": true}]},
            {"kind": "multi-select", "id": "q6", "message": "Some", "min": 1,
             "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B", "description": "d"}]},
            {"kind": "later", "id": "q7", "message": "?"}],
        "answers": {
            "q1": {"state": "draft", "value": {"kind": "text", "value": "ab"}},
            "q2": {"state": "submitted", "value": {"kind": "number", "value": 1}},
            "q4": {"state": "skipped"},
            "q5": {"state": "draft", "value": {"kind": "selected", "value": "",
                                               "freeformValues": ["mine"]}},
            "q6": {"state": "draft", "value": {"kind": "selected-many", "value": ["b"]}}}
    }));
    let RequestCard::Form(form) = RequestCard::of_input(&scope(), &request) else {
        panic!("expected a form");
    };
    check(
        &form.questions,
        expect![[r#"
        {"id":"q1","kind":"text","label":"Name","description":"Which?","required":true,"options":[],"allowOther":false,"answer":"ab","initial":"x","min":2,"format":"password","multiline":false,"secret":true}
        {"id":"q2","kind":"number","label":"How much?","required":false,"options":[],"allowOther":false,"answer":1,"max":1.5,"multiline":false,"secret":false}
        {"id":"q3","kind":"integer","label":"How many?","required":false,"options":[],"allowOther":false,"initial":3,"multiline":false,"secret":false}
        {"id":"q4","kind":"boolean","label":"Sure?","required":false,"options":[],"allowOther":false,"initial":true,"multiline":false,"secret":false}
        {"id":"q5","kind":"choice","label":"One","required":false,"options":[{"value":"a","label":"A","recommended":true}],"allowOther":true,"answer":{"values":[],"other":"mine"},"multiline":false,"secret":false}
        {"id":"q6","kind":"choices","label":"Some","required":false,"options":[{"value":"a","label":"A","recommended":false},{"value":"b","label":"B","description":"d","recommended":false}],"allowOther":false,"answer":{"values":["b"]},"min":1,"multiline":false,"secret":false}
    "#]],
    );
}

#[test]
fn requests_of_a_session_name_the_folder_and_the_worker() {
    let chat = |uri: &str, title: &str, more: Value| {
        let mut chat = json!({"resource": uri, "title": title, "status": 1,
                              "modifiedAt": "2026-07-09T10:00:00.000Z"});
        chat.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        chat
    };
    let call = |id: &str, status: &str, more: Value| {
        crate::samples::call(id, status, more)["toolCall"].clone()
    };
    let session = session(json!({
        "workingDirectories": ["file:///w/app"],
        "chats": [chat("chat:/1", "Main", json!({})),
                  chat("chat:/2", "Reader", json!({"workingDirectories": ["file:///w/lib"],
                      "origin": {"kind": "tool", "chat": "chat:/1", "toolCallId": "c9"}}))],
        "inputNeeded": [
            {"kind": "toolConfirmation", "id": "i1", "chat": "chat:/2", "turnId": "t1",
             "toolCall": call("c1", "pending-confirmation", json!({}))},
            {"kind": "toolConfirmation", "id": "i2", "chat": "chat:/1", "turnId": "t1",
             "toolCall": call("c2", "pending-result-confirmation", json!({"success": true,
                 "pastTenseMessage": "Read it", "confirmed": "not-needed"}))},
            {"kind": "toolAuthentication", "id": "i3", "chat": "chat:/1", "turnId": "t1",
             "toolCall": call("c3", "auth-required", json!({"confirmed": "not-needed",
                 "auth": {"reason": "required", "description": "Sign in to search",
                          "resource": {"resource": "https://mcp.example", "resource_name": "Search"},
                          "requiredScopes": ["read"]}}))},
            {"kind": "toolClientExecution", "id": "i4", "chat": "chat:/1", "turnId": "t1",
             "clientId": "x", "toolCall": call("c4", "running", json!({"confirmed": "not-needed"}))},
            {"kind": "later", "id": "i5"}]
    }));
    let cards = RequestCard::of_session(&"s:/1".into(), &session);
    check(
        &cards,
        expect![[r#"
            {"kind":"approval","key":"approval t1 c1 chat:/2","session":"s:/1","chat":"chat:/2","turnId":"t1","callId":"c1","tool":"bash","title":"Run it","details":[{"kind":"paragraph","children":[{"kind":"text","text":"Run it"}]}],"folder":"/w/lib","worker":"Reader","edits":[],"truncated":false,"options":[{"label":"Allow once","kind":"approve"},{"label":"Deny","kind":"deny"}],"phase":"call","editable":false}
            {"kind":"approval","key":"approval t1 c2 chat:/1","session":"s:/1","chat":"chat:/1","turnId":"t1","callId":"c2","tool":"bash","title":"Read it","details":[{"kind":"paragraph","children":[{"kind":"text","text":"Read it"}]}],"folder":"/w/app","edits":[],"truncated":false,"options":[{"label":"Allow once","kind":"approve"},{"label":"Deny","kind":"deny"}],"phase":"result","editable":false}
            {"kind":"signIn","key":"signIn t1 c3 chat:/1","session":"s:/1","chat":"chat:/1","callId":"c3","title":"Run it","token":{"name":"Search","resource":"https://mcp.example","address":"https://mcp.example","description":"Sign in to search","scopes":["read"],"authorizationServers":[],"expired":false}}
        "#]],
    );
}

fn approval(card: RequestCard) -> Box<ApprovalCard> {
    match card {
        RequestCard::Approval(card) => card,
        RequestCard::Form(_) | RequestCard::SignIn(_) => panic!("no approval"),
    }
}

#[test]
fn a_command_has_its_other_arguments() {
    let card = approval(card(json!({
        "toolInput": "make", "_meta": {"kind": "execute", "rawInput": {
            "command": ["make"], "description": "build", "cwd": "/etc", "timeout": 5, "empty": "", "none": null,
            "env": {"PATH": "/evil\u{202e}", "TWO": "a\nsandbox: on"}, "sandbox": false, "list": ["a", 1]}},
    })));
    expect![[r#"
        cwd: /etc
        timeout: 5
        env.PATH: /evil\u{202e}
        env.TWO: "a\nsandbox: on"
        sandbox: false
        list: ["a",1]"#]]
    .assert_eq(card.parameters.as_deref().unwrap_or_default());
}

#[test]
fn the_folder_of_the_chat_is_no_argument_of_a_command() {
    let card = approval(card(json!({
        "toolInput": "make",
        "_meta": {"rawInput": {"command": "make", "workdir": "/home/me"}},
    })));
    assert_eq!(card.parameters, None);
}

#[test]
fn a_request_that_the_host_has_cut_says_so_unless_its_edits_are_there() {
    let message = "Edit a.rs\n\n```diff\n--- a.rs\n+++ a.rs\n+x\n```\n\nMore.";
    let fields = |edits: Value| {
        json!({"invocationMessage": {"markdown": message}, "edits": edits,
               "_meta": {"agenthost.truncated": true}})
    };
    let cut = approval(card(fields(Value::Null)));
    assert_eq!((cut.truncated, cut.details.len()), (true, 3));
    let side = json!({"uri": "file:///w/a.rs", "content": {"uri": "content:/2"}});
    let whole = approval(card(fields(json!({"items": [{"after": side}]}))));
    // The whole diff is shown with the edit, so its preview is not needed.
    assert_eq!((whole.truncated, whole.details.len()), (false, 2));
}
