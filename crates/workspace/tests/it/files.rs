//! Tests for reading and changing files, and for the errors.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::resource::{
    ContentEncoding, ResourceCopyParams, ResourceDeleteParams, ResourceListParams,
    ResourceMkdirParams, ResourceMoveParams, ResourceReadParams, ResourceResolveParams,
    ResourceResolveResult, ResourceType, ResourceWriteParams,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Wire};
use agenthost_workspace::{FileError, FileService, MAX_FILE_BYTES, ProtectedPaths, uri_of};
use serde_json::json;
use tempfile::TempDir;

/// A folder that is granted, and one beside it that is not.
pub(crate) struct Disk {
    pub(crate) inside: TempDir,
    pub(crate) outside: TempDir,
    pub(crate) files: FileService,
    pub(crate) roots: Vec<GrantedRoot>,
    pub(crate) protected: ProtectedPaths,
}

impl Disk {
    pub(crate) fn new() -> Self {
        let inside = TempDir::new().unwrap();
        let roots = vec![GrantedRoot {
            uri: uri_of(inside.path()).unwrap(),
            access: FileAccess::Write,
        }];
        Disk {
            inside,
            outside: TempDir::new().unwrap(),
            files: FileService::default(),
            roots,
            protected: ProtectedPaths::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.inside.path().join(name)
    }

    pub(crate) fn uri(&self, name: &str) -> Uri {
        uri_of(&self.path(name)).unwrap()
    }

    fn create_file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, uri: &Uri) -> Result<String, FileError> {
        let params: ResourceReadParams = params(json!({"uri": uri}));
        self.files.read(&self.roots, &params).map(|read| read.data)
    }

    pub(crate) fn write(&self, uri: &Uri, more: Json) -> Result<(), FileError> {
        let mut all = json!({"uri": uri, "data": "new", "encoding": "utf-8"});
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let params: ResourceWriteParams = params(all);
        self.files.write(&self.roots, &params)
    }

    fn resolve(&self, name: &str, follow: bool) -> Result<ResourceResolveResult, FileError> {
        let params: ResourceResolveParams =
            params(json!({"uri": self.uri(name), "followSymlinks": follow}));
        self.files.resolve(&self.roots, &params)
    }
}

pub(crate) fn params<T: Wire>(mut json: Json) -> T {
    json["channel"] = json!("ahp-root://");
    wire::from_str(&json.to_string()).unwrap()
}

/// RES-2: text is returned as text, other bytes as base64, and the result names the encoding.
#[test]
fn a_file_is_read_as_text_or_base64() {
    let disk = Disk::new();
    disk.create_file("text", "grüße 🦀");
    fs::write(disk.path("bytes"), [0xff, 0x00, 0xfe]).unwrap();
    let read = |name: &str, encoding: Option<&str>| {
        let mut all = json!({"uri": disk.uri(name)});
        if let Some(encoding) = encoding {
            all["encoding"] = json!(encoding);
        }
        let result = disk.files.read(&disk.roots, &params(all)).unwrap();
        (result.data, result.encoding)
    };
    assert_eq!(
        read("text", None),
        ("grüße 🦀".to_owned(), ContentEncoding::Utf8)
    );
    assert_eq!(read("text", Some("base64")).1, ContentEncoding::Base64);
    let bytes = ("/wD+".to_owned(), ContentEncoding::Base64);
    assert_eq!(read("bytes", None), bytes);
    assert_eq!(
        read("bytes", Some("utf-8")),
        bytes,
        "not as asked, and it says so"
    );
}

/// Directories, pipes, devices and files that are too large are refused without blocking.
#[test]
fn special_and_oversized_files_are_rejected() {
    let disk = Disk::new();
    let kind = |found| {
        let uri = Uri::from("x");
        FileError::WrongKind {
            uri,
            found,
            expected: "a file",
        }
    };
    let without_uri = |error: FileError| match error {
        FileError::WrongKind {
            found, expected, ..
        } => FileError::WrongKind {
            uri: Uri::from("x"),
            found,
            expected,
        },
        other => other,
    };
    fs::create_dir(disk.path("folder")).unwrap();
    let read = disk.read(&disk.uri("folder")).map_err(without_uri);
    assert_eq!(read, Err(kind("a directory")));
    let made = std::process::Command::new("mkfifo")
        .arg(disk.path("pipe"))
        .status();
    if made.is_ok_and(|status| status.success()) {
        let read = disk.read(&disk.uri("pipe")).map_err(without_uri);
        assert_eq!(read, Err(kind("a device, a pipe or a socket")));
        let written = disk
            .write(&disk.uri("pipe"), json!({}))
            .map_err(without_uri);
        assert_eq!(written, Err(kind("a device, a pipe or a socket")));
    }
    // A sparse file of ten gigabytes.
    let huge = fs::File::create(disk.path("huge")).unwrap();
    huge.set_len(10_000_000_000).unwrap();
    let uri = disk.uri("huge");
    let size = 10_000_000_000;
    assert_eq!(disk.read(&uri), Err(FileError::TooLarge { uri, size }));
    let nothing = disk.uri("nothing");
    assert_eq!(
        disk.read(&nothing),
        Err(FileError::NotFound(nothing.clone()))
    );
    let below = disk.uri("huge/below");
    assert_eq!(disk.read(&below), Err(FileError::NotFound(below.clone())));
    for elsewhere in ["https://example/x", "virtual:/x", "file:relative"] {
        let uri = Uri::from(elsewhere);
        assert_eq!(disk.read(&uri), Err(FileError::NotLocal(uri.clone())));
    }
}

/// An append does not make a file larger than reads and writes allow.
#[test]
fn an_append_respects_the_limit() {
    let disk = Disk::new();
    disk.create_file("full", "");
    let file = fs::File::options().write(true).open(disk.path("full"));
    file.unwrap().set_len(16 * 1024 * 1024 - 1).unwrap();
    let append = json!({"mode": "append"});
    let refused = disk.write(&disk.uri("full"), append);
    assert!(
        matches!(refused, Err(FileError::TooLarge { .. })),
        "{refused:?}"
    );
}

/// RES-3: the modes and the position of a write, in bytes.
#[test]
fn a_write_respects_its_mode_and_position() {
    let disk = Disk::new();
    let cases = [
        (json!({}), "new"),
        (json!({"position": 2}), "olnew"),
        (json!({"mode": "truncate", "position": 3}), "oldnew"),
        (json!({"mode": "append"}), "oldnew"),
        (json!({"mode": "append", "position": 1}), "olnewd"),
        (json!({"mode": "insert"}), "newold"),
        (json!({"mode": "insert", "position": 1}), "onewld"),
        (json!({"data": "bmV3", "encoding": "base64"}), "new"),
    ];
    for (more, expected) in cases {
        disk.create_file("file", "old");
        disk.write(&disk.uri("file"), more.clone()).unwrap();
        assert_eq!(
            fs::read_to_string(disk.path("file")).unwrap(),
            expected,
            "{more}"
        );
    }
    disk.create_file("file", "old");
    for more in [
        json!({"mode": "insert", "position": 4}),
        json!({"mode": "append", "position": 4}),
        json!({"position": 4}),
        json!({"data": "no base64!", "encoding": "base64"}),
        json!({"position": u64::MAX}),
    ] {
        let refused = disk.write(&disk.uri("file"), more.clone());
        assert!(
            matches!(refused, Err(FileError::Invalid(_))),
            "{more}: {refused:?}"
        );
        assert_eq!(
            fs::read_to_string(disk.path("file")).unwrap(),
            "old",
            "{more}"
        );
    }
    disk.write(&disk.uri("made"), json!({"mode": "append"}))
        .unwrap();
    assert_eq!(fs::read_to_string(disk.path("made")).unwrap(), "new");
    // CUS-17: missing folders are created with their first file.
    disk.write(&disk.uri("no folder/yet/file"), json!({}))
        .unwrap();
    assert_eq!(
        fs::read_to_string(disk.path("no folder/yet/file")).unwrap(),
        "new"
    );
}

/// RES-5, RES-10: with `createOnly` or `ifMatch`, a write does not overwrite the changes of others.
#[test]
fn create_only_and_if_match_prevent_overwriting() {
    let disk = Disk::new();
    let path = disk.create_file("file", "old");
    let uri = disk.uri("file");
    let refused = disk.write(&uri, json!({"createOnly": true}));
    assert_eq!(refused, Err(FileError::Exists(uri.clone())));
    let etag = disk.resolve("file", true).unwrap().etag.unwrap();
    disk.write(&uri, json!({"ifMatch": etag})).unwrap();
    let refused = disk.write(&uri, json!({"ifMatch": etag, "data": "again"}));
    assert_eq!(refused, Err(FileError::Changed(uri.clone())));
    assert_eq!(fs::read_to_string(path).unwrap(), "new");
    let refused = disk.write(&disk.uri("none"), json!({"ifMatch": etag}));
    assert_eq!(refused, Err(FileError::Changed(disk.uri("none"))));
    disk.write(&disk.uri("none"), json!({"createOnly": true}))
        .unwrap();
}

/// A write replaces only the content: mode, links and other files are kept, and no temporary file
/// is left.
#[test]
fn a_write_keeps_mode_and_links_and_leaves_no_temporary_file() {
    let disk = Disk::new();
    let path = disk.create_file("script", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o754)).unwrap();
    symlink("script", disk.path("link")).unwrap();
    disk.write(&disk.uri("link"), json!({})).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o754
    );
    assert!(
        fs::symlink_metadata(disk.path("link"))
            .unwrap()
            .is_symlink()
    );
    let large = fs::File::create(disk.path("large")).unwrap();
    large.set_len(MAX_FILE_BYTES).unwrap();
    let refused = disk.write(&disk.uri("large"), json!({"mode": "insert"}));
    assert!(
        matches!(refused, Err(FileError::TooLarge { .. })),
        "{refused:?}"
    );
    let mut names: Vec<_> = fs::read_dir(disk.inside.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["large", "link", "script"]);
}

/// RES-4: concurrent appends do not lose data.
#[test]
fn concurrent_appends_lose_no_data() {
    let disk = Disk::new();
    disk.create_file("log", "");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let disk = &disk;
            scope.spawn(move || {
                for line in 0..100 {
                    let data = format!("{writer}:{line}\n");
                    // Half of the writes replace the whole file.
                    let more = match line % 2 {
                        0 => json!({"mode": "append", "data": data}),
                        _ => json!({"mode": "insert", "data": data}),
                    };
                    disk.write(&disk.uri("log"), more).unwrap();
                }
            });
        }
    });
    let log = fs::read_to_string(disk.path("log")).unwrap();
    let mut lines: Vec<_> = log.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 400);
}

/// RES-6 to RES-9, RES-11.
#[test]
fn files_are_listed_created_copied_moved_and_deleted() {
    let disk = Disk::new();
    disk.create_file("a/b/file", "x");
    disk.create_file("a/other", "y");
    symlink("b", disk.path("a/link")).unwrap();
    let list: ResourceListParams = params(json!({"uri": disk.uri("a")}));
    let list = disk.files.list(&disk.roots, &list).unwrap();
    let list: Vec<_> = list
        .entries
        .iter()
        .map(|e| (e.name.as_str(), e.r#type.as_str()))
        .collect();
    assert_eq!(
        list,
        [("b", "directory"), ("link", "directory"), ("other", "file")]
    );
    let not: ResourceListParams = params(json!({"uri": disk.uri("a/other")}));
    assert!(matches!(
        disk.files.list(&disk.roots, &not),
        Err(FileError::WrongKind { .. })
    ));

    let real = disk.resolve("a/link/file", true).unwrap();
    assert_eq!(
        (real.uri, real.r#type, real.size),
        (disk.uri("a/b/file"), ResourceType::File, Some(1))
    );
    let link = disk.resolve("a/link", false).unwrap();
    assert_eq!(
        (link.uri, link.r#type),
        (disk.uri("a/link"), ResourceType::Symlink)
    );
    assert_eq!(
        disk.resolve("a/none", true),
        Err(FileError::NotFound(disk.uri("a/none")))
    );

    let mkdir = |name: &str| {
        let params: ResourceMkdirParams = params(json!({"uri": disk.uri(name)}));
        disk.files.make_directory(&disk.roots, &params)
    };
    mkdir("x/y/z").unwrap();
    mkdir("x/y").unwrap();
    assert_eq!(
        mkdir("a/other"),
        Err(FileError::Exists(disk.uri("a/other")))
    );

    let copy = |from: &str, to: &str, strict: bool| {
        let params: ResourceCopyParams = params(
            json!({"source": disk.uri(from), "destination": disk.uri(to), "failIfExists": strict}),
        );
        disk.files.copy(&disk.roots, &params)
    };
    copy("a", "copy", true).unwrap();
    assert_eq!(fs::read_to_string(disk.path("copy/b/file")).unwrap(), "x");
    assert!(!disk.path("copy/link").exists());
    assert_eq!(
        copy("a/other", "copy/other", true),
        Err(FileError::Exists(disk.uri("copy/other")))
    );
    copy("a/b/file", "copy/other", false).unwrap();
    assert_eq!(fs::read_to_string(disk.path("copy/other")).unwrap(), "x");
    assert!(matches!(
        copy("a", "a/b/a", false),
        Err(FileError::Invalid(_))
    ));
    assert!(matches!(
        copy("a/other", "copy", false),
        Err(FileError::WrongKind { .. })
    ));

    let rename = |from: &str, to: &str, strict: bool| {
        let params: ResourceMoveParams = params(
            json!({"source": disk.uri(from), "destination": disk.uri(to), "failIfExists": strict}),
        );
        disk.files.r#move(&disk.roots, &params)
    };
    rename("copy", "moved", false).unwrap();
    assert!(!disk.path("copy").exists() && disk.path("moved/b/file").exists());
    assert_eq!(
        rename("a/other", "moved/other", true),
        Err(FileError::Exists(disk.uri("moved/other")))
    );
    assert_eq!(
        rename("none", "x/none", false),
        Err(FileError::NotFound(disk.uri("none")))
    );

    let delete = |name: &str, recursive: bool| {
        let params: ResourceDeleteParams =
            params(json!({"uri": disk.uri(name), "recursive": recursive}));
        disk.files.delete(&disk.roots, &params)
    };
    assert_eq!(
        delete("moved", false),
        Err(FileError::NotEmpty(disk.uri("moved")))
    );
    delete("moved", true).unwrap();
    delete("a/link", true).unwrap();
    assert!(
        disk.path("a/b/file").exists(),
        "a link goes, not what it points to"
    );
    assert_eq!(
        delete("a/link", false),
        Err(FileError::NotFound(disk.uri("a/link")))
    );
    let root = disk.roots[0].uri.clone();
    let refused: ResourceDeleteParams = params(json!({"uri": root, "recursive": true}));
    let refused = disk.files.delete(&disk.roots, &refused);
    assert!(matches!(refused, Err(FileError::NotGranted { .. })));
}

/// Copying a file onto itself, by any name, leaves it as it is.
#[test]
fn a_file_is_not_lost_by_copying_it_onto_itself() {
    let disk = Disk::new();
    fs::write(disk.path("a"), "text").unwrap();
    fs::hard_link(disk.path("a"), disk.path("hard")).unwrap();
    symlink("a", disk.path("soft")).unwrap();
    for (from, to) in [
        ("a", "a"),
        ("a", "hard"),
        ("hard", "a"),
        ("soft", "a"),
        ("a", "soft"),
    ] {
        let json = json!({"source": disk.uri(from), "destination": disk.uri(to)});
        let copy: ResourceCopyParams = params(json);
        disk.files.copy(&disk.roots, &copy).unwrap();
        assert_eq!(
            fs::read_to_string(disk.path("a")).unwrap(),
            "text",
            "{from} to {to}"
        );
    }
}

/// Finding 6: a file URI is recognized in any encoding. VS Code encodes all but letters, digits and
/// `-_.~/`.
#[test]
fn file_uris_are_recognized_in_every_encoding() {
    let disk = Disk::new();
    let name = "ü + (1) @'#?&=%.txt";
    let folder = uri_of(disk.inside.path()).unwrap();
    let full = "%C3%BC%20%2B%20%281%29%20%40%27%23%3F%26%3D%25.txt";
    let sparse = "ü%20+%20(1)%20@'%23%3F&=%25%2Etxt";
    assert_eq!(disk.uri(name).as_str(), format!("{folder}/{full}"));
    for spelled in [full, sparse] {
        let uri = Uri::from(format!("{folder}/{spelled}"));
        disk.write(&uri, json!({})).unwrap();
        assert_eq!(fs::read_to_string(disk.path(name)).unwrap(), "new");
        assert_eq!(disk.read(&uri).unwrap(), "new");
        let resolve: ResourceResolveParams = params(json!({"uri": uri}));
        let found = disk.files.resolve(&disk.roots, &resolve).unwrap();
        assert_eq!(found.uri, disk.uri(name));
        let copy = Uri::from(format!("{folder}/copy%20of%20{spelled}"));
        let moves: ResourceMoveParams =
            params(json!({"source": uri, "destination": copy, "failIfExists": false}));
        disk.files.r#move(&disk.roots, &moves).unwrap();
        assert!(disk.path(&format!("copy of {name}")).exists());
        let delete: ResourceDeleteParams = params(json!({"uri": copy, "recursive": false}));
        disk.files.delete(&disk.roots, &delete).unwrap();
        assert!(!disk.path(&format!("copy of {name}")).exists());
    }
    // The URI of the granted folder may be encoded in another way, too.
    fs::create_dir(disk.path("a+b")).unwrap();
    fs::write(disk.path("a+b/x"), "there").unwrap();
    for granted in ["a+b", "a%2Bb"] {
        let roots = vec![GrantedRoot {
            uri: Uri::from(format!("{folder}/{granted}")),
            access: FileAccess::Read,
        }];
        for asked in ["a+b/x", "a%2Bb/x", "a%2bb%2Fx"] {
            let uri = format!("{folder}/{asked}");
            let read: ResourceReadParams = params(json!({"uri": uri}));
            assert_eq!(disk.files.read(&roots, &read).unwrap().data, "there");
        }
    }
}
