//! Hooks that check tool calls, and hooks that are notified of them.

use std::path::Path;
use std::time::Duration;

use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent};
use agenthost_core::tools::tool_use::{HookCheckId, ToolHookPhase, ToolUse};
use agenthost_customizations::CustomizationSettings;
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};

use crate::hooks::{appears, with_hooks};
use crate::host::{Host, session, turn, workspace, write};

const DEADLINE: Duration = Duration::from_secs(20);

fn used(moment: ToolHookPhase, names: &[&str]) -> ToolUse {
    let response = (moment != ToolHookPhase::Before).then(|| json!({"success": true}));
    ToolUse {
        session: session(),
        chat: Uri::from("ahp-chat:/c"),
        phase: moment,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        input: json!({"command": "rm x"}),
        response,
    }
}

impl Host {
    async fn begin_check(&self, ticket: u64, names: &[&str]) {
        let errand = CustomizationCommand::CheckTool {
            id: HookCheckId(ticket),
            tool_use: Box::new(used(ToolHookPhase::Before, names)),
        };
        self.customizations.execute(errand).unwrap();
    }

    /// Returns the next verdict about a tool call.
    async fn checked(&mut self) -> (u64, Result<(), String>) {
        loop {
            if let CustomizationEvent::ToolChecked {
                id: ticket,
                verdict,
            } = self.next().await
            {
                return (ticket.0, verdict.map_err(|denial| denial.to_string()));
            }
        }
    }

    async fn check(&mut self, ticket: u64, names: &[&str]) -> Result<(), String> {
        self.begin_check(ticket, names).await;
        let (answered, verdict) = self.checked().await;
        assert_eq!(answered, ticket);
        verdict
    }

    async fn was_used(&self, moment: ToolHookPhase, name: &str) {
        let tool = Box::new(used(moment, &[name]));
        let errand = CustomizationCommand::ToolUsed(tool);
        self.customizations.execute(errand).unwrap();
    }

    /// Waits until the phases with tool hooks change, and returns them.
    async fn hook_phases(&mut self) -> Vec<ToolHookPhase> {
        loop {
            if let CustomizationEvent::ToolHooksChanged { phases: moments } = self.next().await {
                return moments.into_iter().collect();
            }
        }
    }
}

/// Waits until a process is gone or a zombie.
async fn ends(process: &str) {
    let status = format!("/proc/{}/stat", process.trim());
    let gone = async {
        while std::fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(DEADLINE, gone).await;
    ended.expect("it ends");
}

async fn wait_for_no_pid_files(notes: &Path) {
    let gone = async {
        while notes
            .read_dir()
            .is_ok_and(|mut notes| notes.next().is_some())
        {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(DEADLINE, gone).await;
    gone.expect("no note stays");
}

#[tokio::test]
async fn a_hook_denies_tools_that_it_matches() {
    let mut host = with_hooks(json!({
        "PreToolUse": [
            { "matcher": "Bash|Write", "hooks": [{ "type": "command", "command": "cat > told; echo >> told; echo not here >&2; exit 2" }] },
            { "matcher": "mcp__.*__delete", "command": "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\", \"permissionDecisionReason\": \"never\"}}'" },
            { "matcher": "Read", "command": "echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"allow\"}}'" },
            { "matcher": "Slow", "command": "sleep 600", "timeout": 0.1 },
            { "matcher": "Broken", "command": "exit 1" },
            { "matcher": "Bash", "command": "touch second" },
        ],
    }))
    .await;
    host.all_read().await;
    assert_eq!(host.check(1, &["Bash"]).await, Err("not here".to_owned()));
    let told: Value = serde_json::from_str(&appears(&host.work().join("told")).await).unwrap();
    assert_eq!(
        told,
        json!({
            "session_id": "ahp-session:/s",
            "cwd": host.work().to_str().unwrap(),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "rm x"},
        })
    );
    // Hooks after one that refuses do not run.
    assert!(!host.work().join("second").exists());
    let names = ["mcp__files__delete", "files_delete"];
    assert_eq!(host.check(2, &names).await, Err("never".to_owned()));
    for (ticket, fine) in (3..).zip(["Read", "Slow", "Broken", "BashOutput", "Other"]) {
        assert_eq!(host.check(ticket, &[fine]).await, Ok(()), "{fine}");
    }
}

/// A slow hook delays only its own tool call. It is killed if the check is cancelled or the session
/// is untracked.
#[tokio::test]
async fn a_hook_of_a_cancelled_check_is_killed() {
    let mut host = with_hooks(json!({
        "PreToolUse": [{ "matcher": "Slow", "command": "echo $$ > began; sleep 600" }],
        "PostToolUse": [{ "command": "echo $$ > hears; sleep 600" }],
    }))
    .await;
    host.all_read().await;
    let notes = host.folder.path().join("notes");
    host.begin_check(1, &["Slow"]).await;
    let process = appears(&host.work().join("began")).await;
    assert_eq!(host.check(2, &["Quick"]).await, Ok(()));
    let dropped = CustomizationCommand::CancelCheck {
        session: session(),
        id: HookCheckId(1),
    };
    host.customizations.execute(dropped).unwrap();
    ends(&process).await;
    wait_for_no_pid_files(&notes).await;

    std::fs::remove_file(host.work().join("began")).unwrap();
    host.begin_check(3, &["Slow"]).await;
    host.was_used(ToolHookPhase::After, "Bash").await;
    let before = appears(&host.work().join("began")).await;
    let after = appears(&host.work().join("hears")).await;
    let session = session();
    let forget = CustomizationCommand::Untrack { session };
    host.customizations.execute(forget).unwrap();
    ends(&before).await;
    ends(&after).await;
    wait_for_no_pid_files(&notes).await;
}

#[tokio::test]
async fn output_of_post_tool_hooks_is_added_to_the_next_message() {
    let mut host = with_hooks(json!({
        "PostToolUse": [{ "matcher": "Edit", "command": "cat > told; echo >> told; echo 'not formatted' >&2; exit 2" }],
        "PostToolUseFailure": [{ "command": "echo '{\"hookSpecificOutput\": {\"additionalContext\": \"try make\"}}'; echo x > failed" }],
    }))
    .await;
    host.all_read().await;
    host.was_used(ToolHookPhase::After, "Edit").await;
    host.was_used(ToolHookPhase::After, "Other").await;
    host.was_used(ToolHookPhase::Failed, "Other").await;
    let told: Value = serde_json::from_str(&appears(&host.work().join("told")).await).unwrap();
    assert_eq!(told["hook_event_name"], "PostToolUse");
    assert_eq!(told["tool_response"], json!({"success": true}));
    appears(&host.work().join("failed")).await;
    // No turn waits for these hooks, so their output may arrive with a later one.
    let mut said = String::new();
    let mut number = 1;
    while !(said.contains("not formatted") && said.contains("try make")) {
        let prepared = host.prepare(turn(number, "go")).await.unwrap();
        said.extend(prepared.context);
        number += 1;
        assert!(number < 10_000, "{said:?}");
    }
    assert_eq!(said.matches("not formatted").count(), 1);
    let last = host.prepare(turn(number, "again")).await.unwrap();
    assert_eq!(last.context, None);
}

/// Sessions without tool hooks, or without approved ones, need not wait for a check: the host
/// learns of the hooks before a turn begins, and when they change.
#[tokio::test]
async fn changes_of_active_tool_hooks_are_reported() {
    let folder = workspace();
    let settings = json!({ "hooks": {
        "PreToolUse": [{ "command": "exit 2" }],
        "PostToolUse": [{ "command": "exit 0" }],
    } });
    let work = folder.path().join("work");
    write(&work, ".claude/settings.json", &settings.to_string());
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    host.wait_until_read().await;
    // The hooks are not approved.
    assert_eq!(host.check(1, &["Bash"]).await, Ok(()));
    let key = host.customizations.untrusted_code()[0].key.clone();
    let keys = [key].into();
    host.customizations
        .execute(CustomizationCommand::SetTrustedCode { keys })
        .unwrap();
    assert_eq!(
        host.hook_phases().await,
        [ToolHookPhase::Before, ToolHookPhase::After]
    );
    assert!(host.check(2, &["Bash"]).await.is_err());
    let id = host.id("Hooks");
    host.disable(&[&id]).await;
    assert_eq!(host.hook_phases().await, []);
    assert_eq!(host.check(3, &["Bash"]).await, Ok(()));
}

#[tokio::test]
async fn tool_hooks_are_reported_before_the_first_turn() {
    let mut host = with_hooks(json!({ "PreToolUse": [{ "command": "exit 2" }] })).await;
    let errand = CustomizationCommand::Prepare(Box::new(turn(1, "go")));
    host.customizations.execute(errand).unwrap();
    let mut known = false;
    loop {
        match host.next().await {
            CustomizationEvent::ToolHooksChanged { .. } => known = true,
            CustomizationEvent::TurnPrepared { .. } => break,
            _ => {}
        }
    }
    assert!(known);
}

/// A killed host cannot end its hooks, so the next host does.
#[tokio::test]
async fn hooks_of_a_killed_host_are_ended() {
    let mut host = with_hooks(json!({
        "PreToolUse": [{ "command": "setsid sh -c 'echo $$ > began; sleep 600' & wait" }],
    }))
    .await;
    host.all_read().await;
    host.begin_check(1, &["Bash"]).await;
    let process = appears(&host.work().join("began")).await;
    // Does the same as the next host, which finds the notes of the killed one.
    let notes = host.folder.path().join("notes");
    assert_eq!(agenthost_process::kill_leftovers(&notes), 1);
    ends(&process).await;
    assert_eq!(host.checked().await, (1, Ok(())));
}
