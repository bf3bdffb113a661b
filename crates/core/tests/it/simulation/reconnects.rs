//! Clients that return, with either form of `reconnect`.

use agenthost_core::{ConnectionId, Effect, ResponseBody};
use agenthost_protocol::ids::ServerSeq;
use serde_json::json;

use super::Simulation;
use crate::script::uri;
use crate::test_host::Mirror;

impl Simulation {
    pub(super) fn reconnect(&mut self, connection: ConnectionId, client: &str, memory: &Mirror) {
        if self.chance.chance(0.5) {
            self.recover(connection, client, memory);
            return;
        }
        let params = json!({
            "clientId": client, "lastSeenServerSeq": memory.seen,
            "subscriptions": memory.channels.keys().collect::<Vec<_>>(),
        });
        self.request(connection, "reconnect", params);
    }

    /// Reconnects with a cursor for each channel. Some channels are left out, some have no
    /// baseline, and some are named twice.
    fn recover(&mut self, connection: ConnectionId, client: &str, memory: &Mirror) {
        let mut cursors = Vec::new();
        let mut wanted = Vec::new();
        let known = memory.channels.keys().cloned();
        let unknown = Some(uri("nowhere")).filter(|name| !memory.channels.contains_key(name));
        for channel in known.chain(unknown) {
            let cursor = memory.cursors.get(&channel).copied().unwrap_or_default();
            let cursor = match self.chance.rng.u8(..20) {
                0 => continue,
                1 => ServerSeq(0),
                _ => cursor,
            };
            cursors.push(json!({"channel": channel, "lastSeenServerSeq": cursor}));
            wanted.push(channel);
        }
        if let Some(mut again) = self.chance.pick(&cursors).cloned()
            && self.chance.chance(0.1)
        {
            if self.chance.chance(0.5) {
                again["lastSeenServerSeq"] = json!(memory.seen);
            }
            cursors.push(again);
        }
        let params = json!({"clientId": client, "subscriptions": cursors});
        let effects = self.send_request(connection, "reconnect", params);
        let outcomes = effects.effects.iter().find_map(|effect| match effect {
            Effect::Respond {
                result: Ok(ResponseBody::Recoveries { channels, .. }),
                ..
            } => Some(channels),
            _ => None,
        });
        // A client that the host has forgotten gets no outcomes.
        if let Some(outcomes) = outcomes {
            let named: Vec<_> = outcomes.iter().map(|one| one.channel().clone()).collect();
            assert_eq!(named, wanted, "one outcome for each channel, in order");
        }
    }
}
