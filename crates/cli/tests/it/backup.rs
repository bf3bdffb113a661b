//! `agenthost backup`, `agenthost restore-backup` and `agenthost doctor --deep`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::CreateSessionParams;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use serde_json::json;

use crate::reconnect::{connect, start};

const SESSION: &str = "ahp-session:/kept";

async fn agenthost(arguments: &[&str], directory: &Path) -> String {
    let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
    let directory = directory.to_str().unwrap().to_owned();
    // The host of the test runs in this process.
    let run = move || {
        let mut all: Vec<_> = arguments.iter().map(String::as_str).collect();
        all.extend(["--data-dir", &directory]);
        crate::run(&all, b"")
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

async fn create(directory: &Path, session: &str) {
    let mut client = connect(directory, session).await;
    let create: CreateSessionParams =
        wire::from_str(&json!({"channel": session}).to_string()).unwrap();
    client.request(create).await.unwrap();
    client.subscribe(&Uri::from(session)).await.unwrap();
}

async fn has_session(directory: &Path, session: &str) -> bool {
    let mut client = connect(directory, "reader").await;
    let session = Uri::from(session);
    client.subscribe(&session).await.is_ok()
        && matches!(
            client.confirmed_state(&session),
            Some(ChannelState::Session(_))
        )
}

/// A backup of a running host is restored in another directory, with the sessions of that moment.
#[tokio::test]
async fn a_backup_of_a_running_host_is_restored() {
    let parent = tempfile::tempdir().unwrap();
    let (data, copy) = (parent.path().join("data"), parent.path().join("copy"));
    let file = parent.path().join("backup");
    let name = file.to_str().unwrap();
    let server = start(&data).await;
    create(&data, SESSION).await;
    let written = agenthost(&["backup", name], &data).await;
    assert!(written.contains("keep it private"), "{written}");
    assert!(written.ends_with("exit code 0\n"), "{written}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    create(&data, "ahp-session:/later").await;
    let again = agenthost(&["backup", name], &data).await;
    assert!(
        again.contains("exists\nhint: choose another name"),
        "{again}"
    );
    let used = agenthost(&["restore-backup", name, "--force"], &data).await;
    assert!(used.contains("hint: `agenthost stop` stops it"), "{used}");
    server.stop().await.unwrap();

    let restored = agenthost(&["restore-backup", name], &copy).await;
    assert!(restored.ends_with("exit code 0\n"), "{restored}");
    for path in ["", "agenthost.db", "token"] {
        let mode = copy.join(path).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path}");
    }
    let server = start(&copy).await;
    assert!(has_session(&copy, SESSION).await);
    assert!(!has_session(&copy, "ahp-session:/later").await);
    server.stop().await.unwrap();

    let refused = agenthost(&["restore-backup", name], &data).await;
    assert!(
        refused.contains("is not empty\nhint: `--force`"),
        "{refused}"
    );
    let forced = agenthost(&["restore-backup", name, "--force"], &data).await;
    assert!(forced.contains("the previous data is in"), "{forced}");
    assert!(
        parent
            .path()
            .join("data.before-restore-1")
            .join("agenthost.db")
            .exists()
    );
}

/// A file that was truncated, altered or is no backup changes nothing.
#[tokio::test]
async fn a_damaged_backup_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let file = parent.path().join("backup");
    let server = start(&data).await;
    create(&data, SESSION).await;
    agenthost(&["backup", file.to_str().unwrap()], &data).await;
    server.stop().await.unwrap();
    let whole = std::fs::read(&file).unwrap();
    let middle = whole.len() / 2;
    let mut altered = whole.clone();
    // A single bit may be one that the compression does not use.
    for byte in &mut altered[middle..middle + 16] {
        *byte = !*byte;
    }
    let damaged = [
        altered,
        whole[..middle].to_vec(),
        whole[..whole.len() - 100].to_vec(),
        b"something else".to_vec(),
        Vec::new(),
    ];
    let list = || {
        let entries = std::fs::read_dir(parent.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = list();
    for bytes in damaged {
        std::fs::write(&file, bytes).unwrap();
        let refused = agenthost(
            &["restore-backup", file.to_str().unwrap(), "--force"],
            &data,
        )
        .await;
        assert!(refused.contains("; nothing was changed: "), "{refused}");
        assert!(refused.ends_with("exit code 1\n"), "{refused}");
        assert_eq!(list(), before);
    }
    let server = start(&data).await;
    assert!(has_session(&data, SESSION).await);
    server.stop().await.unwrap();
}

/// The deep check works on a running host, and names the damaged rows.
#[tokio::test]
async fn a_deep_check_names_damage() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let server = start(&data).await;
    create(&data, SESSION).await;
    let checked = agenthost(&["doctor", "--deep"], &data).await;
    assert!(checked.contains("ok      deep check     "), "{checked}");
    assert!(
        checked.contains("of 1 sessions and 0 stored contents are intact"),
        "{checked}"
    );
    server.stop().await.unwrap();
    let database = data.join("agenthost.db");
    let before = std::fs::read(&database).unwrap();
    let checked = agenthost(&["doctor", "--deep"], &data).await;
    assert!(checked.contains("ok      deep check     "), "{checked}");
    assert!(!data.join("agenthost.db-wal").exists());
    assert!(std::fs::read(&database).unwrap() == before);
    let mut bytes = std::fs::read(&database).unwrap();
    let last = bytes.len() - 4_096;
    bytes[last..].fill(0xa5);
    std::fs::write(&database, bytes).unwrap();
    let checked = agenthost(&["doctor", "--deep"], &data).await;
    assert!(checked.contains("problem d"), "{checked}");
    assert!(
        checked.contains("`agenthost restore-backup`") || checked.contains("restore a backup"),
        "{checked}"
    );
}
