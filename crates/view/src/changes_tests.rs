use expect_test::expect;
use serde_json::json;

use super::*;
use crate::samples::{check, decode};

#[test]
fn a_changeset_lists_files_and_operations() {
    let side = |name: &str, id: &str| {
        json!({"uri": format!("file:///w/{name}"),
                                            "content": {"uri": format!("agenthost-git:/{id}")}})
    };
    let state = decode(json!({
        "status": "recomputing",
        "files": [
            {"id": "f1", "edit": {"before": side("a.rs", "1"), "after": side("a.rs", "2"),
                                  "diff": {"added": 5, "removed": 2}}, "reviewed": true},
            {"id": "f2", "edit": {"before": side("b.rs", "3"), "after": side("c.rs", "4"),
                                  "diff": {"added": 1}},
             "_meta": {"agenthost.notKept": true}}],
        "operations": [
            {"id": "commit", "label": "Commit", "scopes": ["changeset"], "status": "idle"},
            {"id": "undo", "label": "Undo", "scopes": ["resource", "later"], "status": "error",
             "confirmation": "Undo?", "error": {"errorType": "x", "message": "was changed"}},
            {"id": "odd", "label": "Odd", "scopes": [], "status": "later"}]
    }));
    let view = ChangesView::compute(&"s:/1/changeset/session".into(), "Session", &state);
    check(
        &view,
        expect![[r#"
        {
          "uri": "s:/1/changeset/session",
          "label": "Session",
          "status": "computing",
          "files": [
            {
              "key": "f1",
              "path": "/w/a.rs",
              "status": "changed",
              "before": "agenthost-git:/1",
              "after": "agenthost-git:/2",
              "added": 5,
              "removed": 2,
              "reviewed": true,
              "notKept": false
            },
            {
              "key": "f2",
              "path": "/w/c.rs",
              "status": "renamed",
              "before": "agenthost-git:/3",
              "after": "agenthost-git:/4",
              "renamedFrom": "/w/b.rs",
              "added": 1,
              "reviewed": false,
              "notKept": true
            }
          ],
          "added": 6,
          "removed": 2,
          "reviewed": 1,
          "operations": [
            {
              "id": "commit",
              "label": "Commit",
              "scope": [
                "changeset"
              ],
              "status": "idle"
            },
            {
              "id": "undo",
              "label": "Undo",
              "scope": [
                "resource"
              ],
              "confirmation": "Undo?",
              "status": "error",
              "error": "was changed"
            },
            {
              "id": "odd",
              "label": "Odd",
              "scope": [],
              "status": "disabled"
            }
          ]
        }
    "#]],
    );
}

#[test]
fn the_catalogue_offers_fixed_changesets_and_those_of_turns() {
    let catalogue: Vec<Changeset> = decode(json!([
        {"label": "Branch", "uriTemplate": "s:/1/changeset/branch", "changeKind": "branch",
         "capabilities": {"review": {}}},
        {"label": "Compare", "changeKind": "compare-turns",
         "uriTemplate": "s:/1/changeset/compare/{originalTurnId}/{modifiedTurnId}"},
        {"label": "Turn", "uriTemplate": "s:/1/changeset/turn/{turnId}", "changeKind": "turn"}]));
    check(
        &changeset_choices(&catalogue),
        expect![[r#"
        {"uri":"s:/1/changeset/branch","label":"Branch","review":true}
    "#]],
    );
    let turn = turn_changeset(&catalogue, &"t/1 ü".into());
    assert_eq!(
        turn.unwrap().uri.as_str(),
        "s:/1/changeset/turn/t%2F1%20%C3%BC"
    );
}
