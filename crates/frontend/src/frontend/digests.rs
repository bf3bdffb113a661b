//! Digests of the mirrored channels, to compare the state of two clients.

use std::sync::Arc;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::sorted::SortedMap;
use serde::Serialize;

use super::Frontend;

/// The confirmed state of a channel, as a digest of its JSON.
#[derive(Debug, Serialize)]
struct ChannelDigest {
    digest: String,
    /// Size of the JSON in bytes.
    size: usize,
}

impl Frontend {
    /// Returns the digest of every mirrored channel.
    pub(super) fn report_digests(&mut self, id: u64) {
        match self.digests() {
            Ok(digests) => self.reply(id, &digests),
            Err(error) => self.fail(id, error.to_string()),
        }
    }

    fn digests(&self) -> serde_json::Result<SortedMap<String, ChannelDigest>> {
        let mut digests = SortedMap::new();
        if let Some(engine) = &self.engine {
            for channel in engine.channels() {
                // Text, because the code that encodes is compiled for each kind of writer.
                let state = engine.confirmed_state(channel).cloned().map(comparable);
                let text = serde_json::to_string(&state)?;
                let digest = format!("{:016x}", fnv(&text));
                let size = text.len();
                digests.insert(channel.to_string(), ChannelDigest { digest, size });
            }
        }
        Ok(digests)
    }
}

/// Returns a state without what no action carries: the host fills it in when it sends a snapshot,
/// so two clients have it from different times.
fn comparable(mut state: ChannelState) -> ChannelState {
    if let ChannelState::Chat(chat) = &mut state {
        Arc::make_mut(chat).summary.changes = None;
    }
    if let ChannelState::Session(session) = &mut state {
        let metadata = &mut Arc::make_mut(session).metadata;
        metadata.status = metadata.status.with_activity(SessionStatus::IDLE);
        metadata.annotations = None;
    }
    state
}

/// FNV-1a with 64 bits. It finds differences between states; it is no protection.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
