//! Files that a host writes to directories which other users can write to:
//! what another user planted there is neither followed nor reused.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use agenthost_server::{ServerConfig, WireLogConfig, serve};

use crate::test_server::{config, start};

/// Gives a file to another user. Only root can: returns whether it worked.
fn give_away(path: &Path) -> bool {
    let given = std::os::unix::fs::lchown(path, Some(65_534), Some(65_534)).is_ok();
    if !given {
        #[expect(clippy::print_stderr, reason = "a person reads why a test was skipped")]
        {
            eprintln!("skipped: only root can give files to other users");
        }
    }
    given
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn make_fifo(path: &Path) {
    let mode = nix::sys::stat::Mode::from_bits_truncate(0o666);
    nix::unistd::mkfifo(path, mode).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

#[tokio::test]
async fn a_ready_file_follows_no_link_and_leaks_no_token() {
    let shared = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let ready = shared.path().join("ready.json");
    let victim = shared.path().join("victim");
    fs::write(&victim, "victim").unwrap();
    chmod(&victim, 0o666);
    // The name that a temporary file had once, and the name itself.
    symlink(&victim, shared.path().join("ready.new")).unwrap();
    symlink(&victim, &ready).unwrap();
    server.write_ready_file(&ready).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "victim");
    assert!(ready.symlink_metadata().unwrap().is_file());
    assert_eq!(mode(&ready), 0o600);

    // A file of another user, who still has it open.
    fs::remove_file(&ready).unwrap();
    fs::write(&ready, "theirs").unwrap();
    chmod(&ready, 0o666);
    give_away(&ready);
    let mut open = fs::File::open(&ready).unwrap();
    server.write_ready_file(&ready).unwrap();
    let seen = std::io::read_to_string(&mut open).unwrap();
    assert!(!seen.contains(&server.token));
    let written = fs::read_to_string(&ready).unwrap();
    assert!(written.contains(&server.token));
    assert_eq!(mode(&ready), 0o600);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_ready_file_does_not_wait_for_the_reader_of_a_fifo() {
    let shared = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path()).await;
    let ready = shared.path().join("ready.json");
    make_fifo(&ready);
    make_fifo(&shared.path().join("ready.new"));
    let path = ready.clone();
    let written = tokio::task::spawn_blocking(move || {
        server.write_ready_file(&path).unwrap();
        server
    });
    let written = tokio::time::timeout(std::time::Duration::from_secs(20), written);
    let server = match written.await {
        Ok(server) => server.unwrap(),
        Err(_) => {
            // Ends the thread that waits.
            drop(fs::File::open(shared.path().join("ready.new")));
            panic!("it waits for a reader");
        }
    };
    assert!(ready.symlink_metadata().unwrap().is_file());
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_wire_log_of_another_user_is_rejected() {
    let shared = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let path = shared.path().join("wire.jsonl");
    let with_log = || ServerConfig {
        wire_log: Some(WireLogConfig {
            path: path.clone(),
            contents: true,
        }),
        ..config(data.path())
    };
    let refused = async |reason: &str| {
        let error = serve(with_log()).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.starts_with("wire log `"), "{error}");
    };
    let victim = shared.path().join("victim");
    fs::write(&victim, "victim").unwrap();
    chmod(&victim, 0o600);
    symlink(&victim, &path).unwrap();
    refused("it is not a regular file").await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), "victim");
    fs::remove_file(&path).unwrap();

    make_fifo(&path);
    refused("it is not a regular file").await;
    fs::remove_file(&path).unwrap();

    fs::write(&path, "").unwrap();
    chmod(&path, 0o666);
    refused("other users have access to it (mode 666)\nhint: run `chmod 600` on it").await;
    chmod(&path, 0o600);
    serve(with_log()).await.unwrap().stop().await.unwrap();
    if give_away(&path) {
        refused("it belongs to user 65534, not to user 0").await;
    }
}

#[tokio::test]
async fn a_data_directory_of_another_user_is_rejected() {
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    fs::create_dir(&data).unwrap();
    let refused = async |reason: &str| {
        let error = serve(config(&data)).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "nothing is in it");
    };
    chmod(&data, 0o777);
    refused("other users have access to it (mode 777)\nhint: run `chmod 700` on it").await;
    chmod(&data, 0o700);
    if give_away(&data) {
        refused("it belongs to user 65534, not to user 0").await;
    }
    fs::remove_dir(&data).unwrap();
    fs::create_dir(&data).unwrap();
    chmod(&data, 0o755);
    serve(config(&data)).await.unwrap().stop().await.unwrap();
    assert_eq!(mode(&data), 0o700);
}

#[tokio::test]
async fn a_token_readable_by_others_is_rejected() {
    let data = tempfile::tempdir().unwrap();
    let token = data.path().join("token");
    let planted = data.path().join("planted");
    fs::write(&planted, "0".repeat(64)).unwrap();
    let refused = async || {
        let error = serve(config(data.path())).await.unwrap_err().to_string();
        assert!(
            error.starts_with("token in the data directory: "),
            "{error}"
        );
    };
    symlink(&planted, &token).unwrap();
    refused().await;
    fs::remove_file(&token).unwrap();
    fs::write(&token, "0".repeat(64)).unwrap();
    chmod(&token, 0o644);
    refused().await;
    chmod(&token, 0o600);
    serve(config(data.path()))
        .await
        .unwrap()
        .stop()
        .await
        .unwrap();
    if give_away(&token) {
        refused().await;
    }
}

#[tokio::test]
async fn a_socket_replaces_only_its_own_socket() {
    let shared = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let path = shared.path().join("host.sock");
    let on_socket = || ServerConfig {
        listen: None,
        socket: Some(path.clone()),
        ..ServerConfig::new(data.path())
    };
    let victim = shared.path().join("victim");
    drop(std::os::unix::net::UnixListener::bind(&victim).unwrap());
    symlink(&victim, &path).unwrap();
    let error = serve(on_socket()).await.unwrap_err().to_string();
    assert!(error.contains("it is not a socket"), "{error}");
    fs::remove_file(&path).unwrap();

    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    if give_away(&path) {
        let error = serve(on_socket()).await.unwrap_err().to_string();
        assert!(error.contains("it belongs to user 65534"), "{error}");
        assert!(path.symlink_metadata().is_ok());
        fs::remove_file(&path).unwrap();
    }
    let server = serve(on_socket()).await.unwrap();
    assert_eq!(mode(&path), 0o600);
    // Another file at the path by the time that the host stops.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "other").unwrap();
    server.stop().await.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "other");
}
