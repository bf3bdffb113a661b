//! Commits actions. This is the only module that changes a channel's state or assigns sequence
//! numbers.

use std::sync::Arc;

use agenthost_protocol::action::{Action, ActionEnvelope, ActionOrigin, RawAction, Rejection};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::host::channels::ChannelResidency;
use crate::host::effect::{Effect, Effects, Recipient, StoreWrite};
use crate::host::input::{ConnectionId, LoadedChannel};
use crate::host::{Host, StoredChannel};
use crate::tools::mcp::app_channel::strip_apps_from_action;

impl Host {
    /// Commits an action that the host originates. Returns `true` if it changed the state. An
    /// action without effect gets no sequence number. An action that the reducer rejects is a
    /// bug of the host or of an agent, and is reported.
    pub(crate) fn originate(
        &mut self,
        channel: &Uri,
        action: impl Into<Action>,
        out: &mut Effects,
    ) -> bool {
        let action = action.into();
        let name = action.info().name;
        let reason = match self.commit(channel, action, None, out) {
            Outcome::Applied => return true,
            Outcome::NoOp => return false,
            Outcome::WrongChannel => "belongs to another kind of channel".to_owned(),
            Outcome::Invalid(reason) => reason.to_string(),
        };
        out.push(Effect::ReportDiscarded {
            channel: channel.clone(),
            action: name,
            reason,
        });
        false
    }

    /// Commits an action: reduces it, assigns its sequence number, logs it and publishes it. A
    /// client's action gets a number even without effect, because the client waits for its
    /// echo.
    pub(crate) fn commit(
        &mut self,
        channel: &Uri,
        action: Action,
        origin: Option<ActionOrigin>,
        out: &mut Effects,
    ) -> Outcome {
        let Some(target) = self.channels.get_mut(channel) else {
            return Outcome::NoOp;
        };
        let ChannelResidency::Resident(loaded) = &mut target.residency else {
            return Outcome::NoOp;
        };
        let has_legacy = target.subscribers.values().any(|watcher| watcher.is_legacy);
        // Holding the previous state forces the reducer to copy what it changes, so only legacy
        // subscribers cause this.
        let before = (has_legacy && !action.can_merge()).then(|| loaded.state.clone());
        let outcome = loaded.state.reduce(&action);
        match &outcome {
            Outcome::Applied => {}
            Outcome::NoOp if origin.is_some() => {}
            Outcome::NoOp | Outcome::WrongChannel | Outcome::Invalid(_) => return outcome,
        }
        if let (ChannelState::Chat(state), Action::Chat(action)) = (&loaded.state, &action) {
            self.turns.record_response(channel, state, action);
        }
        if let (ChannelState::Terminal(state), Action::Terminal(TerminalAction::Exited(_))) =
            (&loaded.state, &action)
        {
            self.terminals.record_state(channel, state);
        }
        let (mut legacy, mut to) = (Vec::new(), Vec::new());
        for (connection, subscription) in &target.subscribers {
            if subscription.is_legacy {
                legacy.push(*connection)
            } else {
                to.push(Recipient {
                    connection: *connection,
                    max_latency: subscription.max_latency,
                })
            }
        }
        let envelope = Arc::new(ActionEnvelope {
            channel: channel.clone(),
            action: Arc::new(action),
            server_seq: self.next_seq(),
            origin,
        });
        out.write(StoreWrite::Action(Arc::clone(&envelope)));
        if has_legacy {
            self.publish_legacy(&envelope, before, legacy, out);
        }
        if let Some(plain) = strip_apps_from_action(&envelope) {
            to.retain(|recipient| {
                let shown = self.supports_apps(recipient.connection);
                if !shown {
                    out.push(Effect::PublishToOne {
                        connection: recipient.connection,
                        envelope: Box::new(plain.clone()),
                    });
                }
                shown
            });
        }
        if !to.is_empty() {
            out.push(Effect::Publish { envelope, to });
        }
        outcome
    }

    /// Publishes an action to subscribers that need a downgrade, together with the states
    /// around it.
    fn publish_legacy(
        &self,
        envelope: &Arc<ActionEnvelope>,
        before: Option<ChannelState>,
        to: Vec<ConnectionId>,
        out: &mut Effects,
    ) {
        let scene = match &before {
            Some(_) => self.state_view([&envelope.channel]),
            None => StateView::default(),
        };
        let stripped = strip_apps_from_action(envelope).map(Arc::new);
        let (all, rest): (Vec<_>, Vec<_>) = to
            .into_iter()
            .partition(|connection| stripped.is_none() || self.supports_apps(*connection));
        let groups = [
            (envelope, all),
            (stripped.as_ref().unwrap_or(envelope), rest),
        ];
        for (envelope, to) in groups {
            if !to.is_empty() {
                out.push(Effect::PublishLegacy {
                    envelope: Arc::clone(envelope),
                    before: before.clone(),
                    view: Box::new(scene.clone()),
                    to,
                });
            }
        }
    }

    /// Sends an action to some subscribers without logging it, because it changes no state, or
    /// because only these subscribers lack it. It takes a sequence number like any action, so
    /// that the order is the same for every subscriber.
    pub(crate) fn publish_unlogged(
        &mut self,
        connections: &[ConnectionId],
        channel: &Uri,
        action: impl Into<Action>,
        origin: Option<ActionOrigin>,
        out: &mut Effects,
    ) {
        let server_seq = self.next_seq();
        out.write(StoreWrite::SeqUsed(server_seq));
        let envelope = ActionEnvelope {
            channel: channel.clone(),
            action: Arc::new(action.into()),
            server_seq,
            origin,
        };
        for connection in connections {
            out.push(Effect::PublishToOne {
                connection: *connection,
                envelope: Box::new(envelope.clone()),
            });
        }
    }

    /// Echoes an action to its sender alone, without logging it. A sender that is not subscribed
    /// gets no echo, as for every action.
    pub(crate) fn echo_unlogged(
        &mut self,
        sender: ConnectionId,
        channel: &Uri,
        action: impl Into<Action>,
        origin: ActionOrigin,
        out: &mut Effects,
    ) {
        let entry = self.channels.get(channel);
        let is_subscribed = entry.is_some_and(|entry| entry.subscribers.contains_key(&sender));
        let to: &[ConnectionId] = if is_subscribed { &[sender] } else { &[] };
        self.publish_unlogged(to, channel, action, Some(origin), out);
    }

    /// Creates a channel with its first state.
    pub(crate) fn create_channel(
        &mut self,
        channel: &Uri,
        session: Option<&Uri>,
        state: ChannelState,
        out: &mut Effects,
    ) {
        out.write(StoreWrite::ChannelCreated {
            channel: channel.clone(),
            session: session.cloned(),
            state: state.clone(),
            seq: self.log.seq,
        });
        let stored = StoredChannel {
            channel: channel.clone(),
            session: session.cloned(),
            created_seq: self.log.seq,
        };
        if let ChannelState::Terminal(state) = &state {
            self.terminals.record_state(channel, state);
        }
        self.insert_channel(
            stored,
            ChannelResidency::Resident(LoadedChannel::whole(state)),
        );
    }

    /// Removes a channel for good, and ends every subscription to it (SUB-22).
    pub(crate) fn remove_channel(&mut self, channel: &Uri, out: &mut Effects) {
        let Some(removed) = self.channels.remove(channel) else {
            return;
        };
        self.drop_prompt(channel);
        self.turns.forget_chat(channel);
        self.terminals.forget_commands(channel);
        if let Some(session) = &removed.session {
            self.set_tool_filter(session, channel, None, out);
        }
        self.drop_checks_of_chat(channel, out);
        self.end_gateway_calls(channel, out);
        for connection in removed.subscribers.keys() {
            if let Some(connection) = self.clients.connections.get_mut(connection) {
                connection.subscriptions.remove(channel);
            }
        }
        out.write(StoreWrite::ChannelRemoved {
            channel: channel.clone(),
            seq: self.log.seq,
        });
    }

    /// Rejects an action, and reports that only to the client that sent it. The rejection
    /// uses up a sequence number: numbers are never reused.
    pub(crate) fn reject_action(
        &mut self,
        connection: ConnectionId,
        channel: Uri,
        action: RawAction,
        origin: ActionOrigin,
        reason: String,
        out: &mut Effects,
    ) {
        let server_seq = self.next_seq();
        out.write(StoreWrite::SeqUsed(server_seq));
        out.push(Effect::RejectAction {
            connection,
            rejection: Box::new(Rejection {
                channel,
                action,
                server_seq,
                origin,
                rejection_reason: reason,
            }),
        });
    }

    /// Sends a notification to all subscribers of the root channel.
    pub(crate) fn notify_root_subscribers(
        &self,
        notification: HostNotification,
        out: &mut Effects,
    ) {
        let root = self.channels.get(&Uri::from(RootChannel));
        let to: Vec<_> = root
            .into_iter()
            .flat_map(|root| root.subscribers.keys().copied())
            .collect();
        if !to.is_empty() {
            out.push(Effect::Notify {
                notification: Arc::new(notification),
                to,
            });
        }
    }

    pub(crate) fn next_seq(&mut self) -> ServerSeq {
        self.log.seq.0 += 1;
        self.log.seq
    }
}
