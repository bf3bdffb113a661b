//! Tests that nothing leads out of a granted folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::resource::{
    ResourceCopyParams, ResourceDeleteParams, ResourceListParams, ResourceMkdirParams,
    ResourceMoveParams, ResourceResolveParams,
};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{FileError, uri_of};
use serde_json::json;

use crate::files::{Disk, params};

fn denied<T: std::fmt::Debug>(result: Result<T, FileError>) {
    assert!(
        matches!(result, Err(FileError::NotGranted { .. })),
        "{result:?}"
    );
}

/// SEC-2: no path, link or name can be used to read, write, list, create, copy, move or delete
/// something outside of a granted folder.
#[test]
fn no_path_or_link_escapes_a_granted_folder() {
    let disk = Disk::new();
    let secret = disk.outside.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, disk.path("link")).unwrap();
    symlink(disk.outside.path(), disk.path("folder")).unwrap();
    symlink("..", disk.path("up")).unwrap();
    symlink("/", disk.path("top")).unwrap();
    fs::write(disk.path("own"), "own").unwrap();
    let root = disk.roots[0].uri.to_string();
    let outside = disk.outside.path().file_name().unwrap().to_str().unwrap();
    let ways = [
        uri_of(&secret).unwrap(),
        disk.uri("link"),
        disk.uri("folder/secret"),
        disk.uri(&format!("up/{outside}/secret")),
        Uri::from(format!("{root}/../{outside}/secret")),
        Uri::from(format!("{root}/%2e%2e/{outside}/secret")),
        Uri::from(format!("{root}/x/../../{outside}/secret")),
        Uri::from(format!("{root}-beside/secret")),
        Uri::from(format!("{root}/top{}", secret.display())),
        Uri::from("file:///etc/passwd"),
        Uri::from("file:///proc/self/environ"),
    ];
    for way in &ways {
        denied(disk.read(way));
        denied(disk.write(way, json!({})));
        let resolve: ResourceResolveParams = params(json!({"uri": way}));
        denied(disk.files.resolve(&disk.roots, &resolve));
        let copy: ResourceCopyParams =
            params(json!({"source": way, "destination": disk.uri("stolen")}));
        denied(disk.files.copy(&disk.roots, &copy));
        let made = Uri::from(format!("{way}-made"));
        // A new name beside a link is inside the folder.
        if way.as_str().ends_with("/link") {
            continue;
        }
        let mkdir: ResourceMkdirParams = params(json!({"uri": made}));
        denied(disk.files.make_directory(&disk.roots, &mkdir));
        denied(disk.write(&made, json!({})));
        let rename: ResourceMoveParams =
            params(json!({"source": disk.uri("own"), "destination": made}));
        denied(disk.files.r#move(&disk.roots, &rename));
        let delete: ResourceDeleteParams = params(json!({"uri": way, "recursive": true}));
        denied(disk.files.delete(&disk.roots, &delete));
    }
    for folder in ["folder", "up", "top"] {
        let list: ResourceListParams = params(json!({"uri": disk.uri(folder)}));
        denied(disk.files.list(&disk.roots, &list));
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::read_dir(disk.outside.path()).unwrap().count(), 1);
    assert!(!disk.path("stolen").exists());
}

/// Read access does not include write access, and access to a file does not include its folder.
#[test]
fn a_grant_covers_only_its_file_and_access() {
    let mut disk = Disk::new();
    fs::write(disk.path("one"), "1").unwrap();
    fs::write(disk.path("two"), "2").unwrap();
    disk.roots = vec![GrantedRoot {
        uri: disk.uri("one"),
        access: FileAccess::Read,
    }];
    assert_eq!(disk.read(&disk.uri("one")), Ok("1".to_owned()));
    denied(disk.write(&disk.uri("one"), json!({})));
    denied(disk.read(&disk.uri("two")));
    denied(
        disk.read(&disk.uri("one/below"))
            .map_err(|error| match error {
                FileError::NotFound(uri) => FileError::NotGranted {
                    uri,
                    access: FileAccess::Read,
                },
                other => other,
            }),
    );
    disk.roots.clear();
    denied(disk.read(&disk.uri("one")));
}

/// While files are read and written through a folder, another thread keeps replacing the folder by
/// a link. What is outside is never read or changed.
#[test]
fn no_symlink_race_escapes_a_granted_folder() {
    let disk = Disk::new();
    let secret = disk.outside.path().join("file");
    fs::write(&secret, "secret").unwrap();
    fs::create_dir(disk.path("real")).unwrap();
    fs::write(disk.path("real/file"), "own").unwrap();
    let stop = AtomicBool::new(false);
    let (mut read, mut denied) = (0, 0);
    std::thread::scope(|scope| {
        let (disk, stop) = (&disk, &stop);
        scope.spawn(move || {
            let swap = disk.path("swap");
            while !stop.load(Ordering::Relaxed) {
                // The writing thread creates the folder if there is none at that moment, perhaps
                // again while it is removed here.
                if symlink(disk.outside.path(), &swap).is_err() {
                    fs::remove_dir_all(&swap).unwrap_or_default();
                    continue;
                }
                fs::remove_file(&swap).unwrap();
                if fs::rename(disk.path("real"), &swap).is_err() {
                    continue;
                }
                fs::rename(&swap, disk.path("real")).unwrap();
            }
        });
        let uri = disk.uri("swap/file");
        for round in 0..10_000 {
            match disk.read(&uri) {
                Ok(content) => {
                    assert_ne!(content, "secret", "in round {round}");
                    read += 1;
                }
                Err(FileError::NotGranted { .. }) => denied += 1,
                Err(_) => {}
            }
            let written = disk.write(&uri, json!({"data": "own"}));
            drop(written);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::read_dir(disk.outside.path()).unwrap().count(), 1);
    // If the folder was never there, nothing was tested.
    assert!(read + denied > 0, "read {read}, denied {denied}");
}
