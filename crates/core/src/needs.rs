//! What has to be read from the log before a step.
//!
//! A step never waits. So whoever drives the host asks first what the next
//! input needs, reads it, and hands it in as `Input::Restored`.

use agenthost_protocol::rpc::{ClientNotification, ClientRequest};
use agenthost_protocol::uri::Uri;

use crate::agent::AgentEvent;
use crate::host::{Held, Host};
use crate::input::{Input, Received};

impl Host {
    /// Channels whose state the input needs and the host does not have.
    pub fn needs(&self, input: &Input) -> Vec<Uri> {
        let mut needed = Vec::new();
        for channel in self.touched(input) {
            let owner = self.owner(&channel).cloned();
            for channel in owner.into_iter().chain([channel]) {
                let stored = self
                    .channels
                    .get(&channel)
                    .is_some_and(|channel| matches!(channel.held, Held::Stored));
                if stored && !needed.contains(&channel) {
                    needed.push(channel);
                }
            }
        }
        needed
    }

    fn touched(&self, input: &Input) -> Vec<Uri> {
        match input {
            Input::Received { message, .. } => match message {
                Received::Request(_, request) => self.touched_by(request),
                Received::Notification(notification) => match &**notification {
                    ClientNotification::DispatchAction(params) => vec![params.channel.clone()],
                    ClientNotification::Unsubscribe(_) => Vec::new(),
                },
                Received::Invalid(..) => Vec::new(),
            },
            Input::Agent { session, event } => match event {
                AgentEvent::Chat { chat, .. } | AgentEvent::TurnEnded { chat, .. } => {
                    vec![chat.clone()]
                }
                AgentEvent::Terminal { terminal, .. } => vec![terminal.clone()],
                AgentEvent::Opened { .. }
                | AgentEvent::Stopped { .. }
                | AgentEvent::TerminalOpened { .. } => vec![session.clone()],
            },
            Input::Started
            | Input::Connected { .. }
            | Input::Disconnected { .. }
            | Input::GraceEnded { .. }
            | Input::Compacted { .. }
            | Input::Restored { .. } => Vec::new(),
        }
    }

    fn touched_by(&self, request: &ClientRequest) -> Vec<Uri> {
        match request {
            ClientRequest::Initialize(params) => {
                params.initial_subscriptions.clone().unwrap_or_default()
            }
            // A replay comes from the log as it is; snapshots need states.
            ClientRequest::Reconnect(params) if self.can_replay(params) => Vec::new(),
            ClientRequest::Reconnect(params) => params.subscriptions.clone(),
            ClientRequest::Subscribe(params) => vec![params.channel.clone()],
            ClientRequest::DisposeSession(params) => {
                let chats = self.sessions.get(&params.channel).into_iter();
                let chats = chats.flat_map(|summary| summary.chats.iter().flatten());
                let chats = chats.map(|chat| chat.resource.clone());
                chats.chain([params.channel.clone()]).collect()
            }
            _ => Vec::new(),
        }
    }
}
