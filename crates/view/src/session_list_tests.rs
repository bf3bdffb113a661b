use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::samples::{agents, check, session, summary};

fn list(sessions: &[SessionSummary], filter: &SessionFilter) -> SessionList {
    let entries = sessions.iter();
    let entries = entries.map(|summary| SessionEntry {
        summary,
        state: None,
    });
    SessionList::compute(entries, &agents(), filter)
}

fn sessions() -> Vec<SessionSummary> {
    let at = |time: &str, title: &str, folder: &str| {
        json!({"modifiedAt": format!("2026-07-{time}:00.000Z"), "title": title,
               "workingDirectories": [format!("file:///home/me/{folder}")]})
    };
    let with = |mut fields: Value, more: Value| {
        let more = more.as_object().unwrap().clone();
        fields.as_object_mut().unwrap().extend(more);
        fields
    };
    vec![
        summary("s:/1", at("08T10:00", "Fix the parser", "app")),
        summary(
            "s:/2",
            with(
                at("09T11:00", "Deploy", "site%20two"),
                json!({"status": 24,
            "provider": "gone", "changes": {"additions": 3, "deletions": 1, "files": 2}}),
            ),
        ),
        summary(
            "s:/3",
            with(
                at("09T12:00", "In a worktree", "trees/x"),
                json!({"status": 8,
            "_meta": {"git": {"branchName": "x", "worktreeOf": "file:///home/me/app"},
                      "agenthost.usage": {"cost": {"amount": 1.5, "currency": "USD"}}}}),
            ),
        ),
        summary(
            "s:/4",
            with(at("07T10:00", "Old", "app"), json!({"status": 97})),
        ),
        summary(
            "s:/5",
            json!({"title": "Nowhere", "status": 2, "activity": ""}),
        ),
    ]
}

#[test]
fn rows_are_sorted_by_time_and_grouped_by_folder() {
    let list = list(&sessions(), &SessionFilter::default());
    check(
        &list.rows,
        expect![[r#"
        {"key":"s:/3","title":"In a worktree","folder":"/home/me/trees/x","agent":"Shell","provider":"shell","status":"running","unread":true,"archived":false,"modifiedAt":"2026-07-09T12:00:00.000Z","waiting":0,"cost":"$1.50","branch":"x"}
        {"key":"s:/2","title":"Deploy","folder":"/home/me/site two","agent":"gone","provider":"gone","status":"waiting","unread":true,"archived":false,"modifiedAt":"2026-07-09T11:00:00.000Z","added":3,"removed":1,"files":2,"waiting":1}
        {"key":"s:/5","title":"Nowhere","agent":"Shell","provider":"shell","status":"error","unread":true,"archived":false,"modifiedAt":"2026-07-09T10:00:00.000Z","waiting":0}
        {"key":"s:/1","title":"Fix the parser","folder":"/home/me/app","agent":"Shell","provider":"shell","status":"idle","unread":false,"archived":false,"modifiedAt":"2026-07-08T10:00:00.000Z","waiting":0}
    "#]],
    );
    check(
        &list.groups,
        expect![[r#"
        {"key":"/home/me/app","label":"app","path":"/home/me/app","sessions":["s:/3","s:/1"]}
        {"key":"/home/me/site two","label":"site two","path":"/home/me/site two","sessions":["s:/2"]}
        {"key":"","label":"","sessions":["s:/5"]}
    "#]],
    );
    assert_eq!(list.total, 5);
}

#[test]
fn a_filter_finds_words_of_titles_folders_and_branches() {
    let find = |text: &str, archived| {
        let filter = SessionFilter {
            text: text.to_owned(),
            group: SessionGrouping::None,
            archived,
        };
        let list = list(&sessions(), &filter);
        assert_eq!(list.groups, []);
        let titles = list.rows.into_iter().map(|row| row.title);
        titles.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(find("parser", false), "Fix the parser");
    assert_eq!(find("site two", false), "Deploy");
    assert_eq!(find("old", false), "");
    assert_eq!(find("old", true), "Old");
    assert_eq!(
        find(" ", true),
        "In a worktree, Deploy, Nowhere, Fix the parser, Old"
    );
}

#[test]
fn sessions_are_grouped_by_local_day() {
    let filter = SessionFilter {
        group: SessionGrouping::Day {
            utc_offset_minutes: -660,
        },
        ..SessionFilter::default()
    };
    check(
        &list(&sessions(), &filter).groups,
        expect![[r#"
        {"key":"2026-07-09","label":"2026-07-09","sessions":["s:/3","s:/2"]}
        {"key":"2026-07-08","label":"2026-07-08","sessions":["s:/5"]}
        {"key":"2026-07-07","label":"2026-07-07","sessions":["s:/1"]}
    "#]],
    );
}

#[test]
fn a_state_refines_the_entry() {
    let summary = summary("s:/1", json!({"status": 24}));
    let waiting = |fields| {
        let state = session(fields);
        let entry = SessionEntry {
            summary: &summary,
            state: Some(&state),
        };
        let row = entry.row(&agents());
        (row.status, row.waiting)
    };
    let form = |id: &str| {
        json!({"kind": "chatInput", "id": id, "chat": "chat:/1",
                                 "request": {"id": id}})
    };
    let two = json!({"inputNeeded": [form("a"), form("b")]});
    assert_eq!(waiting(two), (SessionActivity::Waiting, 2));
    let creating = json!({"lifecycle": "creating"});
    assert_eq!(waiting(creating), (SessionActivity::Creating, 0));
    let failed = json!({"lifecycle": "failed"});
    assert_eq!(waiting(failed), (SessionActivity::Error, 0));
}

#[test]
fn recent_folders_are_sorted_by_their_last_use_and_are_no_worktrees() {
    let sessions = sessions();
    let folders = |limit| {
        let entries = sessions.iter().map(|summary| SessionEntry {
            summary,
            state: None,
        });
        recent_folders(entries, limit)
    };
    assert_eq!(folders(9), ["/home/me/app", "/home/me/site two"]);
    assert_eq!(folders(1), ["/home/me/app"]);
}
