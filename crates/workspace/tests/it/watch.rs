//! What changes in a folder is told, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use agenthost_core::Failure;
use agenthost_protocol::resource::{ResourceChange, ResourceChangeType, ResourceWatchState};
use agenthost_protocol::wire::{self, Json};
use agenthost_workspace::Watch;
use serde_json::json;

use crate::files::Disk;

type Told = Receiver<Vec<ResourceChange>>;

fn begin(disk: &Disk, name: &str, more: Json) -> Result<(Watch, Told), Failure> {
    let mut watch = json!({"root": disk.uri(name), "recursive": false});
    watch
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let watch: ResourceWatchState = wire::from_str(&watch.to_string()).unwrap();
    let (tell, told) = channel();
    let watch = Watch::begin(&disk.roots, &watch, move |changes| drop(tell.send(changes)))?;
    Ok((watch, told))
}

/// What was told until a file was named: the last word on each.
fn until(disk: &Disk, told: &Told, last: &str) -> BTreeMap<String, ResourceChangeType> {
    let mut all = BTreeMap::new();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !all.contains_key(last) {
        let left = deadline.saturating_duration_since(Instant::now());
        let changes = told
            .recv_timeout(left)
            .unwrap_or_else(|_| panic!("{last} not in {all:?}"));
        assert!(!changes.is_empty(), "never nothing (WAT-4)");
        for change in changes {
            let root = disk.roots[0].uri.as_str();
            let name = change.uri.as_str().strip_prefix(root).unwrap();
            let name = name.trim_start_matches('/').to_owned();
            // On a busy machine a new file and its content may be told apart.
            let new = all.get(&name) == Some(&ResourceChangeType::Added)
                && change.r#type == ResourceChangeType::Updated;
            if !new {
                all.insert(name, change.r#type);
            }
        }
    }
    all
}

/// WAT-3, WAT-4.
#[test]
fn changes_are_told() {
    use ResourceChangeType::{Added, Deleted, Updated};
    let disk = Disk::new();
    fs::create_dir(disk.path("deep")).unwrap();
    fs::write(disk.path("old"), "").unwrap();
    fs::write(disk.path("gone"), "").unwrap();
    fs::write(disk.path("moved"), "").unwrap();
    let (_all, all) = begin(&disk, "", json!({"recursive": true})).unwrap();
    let (_flat, flat) = begin(&disk, "", json!({})).unwrap();
    fs::write(disk.path("new"), "1").unwrap();
    fs::write(disk.path("old"), "2").unwrap();
    fs::remove_file(disk.path("gone")).unwrap();
    fs::rename(disk.path("moved"), disk.path("there")).unwrap();
    fs::write(disk.path("deep/below"), "3").unwrap();
    fs::write(disk.path("last"), "4").unwrap();
    let expected = [
        ("deep/below", Added),
        ("gone", Deleted),
        ("last", Added),
        ("moved", Deleted),
        ("new", Added),
        ("old", Updated),
        ("there", Added),
    ];
    let named = |changes: BTreeMap<String, ResourceChangeType>| -> Vec<_> {
        let known = |name: &String| expected.iter().any(|(other, _)| other == name);
        changes
            .into_iter()
            .filter(|(name, _)| known(name))
            .collect()
    };
    let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
    assert_eq!(named(until(&disk, &all, "last")), expected);
    let flat = named(until(&disk, &flat, "last"));
    assert_eq!(flat, &expected[1..], "what is below is not watched");
}

/// A file that is replaced is the same file; patterns leave out what they name.
#[test]
fn what_is_not_wanted_is_not_told() {
    let disk = Disk::new();
    fs::write(disk.path("one"), "").unwrap();
    let (_one, one) = begin(&disk, "one", json!({})).unwrap();
    let some = json!({
        "recursive": true, "excludes": {"items": ["node_modules", "*.tmp"]},
        "includes": {"items": ["**/*.rs", "*.rs", "last"]},
    });
    let (_some, some) = begin(&disk, "", some).unwrap();
    fs::create_dir(disk.path("node_modules")).unwrap();
    fs::write(disk.path("node_modules/a.rs"), "").unwrap();
    fs::write(disk.path("b.tmp"), "").unwrap();
    fs::write(disk.path("c.txt"), "").unwrap();
    fs::write(disk.path("d.rs"), "").unwrap();
    fs::write(disk.path("next"), "new").unwrap();
    fs::rename(disk.path("next"), disk.path("one")).unwrap();
    fs::write(disk.path("last"), "").unwrap();
    let told: Vec<_> = until(&disk, &some, "last").into_keys().collect();
    assert_eq!(told, ["d.rs", "last"]);
    let told: Vec<_> = until(&disk, &one, "one").into_keys().collect();
    assert_eq!(told, ["one"]);
}

/// Nobody watches what nobody may see; and a watch that is dropped is over.
#[test]
fn a_watch_stays_inside() {
    let disk = Disk::new();
    symlink(disk.outside.path(), disk.path("out")).unwrap();
    let refused = begin(&disk, "out", json!({"recursive": true}));
    assert!(
        matches!(refused, Err(Failure::NotGranted { .. })),
        "{refused:?}"
    );
    let missing = begin(&disk, "none", json!({}));
    assert!(
        matches!(missing, Err(Failure::UnknownChannel(_))),
        "{missing:?}"
    );
    let bad = begin(&disk, "", json!({"excludes": {"items": ["[a"]}}));
    assert!(matches!(bad, Err(Failure::InvalidParams(_))), "{bad:?}");
    let (watch, told) = begin(&disk, "", json!({"recursive": true})).unwrap();
    fs::write(disk.outside.path().join("secret"), "").unwrap();
    fs::write(disk.path("last"), "").unwrap();
    let names: Vec<_> = until(&disk, &told, "last").into_keys().collect();
    assert_eq!(names, ["last"], "links are not followed");
    drop(watch);
    fs::write(disk.path("later"), "").unwrap();
    assert!(told.recv_timeout(Duration::from_secs(10)).is_err());
}
