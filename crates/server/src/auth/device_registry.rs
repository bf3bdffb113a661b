//! The paired devices of a running host: pairs them, recognizes their cookies, and notices when
//! one is revoked.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use agenthost_core::{PeerIdentity, Principal};
use agenthost_stdx::sync::lock;
use agenthost_workspace::{FolderSubscription, WatchDepth, WatchError, WatchEvent};
use tokio::sync::watch;

use super::device_directory::{DEVICES_FILE, DeviceDirectory, PairedDevice};
use super::pairing_code::{PairingCode, take_code};
use crate::auth::attempt_limiter::AttemptLimiter;

/// Age of a cookie at which the next page load sets it again.
const COOKIE_RENEWAL_MS: u64 = 24 * 60 * 60 * 1_000;

/// Least time between two updates of the time at which a device was last seen.
const LAST_SEEN_INTERVAL_MS: u64 = 60 * 1_000;

/// Name of a device for which neither the user nor the device has chosen one.
const UNNAMED_DEVICE: &str = "device";

/// The paired devices of a host. Its methods block on the disk, except where they say so.
#[derive(Debug, Clone)]
pub(crate) struct DeviceRegistry {
    directory: DeviceDirectory,
    attempts: Arc<Mutex<AttemptLimiter>>,
    /// The ids of all devices. The connection of a device waits until its id is missing.
    ids: Arc<watch::Sender<BTreeSet<String>>>,
}

/// The reason for which a device was not paired.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PairingError {
    /// There were too many wrong codes; no code is accepted for some time.
    #[error("too many wrong codes: create a new one with `agenthost pair`")]
    Locked {
        /// Time until codes are accepted again.
        retry_after_ms: u64,
    },
    /// The code is wrong, was used, or has expired.
    #[error("the code is wrong, was used or has expired")]
    WrongCode,
    /// The files of the devices could not be read or written.
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// A device that has presented its cookie.
#[derive(Debug)]
pub(crate) struct AuthenticatedDevice {
    pub(crate) device: PairedDevice,
    /// `true` if the cookie is old enough to be set again.
    pub(crate) needs_renewal: bool,
}

/// Ends when a device is revoked.
#[derive(Debug)]
pub(crate) struct RevocationSignal {
    id: String,
    ids: watch::Receiver<BTreeSet<String>>,
}

/// Watches the file with the devices while it exists.
#[derive(Debug)]
pub(crate) struct DeviceWatch {
    _subscription: FolderSubscription,
}

impl DeviceRegistry {
    pub(crate) fn open(directory: DeviceDirectory) -> Self {
        let registry = DeviceRegistry {
            directory,
            attempts: Arc::default(),
            ids: Arc::new(watch::Sender::new(BTreeSet::new())),
        };
        registry.reload();
        registry
    }

    /// Starts to watch the file with the devices, so that the connections of a device end when
    /// another process revokes it.
    pub(crate) fn watch(&self) -> Result<DeviceWatch, WatchError> {
        let (subscription, events) = FolderSubscription::new()?;
        subscription.add(self.directory.path(), WatchDepth::Folder)?;
        let registry = self.clone();
        let spawned = std::thread::Builder::new()
            .name("devices".to_owned())
            .spawn(move || {
                while let Some(event) = events.next() {
                    if may_change_devices(&event) {
                        registry.reload();
                    }
                }
            });
        spawned.map_err(|error| WatchError::System(error.to_string()))?;
        // A device may have been revoked before the watch began.
        self.reload();
        Ok(DeviceWatch {
            _subscription: subscription,
        })
    }

    /// Pairs a device that presents a code. Returns it with the secret for its cookie. The device
    /// `replaced`, whose cookie the new one overwrites, is removed.
    pub(crate) fn pair(
        &self,
        code: &str,
        name: Option<&str>,
        replaced: Option<&str>,
        now_ms: u64,
    ) -> Result<(PairedDevice, String), PairingError> {
        // The lock orders attempts, so that concurrent ones are counted as well.
        let mut attempts = lock(&self.attempts);
        if let Some(retry_after_ms) = attempts.time_locked(now_ms) {
            return Err(PairingError::Locked { retry_after_ms });
        }
        let code = PairingCode::parse(code);
        let open = self.directory.change_codes(|codes| {
            let taken = code.and_then(|code| take_code(codes, &code, now_ms));
            if taken.is_none() && attempts.count_failure(now_ms) {
                codes.clear();
            }
            taken
        })?;
        let open = open.ok_or(PairingError::WrongCode)?;
        attempts.reset();
        let name = open.name.as_deref().or(name).unwrap_or(UNNAMED_DEVICE);
        let (device, secret) = PairedDevice::create(name, open.scope, now_ms)?;
        self.directory.add(device.clone(), replaced, now_ms)?;
        self.reload();
        Ok((device, secret))
    }

    /// Finds the device of a cookie, and records that it was seen.
    pub(crate) fn authenticate(
        &self,
        secret: &str,
        now_ms: u64,
    ) -> io::Result<Option<AuthenticatedDevice>> {
        let Some(device) = self.directory.find_device(secret, now_ms)? else {
            return Ok(None);
        };
        if now_ms.saturating_sub(device.last_seen_at) >= LAST_SEEN_INTERVAL_MS {
            self.directory
                .update(&device.id, |stored| stored.last_seen_at = now_ms)?;
        }
        let needs_renewal = now_ms.saturating_sub(device.renewed_at) >= COOKIE_RENEWAL_MS;
        Ok(Some(AuthenticatedDevice {
            device,
            needs_renewal,
        }))
    }

    /// Records that the cookie of a device was set again.
    pub(crate) fn renew(&self, id: &str, now_ms: u64) -> io::Result<()> {
        self.directory
            .update(id, |stored| stored.renewed_at = now_ms)
    }

    /// Removes a device and ends its connections.
    pub(crate) fn revoke(&self, id: &str) -> io::Result<bool> {
        let revoked = self.directory.revoke(id)?;
        self.reload();
        Ok(revoked)
    }

    /// Returns a signal that ends when a device is revoked. Does not block.
    pub(crate) fn revocation_signal(&self, id: &str) -> RevocationSignal {
        RevocationSignal {
            id: id.to_owned(),
            ids: self.ids.subscribe(),
        }
    }

    /// Returns the ids of all devices, updated while the host runs. Does not block.
    pub(crate) fn watch_ids(&self) -> watch::Receiver<BTreeSet<String>> {
        self.ids.subscribe()
    }

    /// Returns the principals of all devices.
    pub(crate) fn read_principals(&self) -> io::Result<BTreeSet<Principal>> {
        let devices = self.directory.read_devices()?;
        Ok(devices
            .iter()
            .map(|device| device_principal(&device.id))
            .collect())
    }

    /// Reads the ids of all devices. If the file cannot be read, no device stays connected.
    fn reload(&self) {
        let devices = self.directory.read_devices().unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to read the paired devices");
            Vec::new()
        });
        let ids: BTreeSet<_> = devices.into_iter().map(|device| device.id).collect();
        self.ids.send_if_modified(|known| {
            let changed = *known != ids;
            *known = ids;
            changed
        });
    }
}

impl RevocationSignal {
    /// Waits until the device is revoked.
    pub(crate) async fn wait(&mut self) {
        let id = &self.id;
        let gone = self.ids.wait_for(|ids| !ids.contains(id)).await.is_ok();
        if !gone {
            // The registry was dropped, so the host is stopping, which ends the connection.
            std::future::pending::<()>().await;
        }
    }
}

/// Returns `true` for an event after which the file with the devices may have other contents.
/// Reading the file causes events, too, which must not lead to another read.
fn may_change_devices(event: &WatchEvent) -> bool {
    match event {
        WatchEvent::Lost => true,
        WatchEvent::Changed(event) => {
            !event.kind.is_access() && event.paths.iter().any(|path| path.ends_with(DEVICES_FILE))
        }
    }
}

/// Returns the identity of a paired device for the core. Each device is a principal of its own,
/// so that it cannot take over a client id of another one.
pub(crate) fn device_identity(device: &PairedDevice) -> PeerIdentity {
    PeerIdentity {
        principal: device_principal(&device.id),
        scope: device.scope,
        device_name: Some(device.name.clone()),
    }
}

/// Prefix of the principals of paired devices.
pub(crate) const DEVICE_PRINCIPAL_PREFIX: &str = "device:";

/// Returns the principal of the device with this id.
pub(crate) fn device_principal(id: &str) -> Principal {
    Principal(format!("{DEVICE_PRINCIPAL_PREFIX}{id}"))
}

#[cfg(test)]
#[path = "device_registry_tests.rs"]
mod tests;
