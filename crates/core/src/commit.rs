//! The one place where state changes and numbers are given out.

use std::sync::Arc;

use agenthost_protocol::action::{Action, ActionEnvelope, ActionOrigin, RawAction, Rejection};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::effect::{Effect, Effects, Recipient, Write};
use crate::host::{Held, Host, StoredChannel};
use crate::input::{ConnectionId, Loaded};
use crate::scenes::Scene;
use crate::side_channel::without_apps;

impl Host {
    /// Commits an action that the host originates, and says whether it had an
    /// effect. One that has none is not worth a number; one that would break
    /// the state is a mistake of ours or of an agent, and gets reported.
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
        out.push(Effect::Discarded {
            channel: channel.clone(),
            action: name,
            reason,
        });
        false
    }

    /// Commits an action: reduces it, numbers it, and has it logged and sent.
    /// A client's action is numbered even without an effect, because the
    /// client waits for its echo.
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
        let Held::Here(loaded) = &mut target.held else {
            return Outcome::NoOp;
        };
        let retold = target.subscribers.values().any(|watcher| watcher.older);
        // Keeping it means that the reducer has to copy what it changes.
        let before = (retold && !action.can_absorb()).then(|| loaded.state.clone());
        let outcome = loaded.state.reduce(&action);
        match &outcome {
            Outcome::Applied => {}
            Outcome::NoOp if origin.is_some() => {}
            Outcome::NoOp | Outcome::WrongChannel | Outcome::Invalid(_) => return outcome,
        }
        if let (ChannelState::Chat(state), Action::Chat(action)) = (&loaded.state, &action) {
            self.responses.record(channel, state, action);
        }
        let (mut older, mut to) = (Vec::new(), Vec::new());
        for (connection, subscription) in &target.subscribers {
            match subscription.older {
                true => older.push(*connection),
                false => to.push(Recipient {
                    connection: *connection,
                    patience: subscription.patience,
                }),
            }
        }
        let envelope = Arc::new(ActionEnvelope {
            channel: channel.clone(),
            action: Arc::new(action),
            server_seq: self.next_seq(),
            origin,
        });
        out.write(Write::Action(Arc::clone(&envelope)));
        if retold {
            self.retell(&envelope, before, older, out);
        }
        if let Some(plain) = without_apps(&envelope) {
            to.retain(|recipient| {
                let shown = self.shows_apps(recipient.connection);
                if !shown {
                    out.push(Effect::Show {
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

    /// Has those told of an action who do not speak the host's version.
    fn retell(
        &self,
        envelope: &Arc<ActionEnvelope>,
        before: Option<ChannelState>,
        to: Vec<ConnectionId>,
        out: &mut Effects,
    ) {
        let scene = match &before {
            Some(_) => self.scene([&envelope.channel]),
            None => Scene::default(),
        };
        let plain = without_apps(envelope).map(Arc::new);
        let (all, rest): (Vec<_>, Vec<_>) = to
            .into_iter()
            .partition(|connection| plain.is_none() || self.shows_apps(*connection));
        let groups = [(envelope, all), (plain.as_ref().unwrap_or(envelope), rest)];
        for (envelope, to) in groups {
            if !to.is_empty() {
                out.push(Effect::Retell {
                    envelope: Arc::clone(envelope),
                    before: before.clone(),
                    scene: Box::new(scene.clone()),
                    to,
                });
            }
        }
    }

    /// Tells some who watch a channel something that is not kept: it changes
    /// no state, or they alone have not been told. It takes a number like any
    /// action, so that everyone hears things in order.
    pub(crate) fn show(
        &mut self,
        connections: &[ConnectionId],
        channel: &Uri,
        action: impl Into<Action>,
        origin: Option<ActionOrigin>,
        out: &mut Effects,
    ) {
        let server_seq = self.next_seq();
        out.write(Write::Number(server_seq));
        let envelope = ActionEnvelope {
            channel: channel.clone(),
            action: Arc::new(action.into()),
            server_seq,
            origin,
        };
        for connection in connections {
            out.push(Effect::Show {
                connection: *connection,
                envelope: Box::new(envelope.clone()),
            });
        }
    }

    /// Brings a channel into being.
    pub(crate) fn create(
        &mut self,
        channel: &Uri,
        session: Option<&Uri>,
        state: ChannelState,
        out: &mut Effects,
    ) {
        out.write(Write::Created {
            channel: channel.clone(),
            session: session.cloned(),
            state: state.clone(),
            seq: self.seq,
        });
        let stored = StoredChannel {
            channel: channel.clone(),
            session: session.cloned(),
            born: self.seq,
        };
        self.hold(stored, Held::Here(Loaded::whole(state)));
    }

    /// Ends a channel for good, and every subscription to it (SUB-22).
    pub(crate) fn remove(&mut self, channel: &Uri, out: &mut Effects) {
        let Some(removed) = self.channels.remove(channel) else {
            return;
        };
        self.forget_messages(channel);
        self.responses.forget(channel);
        self.silent_commands.remove(channel);
        self.previews.remove(channel);
        self.interrupted.remove(channel);
        if let Some(session) = &removed.session {
            self.allow_tools(session, channel, None, out);
        }
        self.drop_checks_of_chat(channel, out);
        self.end_calls(channel, out);
        for connection in removed.subscribers.keys() {
            if let Some(connection) = self.clients.connections.get_mut(connection) {
                connection.subscriptions.remove(channel);
            }
        }
        out.write(Write::Removed {
            channel: channel.clone(),
            seq: self.seq,
        });
    }

    /// Tells one client that its action was refused, and nobody else.
    /// The number is used up all the same: numbers are never given out twice.
    pub(crate) fn reject(
        &mut self,
        connection: ConnectionId,
        channel: Uri,
        action: RawAction,
        origin: ActionOrigin,
        reason: String,
        out: &mut Effects,
    ) {
        let server_seq = self.next_seq();
        out.write(Write::Number(server_seq));
        out.push(Effect::Reject {
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

    /// Tells everyone who watches the host something that is no state.
    pub(crate) fn notify_root(&self, notification: HostNotification, out: &mut Effects) {
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
        self.seq.0 += 1;
        self.seq
    }
}
