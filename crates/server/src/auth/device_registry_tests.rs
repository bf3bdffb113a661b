use agenthost_core::AccessScope;

use super::*;
use crate::auth::attempt_limiter::{LOCK_MS, MAX_FAILURES};
use crate::auth::pairing_code::{PairingRequest, create_pairing_code};

struct Setup {
    directory: tempfile::TempDir,
    registry: DeviceRegistry,
}

fn setup() -> Setup {
    let directory = tempfile::tempdir().unwrap();
    let registry = DeviceRegistry::open(DeviceDirectory::open(directory.path()).unwrap());
    Setup {
        directory,
        registry,
    }
}

impl Setup {
    fn code(&self, name: Option<&str>, now: u64) -> String {
        let request = PairingRequest {
            name: name.map(str::to_owned),
            scope: AccessScope::Operate,
        };
        let code = create_pairing_code(self.directory.path(), request, now).unwrap();
        code.to_string()
    }
}

#[test]
fn a_code_pairs_one_device() {
    let setup = setup();
    let code = setup.code(Some("phone"), 1);
    let (device, secret) = setup.registry.pair(&code, Some("mine"), None, 2).unwrap();
    assert_eq!(device.name, "phone");
    let found = setup.registry.authenticate(&secret, 3).unwrap().unwrap();
    assert_eq!(found.device, device);
    assert!(!found.needs_renewal);
    let again = setup.registry.pair(&code, None, None, 4).unwrap_err();
    assert!(matches!(again, PairingError::WrongCode), "{again}");
    let code = setup.code(None, 5);
    let (device, _) = setup.registry.pair(&code, Some("mine"), None, 6).unwrap();
    assert_eq!(device.name, "mine");
}

#[test]
fn five_wrong_codes_void_all_codes_and_lock() {
    let setup = setup();
    let code = setup.code(None, 1);
    for _ in 0..MAX_FAILURES {
        let wrong = setup
            .registry
            .pair("0000-0000", None, None, 10)
            .unwrap_err();
        assert!(matches!(wrong, PairingError::WrongCode), "{wrong}");
    }
    let locked = setup.registry.pair(&code, None, None, 10).unwrap_err();
    assert!(
        matches!(
            locked,
            PairingError::Locked {
                retry_after_ms: LOCK_MS
            }
        ),
        "{locked:?}"
    );
    let void = setup
        .registry
        .pair(&code, None, None, 10 + LOCK_MS)
        .unwrap_err();
    assert!(matches!(void, PairingError::WrongCode), "{void}");
    let fresh = setup.code(None, 10 + LOCK_MS);
    assert!(
        setup
            .registry
            .pair(&fresh, None, None, 11 + LOCK_MS)
            .is_ok()
    );
}

#[test]
fn a_cookie_is_renewed_after_a_day() {
    let setup = setup();
    let code = setup.code(None, 1);
    let (device, secret) = setup.registry.pair(&code, None, None, 1).unwrap();
    let day = COOKIE_RENEWAL_MS;
    let find = |now| setup.registry.authenticate(&secret, now).unwrap().unwrap();
    assert!(!find(day).needs_renewal);
    assert!(find(day + 1).needs_renewal);
    setup.registry.renew(&device.id, day + 1).unwrap();
    assert!(!find(day + 2).needs_renewal);
    // The time is recorded at most once a minute.
    assert_eq!(find(day + 2).device.last_seen_at, day);
}

#[tokio::test]
async fn another_process_revokes_a_device() {
    let setup = setup();
    let _watch = setup.registry.watch().unwrap();
    let code = setup.code(None, 1);
    let (phone, secret) = setup.registry.pair(&code, None, None, 1).unwrap();
    let code = setup.code(None, 1);
    let (desk, _) = setup.registry.pair(&code, None, None, 1).unwrap();
    let mut revoked = setup.registry.revocation_signal(&phone.id);
    let mut kept = setup.registry.revocation_signal(&desk.id);
    // Another process has its own registry, or none.
    let other = DeviceDirectory::open(setup.directory.path()).unwrap();
    assert!(other.revoke(&phone.id).unwrap());
    tokio::time::timeout(std::time::Duration::from_secs(10), revoked.wait())
        .await
        .unwrap();
    assert!(setup.registry.authenticate(&secret, 2).unwrap().is_none());
    let elapsed = tokio::time::timeout(std::time::Duration::from_millis(50), kept.wait()).await;
    assert!(elapsed.is_err());
}

#[test]
fn a_device_that_is_paired_again_replaces_the_one_before() {
    let setup = setup();
    let code = setup.code(Some("old"), 1);
    let (old, old_secret) = setup.registry.pair(&code, None, None, 1).unwrap();
    let wrong = setup.registry.pair("0000-0000", None, Some(&old.id), 2);
    assert!(wrong.is_err());
    let find = |secret: &str| setup.registry.authenticate(secret, 3).unwrap().is_some();
    assert!(find(&old_secret), "a wrong code removes nothing");
    let code = setup.code(Some("new"), 2);
    let (_, secret) = setup.registry.pair(&code, None, Some(&old.id), 2).unwrap();
    assert!(find(&secret));
    assert!(!find(&old_secret));
    let ids = setup.registry.watch_ids();
    assert!(!ids.borrow().contains(&old.id));
}
