//! Outcomes of `reconnect` with cursors, by the names that a client used.
//!
//! No older version has cursors. Whoever comes back with them here speaks the
//! host's version and is told other names, so actions and states need no steps
//! down.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_core::ConnectionId;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;

use super::LegacyClients;
use crate::delivery::encode::{LoadedRecovery, ReconnectOutcome, ReconnectOutcomes};

/// A channel that a client has a cursor of.
#[derive(Debug)]
pub(super) struct NamedCursor {
    /// The name that the client used.
    client_name: Uri,
    /// The name that the host has for it.
    channel: Uri,
}

impl NamedCursor {
    /// Pairs the names of a request with those that the host has for them.
    pub(super) fn pair_names(client_names: Vec<Uri>, channels: Vec<Uri>) -> Vec<Self> {
        let names = client_names.into_iter().zip(channels);
        let cursor = |(client_names, channel)| NamedCursor {
            client_name: client_names,
            channel,
        };
        names.map(cursor).collect()
    }
}

/// The channels of the cursors in a message, in order.
pub(super) fn cursor_channels(message: &Object) -> Vec<Uri> {
    let entries = message
        .get("params")
        .and_then(|params| params.get("subscriptions")?.as_array());
    let entries = entries.into_iter().flatten();
    let channels = entries.filter_map(|entry| entry.get("channel")?.as_str());
    channels.map(Uri::from).collect()
}

impl LegacyClients {
    /// Returns an outcome for each name that the client used, in the order of
    /// the request. A channel has several names (its own, a second one, others
    /// that are the same URI when decoded). Its outcome is under the first of
    /// them; under the others there is nothing more to replay, so that no client
    /// applies an action twice and an answer holds everything once.
    pub(crate) fn reconnect_outcomes(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        outcomes_by_host_name: Vec<ReconnectOutcome>,
    ) -> ReconnectOutcomes {
        let Some(peer) = self.clients.get_mut(&connection) else {
            return ReconnectOutcomes {
                channels: outcomes_by_host_name,
                address_mapping: None,
            };
        };
        peer.open_requests.remove(id);
        let by_channel = |one: ReconnectOutcome| (one.channel, one.outcome);
        let mut outcomes: BTreeMap<_, _> =
            outcomes_by_host_name.into_iter().map(by_channel).collect();
        let mut named = BTreeSet::new();
        let mut channels = Vec::new();
        for NamedCursor {
            client_name: used,
            channel,
        } in std::mem::take(&mut peer.cursors)
        {
            if let Some(outcome) = outcomes.get_mut(&channel)
                && named.insert(used.clone())
            {
                let rest = outcome_under_other_name(outcome);
                channels.push(ReconnectOutcome {
                    channel: used,
                    outcome: std::mem::replace(outcome, rest),
                });
            }
        }
        ReconnectOutcomes {
            channels,
            address_mapping: peer.address_mapping(&self.aliases),
        }
    }
}

/// The outcome under another name of a channel that was recovered.
fn outcome_under_other_name(outcome: &LoadedRecovery) -> LoadedRecovery {
    match outcome {
        LoadedRecovery::Replay(_) | LoadedRecovery::Snapshot(_) => {
            LoadedRecovery::Replay(Vec::new())
        }
        LoadedRecovery::Missing => LoadedRecovery::Missing,
    }
}
