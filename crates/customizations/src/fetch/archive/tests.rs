//! Tests with hostile archives: decompression bombs, invalid paths, links and duplicate
//! names.

use std::io::{Cursor, Write};

use flate2::read::GzDecoder;
use flate2::{Compress, Compression, FlushCompress};
use tar::{EntryType, Header};

use super::limited_reader::{BoundedReader, ByteBudget};
use super::tarball::MAX_STREAM_BYTES;
use super::zip_file::MAX_DIRECTORY_BYTES;
use super::*;

const MIB: usize = 1024 * 1024;

/// A gzip stream of some bytes and then so many MiB of zeros. Zeros are
/// compressed once and repeated, because a full flush makes pieces independent.
fn gzip_with_zeros(start: &[u8], mebibytes: usize) -> Vec<u8> {
    let mut deflate = Compress::new(Compression::fast(), false);
    let mut piece = |bytes: &[u8]| {
        let mut out = Vec::with_capacity(bytes.len() + 1024);
        deflate
            .compress_vec(bytes, &mut out, FlushCompress::Full)
            .unwrap();
        out
    };
    let start = piece(start);
    let zeros = piece(&vec![0; MIB]);
    let mut gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    gzip.extend(start);
    for _ in 0..mebibytes {
        gzip.extend(&zeros);
    }
    gzip
}

fn header(kind: EntryType, name: &str, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    // Names that a careful writer would refuse.
    let raw = header.as_gnu_mut().unwrap();
    raw.name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    header
}

/// A tar archive that is not compressed.
fn tar(entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (kind, name, content) in entries {
        let header = header(*kind, name, content.len() as u64);
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap()
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn read_zip(archive: &[u8]) -> Result<ArchiveEntries, FetchError> {
    zip_file::read(Cursor::new(archive), archive.len() as u64)
}

fn problem(result: Result<ArchiveEntries, FetchError>) -> String {
    let error = result.unwrap_err().to_string();
    error
        .strip_prefix("unpack the archive: ")
        .unwrap()
        .to_owned()
}

/// Reads an archive, and returns the problem and how many bytes were unpacked.
fn problem_and_bytes(gzip: &[u8]) -> (String, u64) {
    let budget = ByteBudget::new(MAX_STREAM_BYTES);
    let stream = BoundedReader::new(GzDecoder::new(gzip), budget.clone());
    let problem = problem(tarball::read_stream(stream));
    (problem, MAX_STREAM_BYTES - budget.left())
}

#[test]
fn a_long_name_of_a_gibibyte_is_refused_after_a_few_bytes() {
    let size = 1024 * MIB;
    let start = header(EntryType::GNULongName, "././@LongLink", size as u64);
    let gzip = gzip_with_zeros(start.as_bytes(), 1024);
    assert!(gzip.len() < 8 * MIB, "{}", gzip.len());
    let (problem, bytes) = problem_and_bytes(&gzip);
    assert_eq!(problem, "a name in it is longer than 4096 bytes");
    assert!(bytes < 64 * 1024, "{bytes}");
}

#[test]
fn a_pax_header_of_a_gibibyte_is_refused_after_a_few_bytes() {
    let start = header(EntryType::XHeader, "x", 1024 * MIB as u64);
    let gzip = gzip_with_zeros(start.as_bytes(), 1024);
    let (problem, bytes) = problem_and_bytes(&gzip);
    assert_eq!(problem, "a pax header in it is longer than 65536 bytes");
    assert!(bytes < 256 * 1024, "{bytes}");
}

#[test]
fn skipped_entries_count_towards_the_size_limit() {
    let start = header(EntryType::XGlobalHeader, "g", 1024 * MIB as u64);
    let gzip = gzip_with_zeros(start.as_bytes(), 1024);
    let budget = ByteBudget::new(MAX_STREAM_BYTES);
    let stream = BoundedReader::new(GzDecoder::new(&gzip[..]), budget.clone());
    assert!(tarball::read_stream(stream).is_err());
    assert!(budget.is_exceeded());
    let problem = problem(tarball::read(&gzip[..]));
    assert_eq!(problem, "its content is too large");
}

#[test]
fn a_file_of_a_gibibyte_is_refused() {
    let start = header(EntryType::Regular, "a.md", 1024 * MIB as u64);
    let gzip = gzip_with_zeros(start.as_bytes(), 1024);
    let (problem, bytes) = problem_and_bytes(&gzip);
    assert_eq!(problem, "its content is too large");
    assert!(bytes <= MAX_PACKAGE_BYTES + 64 * 1024, "{bytes}");
}

#[test]
fn gnu_and_pax_names_are_supported() {
    let long = format!("x/{}/a.md", "d".repeat(150));
    let record = |key: &str, value: &str| {
        let rest = format!(" {key}={value}\n");
        let digits = (rest.len() + 3).to_string().len();
        format!("{}{rest}", rest.len() + digits)
    };
    let archive = tar(&[
        (
            EntryType::XGlobalHeader,
            "g",
            b"52 comment=0123456789012345678901234567890123456789\n",
        ),
        (EntryType::Directory, "x/", b""),
        (
            EntryType::GNULongName,
            "././@LongLink",
            format!("{long}\0").as_bytes(),
        ),
        (EntryType::Regular, "short", b"A."),
        (
            EntryType::XHeader,
            "p",
            record("path", &format!("{long}.pax.md")).as_bytes(),
        ),
        (EntryType::Regular, "short", b"B."),
        (EntryType::Regular, "x/plain.md", b"C."),
    ]);
    let entries = tarball::read_stream(&archive[..]).unwrap();
    let names: Vec<_> = entries
        .iter()
        .map(|(path, bytes)| (path.to_str().unwrap(), bytes.as_slice()))
        .collect();
    let pax = format!("{long}.pax.md");
    let expected: [(&str, &[u8]); 3] = [(&long, b"A."), (&pax, b"B."), ("x/plain.md", b"C.")];
    assert_eq!(names, expected);
    // A size that the header does not have would desynchronize the reader.
    let other = tar(&[
        (EntryType::XHeader, "p", record("size", "1").as_bytes()),
        (EntryType::Regular, "a.md", b"two blocks"),
    ]);
    let problem = problem(tarball::read_stream(&other[..]));
    assert_eq!(problem, "it declares two sizes for a file");
}

#[test]
fn archives_with_many_entries_are_refused() {
    let folder: (EntryType, &str, &[u8]) = (EntryType::Directory, "x/", b"");
    let archive = tar(&vec![folder; MAX_ENTRIES + 1]);
    let told = problem(tarball::read_stream(&archive[..]));
    assert_eq!(told, "it has more than 10000 entries");
    let names: Vec<String> = (0..=MAX_PACKAGE_FILES)
        .map(|number| format!("{number}.md"))
        .collect();
    let files: Vec<(EntryType, &str, &[u8])> = names
        .iter()
        .map(|name| (EntryType::Regular, name.as_str(), &b"x"[..]))
        .collect();
    let told = problem(tarball::read_stream(&tar(&files)[..]));
    assert_eq!(told, "it has more than 1000 files");
    let files: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), &b"x"[..]))
        .collect();
    assert_eq!(
        problem(read_zip(&zip(&files))),
        "it has more than 1000 files"
    );
}

/// The record at the end of a zip file.
fn zip_end(entries: u16, directory: u32, offset: u32) -> Vec<u8> {
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend(entries.to_le_bytes());
    end.extend(entries.to_le_bytes());
    end.extend(directory.to_le_bytes());
    end.extend(offset.to_le_bytes());
    end.extend([0, 0]);
    end
}

#[test]
fn a_zip_file_that_declares_many_entries_is_refused_before_it_is_read() {
    let mut archive = vec![b'P'; MIB];
    archive.extend(zip_end(60_000, u32::MAX, MIB as u32));
    let told = problem(read_zip(&archive));
    assert_eq!(told, "it has more than 10000 entries");
    let mut archive = zip(&[("a.md", b"A.")]);
    let end = archive.split_off(archive.len() - 22);
    archive.extend(b"PK\x06\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
    archive.extend(end);
    let told = problem(read_zip(&archive));
    assert_eq!(told, "it is a zip64 file, which is not supported");
}

/// A zip file whose entries share one content, which unpacks to nothing.
fn zip_of_shared_content(content: &[u8], names: usize, name_bytes: usize) -> Vec<u8> {
    let fields = |name: &str| {
        let mut fields = b"\x14\0\0\0\x08\0\0\0\x21\0\0\0\0\0".to_vec();
        fields.extend((content.len() as u32).to_le_bytes());
        fields.extend([0; 4]);
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0; 2]);
        fields
    };
    let name = |number: usize| format!("{number:0name_bytes$}");
    let mut archive = b"PK\x03\x04".to_vec();
    archive.extend(fields(&name(0)));
    archive.extend(name(0).as_bytes());
    archive.extend(content);
    let offset = archive.len() as u32;
    for number in 0..names {
        archive.extend(b"PK\x01\x02\x14\0");
        archive.extend(fields(&name(number)));
        // The comment, the disk, attributes, and where the local header is.
        archive.extend([0; 14]);
        archive.extend(name(number).as_bytes());
    }
    let directory = archive.len() as u32 - offset;
    archive.extend(zip_end(names as u16, directory, offset));
    archive
}

#[test]
fn zip_entries_with_shared_content_share_a_read_budget() {
    // Empty stored blocks: content that is read and unpacks to nothing.
    let mut content = b"\0\0\0\xff\xff".repeat(MIB / 5);
    content.extend(b"\x01\0\0\xff\xff");
    let archive = zip_of_shared_content(&content, 900, 8);
    let budget = ByteBudget::new(MAX_DIRECTORY_BYTES);
    let size = archive.len() as u64;
    let source = BoundedReader::new(Cursor::new(&archive), budget.clone());
    assert!(zip_file::read_entries(source, &budget, size).is_err());
    assert!(budget.is_exceeded());
    assert_eq!(problem(read_zip(&archive)), "its content is too large");
    let once = zip_of_shared_content(&content, 1, 8);
    assert_eq!(read_zip(&once).unwrap().len(), 1);
}

#[test]
fn the_directory_of_a_zip_file_is_bounded() {
    let content = b"\x01\0\0\xff\xff";
    let archive = zip_of_shared_content(content, 500, 60_000);
    assert!(archive.len() > 16 * MIB);
    let budget = ByteBudget::new(MAX_DIRECTORY_BYTES);
    let size = archive.len() as u64;
    let source = BoundedReader::new(Cursor::new(&archive), budget.clone());
    assert!(zip_file::read_entries(source, &budget, size).is_err());
    assert!(budget.is_exceeded());
    let long = zip_of_shared_content(content, 1, 5_000);
    let told = problem(read_zip(&long));
    assert!(
        told.len() < 200 && told.ends_with("` is too long"),
        "{told}"
    );
}

#[test]
fn a_zip_bomb_is_refused() {
    let archive = zip(&[("a.md", &vec![0; 32 * MIB])]);
    assert!(archive.len() < MIB);
    assert_eq!(problem(read_zip(&archive)), "its content is too large");
}

#[test]
fn names_outside_of_the_archive_are_rejected() {
    let deep = "d/".repeat(12) + "a.md";
    let long = "n".repeat(256);
    for (name, expected) in [
        ("/etc/passwd", "`/etc/passwd` is outside of it"),
        ("../a.md", "`../a.md` is outside of it"),
        ("a/../../b", "`a/../../b` is outside of it"),
        ("a\\b", "`a\\\\b` is outside of it"),
        ("./", "`./` is not a file name"),
        (&deep, "`d/d/d/d/d/d/d/d/d/d/d/d/a.md` is nested too deeply"),
        ("a\u{1b}[2J\n/..", "`a\\u{1b}[2J\\n/..` is outside of it"),
    ] {
        let archive = tar(&[(EntryType::Regular, name, b"x")]);
        let told = problem(tarball::read_stream(&archive[..]));
        assert_eq!(told, expected, "{name}");
        if name != "./" {
            assert_eq!(problem(read_zip(&zip(&[(name, b"x")]))), expected);
        }
    }
    let told = problem(read_zip(&zip(&[(&long, b"x")])));
    assert_eq!(told, format!("`{}` is too long", "n".repeat(80)));
}

#[test]
fn links_and_duplicate_names_are_rejected() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::GNULongLink,
    ] {
        let archive = tar(&[(kind, "a.md", b"")]);
        let told = problem(tarball::read_stream(&archive[..]));
        assert_eq!(told, "it contains a link or another special file");
    }
    for twice in ["a.md", "./a.md", "a.md/"] {
        let archive = tar(&[
            (EntryType::Regular, "a.md", b"x"),
            (EntryType::Regular, twice, b"y"),
        ]);
        let told = problem(tarball::read_stream(&archive[..]));
        assert_eq!(told, "it has two files of the same name", "{twice}");
    }
    let archive = zip(&[("a.md", b"x"), ("./a.md", b"y")]);
    assert_eq!(
        problem(read_zip(&archive)),
        "it has two files of the same name"
    );
}
