//! Forgets the clients of revoked devices, in the store when the host starts and in the host while
//! it runs.

use std::collections::BTreeSet;

use agenthost_core::Input;
use agenthost_store::{Store, StoreError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::auth::device_registry::{DEVICE_PRINCIPAL_PREFIX, DeviceRegistry, device_principal};
use crate::connection::message::LoopEvent;
use crate::server::ServeError;

/// Deletes the clients of devices that were revoked while no host was running.
pub(super) fn forget_revoked_devices(
    store: &mut Store,
    devices: &DeviceRegistry,
) -> Result<(), StoreError> {
    match devices.read_principals() {
        Ok(principals) => store.retain_principals(DEVICE_PRINCIPAL_PREFIX, &principals),
        // Without the list, no device can connect, so their clients need not be deleted.
        Err(error) => {
            tracing::warn!(%error, "failed to read the paired devices");
            Ok(())
        }
    }
}

/// Reports each device that disappears from the list to the host, until the host stops.
pub(super) async fn forward_revocations(
    mut ids: watch::Receiver<BTreeSet<String>>,
    events: mpsc::Sender<LoopEvent>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let mut known = ids.borrow_and_update().clone();
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            changed = ids.changed() => if changed.is_err() {
                return Ok(());
            },
        }
        let current = ids.borrow_and_update().clone();
        for id in known.difference(&current) {
            let revoked = LoopEvent::Input(Input::PrincipalRevoked(device_principal(id)));
            // The host loop has ended, so nothing is left to forget.
            if events.send(revoked).await.is_err() {
                return Ok(());
            }
        }
        known = current;
    }
}
