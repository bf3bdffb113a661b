//! Hooks under `kill -9`: the next host ends the hooks of the killed one, and the tool call that
//! waited for them is cancelled.

use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_client::Client;
use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{CancellationReason, ResponsePart, ToolCall};
use agenthost_protocol::session::{CreateSessionParams, SessionLifecycle};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_testkit::acp_agent;
use serde_json::json;

use crate::commands::Host;
use crate::reconnect::connect;

const DEADLINE: Duration = Duration::from_secs(30);

/// Default chat of the session. Every client derives it from the URI of the session.
const CHAT: &str = "ahp-chat://default/YWhwLXNlc3Npb246L3M";

/// Configures the scripted agent, and a hook that hangs.
fn configure(path: &Path) {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let mut command = vec![program];
    command.extend(arguments);
    let hook = "echo $$ > began; setsid sh -c 'echo $$ > away; sleep 600' & sleep 600";
    let hooks = json!({"hooks": {"PreToolUse": [{"command": hook}]}});
    let plugin = path.join("plugin");
    std::fs::create_dir_all(plugin.join("hooks")).unwrap();
    std::fs::write(plugin.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    let config = path.join("config/agenthost");
    std::fs::create_dir_all(&config).unwrap();
    let text = format!(
        "auto_agents = false\n[[agents]]\nid = 'scripted'\ncommand = {command:?}\nenv = {{ {} = 'plain' }}\n\
         [[plugins]]\npath = {plugin:?}\n",
        acp_agent::AGENT_MODE_VARIABLE
    );
    std::fs::write(config.join("config.toml"), text).unwrap();
    std::fs::create_dir_all(path.join("work")).unwrap();
}

/// Waits for a file with a process id, and returns the id.
async fn process_in(file: &Path) -> u32 {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().parse().unwrap();
        }
        assert!(begun.elapsed() < DEADLINE, "the hook does not run");
        tokio::task::yield_now().await;
    }
}

fn runs(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

fn is_ready(client: &Client, session: &Uri) -> bool {
    match client.confirmed_state(session) {
        Some(ChannelState::Session(state)) => state.lifecycle == SessionLifecycle::Ready,
        _ => false,
    }
}

async fn begin_turn(client: &mut Client, work: &Path) {
    let session = Uri::from("ahp-session:/s");
    let folder = format!("file://{}", work.display());
    let create =
        json!({"channel": session, "provider": "scripted", "workingDirectories": [folder]});
    let create: CreateSessionParams = wire::from_str(&create.to_string()).unwrap();
    client.request(create).await.unwrap();
    client.subscribe(&session).await.unwrap();
    let ready = async {
        while !is_ready(client, &session) {
            client.next_update().await.unwrap();
        }
    };
    let ready = tokio::time::timeout(DEADLINE, ready).await;
    ready.unwrap();
    let chat = Uri::from(CHAT);
    client.subscribe(&chat).await.unwrap();
    let call = json!({"toolCallId": "k", "title": "Bash", "rawInput": {"command": "ls"}});
    let options = json!([{"optionId": "no", "name": "No", "kind": "reject_once"}]);
    let text = format!("ask {}", json!({"toolCall": call, "options": options}));
    let message = json!({"text": text, "origin": {"kind": "user"}});
    let turn = json!({
        "type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-05T09:00:00Z",
        "message": message,
    });
    let turn: Action = wire::from_str(&turn.to_string()).unwrap();
    client.dispatch(&chat, turn).await.unwrap();
}

#[tokio::test]
async fn a_restarted_host_ends_the_hooks_of_a_killed_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path);
    let data = path.join("data/agenthost");
    let host = Host::start(path, &[]);
    let mut client = connect(&data, "one").await;
    begin_turn(&mut client, &path.join("work")).await;
    let hook = process_in(&path.join("work/began")).await;
    let away = process_in(&path.join("work/away")).await;
    // After SIGKILL, the host cannot end the hook.
    host.kill(path);
    assert!(runs(hook) && runs(away));

    let host = Host::start(path, &[]);
    let begun = Instant::now();
    while runs(hook) || runs(away) {
        assert!(begun.elapsed() < DEADLINE, "the hook goes on");
        tokio::task::yield_now().await;
    }
    // The waiting call was cancelled together with its turn.
    let mut other = connect(&data, "two").await;
    let chat = Uri::from(CHAT);
    other.subscribe(&chat).await.unwrap();
    let Some(ChannelState::Chat(state)) = other.confirmed_state(&chat) else {
        panic!("the chat is not followed");
    };
    assert!(state.active_turn.is_none());
    let turn = state.turns.items().next().unwrap();
    let call = turn.response_parts.items().find_map(|part| match part {
        ResponsePart::ToolCall(part) => Some(&part.tool_call),
        _ => None,
    });
    let Some(ToolCall::Cancelled(call)) = call else {
        panic!("the call is not over: {call:?}");
    };
    assert_eq!(call.reason, CancellationReason::Skipped);
    drop(host);
}
