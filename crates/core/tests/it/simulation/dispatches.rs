//! Clients that dispatch random actions, more often valid ones.

use agenthost_protocol::action::ActionInfo;
use agenthost_protocol::common::SessionStatus;

use super::*;

/// Dispatching, with actions that are made for the current state of a channel.
impl Simulation {
    pub(super) fn dispatch(&mut self) {
        let Some(connection) = self.connection() else {
            return;
        };
        let channel = self.random_channel();
        let connection = self.tool_runner(&channel).unwrap_or(connection);
        let kind = match self.test_host.log.channels.get(&channel) {
            Some(state) if self.chance.chance(0.95) => Some(state.kind()),
            _ => None,
        };
        let fits = |info: &ActionInfo| {
            kind.is_none_or(|kind| info.channel == kind && info.dispatcher == Dispatcher::Client)
        };
        let wanted = self
            .expected_action(&channel)
            .filter(|_| self.chance.chance(0.3));
        let mut action = self.action(&channel, |info| match wanted {
            Some(wanted) => info.name == wanted,
            None => fits(info),
        });
        // Most clients send actions that fit the state.
        if self.chance.chance(0.7) {
            let client = self.client_id(connection);
            self.fill_in_ids(&channel, &client, &mut action);
        }
        // Some clients send invalid fields.
        if self.chance.chance(0.05) {
            let fields: Vec<_> = action.as_object().unwrap().keys().cloned().collect();
            let field = self.chance.pick(&fields).unwrap();
            action[field] = json!([[]]);
        }
        self.requests += 1;
        let params = json!({"channel": channel, "clientSeq": self.requests, "action": action});
        self.notify(connection, "dispatchAction", params);
    }

    /// Returns the action that a chat waits for, if any.
    fn expected_action(&mut self, chat: &Uri) -> Option<&'static str> {
        if let Some(ChannelState::Chat(state)) = self.test_host.log.channels.get(chat)
            && state.summary.status.contains(SessionStatus::ERROR)
        {
            return Some("chat/turnResume");
        }
        if self.tool_runner(chat).is_some() && self.chance.chance(0.8) {
            let complete = "chat/toolCallComplete";
            let reports = ["chat/toolCallContentChanged", complete, complete];
            return self.chance.pick(&reports).copied();
        }
        let waiting = self.calls(chat, |status| status == "pending-confirmation");
        let held = self.calls(chat, |status| status == "pending-result-confirmation");
        let running = self.calls(chat, |status| status == "running");
        let answers = [
            (&waiting, "chat/toolCallConfirmed"),
            (&held, "chat/toolCallResultConfirmed"),
            (&running, "chat/toolCallComplete"),
            (&running, "chat/toolCallContentChanged"),
        ];
        let possible = answers.iter().filter(|(calls, _)| !calls.is_empty());
        let possible: Vec<_> = possible.map(|(_, name)| *name).collect();
        self.chance.pick(&possible).copied()
    }

    /// Returns the connection of a client that runs a tool in a chat.
    fn tool_runner(&self, chat: &Uri) -> Option<ConnectionId> {
        let state = serde_json::to_value(self.test_host.log.channels.get(chat)?).unwrap();
        let parts = state["activeTurn"]["responseParts"].as_array()?;
        let mut calls = parts.iter().filter_map(|part| part.get("toolCall"));
        let owner = calls.find_map(|call| {
            let running = call["status"] == "running";
            call["contributor"]["clientId"].as_str().filter(|_| running)
        })?;
        let mut connections = self.test_host.clients.keys().copied();
        connections.find(|connection| self.client_id(*connection) == owner)
    }

    /// Returns a random channel, more often a chat with a running turn.
    fn random_channel(&mut self) -> Uri {
        let terminals = self.test_host.log.channels.iter();
        let terminals = terminals.filter(|(_, state)| matches!(state, ChannelState::Terminal(_)));
        let terminals: Vec<_> = terminals.map(|(uri, _)| uri.clone()).collect();
        if self.chance.chance(0.1)
            && let Some(terminal) = self.chance.pick(&terminals)
        {
            return terminal.clone();
        }
        let channels = self.test_host.log.channels.keys();
        let running = channels.filter(|channel| self.active_turn(channel).is_some());
        let running: Vec<_> = running.cloned().collect();
        match self.chance.pick(&running).cloned() {
            Some(chat) if self.chance.chance(0.5) => chat,
            _ => self.channel(),
        }
    }

    pub(super) fn action(&mut self, channel: &Uri, fits: impl Fn(&ActionInfo) -> bool) -> Json {
        let infos = Action::table().filter(|info| fits(info));
        let names: Vec<_> = infos.map(|info| info.name).collect();
        let mut name = *self.chance.pick(&names).unwrap();
        let active = self.active_turn(channel);
        if active.is_none() && name.starts_with("chat/") && self.chance.chance(0.3) {
            name = "chat/turnStarted";
        }
        let mut action = self.chance.generate_action(name);
        if action.get("turnId").is_some() {
            action["turnId"] = match active {
                Some(active) if self.chance.chance(0.9) => json!(active),
                _ => json!(format!("turn-{}", self.chance.rng.u32(..))),
            };
        }
        for field in ["message", "draft"] {
            if action.get(field).is_some() && self.chance.chance(0.9) {
                action[field] = self.message();
                if self.chance.chance(0.3) {
                    let text = *self.chance.pick(&["!make", "!make", "!"]).unwrap();
                    action[field]["text"] = json!(text);
                }
            }
        }
        if name == "chat/turnStarted" && self.chance.chance(0.9) {
            action.as_object_mut().unwrap().remove("queuedMessageId");
        }
        action
    }

    /// Fills in ids that exist.
    fn fill_in_ids(&mut self, channel: &Uri, client: &str, action: &mut Json) {
        let state = self.test_host.log.channels.get(channel);
        let state = state.map(|state| serde_json::to_value(state).unwrap());
        let state = state.unwrap_or_default();
        let name = action["type"].as_str().unwrap().to_owned();
        let drop = |action: &mut Json, fields: &[&str]| {
            for field in fields {
                action.as_object_mut().unwrap().remove(*field);
            }
        };
        match name.as_str() {
            "root/configChanged" => {
                let agent = *self.chance.pick(&["shell", "other", "nobody"]).unwrap();
                action["config"] = json!({"defaultAgent": agent, "clientToolTimeout": 60});
            }
            "session/configChanged" => {
                let mode = *self.chance.pick(&["ask", "do", "nothing"]).unwrap();
                action["config"] = json!({"mode": mode});
                drop(action, &["replace"]);
            }
            "session/activeClientSet" => {
                let tools = json!([{"name": "look"}]);
                action["activeClient"] = json!({"clientId": client, "tools": tools});
            }
            "session/activeClientRemoved" => action["clientId"] = json!(client),
            "session/workingDirectorySet"
            | "session/workingDirectoryRemoved"
            | "session/workingDirectoryReplaced"
            | "chat/workingDirectorySet"
            | "chat/workingDirectoryRemoved" => {
                let known = ["file:///a", "file:///b", "file:///c"];
                action["directory"] = json!(self.chance.pick(&known).unwrap());
                if name.ends_with("Replaced") {
                    action["replacement"] = json!(self.chance.pick(&known).unwrap());
                }
            }
            "chat/turnStarted" => {
                let queue = state["queuedMessages"].as_array().cloned();
                let waiting = self.chance.pick(&queue.unwrap_or_default()).cloned();
                if let Some(waiting) = waiting {
                    action["queuedMessageId"] = waiting["id"].clone();
                    action["message"] = waiting["message"].clone();
                }
                action["startedAt"] = json!("2026-01-05T09:00:00Z");
            }
            "chat/turnResume" | "chat/truncated" => {
                let turns = state["turns"].as_array().cloned().unwrap_or_default();
                let turn = match name.as_str() {
                    "chat/turnResume" => turns.last().cloned(),
                    _ => self.chance.pick(&turns).cloned(),
                };
                if let Some(turn) = turn {
                    action["turnId"] = turn["id"].clone();
                }
            }
            "chat/toolCallConfirmed"
            | "chat/toolCallResultConfirmed"
            | "chat/toolCallComplete"
            | "chat/toolCallContentChanged" => {
                let fits = |call: &Json| match (name.as_str(), call["status"].as_str()) {
                    ("chat/toolCallConfirmed", Some("pending-confirmation")) => true,
                    ("chat/toolCallResultConfirmed", Some("pending-result-confirmation")) => true,
                    ("chat/toolCallComplete", Some("auth-required")) => true,
                    ("chat/toolCallComplete" | "chat/toolCallContentChanged", Some("running")) => {
                        call["contributor"]["clientId"] == client
                    }
                    _ => false,
                };
                let parts = state["activeTurn"]["responseParts"].as_array();
                let calls = parts.into_iter().flatten().map(|part| &part["toolCall"]);
                let calls: Vec<_> = calls.filter(|call| fits(call)).cloned().collect();
                if let Some(call) = self.chance.pick(&calls) {
                    action["toolCallId"] = call["toolCallId"].clone();
                }
                drop(action, &["editedToolInput", "selectedOptionId"]);
            }
            "chat/pendingMessageRemoved" => {
                let queue = state["queuedMessages"].as_array().cloned();
                if let Some(waiting) = self.chance.pick(&queue.unwrap_or_default()) {
                    action["kind"] = json!("queued");
                    action["id"] = waiting["id"].clone();
                }
            }
            "chat/inputAnswerChanged" | "chat/inputCompleted" => {
                let parts = state["activeTurn"]["responseParts"].as_array();
                let open = parts.into_iter().flatten().filter(|part| {
                    part["kind"] == "inputRequest" && part.get("response").is_none()
                });
                let open: Vec<_> = open.map(|part| part["request"].clone()).collect();
                if let Some(request) = self.chance.pick(&open).cloned() {
                    action["requestId"] = request["id"].clone();
                    let questions = request["questions"].as_array().cloned();
                    if let Some(question) = self.chance.pick(&questions.unwrap_or_default()) {
                        action["questionId"] = question["id"].clone();
                    }
                }
                drop(action, &["answer", "answers"]);
            }
            "annotations/set" => {
                let session = channel.as_str().trim_end_matches("/annotations").to_owned();
                action["annotation"]["origin"]["session"] = json!(session);
                action["annotation"]["resolved"] = json!(false);
                action["annotation"]["entries"] =
                    json!([{"id": "e1", "text": "x"}, {"id": "e2", "text": "y"}]);
            }
            "annotations/updated"
            | "annotations/removed"
            | "annotations/entrySet"
            | "annotations/entryRemoved" => {
                let annotations = state["annotations"].as_array().cloned();
                if let Some(annotation) = self.chance.pick(&annotations.unwrap_or_default()) {
                    action["annotationId"] = annotation["id"].clone();
                }
                drop(action, &["origin"]);
            }
            "terminal/claimed" => {
                action["claim"] = json!({"kind": "client", "clientId": client});
            }
            _ => {}
        }
    }
}
