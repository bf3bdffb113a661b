//! The host's own files: clients can't access them, and temporary ones are removed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agenthost_server::{CustomizationsConfig, ServerConfig, serve};
use serde_json::json;

use crate::peer::Peer;
use crate::test_server::config;

#[tokio::test]
async fn a_session_cannot_access_the_data_directory_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let log = folder.path().join("secret-key");
    fs::write(&log, "").unwrap();
    let server = serve(ServerConfig {
        secrets: vec![log],
        ..config(&data)
    });
    let server = server.await.unwrap();
    symlink("data", folder.path().join("link")).unwrap();
    symlink("data/token", folder.path().join("token-link")).unwrap();
    fs::write(folder.path().join("other"), "1").unwrap();
    let mut peer = Peer::join(&server, "a").await;
    peer.open(folder.path()).await;
    let at = |name: &str| format!("file://{}/{name}", folder.path().display());
    for name in [
        "data/token",
        "link/token",
        "token-link",
        "data/host.json",
        "secret-key",
    ] {
        let params = json!({"channel": "ahp-root://", "uri": at(name)});
        let refused = peer.request("resourceRead", params).await.unwrap_err();
        assert_eq!(refused["code"], -32009, "{name}: {refused}");
    }
    for method in ["resourceList", "createResourceWatch"] {
        for name in ["data", "link"] {
            let params = json!({"channel": "ahp-root://", "uri": at(name)});
            let refused = peer.request(method, params).await.unwrap_err();
            assert_eq!(refused["code"], -32009, "{method} {name}: {refused}");
        }
    }
    let params = json!({"channel": "ahp-root://", "uri": at("other")});
    let read = peer.request("resourceRead", params).await.unwrap();
    assert_eq!(read["data"], "1");
    server.stop().await.unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[tokio::test]
async fn temporary_directories_of_a_killed_host_are_removed() {
    let data = tempfile::tempdir().unwrap();
    let with_tools = || ServerConfig {
        customizations: Some(CustomizationsConfig::default()),
        ..config(data.path())
    };
    let temporary = data.path().join("tmp");
    let server = serve(with_tools()).await.unwrap();
    let gateway = names(&temporary);
    assert_eq!(gateway.len(), 1, "the socket of the gateway: {gateway:?}");
    server.stop().await.unwrap();
    // A directory as a killed host leaves it behind.
    fs::create_dir_all(temporary.join("agenthost-killed")).unwrap();
    fs::write(temporary.join("agenthost-killed/tools"), "").unwrap();
    let server = serve(with_tools()).await.unwrap();
    let now = names(&temporary);
    assert!(!now.contains(&"agenthost-killed".to_owned()), "{now:?}");
    server.stop().await.unwrap();
    assert_eq!(names(&temporary), [""; 0]);
}
