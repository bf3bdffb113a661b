//! What happens to the host.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, RequestId, RpcError};
use agenthost_protocol::uri::Uri;

use crate::agent::AgentEvent;
use crate::clients::Principal;

/// One connection of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Input {
    /// The host has started. Always the first.
    Started,
    /// A peer connected and was authenticated.
    Connected {
        /// A number that no other connection has had.
        connection: ConnectionId,
        /// Who it is, as the transport knows it.
        principal: Principal,
    },
    /// A peer said something.
    Received {
        /// Where.
        connection: ConnectionId,
        /// What.
        message: Received,
    },
    /// A peer is gone.
    Disconnected {
        /// Which.
        connection: ConnectionId,
    },
    /// An agent did something.
    Agent {
        /// The session it works for.
        session: Uri,
        /// What it did.
        event: AgentEvent,
    },
    /// The grace period of a client is over. Sent for every period that was
    /// asked for; a client that came back in time is left alone.
    GraceEnded {
        /// The client.
        client: ClientId,
    },
    /// The log forgot old actions.
    Compacted {
        /// Where it starts now.
        log_start: ServerSeq,
    },
    /// The state of a channel was read from the log, because the next input
    /// needs it; see `Host::needs`.
    Restored {
        /// The channel.
        channel: Uri,
        /// Its state.
        state: ChannelState,
    },
}

/// A message of a peer, decoded.
#[derive(Debug, Clone)]
pub enum Received {
    /// It wants an answer.
    Request(RequestId, Box<ClientRequest>),
    /// It wants none.
    Notification(Box<ClientNotification>),
    /// It could not be decoded. Comes this way so that the answer keeps its
    /// place among the others.
    Invalid(RequestId, RpcError),
}
