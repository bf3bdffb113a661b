//! Hooks that run, refuse turns, time out or must not run.

use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent};
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use serde_json::{Value, json};

use crate::host::{Host, session, turn, workspace, write};

/// Starts a host with a configured plugin that has these hooks.
pub(crate) async fn with_hooks(hooks: Value) -> Host {
    let folder = workspace();
    let root = folder.path().join("plugin");
    write(
        &root,
        "hooks/hooks.json",
        &json!({ "hooks": hooks }).to_string(),
    );
    write(&root, "say.sh", "#!/bin/sh\nprintf 'from %s' \"$1\"\n");
    let settings = CustomizationSettings {
        plugins: vec![ConfiguredPlugin {
            source: PluginSource::Path(root),
            agents: None,
        }],
        ..CustomizationSettings::default()
    };
    Host::start_tracking(folder, settings).await
}

/// Waits for a file that a hook writes, and returns its text.
pub(crate) async fn appears(path: &std::path::Path) -> String {
    let wait = async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait)
        .await
        .expect("the hook runs")
}

#[tokio::test]
async fn output_of_hooks_is_added_to_the_context() {
    let mut host = with_hooks(json!({
        "SessionStart": [{ "command": "echo begun" }],
        "UserPromptSubmit": [
            { "hooks": [{ "type": "command", "command": "sh \"${CLAUDE_PLUGIN_ROOT}/say.sh\" hook" }] },
            { "command": "grep -o '\"prompt\":\"[a-z]*\"'" },
            { "command": "echo '{\"hookSpecificOutput\": {\"additionalContext\": \"json\"}}'" },
            { "command": "echo ignored; exit 1" },
            { "command": "pwd | sed 's/.*\\///'" },
        ],
    }))
    .await;
    let first = host.prepare(turn(1, "hello")).await.unwrap();
    assert_eq!(
        first.context.unwrap(),
        "begun\n\nfrom hook\n\n\"prompt\":\"hello\"\n\njson\n\nwork"
    );
    let second = host.prepare(turn(2, "again")).await.unwrap();
    assert!(!second.context.unwrap().contains("begun"));
}

#[tokio::test]
async fn a_hook_can_refuse_a_turn() {
    let mut host = with_hooks(json!({
        "UserPromptSubmit": [{ "command": "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0" }],
    }))
    .await;
    let refused = host.prepare(turn(1, "a secret")).await;
    assert_eq!(refused.unwrap_err(), "no secrets");
    assert!(host.prepare(turn(2, "hello")).await.is_ok());
}

#[tokio::test]
async fn a_hook_that_times_out_is_killed_with_its_children() {
    let mut host = with_hooks(json!({
        "UserPromptSubmit": [{ "command": "sleep 600 & echo $! > pid; wait", "timeout": 0.2 }],
    }))
    .await;
    assert_eq!(host.prepare(turn(1, "hello")).await.unwrap().context, None);
    let pid = std::fs::read_to_string(host.work().join("pid")).unwrap();
    let status = format!("/proc/{}/stat", pid.trim());
    let gone = async {
        // The process may stay as a zombie until it is reaped.
        while std::fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), gone)
        .await
        .expect("it ends");
}

#[tokio::test]
async fn the_end_of_a_turn_in_preparation_kills_its_hooks() {
    let mut host = with_hooks(json!({
        "UserPromptSubmit": [{ "command": "grep -q slow && { echo x > began; sleep 600; }; exit 0" }],
    }))
    .await;
    let slow = CustomizationCommand::Prepare(Box::new(turn(1, "slow")));
    host.customizations.execute(slow).unwrap();
    appears(&host.work().join("began")).await;
    let ended = CustomizationCommand::TurnEnded {
        session: session(),
        chat: Uri::from("ahp-chat:/c"),
        turn: TurnId::from("t1"),
    };
    host.customizations.execute(ended).unwrap();
    assert!(host.prepare(turn(2, "quick")).await.is_ok());
}

#[tokio::test]
async fn hooks_run_at_the_end_of_turns_and_sessions() {
    let mut host = with_hooks(json!({
        "Stop": [{ "command": "cat > stopped; echo >> stopped" }],
        "SessionEnd": [{ "command": "cat > ended; echo >> ended" }],
    }))
    .await;
    host.prepare(turn(1, "hello")).await.unwrap();
    let ended = CustomizationCommand::TurnEnded {
        session: session(),
        chat: Uri::from("ahp-chat:/c"),
        turn: TurnId::from("t1"),
    };
    host.customizations.execute(ended).unwrap();
    let told: Value = serde_json::from_str(&appears(&host.work().join("stopped")).await).unwrap();
    assert_eq!(told["hook_event_name"], "Stop");
    assert_eq!(told["session_id"], "ahp-session:/s");
    let session = session();
    host.customizations
        .execute(CustomizationCommand::Untrack { session })
        .unwrap();
    let told = appears(&host.work().join("ended")).await;
    assert!(told.contains("SessionEnd"));
}

#[tokio::test]
async fn workspace_hooks_need_approval() {
    let folder = workspace();
    let settings = json!({ "hooks": { "UserPromptSubmit": [{ "command": "echo ran" }] } });
    write(
        &folder.path().join("work"),
        ".claude/settings.json",
        &settings.to_string(),
    );
    let mut host = Host::start_tracking(folder, CustomizationSettings::default()).await;
    host.wait_until_read().await;
    assert_eq!(host.prepare(turn(1, "hello")).await.unwrap().context, None);
    let key = host.customizations.untrusted_code()[0].key.clone();
    let keys = [key].into();
    host.customizations
        .execute(CustomizationCommand::SetTrustedCode { keys })
        .unwrap();
    let context = host.prepare(turn(2, "hello")).await.unwrap().context;
    assert_eq!(context.as_deref(), Some("ran"));
    // CUS-16: a disabled hook does not run.
    let id = host.id("Hooks");
    host.disable(&[&id]).await;
    assert_eq!(host.prepare(turn(3, "hello")).await.unwrap().context, None);
}

#[tokio::test]
async fn disabling_a_plugin_kills_its_running_hooks() {
    // The timeout is long, so that these hooks end in time only if they are stopped.
    let mut host = with_hooks(json!({
        "UserPromptSubmit": [
            { "command": "echo $$ > began; sleep 600", "timeout": 600 },
            { "command": "echo next > next" },
        ],
    }))
    .await;
    host.wait_until_read().await;
    let errand = CustomizationCommand::Prepare(Box::new(turn(1, "hello")));
    host.customizations.execute(errand).unwrap();
    appears(&host.work().join("began")).await;
    let id = host.id("plugin");
    host.disable(&[&id]).await;
    loop {
        if let CustomizationEvent::TurnPrepared { outcome, .. } = host.next().await {
            assert_eq!(outcome.unwrap().context, None);
            break;
        }
    }
    assert!(
        !host.work().join("next").exists(),
        "nor does the next begin"
    );
    // The hooks run again after the plugin is enabled.
    host.disable(&[]).await;
    std::fs::remove_file(host.work().join("began")).unwrap();
    let errand = CustomizationCommand::Prepare(Box::new(turn(2, "hello")));
    host.customizations.execute(errand).unwrap();
    appears(&host.work().join("began")).await;
}
