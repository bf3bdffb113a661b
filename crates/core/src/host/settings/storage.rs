//! Reports to clients that nothing can be stored, for example because the disk is full, and
//! refuses the messages whose effects could not be stored.

use agenthost_protocol::action::{ActionOrigin, RawAction, ReceivedAction};
use agenthost_protocol::connection::DispatchActionParams;
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::rpc::ClientNotification;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;

use crate::host::Host;
use crate::host::effect::{Effects, StoreWrite};
use crate::host::error::RequestFailure;
use crate::host::input::{ClientMessage, ConnectionId, Input, RejectedDispatch};

/// The reason why the host can't store changes. Read-only for clients.
pub(super) const STORAGE_PROBLEM_SETTING: &str = "storageProblem";

impl StoreWrite {
    /// Returns `true` for a write whose loss in a crash costs a client no more than a snapshot or
    /// an `initialize`. Such writes can wait in memory while nothing can be stored.
    pub fn can_wait(&self) -> bool {
        match self {
            StoreWrite::SeqUsed(_)
            | StoreWrite::Client(..)
            | StoreWrite::ClientReleased(..)
            | StoreWrite::ClientsPruned { .. }
            | StoreWrite::ClientRemoved(_)
            | StoreWrite::PrincipalForgotten(_) => true,
            StoreWrite::Audit(entry) => entry.kind.can_wait(),
            StoreWrite::Action(_)
            | StoreWrite::ChannelCreated { .. }
            | StoreWrite::ChannelRemoved { .. }
            | StoreWrite::ChannelMoved { .. }
            | StoreWrite::Session(_)
            | StoreWrite::SessionRemoved(_)
            | StoreWrite::SessionUnlisted(_)
            | StoreWrite::AgentOptions(..)
            | StoreWrite::SessionEnvironment { .. }
            | StoreWrite::SessionEnvironmentCopied { .. } => false,
        }
    }

    /// Returns `true` if an earlier write has no effect once this one is stored.
    pub fn replaces(&self, earlier: &StoreWrite) -> bool {
        let is_same_kind = std::mem::discriminant(self) == std::mem::discriminant(earlier);
        match (self, earlier) {
            (StoreWrite::SeqUsed(_) | StoreWrite::ClientsPruned { .. }, _) => is_same_kind,
            (StoreWrite::Client(later, _), StoreWrite::Client(earlier, _)) => later == earlier,
            _ => false,
        }
    }
}

impl Input {
    /// Returns `true` for an input that need not wait for earlier ones that could not be stored.
    pub fn is_independent(&self) -> bool {
        matches!(
            self,
            Input::Connected { .. }
                | Input::Received { .. }
                | Input::Disconnected { .. }
                | Input::RequestCompleted { .. }
                | Input::FileSearchFinished { .. }
                | Input::PeerRefused(_)
                | Input::DevicePaired(_)
                | Input::RetentionDue(_)
                | Input::EvictionDue
        )
    }
}

impl Host {
    /// Publishes in the settings why nothing can be stored. `None` removes the setting.
    pub(crate) fn publish_storage_problem(&mut self, problem: Option<String>, out: &mut Effects) {
        let Some(config) = self.root().and_then(|root| root.config.as_ref()) else {
            return;
        };
        let mut values = config.values.clone();
        values.shift_remove(STORAGE_PROBLEM_SETTING);
        if let Some(problem) = problem {
            values.insert(STORAGE_PROBLEM_SETTING.to_owned(), Json::from(problem));
        }
        if values != config.values {
            let changed = RootAction::ConfigChanged(RootConfigChanged {
                config: values,
                replace: Some(true),
            });
            self.originate(&RootChannel.into(), changed, out);
        }
    }

    /// Refuses a message whose effects could not be stored. The host is in the state before the
    /// message.
    pub(crate) fn refuse_unstorable(
        &mut self,
        connection: ConnectionId,
        message: ClientMessage,
        problem: &str,
        out: &mut Effects,
    ) {
        let failure = || RequestFailure::NotStored(problem.to_owned());
        match message {
            ClientMessage::Request(id, _)
            | ClientMessage::ToMcpServer(Some(id), _)
            | ClientMessage::ReplayTooLarge(id, _) => {
                out.respond_error(connection, &id, failure().into());
            }
            ClientMessage::Invalid(id, error) => out.respond_error(connection, &id, error),
            ClientMessage::Rejected(refused) => {
                self.reject_unstored(connection, *refused, out);
            }
            ClientMessage::Notification(notification) => match *notification {
                // The session keeps the client as an active one until the connection ends.
                ClientNotification::Unsubscribe(params) => {
                    self.drop_subscription(connection, &params.channel);
                }
                ClientNotification::DispatchAction(params) => {
                    let refused = refused_dispatch(params, failure().to_string());
                    self.reject_unstored(connection, refused, out);
                }
            },
            // Neither has a response. The caller keeps responses to requests of the host.
            ClientMessage::ToMcpServer(None, _) | ClientMessage::Response(..) => {}
        }
    }

    fn reject_unstored(
        &mut self,
        connection: ConnectionId,
        refused: RejectedDispatch,
        out: &mut Effects,
    ) {
        if let Some(client_id) = self.clients.client_of(connection).cloned() {
            let origin = ActionOrigin {
                client_id,
                client_seq: refused.client_seq,
            };
            let (channel, action) = (refused.channel, refused.action);
            self.reject_action(connection, channel, action, origin, refused.reason, out);
        }
    }

    fn drop_subscription(&mut self, connection: ConnectionId, channel: &Uri) {
        if let Some(channel) = self.channels.get_mut(channel) {
            channel.subscribers.remove(&connection);
        }
        if let Some(connection) = self.clients.connections.get_mut(&connection) {
            connection.subscriptions.remove(channel);
        }
    }
}

fn refused_dispatch(params: DispatchActionParams, reason: String) -> RejectedDispatch {
    let action = match params.action {
        ReceivedAction::Valid(action) => RawAction(wire::to_json(&action)),
        ReceivedAction::Unknown(raw) | ReceivedAction::Malformed(raw, _) => raw,
    };
    RejectedDispatch {
        channel: params.channel,
        client_seq: params.client_seq,
        action,
        reason,
    }
}
