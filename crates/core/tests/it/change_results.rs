//! Builds the results of change jobs from the text of a script.

use agenthost_core::{
    ChangeJob, ChangeTask, ChangesetDiff, CheckpointReport, GitStatus, Input, OperationResult,
    RequestFailure, SurveyedEdits, WorkspaceStatus, Worktree,
};
use agenthost_protocol::changeset::ChangesetFile;
use agenthost_protocol::common::ChangesSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::{Value, json};

fn failure(text: &str) -> Option<RequestFailure> {
    let reason = text.strip_prefix("failed ")?;
    Some(RequestFailure::Internal(reason.to_owned()))
}

fn workspace_status(json: &Value) -> WorkspaceStatus {
    let git = json.as_object().map(|git| {
        let text = |name: &str| git.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        GitStatus {
            branch: text("branch"),
            base: text("base"),
            upstream: text("upstream"),
            uncommitted: git.get("uncommitted").and_then(Value::as_u64).unwrap_or(0),
            operation_in_progress: text("under_way"),
            worktree_of: text("worktree_of").map(|uri| uri.as_str().into()),
            ..GitStatus::default()
        }
    });
    WorkspaceStatus { git }
}

fn summary(json: &Value) -> Option<ChangesSummary> {
    let count = |index: usize| json.get(index).and_then(Value::as_u64);
    json.is_array().then(|| ChangesSummary {
        additions: count(0),
        deletions: count(1),
        files: count(2),
    })
}

/// Returns the result of a checkpoint job, without git status or totals.
pub(crate) fn taken(job: ChangeJob) -> Input {
    let ChangeTask::TakeCheckpoint { checkpoint, .. } = job.task else {
        panic!("this was not asked: {:?}", job.task);
    };
    Input::CheckpointTaken {
        session: job.session,
        checkpoint,
        outcome: Box::new(Ok(CheckpointReport {
            status: None,
            session_total: None,
            chat_total: None,
        })),
    }
}

/// Returns the result of a checkpoint job from `{git: {..}, session: [+, -, files], chat: [..]}`.
pub(crate) fn checkpoint_taken(errand: ChangeJob, text: &str) -> Input {
    let ChangeTask::TakeCheckpoint {
        checkpoint: mark, ..
    } = errand.task
    else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let outcome = failure(text).map_or_else(
        || {
            let text = if text.is_empty() { "{}" } else { text };
            let json: Value = serde_json::from_str(text).unwrap();
            Ok(CheckpointReport {
                status: Some(workspace_status(&json["git"])),
                session_total: summary(&json["session"]),
                chat_total: summary(&json["chat"]),
            })
        },
        Err,
    );
    Input::CheckpointTaken {
        session: errand.session,
        checkpoint: mark,
        outcome: Box::new(outcome),
    }
}

/// Returns the result of a diff job: `a.txt+1-2=x` is a changed file whose content has the id `x`;
/// braces at the end contain the git status.
pub(crate) fn diff_computed(errand: ChangeJob, text: &str) -> Input {
    let ChangeTask::ComputeDiff { channel, .. } = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let outcome = failure(text).map_or_else(
        || {
            let (files, git) = text.split_once('{').unwrap_or((text, ""));
            let git = match git {
                "" => Value::Null,
                git => serde_json::from_str(&format!("{{{git}")).unwrap(),
            };
            Ok(ChangesetDiff {
                files: files.split_whitespace().map(file).collect(),
                status: workspace_status(&git),
            })
        },
        Err,
    );
    Input::DiffComputed {
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

/// Returns the result of an edit survey: `a.txt` was edited, `+a.txt` created, `-a.txt` deleted.
/// With `confirmed`, the edits that the agent reported are complete.
pub(crate) fn survey_finished(errand: ChangeJob, text: &str) -> Input {
    let ChangeTask::SurveyEdits(survey) = errand.task else {
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
    Input::EditsSurveyed {
        turn: survey.turn,
        edits: Box::new(SurveyedEdits {
            edits: edits.collect(),
            confirmed: survey.claimed.into_iter().filter(|_| confirmed).collect(),
        }),
    }
}

/// Returns the result of a changeset operation.
pub(crate) fn operation_finished(errand: ChangeJob, text: &str) -> Input {
    let ChangeTask::RunOperation {
        operation_id: name,
        request: wanted,
    } = errand.task
    else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let done = OperationResult {
        message: text.to_owned(),
        follow_up: None,
    };
    Input::OperationFinished {
        request: wanted,
        operation_id: name,
        outcome: failure(text).map_or(Ok(done), Err),
    }
}

/// Returns the result of creating a worktree.
pub(crate) fn worktree(errand: ChangeJob, text: &str) -> Input {
    let ChangeTask::CreateWorktree(_) = errand.task else {
        panic!("this was not asked: {:?}", errand.task);
    };
    let made = Worktree {
        directory: Uri::from(text),
        branch: "agenthost/one".to_owned(),
    };
    Input::WorktreeCreated {
        session: errand.session,
        outcome: failure(text).map_or(Ok(made), Err),
    }
}
