//! Outcomes of `reconnect` with cursors, under the URIs that the client used.
//!
//! No legacy release has cursors. A client that reconnects with them here speaks the current
//! version and needs other URIs, so actions and states are not downgraded.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_core::ConnectionId;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;

use super::LegacyClients;
use crate::delivery::encode::{LoadedRecovery, ReconnectOutcome, ReconnectOutcomes};

/// A channel that a client sent a cursor for.
#[derive(Debug)]
pub(super) struct NamedCursor {
    /// The URI that the client used.
    client_name: Uri,
    /// The URI that the host has for it.
    channel: Uri,
}

impl NamedCursor {
    /// Pairs the URIs of a request with those of the host.
    pub(super) fn pair_names(client_names: Vec<Uri>, channels: Vec<Uri>) -> Vec<Self> {
        let names = client_names.into_iter().zip(channels);
        let cursor = |(client_names, channel)| NamedCursor {
            client_name: client_names,
            channel,
        };
        names.map(cursor).collect()
    }
}

/// Returns the channels of the cursors in a message, in order.
pub(super) fn cursor_channels(message: &Object) -> Vec<Uri> {
    let entries = message
        .get("params")
        .and_then(|params| params.get("subscriptions")?.as_array());
    let entries = entries.into_iter().flatten();
    let channels = entries.filter_map(|entry| entry.get("channel")?.as_str());
    channels.map(Uri::from).collect()
}

impl LegacyClients {
    /// Returns an outcome for each URI that the client used, in the order of the request. A
    /// channel can have several URIs: its own, an alias, and others that are equal when
    /// decoded. The first of them gets the outcome of the channel, the others get an empty
    /// replay. So no client applies an action twice, and a response has each action once.
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

/// Returns the outcome under a further URI of a channel that was recovered.
fn outcome_under_other_name(outcome: &LoadedRecovery) -> LoadedRecovery {
    match outcome {
        LoadedRecovery::Replay(_) | LoadedRecovery::Snapshot(_) => {
            LoadedRecovery::Replay(Vec::new())
        }
        LoadedRecovery::Missing => LoadedRecovery::Missing,
    }
}
