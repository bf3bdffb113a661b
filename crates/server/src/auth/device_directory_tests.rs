use std::os::unix::fs::PermissionsExt;

use super::*;

fn open(directory: &tempfile::TempDir) -> DeviceDirectory {
    DeviceDirectory::open(directory.path()).unwrap()
}

#[test]
fn a_device_is_found_by_its_secret_until_it_is_revoked() {
    let directory = tempfile::tempdir().unwrap();
    let devices = open(&directory);
    let (phone, phone_secret) = PairedDevice::create("phone", AccessScope::Read, 1).unwrap();
    let (desk, desk_secret) = PairedDevice::create("desk", AccessScope::Terminal, 2).unwrap();
    devices.add(phone.clone(), None, 1).unwrap();
    devices.add(desk.clone(), None, 2).unwrap();
    // Another host on the same directory knows them, too.
    let devices = open(&directory);
    assert_eq!(
        devices.find_device(&phone_secret, 3).unwrap(),
        Some(phone.clone())
    );
    assert_eq!(
        devices.find_device(&desk_secret, 3).unwrap(),
        Some(desk.clone())
    );
    assert_eq!(devices.find_device("wrong", 3).unwrap(), None);
    assert_eq!(devices.find_device(&phone.secret_hash, 3).unwrap(), None);
    assert!(devices.revoke(&phone.id).unwrap());
    assert!(!devices.revoke(&phone.id).unwrap());
    assert_eq!(devices.find_device(&phone_secret, 3).unwrap(), None);
    // A late update does not bring it back.
    devices
        .update(&phone.id, |device| device.last_seen_at = 4)
        .unwrap();
    assert_eq!(devices.read_devices().unwrap(), [desk]);
}

#[test]
fn a_device_expires_without_a_renewal() {
    let directory = tempfile::tempdir().unwrap();
    let devices = open(&directory);
    let (phone, secret) = PairedDevice::create("phone", AccessScope::Read, 1).unwrap();
    devices.add(phone.clone(), None, 1).unwrap();
    let find = |now| devices.find_device(&secret, now).unwrap().is_some();
    assert!(find(COOKIE_LIFETIME_MS));
    assert!(!find(COOKIE_LIFETIME_MS + 1));
    devices
        .update(&phone.id, |device| device.renewed_at = 10)
        .unwrap();
    assert!(find(COOKIE_LIFETIME_MS + 1));
}

#[test]
fn files_are_private_and_have_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let devices = open(&directory);
    let (phone, secret) = PairedDevice::create("a\u{202e}\nb", AccessScope::Read, 1).unwrap();
    assert_eq!(phone.name, "a b");
    assert_eq!(secret.len(), 64);
    devices.add(phone, None, 1).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = devices.path().join(DEVICES_FILE);
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(devices.path()), 0o700);
    assert!(!std::fs::read_to_string(file).unwrap().contains(&secret));
}

#[test]
fn a_malformed_file_is_an_error_and_stays() {
    let directory = tempfile::tempdir().unwrap();
    let devices = open(&directory);
    private_file::replace(&devices.path().join(DEVICES_FILE), b"[{").unwrap();
    assert!(devices.find_device("secret", 1).is_err());
    let (phone, _) = PairedDevice::create("phone", AccessScope::Read, 1).unwrap();
    assert!(devices.add(phone, None, 1).is_err());
    let text = std::fs::read_to_string(devices.path().join(DEVICES_FILE)).unwrap();
    assert_eq!(text, "[{");
}

#[test]
fn the_number_of_devices_is_limited() {
    let directory = tempfile::tempdir().unwrap();
    let devices = open(&directory);
    let mut ids = Vec::new();
    for now in 0..=MAX_DEVICES as u64 {
        let (device, _) = PairedDevice::create("d", AccessScope::Read, now).unwrap();
        ids.push(device.id.clone());
        devices.add(device, None, now).unwrap();
    }
    let left: Vec<_> = devices.read_devices().unwrap();
    let left: Vec<_> = left.into_iter().map(|device| device.id).collect();
    assert_eq!(left, ids.split_off(1));
}
