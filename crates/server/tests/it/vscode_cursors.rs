//! VS Code as a client of AHP 1.1: it comes back with a cursor for each channel,
//! and knows sessions by their second names.

use std::path::Path;
use std::sync::Arc;

use agenthost_customizations::CustomizationSettings;
use agenthost_server::{CustomizationsConfig, Server, serve};
use agenthost_testkit::ScriptedAgent;
use serde_json::{Value, json};

use crate::cursors::{Follower, comparable, cursor};
use crate::legacy_clients::{JsonClient, host};
use crate::test_server::{config, start};
use crate::tool_servers::{program, with};
use crate::vscode::{ALIAS, SESSION, chat_of, join, other, turn};

/// A session that is gone when the window comes back, and its second name.
const REMOVED_SESSION: &str = "ahp-session:/gone";
const REMOVED_ALIAS: &str = "scripted:/gone";

/// A host whose sessions have a server of tools.
async fn host_with_tools(directory: &Path) -> Server {
    let mut config = config(directory);
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    config.customizations = Some(CustomizationsConfig {
        settings: CustomizationSettings {
            environment: std::env::vars().collect(),
            ..with(vec![program("calc", "plain")])
        },
        relay: None,
    });
    serve(config).await.unwrap()
}

/// A window as newer builds greet.
async fn window(server: &Server, name: &str) -> JsonClient {
    let hello = json!({
        "protocolVersions": ["1.1.0", "1.0.0", "0.9.0"], "clientId": name,
        "clientInfo": {"name": "vscode-agents-window", "title": "VS Code"},
        "capabilities": {"mcpApps": {}},
    });
    join(server, hello).await
}

/// Takes the actions that came in. All that was sent before an answer is among
/// them.
async fn received_actions(json_client: &mut JsonClient) -> Vec<Value> {
    let ping = json!({"channel": "ahp-root://"});
    json_client.request("ping", ping).await.unwrap();
    let heard = std::mem::take(&mut json_client.heard).into_iter();
    let actions = heard.filter(|message| message["method"] == "action");
    actions.map(|message| message["params"].clone()).collect()
}

async fn catch_up(client: &mut Follower, json_client: &mut JsonClient) {
    for envelope in received_actions(json_client).await {
        client.apply(&envelope);
    }
}

/// Compares all states with what another window is shown. Things go on happening,
/// so each is compared as of the number of its snapshot.
async fn check(client: &mut Follower, json_client: &mut JsonClient, witness: &mut JsonClient) {
    let mut shown = Follower::default();
    for channel in client.channels.keys() {
        shown.subscribe(witness, channel).await;
    }
    for envelope in received_actions(json_client).await {
        let (_, last) = &shown.channels[envelope["channel"].as_str().unwrap()];
        if envelope["serverSeq"].as_u64().unwrap() <= *last {
            client.apply(&envelope);
        }
    }
    for (channel, (state, _)) in &client.channels {
        let (shown, _) = &shown.channels[channel];
        assert_eq!(comparable(shown), comparable(state), "{channel}");
    }
}

/// Starts the server of tools of the session; gives its channel, which has no
/// state.
async fn start_tools(client: &mut Follower, json_client: &mut JsonClient) -> String {
    let server = |client: &Follower| {
        let state = comparable(&client.channels[ALIAS].0);
        state["customizations"][0].clone()
    };
    catch_up(client, json_client).await;
    while server(client).is_null() {
        json_client.until("session/customizationsChanged").await;
        catch_up(client, json_client).await;
    }
    let start = json!({"type": "session/mcpServerStartRequested", "id": server(client)["id"]});
    json_client
        .dispatch(json!({"channel": ALIAS, "action": start}))
        .await;
    while server(client)["channel"].is_null() {
        json_client.until("session/mcpServerStateChanged").await;
        catch_up(client, json_client).await;
    }
    server(client)["channel"].as_str().unwrap().to_owned()
}

/// REC-5, REC-6, REC-8, REC-10: one outcome for each cursor, in the order of the
/// request, all under the names that the window knows.
#[tokio::test]
async fn a_window_reconnects_with_cursors_for_aliases() {
    let directory = tempfile::tempdir().unwrap();
    let server = host_with_tools(directory.path()).await;
    let mut other = other(&server).await;
    let create = json!({"channel": REMOVED_SESSION, "provider": "scripted"});
    other.request("createSession", create).await.unwrap();
    let mut page = window(&server, "page").await;
    let mut client = Follower::default();
    let chat = chat_of(ALIAS);
    for channel in ["ahp-root://", ALIAS, &chat, REMOVED_ALIAS] {
        client.subscribe(&mut page, channel).await;
    }
    let tools = start_tools(&mut client, &mut page).await;
    drop(page);

    let title = json!({"type": "session/titleChanged", "title": "meanwhile"});
    other
        .dispatch(json!({"channel": SESSION, "action": title}))
        .await;
    other.dispatch(turn(SESSION, "t1", "say hello")).await;
    other.until("chat/turnComplete").await;
    let gone = json!({"channel": REMOVED_SESSION});
    other.request("disposeSession", gone).await.unwrap();
    let seen = |channel: &str| cursor(channel, client.channels[channel].1);
    let cursors = [
        seen(&chat),
        seen(REMOVED_ALIAS),
        seen("ahp-root://"),
        cursor(&tools, 0),
        cursor(ALIAS, 0),
        cursor("scripted:/never", 3),
        cursor("ahp-session:/never", 3),
    ];
    let (mut page, kinds) = client.recover(&server, "page", &cursors).await;
    let expected = [
        "replay", "missing", "replay", "replay", "snapshot", "missing", "missing",
    ];
    assert_eq!(kinds, expected);

    // From here on it is live, and nothing comes twice.
    other.dispatch(turn(SESSION, "t2", "say again")).await;
    let live = page.until("chat/turnComplete").await;
    assert_eq!(live["channel"], chat);
    let mut witness = window(&server, "witness").await;
    check(&mut client, &mut page, &mut witness).await;
    drop((page, other, witness));
    server.stop().await.unwrap();

    // The log has it all. No server of tools runs yet.
    let server = host_with_tools(directory.path()).await;
    let mut cursors = client.cursors();
    cursors.push(cursor(&tools, 0));
    let (mut page, kinds) = client.recover(&server, "page", &cursors).await;
    assert_eq!(kinds, ["replay", "replay", "replay", "missing"]);
    let mut witness = window(&server, "witness").await;
    check(&mut client, &mut page, &mut witness).await;
    server.stop().await.unwrap();
}

/// The URIs in replayed actions and in snapshots are second names, too.
#[tokio::test]
async fn recovered_actions_and_snapshots_use_aliases() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut other = other(&server).await;
    let page = window(&server, "page").await;
    let seen = other
        .request("subscribe", json!({"channel": SESSION}))
        .await
        .unwrap();
    let seen = seen["snapshot"]["fromSeq"].as_u64().unwrap();
    drop(page);
    other.dispatch(turn(SESSION, "t1", "say hello")).await;
    other.until("chat/turnComplete").await;
    for (seen, kind, within) in [
        (seen, "replay", "/actions"),
        (0, "snapshot", "/snapshot/state"),
    ] {
        let mut page = JsonClient::connect(&server).await;
        let back = json!({"clientId": "page", "subscriptions": [cursor(ALIAS, seen)]});
        let result = page.request("reconnect", back).await.unwrap();
        let outcome = &result["channels"][0];
        assert_eq!(outcome["kind"], kind);
        let text = outcome.pointer(within).unwrap().to_string();
        assert!(text.contains(&chat_of(ALIAS)), "{text}");
        for name in [SESSION, &chat_of(SESSION)] {
            assert!(!result.to_string().contains(name), "{result}");
        }
    }
    server.stop().await.unwrap();
}

/// A window in a browser is told other addresses of files, also of those that
/// were edited while it was away.
#[tokio::test]
async fn recovered_edits_have_host_file_uris() {
    let directory = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let hello = json!({"protocolVersions": ["1.0.0"], "clientId": "other"});
    let mut other = join(&server, hello).await;
    let uri = format!("file://{}", folder.path().display());
    let create = json!({"channel": SESSION, "workingDirectories": [uri]});
    other.request("createSession", create).await.unwrap();
    let chat = json!({"channel": chat_of(SESSION)});
    let seen = other.request("subscribe", chat).await.unwrap()["snapshot"]["fromSeq"].clone();
    drop(window(&server, "page").await);
    other.dispatch(turn(SESSION, "t1", "!echo 1 > a.txt")).await;
    other.until("chat/turnComplete").await;

    let shown = chat_of("shell:/s1");
    for (seen, kind) in [(seen.as_u64().unwrap(), "replay"), (0, "snapshot")] {
        let mut page = JsonClient::connect(&server).await;
        let back = json!({
            "clientId": "page", "subscriptions": [cursor(&shown, seen)],
            "_meta": {"vscode.clientConnectionKind": "remote_extension_host"},
        });
        let result = page.request("reconnect", back).await.unwrap();
        assert_eq!(result["channels"][0]["kind"], kind);
        let path = folder.path().join("a.txt");
        let address = format!("\"uri\":\"agenthost-file:{}\"", path.display());
        assert!(result.to_string().contains(&address), "{result}");
        let address = format!("\"uri\":\"file://{}\"", path.display());
        assert!(!result.to_string().contains(&address), "{result}");
    }
    server.stop().await.unwrap();
}

/// A channel that is named by both of its names has an outcome under each: what
/// was missed is under the first. Named twice alike, it has one.
#[tokio::test]
async fn each_alias_of_a_channel_has_an_outcome() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let mut other = other(&server).await;
    let mut page = window(&server, "page").await;
    let mut client = Follower::default();
    for channel in [ALIAS, &chat_of(ALIAS)] {
        client.subscribe(&mut page, channel).await;
    }
    let seen = client.channels[ALIAS].1;
    drop(page);
    other.dispatch(turn(SESSION, "t1", "say hello")).await;
    other.until("chat/turnComplete").await;
    let gone = "ahp-session:/gone";
    let cursors = json!([
        cursor(ALIAS, seen),
        cursor(ALIAS, seen),
        cursor(SESSION, seen),
        cursor(gone, 1),
        // Two ideas of where the chat is.
        cursor(&chat_of(SESSION), seen + 1),
        cursor(&chat_of(ALIAS), seen),
    ]);
    let mut page = JsonClient::connect(&server).await;
    let back = json!({"clientId": "page", "subscriptions": cursors});
    let result = page.request("reconnect", back).await.unwrap();
    let outcomes = result["channels"].as_array().unwrap();
    let named = outcomes
        .iter()
        .map(|outcome| (outcome["channel"].clone(), outcome["kind"].clone()));
    let expected = [
        (ALIAS, "replay"),
        (SESSION, "replay"),
        (gone, "missing"),
        (&chat_of(SESSION), "snapshot"),
        (&chat_of(ALIAS), "replay"),
    ];
    let expected = expected.map(|(channel, kind)| (json!(channel), json!(kind)));
    assert_eq!(named.collect::<Vec<_>>(), expected);
    let missed = outcomes[0]["actions"].as_array().unwrap();
    assert!(!missed.is_empty());
    assert!(missed.iter().all(|action| action["channel"] == ALIAS));
    assert_eq!(outcomes[1]["actions"], json!([]));
    assert_eq!(outcomes[3]["snapshot"]["resource"], chat_of(ALIAS));
    assert_eq!(outcomes[4]["actions"], json!([]));

    // It is one channel: what happens is told once, under the name of the window.
    let title = json!({"type": "session/titleChanged", "title": "live"});
    other
        .dispatch(json!({"channel": SESSION, "action": title}))
        .await;
    let told = page.until("session/titleChanged").await;
    assert_eq!(told["channel"], ALIAS);
    let ping = json!({"channel": "ahp-root://"});
    page.request("ping", ping).await.unwrap();
    let titles = page
        .heard
        .iter()
        .filter(|message| message["params"]["action"]["title"] == "live");
    assert_eq!(titles.count(), 1);
    server.stop().await.unwrap();
}

/// A window that agreed on an older version has no cursors: it was updated, and
/// initializes on the same connection.
#[tokio::test]
async fn cursors_of_a_window_with_an_older_version_need_initialize() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    let _other = other(&server).await;
    let hello = |version: &str| {
        json!({
            "channel": "ahp-root://", "clientId": "page", "protocolVersions": [version],
            "clientInfo": {"name": "vscode-editor-window"},
        })
    };
    let back = json!({"clientId": "page", "subscriptions": [cursor(ALIAS, 0)]});
    let mut page = JsonClient::connect(&server).await;
    page.request("initialize", hello("0.9.0")).await.unwrap();
    let mut page = JsonClient::connect(&server).await;
    let refused = page.request("reconnect", back.clone()).await;
    assert_eq!(refused.unwrap_err()["code"], -32008);
    page.request("initialize", hello("1.1.0")).await.unwrap();
    let mut page = JsonClient::connect(&server).await;
    let result = page.request("reconnect", back).await.unwrap();
    assert_eq!(result["channels"][0]["snapshot"]["resource"], ALIAS);
    server.stop().await.unwrap();
}

/// Without entries the number for all channels tells the forms apart. The answer
/// has the form of the request; an older version has one form only.
#[tokio::test]
async fn reconnect_without_subscriptions_is_answered_in_its_form() {
    let directory = tempfile::tempdir().unwrap();
    let server = host(directory.path()).await;
    for info in [Value::Null, json!({"name": "vscode-editor-window"})] {
        for version in ["1.1.0", "1.0.0", "0.9.0", "0.5.1"] {
            let mut json_client = JsonClient::connect(&server).await;
            let mut hello = json!({
                "channel": "ahp-root://", "clientId": "c", "protocolVersions": [version],
            });
            if info.is_object() {
                hello["clientInfo"] = info.clone();
            }
            let welcome = json_client.request("initialize", hello).await.unwrap();
            let forms = [
                json!({"clientId": "c", "subscriptions": []}),
                json!({"clientId": "c", "lastSeenServerSeq": welcome["serverSeq"], "subscriptions": []}),
                json!({"clientId": "c", "lastSeenServerSeq": 9_007_199_254_740_000_u64, "subscriptions": []}),
            ];
            let mut answers = Vec::new();
            for params in forms {
                let mut json_client = JsonClient::connect(&server).await;
                let answer = json_client.request("reconnect", params).await;
                answers.push(answer.unwrap_or_else(|error| error["code"].clone()));
            }
            let cursors = match version {
                "1.1.0" | "1.0.0" => json!({"channels": []}),
                _ => json!(-32008),
            };
            let expected = [
                cursors,
                json!({"type": "replay", "actions": [], "missing": []}),
                json!({"type": "snapshot", "snapshots": []}),
            ];
            assert_eq!(answers, expected, "{version} {info}");
        }
    }
    server.stop().await.unwrap();
}
