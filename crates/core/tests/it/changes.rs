//! What comes of looks at files, from text.

use agenthost_core::{
    ChangeErrand, ChangeTask, Comparison, Failure, GitStanding, Input, Marked, Operated, Standing,
    SurveyedEdits, Worktree,
};
use agenthost_protocol::changeset::ChangesetFile;
use agenthost_protocol::common::ChangesSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};

fn failure(text: &str) -> Option<Failure> {
    let reason = text.strip_prefix("failed ")?;
    Some(Failure::Failed(reason.to_owned()))
}

fn standing(json: &Value) -> Standing {
    let git = json.as_object().map(|git| {
        let text = |name: &str| git.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        GitStanding {
            branch: text("branch"),
            base: text("base"),
            upstream: text("upstream"),
            uncommitted: git.get("uncommitted").and_then(Value::as_u64).unwrap_or(0),
            under_way: text("under_way"),
            worktree_of: text("worktree_of").map(|uri| uri.as_str().into()),
            ..GitStanding::default()
        }
    });
    Standing { git }
}

fn summary(json: &Value) -> Option<ChangesSummary> {
    let count = |index: usize| json.get(index).and_then(Value::as_u64);
    json.is_array().then(|| ChangesSummary {
        additions: count(0),
        deletions: count(1),
        files: count(2),
    })
}

/// A moment was marked: `{git: {..}, session: [+, -, files], chat: [..]}`.
pub(crate) fn marked(errand: ChangeErrand, text: &str) -> Input {
    let ChangeTask::Mark { mark, .. } = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let outcome = failure(text).map_or_else(
        || {
            let text = if text.is_empty() { "{}" } else { text };
            let json: Value = serde_json::from_str(text).unwrap();
            Ok(Marked {
                standing: Some(standing(&json["git"])),
                session: summary(&json["session"]),
                chat: summary(&json["chat"]),
            })
        },
        Err,
    );
    Input::Marked {
        session: errand.session,
        mark,
        outcome: Box::new(outcome),
    }
}

/// Files differ: `a.txt+1-2=x`, where `x` stands for what is in it; a last word
/// in braces is what git says.
pub(crate) fn compared(errand: ChangeErrand, text: &str) -> Input {
    let ChangeTask::Compare { channel, .. } = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let outcome = failure(text).map_or_else(
        || {
            let (files, git) = text.split_once('{').unwrap_or((text, ""));
            let git = match git {
                "" => Value::Null,
                git => serde_json::from_str(&format!("{{{git}")).unwrap(),
            };
            Ok(Comparison {
                files: files.split_whitespace().map(file).collect(),
                standing: standing(&git),
            })
        },
        Err,
    );
    Input::Compared {
        channel,
        outcome: Box::new(outcome),
    }
}

fn file(word: &str) -> ChangesetFile {
    let (word, content) = word.split_once('=').unwrap_or((word, "x"));
    let (name, counts) = word.split_once('+').unwrap();
    let (added, removed) = counts.split_once('-').unwrap();
    let uri = format!("file:///w/{name}");
    let side = |content: &str| json!({"uri": uri, "content": {"uri": format!("agenthost-git:/k/{content}"), "nonce": content}});
    let json = json!({
        "id": uri,
        "edit": {
            "before": side("o"),
            "after": side(content),
            "diff": {"added": added.parse::<u64>().unwrap(), "removed": removed.parse::<u64>().unwrap()},
        },
    });
    wire::from_str(&json.to_string()).unwrap()
}

/// Files were edited: `a.txt`, created: `+a.txt`, deleted: `-a.txt`; with
/// `confirmed`, what the agent reports is whole.
pub(crate) fn surveyed(errand: ChangeErrand, text: &str) -> Input {
    let ChangeTask::Survey(survey) = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let words = text.split_whitespace();
    let confirmed = words.clone().any(|word| word == "confirmed");
    let edits = words.filter(|word| *word != "confirmed").map(|word| {
        let name = word.trim_start_matches(['+', '-']);
        let uri = format!("file:///w/{name}");
        let side =
            |when: &str| json!({"uri": uri, "content": {"uri": format!("agenthost-content:/w/{name}?{when}")}});
        let json = match word.as_bytes().first() {
            Some(b'+') => json!({"after": side("after")}),
            Some(b'-') => json!({"before": side("before")}),
            _ => json!({"before": side("before"), "after": side("after")}),
        };
        wire::from_str(&json.to_string()).unwrap()
    });
    Input::Surveyed {
        turn: survey.turn,
        surveyed: Box::new(SurveyedEdits {
            edits: edits.collect(),
            confirmed: survey.claimed.into_iter().filter(|_| confirmed).collect(),
        }),
    }
}

/// Something was done.
pub(crate) fn operated(errand: ChangeErrand, text: &str) -> Input {
    let ChangeTask::Operate { name, wanted } = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let done = Operated {
        message: text.to_owned(),
        follow_up: None,
    };
    Input::Operated {
        wanted,
        name,
        outcome: failure(text).map_or(Ok(done), Err),
    }
}

/// A worktree was made.
pub(crate) fn worktree(errand: ChangeErrand, text: &str) -> Input {
    let ChangeTask::MakeWorktree(_) = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let made = Worktree {
        directory: Uri::from(text),
        branch: "agenthost/one".to_owned(),
    };
    Input::WorktreeMade {
        session: errand.session,
        outcome: failure(text).map_or(Ok(made), Err),
    }
}
