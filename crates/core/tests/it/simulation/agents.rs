//! Agents that stream, ask, spawn, fail and come too late.

use agenthost_core::CommandLine;
use agenthost_core::agent::{ImportedTurn, SlashCommand, WorkerChat};
use agenthost_protocol::chat::{ChatInteractivity, ErrorPart, Message};
use agenthost_protocol::common::{ErrorInfo, SessionConfigSchema};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::session::SessionLifecycle;
use agenthost_protocol::terminal::TerminalState;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Wire;

use super::*;

impl Simulation {
    /// Opens the agent of every session that is still being created.
    pub(super) fn open_agents(&mut self) {
        let channels = self.test_host.log.channels.iter();
        let creating = channels.filter_map(|(channel, state)| match state {
            ChannelState::Session(state) if state.lifecycle == SessionLifecycle::Creating => {
                Some(channel.clone())
            }
            _ => None,
        });
        for session in creating.collect::<Vec<_>>() {
            let event = AgentEvent::Opened { tools: Vec::new() };
            self.test_host.step(Input::Agent { session, event });
        }
    }

    pub(super) fn agent(&mut self) {
        let name = *self.chance.pick(&["s1", "s2", "s3"]).unwrap();
        let session = uri(name);
        let chat = match self.chance.rng.u32(0..8) {
            0 => uri("ahp-chat:/1"),
            1 => uri("ahp-chat:/w1"),
            2 => uri("ahp-chat:/w2"),
            _ => uri(&format!("{name}.chat")),
        };
        // More often where something runs.
        let (session, chat) = match self.random_running_chat() {
            Some(running) if self.chance.chance(0.7) => running,
            _ => (session, chat),
        };
        let event = self.event(chat);
        self.test_host.step(Input::Agent { session, event });
    }

    /// A chat in which something runs, with its session.
    fn random_running_chat(&mut self) -> Option<(Uri, Uri)> {
        let sessions = self.test_host.log.channels.iter();
        let sessions = sessions.filter_map(|(uri, state)| match state {
            ChannelState::Session(session) => Some((uri, session)),
            _ => None,
        });
        let chats = sessions.flat_map(|(uri, session)| {
            let chats = session.chats.items();
            chats.map(move |chat| (uri.clone(), chat.resource.clone()))
        });
        let running = chats.filter(|(_, chat)| self.active_turn(chat).is_some());
        let running: Vec<_> = running.collect();
        self.chance.pick(&running).cloned()
    }

    fn event(&mut self, chat: Uri) -> AgentEvent {
        let turn = self.active_turn(&chat);
        let turn = turn.unwrap_or_else(|| TurnId::from("no such turn"));
        let error = ErrorInfo {
            error_type: "test".to_owned(),
            message: "it broke".to_owned(),
            stack: None,
            meta: None,
        };
        match self.chance.rng.u32(0..100) {
            0..16 => AgentEvent::Opened { tools: Vec::new() },
            16 => AgentEvent::Stopped { error },
            17..20 => AgentEvent::SteeringAccepted {
                chat,
                id: "PendingMessageId-1".into(),
            },
            20..23 => AgentEvent::TurnStarted {
                chat,
                turn: format!("begun-{}", self.chance.rng.u32(..)).as_str().into(),
                message: self
                    .read::<Message>(json!({"text": "hm", "origin": {"kind": "tool"}}))
                    .into(),
            },
            23 => AgentEvent::TurnEnded {
                chat,
                turn,
                error: None,
            },
            24..26 => AgentEvent::TurnEnded {
                chat,
                turn,
                error: Some(ErrorPart {
                    error,
                    resumable: Some(self.chance.chance(0.7)),
                }),
            },
            26..31 => self.worker(chat),
            31 => AgentEvent::WorkerClosed { chat },
            37 => AgentEvent::TitleSuggested {
                chat,
                title: format!("about {}", self.chance.rng.u32(0..3)),
            },
            39 => AgentEvent::NoteChanged {
                chat,
                note: self.chance.chance(0.8).then(|| "a session".to_owned()),
            },
            40 => AgentEvent::HistoryImported {
                turns: vec![ImportedTurn {
                    id: format!("adopted-{}", self.chance.rng.u32(..))
                        .as_str()
                        .into(),
                    message: self
                        .read::<Message>(json!({"text": "hm", "origin": {"kind": "user"}}))
                        .into(),
                    actions: match self.chat_action(chat.clone()) {
                        AgentEvent::Chat { action, .. } => vec![*action],
                        _ => Vec::new(),
                    },
                }],
                chat,
            },
            38 => AgentEvent::ConfigSchemaChanged {
                schema: self
                    .read::<SessionConfigSchema>(json!({"type": "object", "properties": {
                        "mode": {"type": "string", "title": "Mode", "sessionMutable": true},
                    }}))
                    .into(),
                values: [("mode".to_owned(), json!("do"))].into_iter().collect(),
            },
            32 => AgentEvent::SlashCommandsChanged {
                commands: vec![SlashCommand {
                    name: "fix".to_owned(),
                    description: String::new(),
                }],
            },
            33..35 => self.terminal(),
            35..37 => {
                let shape = |info: &agenthost_protocol::action::ActionInfo| {
                    info.channel == ChannelKind::Terminal
                };
                let action = self.action(&uri("ahp-terminal:/1"), shape);
                match self.read::<Action>(action) {
                    Action::Terminal(action) => AgentEvent::Terminal {
                        terminal: uri("ahp-terminal:/1"),
                        action: Box::new(action),
                    },
                    other => panic!("not of a terminal: {other:?}"),
                }
            }
            _ => self.chat_action(chat),
        }
    }

    fn read<T: Wire>(&self, json: Json) -> T {
        wire::from_str(&json.to_string()).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    fn chat_action(&mut self, chat: Uri) -> AgentEvent {
        let usual = [
            "chat/toolCallStart",
            "chat/toolCallStart",
            "chat/toolCallReady",
            "chat/toolCallReady",
            "chat/toolCallReady",
            "chat/toolCallReady",
            "chat/toolCallComplete",
            "chat/toolCallAuthRequired",
            "chat/inputRequested",
            "chat/responsePart",
            "chat/usage",
        ];
        let usual = self.chance.pick(&usual).copied();
        let usual = usual.filter(|_| self.chance.chance(0.6));
        let mut action = self.action(&chat, |info| match usual {
            Some(usual) => info.name == usual,
            None => info.channel == ChannelKind::Chat,
        });
        // Tools that clients run, and workers in the background.
        let name = action["type"].as_str().unwrap().to_owned();
        if name.starts_with("chat/toolCall") && name != "chat/toolCallStart" {
            let calls = self.calls(&chat, |status| {
                status != "completed" && status != "cancelled"
            });
            if let Some(call) = self.chance.pick(&calls).filter(|_| !calls.is_empty()) {
                action["toolCallId"] = json!(call);
            }
        }
        if name == "chat/toolCallStart" && self.chance.chance(0.6) {
            if let Some(client) = self.random_active_client(&chat) {
                action["contributor"] = json!({"kind": "client", "clientId": client});
            }
        } else if name == "chat/toolCallComplete" && self.chance.chance(0.5) {
            action["requiresResultConfirmation"] = json!(true);
        } else if name == "chat/toolCallReady" {
            action.as_object_mut().unwrap().remove("contributor");
            if self.chance.chance(0.5) {
                action["confirmed"] = json!("not-needed");
            }
        } else if name == "chat/backgroundWorkSet" && self.chance.chance(0.5) {
            let worker = *self.chance.pick(&["ahp-chat:/w1", "ahp-chat:/w2"]).unwrap();
            action["work"] = json!({
                "kind": "subagent", "id": "b", "label": "x", "startedAt": "2026-01-05T09:00:00Z",
                "chat": worker,
            });
        }
        match self.read(action) {
            Action::Chat(action) => AgentEvent::Chat {
                chat,
                action: Box::new(action),
            },
            other => panic!("not of a chat: {other:?}"),
        }
    }

    /// A client that takes part in the session of a chat, if one does.
    fn random_active_client(&mut self, chat: &Uri) -> Option<String> {
        let mut clients = Vec::new();
        for state in self.test_host.log.channels.values() {
            if let ChannelState::Session(session) = state
                && session.chats.items().any(|entry| entry.resource == *chat)
            {
                let active = session.active_clients.iter();
                clients.extend(active.map(|client| client.client_id.to_string()));
            }
        }
        let client = self.chance.pick(&clients).cloned();
        // Rarely one that is not there.
        client.or_else(|| self.chance.chance(0.1).then(|| "client-0".to_owned()))
    }

    /// The calls of a running turn that are in some state.
    pub(super) fn calls(&self, chat: &Uri, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let state = self.test_host.log.channels.get(chat);
        let state = state.map(|state| serde_json::to_value(state).unwrap());
        let state = state.unwrap_or_default();
        let parts = state["activeTurn"]["responseParts"].as_array();
        let parts = parts.into_iter().flatten();
        let calls = parts.filter_map(|part| part.get("toolCall"));
        let calls = calls.filter(|call| fits(call["status"].as_str().unwrap()));
        let names = calls.map(|call| call["toolCallId"].as_str().unwrap().to_owned());
        names.collect()
    }

    /// A chat for a worker of a call that runs, if one does.
    fn worker(&mut self, parent: Uri) -> AgentEvent {
        let running = self.calls(&parent, |status| status == "running");
        let call = self.chance.pick(&running).cloned();
        let chat = *self.chance.pick(&["ahp-chat:/w1", "ahp-chat:/w2"]).unwrap();
        let how = [
            ChatInteractivity::ReadOnly,
            ChatInteractivity::Hidden,
            ChatInteractivity::Full,
        ];
        AgentEvent::WorkerOpened(Box::new(WorkerChat {
            chat: uri(chat),
            parent,
            call: ToolCallId::from(call.unwrap_or_default()),
            title: "worker".to_owned(),
            interactivity: *self.chance.pick(&how).unwrap(),
        }))
    }

    fn terminal(&mut self) -> AgentEvent {
        let client = format!("client-{}", self.chance.rng.u32(0..3));
        let state = json!({
            "title": "t", "content": [], "lifecycle": {"status": "running"},
            "claim": {"kind": "client", "clientId": client},
        });
        AgentEvent::TerminalOpened {
            terminal: uri("ahp-terminal:/1"),
            state: Box::new(self.read::<TerminalState>(state)),
            command: Some(CommandLine("make".to_owned())),
        }
    }
}
