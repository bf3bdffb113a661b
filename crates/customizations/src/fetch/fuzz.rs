//! Fuzz target for unpacking archives.

#![expect(
    clippy::unwrap_used,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::archive::unpack;
use crate::package::{MAX_PACKAGE_BYTES, MAX_PACKAGE_FILES};

/// Maximum input size. Larger inputs would only measure the time of unpacking.
const MAX_INPUT_BYTES: usize = 64 * 1024;

/// Unpacks an archive. It must not write files beside the target or create links, and the
/// unpacked files stay within the limits of a package.
///
/// Input that begins like a zip or gzip file is the archive itself. Other input lists the
/// entries of a tar file, each as a type byte, a name up to a line feed and content up to a
/// zero: a fuzzer can't find valid checksums.
pub fn archives(data: &[u8]) {
    if data.len() > MAX_INPUT_BYTES {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let target = directory.path().join("target");
    let is_archive = data.starts_with(b"PK") || data.starts_with(&[0x1f, 0x8b]);
    let bytes = if is_archive {
        data.to_vec()
    } else {
        tar_of(data)
    };
    std::fs::write(&archive, &bytes).unwrap();
    let unpacked = unpack(&archive, &target);
    assert_eq!(std::fs::read(&archive).unwrap(), bytes);
    let mut found = UnpackedTotals::default();
    if target.exists() {
        found.count(&target);
    }
    assert!(found.files <= MAX_PACKAGE_FILES && found.bytes <= MAX_PACKAGE_BYTES);
    if unpacked.is_ok() {
        assert!(found.files > 0, "an archive without files is refused");
    }
    let mut beside = std::fs::read_dir(directory.path()).unwrap();
    assert!(
        beside
            .all(|entry| ["archive", "target"]
                .contains(&&*entry.unwrap().file_name().to_string_lossy())),
        "something was written beside the target"
    );
}

/// Builds a gzip-compressed tar file with the entries that the input lists.
fn tar_of(data: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in data.split(|byte| *byte == 0) {
        let Some((kind, rest)) = entry.split_first() else {
            continue;
        };
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (name, content) = rest.split_at(end.unwrap_or(rest.len()));
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::new(*kind));
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let mut field = header.as_old_mut().name.as_mut_slice();
        // The name is truncated to the header field.
        field
            .write_all(name.get(..name.len().min(100)).unwrap())
            .unwrap();
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

#[derive(Default)]
struct UnpackedTotals {
    files: usize,
    bytes: u64,
}

impl UnpackedTotals {
    fn count(&mut self, directory: &Path) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            assert!(!metadata.is_symlink(), "{}", path.display());
            if metadata.is_dir() {
                self.count(&path);
            } else {
                self.files += 1;
                self.bytes += metadata.len();
            }
        }
    }
}
