use super::*;

fn request() -> PairingRequest {
    PairingRequest {
        name: Some("phone".to_owned()),
        scope: AccessScope::Operate,
    }
}

#[test]
fn a_code_is_parsed_in_every_common_spelling() {
    let code = PairingCode::parse("01AB-CD9Z").unwrap();
    assert_eq!(code.to_string(), "01AB-CD9Z");
    for text in ["01abcd9z", "olab-cd9z", "OIAB CD9Z", " 01 AB cd-9z "] {
        assert_eq!(PairingCode::parse(text), Some(code.clone()), "{text}");
    }
    for text in [
        "",
        "01AB-CD9",
        "01AB-CD9ZZ",
        "01AB-CD9U",
        "01AB-CD9é",
        "01AB_CD9Z",
    ] {
        assert_eq!(PairingCode::parse(text), None, "{text}");
    }
}

#[test]
fn a_new_code_can_be_parsed_and_differs_from_the_last() {
    let first = PairingCode::random().unwrap();
    assert_eq!(PairingCode::parse(&first.to_string()), Some(first.clone()));
    assert_ne!(PairingCode::random().unwrap(), first);
}

#[test]
fn a_code_is_used_once() {
    let directory = tempfile::tempdir().unwrap();
    let code = create_pairing_code(directory.path(), request(), 0).unwrap();
    let devices = DeviceDirectory::open(directory.path()).unwrap();
    let take = || {
        devices
            .change_codes(|codes| take_code(codes, &code, 1))
            .unwrap()
    };
    let taken = take().unwrap();
    assert_eq!(taken.name.as_deref(), Some("phone"));
    assert_eq!(taken.scope, AccessScope::Operate);
    assert_eq!(take(), None);
}

#[test]
fn a_code_expires_after_ten_minutes() {
    let directory = tempfile::tempdir().unwrap();
    let code = create_pairing_code(directory.path(), request(), 1_000).unwrap();
    let devices = DeviceDirectory::open(directory.path()).unwrap();
    let take = |now| {
        let mut codes = devices.change_codes(|codes| codes.clone()).unwrap();
        take_code(&mut codes, &code, now).is_some()
    };
    assert!(take(1_000 + CODE_LIFETIME_MS - 1));
    assert!(!take(1_000 + CODE_LIFETIME_MS));
}

#[test]
fn the_code_file_has_no_plain_codes_and_a_limit() {
    let directory = tempfile::tempdir().unwrap();
    let codes: Vec<_> = (0..MAX_OPEN_CODES + 3)
        .map(|_| create_pairing_code(directory.path(), request(), 0).unwrap())
        .collect();
    let devices = DeviceDirectory::open(directory.path()).unwrap();
    assert_eq!(
        devices.change_codes(|codes| codes.clone()).unwrap().len(),
        MAX_OPEN_CODES
    );
    let text = std::fs::read_to_string(directory.path().join("devices/codes.json")).unwrap();
    for code in codes {
        assert!(!text.contains(&code.symbols));
        assert!(!text.contains(&code.to_string()));
    }
}
