//! Generates random sequences of actions that target existing items more often than uniform choice
//! would.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use agenthost_testkit::{Generator, GeneratorOptions};
use serde_json::json;

use crate::generated_host::{GeneratedHost, make_statuses_plausible};

/// Options of generated hosts: few distinct ids, so that actions hit existing items.
pub(crate) fn options() -> GeneratorOptions {
    GeneratorOptions {
        optional: 0.4,
        unknown: 0.0,
        name_count: 3,
        max_items: 3,
        max_depth: 5,
        // The official types can't parse this state in a snapshot; they reach it through actions.
        excluded_variants: &[("status", "auth-required")],
    }
}

/// Generates an idle host: no turn is running and no input is pending. Actions bring about the
/// rest.
pub(crate) fn at_rest(generator: &mut Generator) -> GeneratedHost {
    let mut generated_host = GeneratedHost::generated(generator);
    for (kind, state) in &mut generated_host.channels {
        if matches!(kind, ChannelKind::Chat | ChannelKind::Session) {
            let mut json = serde_json::to_value(&*state).unwrap();
            let fields = json.as_object_mut().unwrap();
            fields.shift_remove("activeTurn");
            end_calls(fields.get_mut("turns"));
            fields.shift_remove("inputNeeded");
            // Input needed implies in progress, so the session starts as in progress.
            let status = if *kind == ChannelKind::Chat { 1 } else { 8 };
            fields.insert("status".to_owned(), json!(status));
            let customizations = fields
                .get_mut("customizations")
                .and_then(Json::as_array_mut);
            if let Some(customizations) = customizations {
                customizations.push(json!({
                    "type": "mcpServer", "id": "server", "uri": "scheme:/server", "name": "Server",
                    "state": { "kind": "starting", "blocking": true },
                }));
            }
            *state = wire::from_str(&json.to_string()).unwrap();
        }
    }
    generated_host
}

/// Removes unfinished tool calls from completed turns.
fn end_calls(turns: Option<&mut Json>) {
    for turn in turns.and_then(Json::as_array_mut).into_iter().flatten() {
        let parts = turn["responseParts"].as_array_mut().unwrap();
        parts.retain(|part| {
            let status = part["toolCall"]["status"].as_str();
            matches!(status, None | Some("completed" | "cancelled"))
        });
    }
}

/// Generates an action that may change the state.
pub(crate) fn next(generator: &mut Generator, generated_host: &GeneratedHost) -> Option<Action> {
    let kind = match generator.rng.u8(..10) {
        0..=4 => ChannelKind::Chat,
        5..=6 => ChannelKind::Session,
        _ => *generator.pick(ChannelKind::ALL)?,
    };
    let state = serde_json::to_value(generated_host.state(kind)).unwrap();
    let names: Vec<_> = Action::table()
        .filter(|info| info.channel == kind)
        .map(|info| info.name)
        .collect();
    let mut name = *generator.pick(&names)?;
    if kind == ChannelKind::Chat && generator.chance(0.6) {
        name = *generator.pick(&possible_actions(&state))?;
    }
    // Most ends and truncations are dropped, so that turns do not end too early.
    let ends = [
        "chat/turnComplete",
        "chat/turnCancelled",
        "chat/error",
        "chat/truncated",
    ];
    if ends.contains(&name) && generator.chance(0.6) {
        return None;
    }
    let mut action = generator.generate_action(name);
    make_statuses_plausible(generator, &mut action);
    target_existing_items(generator, name, &mut action, &state);
    if !is_plain(generator, name, &mut action, &state) {
        return None;
    }
    Some(wire::from_str(&action.to_string()).unwrap())
}

/// Returns the actions that fit the current state of a chat.
fn possible_actions(chat: &Json) -> Vec<&'static str> {
    if chat.get("activeTurn").is_none() {
        let last = entries(chat, "turns").last();
        let failed = last.is_some_and(|turn| turn["state"] == "error");
        return match failed {
            true => vec!["chat/turnStarted", "chat/turnResume"],
            false => vec!["chat/turnStarted"],
        };
    }
    let mut due = vec![
        "chat/responsePart",
        "chat/toolCallStart",
        "chat/inputRequested",
    ];
    for part in entries(&chat["activeTurn"], "responseParts") {
        let next: &[&str] = match part["kind"].as_str() {
            Some("markdown") => &["chat/delta"],
            Some("reasoning") => &["chat/reasoning"],
            Some("inputRequest") => &["chat/inputAnswerChanged", "chat/inputCompleted"],
            _ => match part["toolCall"]["status"].as_str() {
                Some("streaming") => &["chat/toolCallDelta", "chat/toolCallReady"],
                Some("pending-confirmation") => &["chat/toolCallConfirmed"],
                Some("running") => &[
                    "chat/toolCallContentChanged",
                    "chat/toolCallAuthRequired",
                    "chat/toolCallComplete",
                ],
                Some("auth-required") => &["chat/toolCallAuthResolved"],
                Some("pending-result-confirmation") => &["chat/toolCallResultConfirmed"],
                _ => &["chat/error"],
            },
        };
        due.extend(next);
    }
    due
}

fn target_existing_items(generator: &mut Generator, name: &str, action: &mut Json, state: &Json) {
    if let Some(active) = state["activeTurn"]["id"].as_str()
        && action.get("turnId").is_some()
        && name != "chat/truncated"
    {
        action["turnId"] = json!(active);
    }
    let calls: Vec<_> = entries(&state["activeTurn"], "responseParts")
        .filter_map(|part| part["toolCall"]["toolCallId"].as_str())
        .map(str::to_owned)
        .collect();
    if name.starts_with("chat/toolCall")
        && name != "chat/toolCallStart"
        && let Some(call) = generator.pick(&calls)
    {
        action["toolCallId"] = json!(call);
    }
    let servers: Vec<_> = entries(state, "customizations")
        .filter(|customization| customization["type"] == "mcpServer")
        .collect();
    let operations: Vec<_> = entries(state, "operations").collect();
    let needs: Vec<_> = entries(state, "inputNeeded").collect();
    let (field, targets) = match name {
        "session/inputNeededRemoved" => ("id", needs),
        "changeset/operationStatusChanged" => ("operationId", operations),
        _ if name.starts_with("session/mcpServer") => ("id", servers),
        _ => ("", Vec::new()),
    };
    if let Some(target) = generator.pick(&targets) {
        action[field] = target["id"].clone();
    }
    if name == "session/mcpServerStateChanged" && generator.chance(0.3) {
        action["state"] = json!({ "kind": "starting", "blocking": true });
    }
    if name == "chat/turnResume"
        && let Some(last) = entries(state, "turns").last()
    {
        action["turnId"] = last["id"].clone();
    }
    if name == "chat/error" {
        action["part"]["resumable"] = json!(generator.chance(0.7));
    }
    if name == "session/chatsReordered" {
        let chats = entries(state, "chats").map(|chat| chat["resource"].clone());
        let mut order: Vec<_> = chats.collect();
        generator.rng.shuffle(&mut order);
        action["chats"] = json!(order);
    }
    // Some actions, such as authentication challenges, need a call of an MCP server.
    if name == "chat/toolCallStart" && generator.chance(0.5) {
        action["contributor"] = json!({"kind": "mcp", "customizationId": "CustomizationId-0"});
    }
}

/// Adjusts an action, or returns `false` to drop it: hosts never send such actions, or our reducers
/// deviate from the official ones on purpose (see `differences` in the tests of `protocol`).
fn is_plain(generator: &mut Generator, name: &str, action: &mut Json, state: &Json) -> bool {
    match name {
        "session/chatUpdated" => {
            let changes = action["changes"].as_object_mut().unwrap();
            changes.shift_remove("movable");
            changes.shift_remove("interactivity");
            // The URI of a chat does not change.
            changes.shift_remove("resource");
        }
        "chat/queuedMessagesReordered" => {
            let messages = entries(state, "queuedMessages").map(|message| message["id"].clone());
            let mut order: Vec<_> = messages.chain([json!("nobody")]).collect();
            generator.rng.shuffle(&mut order);
            action["order"] = json!(order);
        }
        // Ids are unique: of turns, and below of parts, calls and requests.
        "chat/turnStarted" => {
            let is_taken = entries(state, "turns").any(|turn| turn["id"] == action["turnId"]);
            return !is_taken && state.get("activeTurn").is_none();
        }
        // Calls, input requests and errors have their own actions.
        "chat/responsePart" => {
            let part = &action["part"];
            let others = ["toolCall", "inputRequest", "error"];
            let is_plain = others.iter().all(|kind| part["kind"] != *kind);
            return is_plain && is_new(state, &part["id"]);
        }
        "chat/toolCallStart" => return is_new(state, &action["toolCallId"]),
        "chat/toolCallReady" => keep_parameters(action, state),
        // Loaded turns are older than the turns in the state.
        "chat/turnsLoaded" => {
            end_calls(action.get_mut("turns"));
            let is_there = |id: &Json| entries(state, "turns").any(|turn| turn["id"] == *id);
            let active = &state["activeTurn"]["id"];
            let mut ids = entries(action, "turns").map(|turn| &turn["id"]);
            let are_new = ids.all(|id| !is_there(id) && id != active);
            return are_new && entries(state, "turns").next().is_some();
        }
        // The type of a customization does not change.
        "session/customizationUpdated" => {
            let new = &action["customization"];
            let mut known = entries(state, "customizations");
            return known.all(|old| old["id"] != new["id"] || old["type"] == new["type"]);
        }
        "chat/inputRequested" => return is_new(state, &action["request"]["id"]),
        "chat/toolCallConfirmed" if action["approved"] == true => {
            action["confirmed"] = json!("user-action");
        }
        // The session keeps its default chat.
        "session/defaultChatChanged" => return false,
        "session/chatRemoved" => return action["chat"] != crate::generated_host::CHAT,
        _ => {}
    }
    true
}

/// A call that already waits for approval is updated only for its risk assessment: all other fields
/// stay the same.
fn keep_parameters(action: &mut Json, chat: &Json) {
    let mut parts = entries(&chat["activeTurn"], "responseParts");
    let call = parts.find(|part| part["toolCall"]["toolCallId"] == action["toolCallId"]);
    let call = call.map(|part| &part["toolCall"]);
    let Some(call) = call.filter(|call| call["status"] == "pending-confirmation") else {
        return;
    };
    let fields = action.as_object_mut().unwrap();
    fields.shift_remove("_meta");
    let parameters = [
        "confirmationTitle",
        "contributor",
        "editable",
        "edits",
        "intention",
        "invocationMessage",
        "options",
        "toolInput",
    ];
    for parameter in parameters {
        fields.shift_remove(parameter);
        if let Some(value) = call.get(parameter) {
            fields.insert(parameter.to_owned(), value.clone());
        }
    }
}

/// Returns `true` if no part of the running turn has this id.
fn is_new(state: &Json, id: &Json) -> bool {
    entries(&state["activeTurn"], "responseParts").all(|part| {
        let ids = [
            &part["id"],
            &part["toolCall"]["toolCallId"],
            &part["request"]["id"],
        ];
        id.is_null() || !ids.contains(&id)
    })
}

fn entries<'a>(state: &'a Json, field: &str) -> impl Iterator<Item = &'a Json> {
    state[field].as_array().into_iter().flatten()
}
