//! Files that change, and clients that use changesets.

use super::*;
use crate::change_results;

impl Simulation {
    /// Returns the URI of a changeset of some session.
    pub(super) fn changeset(&mut self) -> Uri {
        let session = *self.chance.pick(&["s1", "s2", "s3"]).unwrap();
        let chat = uri(&format!("{session}.chat"));
        let turn = self.random_turn(&chat);
        let owner = if self.chance.chance(0.7) {
            uri(session)
        } else {
            chat
        };
        let views = ["session", "uncommitted", "branch", "turn", "compare"];
        let view = match *self.chance.pick(&views).unwrap() {
            "turn" => format!("turn/{turn}"),
            "compare" => format!("compare/{turn}/{turn}"),
            view => view.to_owned(),
        };
        Uri::from(format!("{owner}/changeset/{view}"))
    }

    /// Lets a client subscribe to a changeset, unsubscribe, or run an operation.
    pub(super) fn use_changeset(&mut self) {
        let Some(connection) = self.connection() else {
            return;
        };
        let known = self.test_host.log.channels.iter();
        let known = known.filter(|(_, state)| matches!(state, ChannelState::Changeset(_)));
        let known: Vec<_> = known.map(|(uri, _)| uri.clone()).collect();
        let channel = match self.chance.pick(&known).cloned() {
            Some(known) if self.chance.chance(0.7) => known,
            _ => self.changeset(),
        };
        match self.chance.rng.u32(0..6) {
            0 | 1 => self.request(connection, "subscribe", json!({"channel": channel})),
            2 => self.notify(connection, "unsubscribe", json!({"channel": channel})),
            3 | 4 => {
                let names = [
                    "commit",
                    "discard",
                    "undo",
                    "restore",
                    "stage",
                    "show-patch",
                ];
                let name = *self.chance.pick(&names).unwrap();
                let mut params = json!({"channel": channel, "operationId": name});
                if self.chance.chance(0.3) {
                    params["target"] = json!({"kind": "resource", "resource": "file:///w/a.txt"});
                }
                self.request(connection, "invokeChangesetOperation", params);
            }
            _ => {
                self.requests += 1;
                let action = json!({
                    "type": "changeset/filesReviewChanged", "files": ["file:///w/a.txt"],
                    "reviewed": self.chance.chance(0.5),
                });
                let params =
                    json!({"channel": channel, "clientSeq": self.requests, "action": action});
                self.notify(connection, "dispatchAction", params);
            }
        }
    }

    /// Completes all pending changeset operations, and sometimes a refresh or another change job.
    pub(super) fn finish_change_jobs(&mut self) {
        while let Some(index) = self.test_host.changes.iter().position(|errand| {
            matches!(errand.task, agenthost_core::ChangeTask::RunOperation { .. })
        }) {
            let errand = self.test_host.changes.remove(index).unwrap();
            let words = *self.chance.pick(&["done", "failed it broke"]).unwrap();
            self.test_host
                .step(change_results::operation_finished(*errand, words));
        }
        if self.chance.chance(0.3)
            && let Some((channel, round)) = self.test_host.looks.pop_front()
        {
            self.test_host
                .step(Input::ChangesetRefreshDue { channel, round });
        }
        if !self.chance.chance(0.5) {
            return;
        }
        let Some(errand) = self.test_host.changes.pop_front() else {
            return;
        };
        use agenthost_core::ChangeTask;
        let fails = self.chance.chance(0.1);
        let git = r#"{"branch": "main"}"#;
        let input = match &errand.task {
            ChangeTask::TakeCheckpoint { .. } if fails => {
                change_results::checkpoint_taken(*errand, "failed no git")
            }
            ChangeTask::TakeCheckpoint { .. } => {
                let lines = self.chance.rng.u32(0..3);
                let text = format!(
                    r#"{{"git": {git}, "session": [{lines}, 0, 1], "chat": [{lines}, 0, 1]}}"#
                );
                change_results::checkpoint_taken(*errand, &text)
            }
            ChangeTask::ComputeDiff { .. } if fails => {
                change_results::diff_computed(*errand, "failed it broke")
            }
            ChangeTask::ComputeDiff { .. } => {
                let lines = self.chance.rng.u32(0..3);
                let many: String = (0..10).map(|name| format!("{name}+1-{lines} ")).collect();
                let texts = [
                    format!("a.txt+{lines}-0 {git}"),
                    format!("a.txt+{lines}-0={lines} b.txt+1-1 {git}"),
                    format!("{many}{git}"),
                    git.to_owned(),
                ];
                change_results::diff_computed(*errand, self.chance.pick(&texts).unwrap())
            }
            ChangeTask::SurveyEdits(_) => {
                let texts = ["", "a.txt", "+a.txt -b.txt", "a.txt confirmed"];
                change_results::survey_finished(*errand, self.chance.pick(&texts).unwrap())
            }
            ChangeTask::CreateWorktree(_) if fails => {
                change_results::worktree(*errand, "failed no git")
            }
            ChangeTask::CreateWorktree(_) => change_results::worktree(*errand, "file:///kept"),
            ChangeTask::RunOperation { .. } | ChangeTask::ForgetSession { .. } => return,
        };
        self.test_host.step(input);
    }
}
