//! Plugins that are fetched from repositories and archives.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use agenthost_customizations::fetch::{ArchiveLocation, PluginSource, fetch};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

fn tar(path: &Path, entries: &[(&str, &str)]) {
    let file = GzEncoder::new(std::fs::File::create(path).unwrap(), Compression::fast());
    let mut archive = tar::Builder::new(file);
    for (name, text) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        // Written into the header directly, as the `tar` crate rejects names such as `../x`.
        let bytes = header.as_gnu_mut().unwrap();
        bytes.name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap();
}

fn archive(path: &Path) -> PluginSource {
    PluginSource::Archive(ArchiveLocation::Path(path.to_owned()))
}

#[test]
fn an_archive_is_unpacked_and_replaced_atomically() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.tar.gz");
    let data = folder.path().join("data");
    tar(
        &path,
        &[("x-1.0/plugin.json", "{}"), ("x-1.0/skills/a.md", "A.")],
    );
    let there = fetch(&archive(&path), &data).unwrap();
    assert_eq!(
        std::fs::read_to_string(there.join("skills/a.md")).unwrap(),
        "A."
    );
    // An invalid archive changes nothing.
    for bad in ["../x", "/x", "a/../../x", "a\\b"] {
        tar(&path, &[("plugin.json", "{}"), (bad, "x")]);
        let error = fetch(&archive(&path), &data).unwrap_err().to_string();
        assert!(error.contains("is outside of it"), "{bad}: {error}");
    }
    std::fs::write(&path, "nonsense").unwrap();
    assert!(fetch(&archive(&path), &data).is_err());
    assert!(there.join("skills/a.md").exists());
    tar(&path, &[("plugin.json", "{}")]);
    assert_eq!(fetch(&archive(&path), &data).unwrap(), there);
    assert!(!there.join("skills/a.md").exists());
    let left = there.parent().unwrap().read_dir().unwrap().count();
    assert_eq!(left, 1, "nothing else is left");
}

/// A compressed archive of 64 KiB can contain 64 MiB of zeros, which the tar reader would buffer as
/// the name of one file.
#[test]
fn a_rejected_archive_leaves_the_fetched_plugin_unchanged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.tar.gz");
    let data = folder.path().join("data");
    tar(&path, &[("plugin.json", "{}"), ("skills/a.md", "A.")]);
    let there = fetch(&archive(&path), &data).unwrap();
    for (kind, expected) in [
        (
            tar::EntryType::GNULongName,
            "unpack the archive: a name in it is longer than 4096 bytes",
        ),
        (
            tar::EntryType::XHeader,
            "unpack the archive: a pax header in it is longer than 65536 bytes",
        ),
    ] {
        let file = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
        let mut hostile = tar::Builder::new(file);
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(64 * 1024 * 1024);
        header.set_cksum();
        let zeros = std::io::repeat(0).take(64 * 1024 * 1024);
        hostile.append(&header, zeros).unwrap();
        hostile.into_inner().unwrap().finish().unwrap();
        let error = fetch(&archive(&path), &data).unwrap_err().to_string();
        assert_eq!(error, expected);
        assert!(there.join("skills/a.md").exists());
    }
}

#[test]
fn a_zip_file_is_unpacked_unless_it_is_too_large() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.zip");
    let data = folder.path().join("data");
    let write = |entries: &[(&str, usize)]| {
        let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        for (name, size) in entries {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(*name, options).unwrap();
            archive.write_all(&vec![b'x'; *size]).unwrap();
        }
        archive.finish().unwrap();
    };
    write(&[("skills/a.md", 3)]);
    let there = fetch(&archive(&path), &data).unwrap();
    assert!(there.join("skills/a.md").exists());
    write(&[("a.md", 9 * 1024 * 1024)]);
    let error = fetch(&archive(&path), &data).unwrap_err().to_string();
    assert_eq!(error, "unpack the archive: its content is too large");
}

#[test]
fn a_repository_is_cloned() {
    let folder = TempDir::new().unwrap();
    let repository = folder.path().join("repository");
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "user.name=x", "-c", "user.email=x@x", "-C"])
            .arg(&repository)
            .args(arguments)
            .status();
        assert!(status.unwrap().success());
    };
    std::fs::create_dir(&repository).unwrap();
    git(&["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(repository.join("plugin.json"), "{}").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=x"]);
    git(&["tag", "v1"]);
    let source = |reference: Option<&str>| PluginSource::Git {
        url: format!("file://{}", repository.display()),
        reference: reference.map(str::to_owned),
    };
    let data = folder.path().join("data");
    for reference in [None, Some("main"), Some("v1")] {
        let there = fetch(&source(reference), &data).unwrap();
        assert!(there.join("plugin.json").exists(), "{reference:?}");
    }
    let error = fetch(&source(Some("missing")), &data)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("run `git`: "), "{error}");
    let bad = PluginSource::Git {
        url: "ext::sh -c x".to_owned(),
        reference: None,
    };
    assert!(
        fetch(&bad, &data)
            .unwrap_err()
            .to_string()
            .contains("cannot fetch a plugin from")
    );
    assert!(fetch(&source(Some("--upload-pack=x")), &data).is_err());
}

/// The address of a plugin that clients see contains no password.
#[test]
fn published_plugin_urls_have_no_password() {
    let shown = |url: &str| {
        let url = url.to_owned();
        let reference = None;
        PluginSource::Git { url, reference }.address()
    };
    assert_eq!(
        shown("https://me:secret@x.org/p.git"),
        "https://x.org/p.git"
    );
    assert_eq!(shown("https://token@x.org/p.git"), "https://x.org/p.git");
    assert_eq!(shown("https://x.org/@p.git"), "https://x.org/@p.git");
    assert_eq!(shown("ssh://git@x.org/p.git"), "ssh://git@x.org/p.git");
}

/// The id of the killed process is larger than that of any process, so that no process can have it.
#[test]
fn files_of_a_killed_fetch_are_removed_or_restored() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.tar.gz");
    let data = folder.path().join("data");
    let fetched = data.join("plugins/fetched");
    let killed = "2147483647";
    for name in [
        format!("one.new-{killed}"),
        format!("one.old-{killed}"),
        "one".to_owned(),
        format!("two.old-{killed}"),
        format!("three.new-{}", std::process::id()),
    ] {
        std::fs::create_dir_all(fetched.join(name)).unwrap();
    }
    std::fs::write(fetched.join(format!("one.archive-{killed}")), "").unwrap();
    tar(&path, &[("plugin.json", "{}")]);
    let there = fetch(&archive(&path), &data).unwrap();
    let mut left: Vec<_> = fetched
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| there.file_name().unwrap() != name.as_str())
        .collect();
    left.sort();
    let running = format!("three.new-{}", std::process::id());
    assert_eq!(left, ["one", running.as_str(), "two"]);
}
