//! Digests of the mirrored channels, to compare the state of two clients.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::PageCore;

/// The confirmed state of a channel, as a digest of its JSON.
#[derive(Debug, Serialize)]
struct ChannelDigest {
    digest: String,
    /// Size of the JSON in bytes.
    size: usize,
}

impl PageCore {
    /// Returns the digest of every mirrored channel.
    pub(super) fn report_digests(&mut self, id: u64) {
        match self.digests() {
            Ok(digests) => self.reply(id, &digests),
            Err(error) => self.fail(id, error.to_string()),
        }
    }

    fn digests(&self) -> serde_json::Result<BTreeMap<String, ChannelDigest>> {
        let mut digests = BTreeMap::new();
        if let Some(engine) = &self.engine {
            for channel in engine.channels() {
                let mut hasher = Fnv::default();
                serde_json::to_writer(&mut hasher, &engine.confirmed_state(channel))?;
                let digest = format!("{:016x}", hasher.hash);
                let size = hasher.size;
                digests.insert(channel.to_string(), ChannelDigest { digest, size });
            }
        }
        Ok(digests)
    }
}

/// FNV-1a with 64 bits. It finds differences between states; it is no protection.
#[derive(Debug)]
struct Fnv {
    hash: u64,
    size: usize,
}

impl Default for Fnv {
    fn default() -> Self {
        Fnv {
            hash: 0xcbf2_9ce4_8422_2325,
            size: 0,
        }
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.size += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
