//! The files of a container, in memory and within bounds.
//!
//! It does not matter where they come from: a folder on this disk and what a
//! client told file by file look the same from here on.

pub(crate) mod disk;
pub(crate) mod identity;
pub(crate) mod mirror;

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Most bytes of a file that is looked into.
pub const MAX_PACKAGE_FILE_BYTES: u64 = 1024 * 1024;

/// Most bytes of all files together.
pub const MAX_PACKAGE_BYTES: u64 = 8 * 1024 * 1024;

/// Most files.
pub const MAX_PACKAGE_FILES: usize = 1_000;

/// How deep folders may be inside each other.
pub const MAX_FOLDER_DEPTH: usize = 8;

/// Folders that hold nothing that is meant for agents.
const SKIPPED_FOLDERS: &[&str] = &[".git", "node_modules"];

/// What files that can mean something end with. Of others only a digest is
/// kept.
const PARSED_EXTENSIONS: &[&str] = &[".md", ".mdc", ".json", ".cursorrules"];

/// Names that mean something only as files.
const NAMES_OF_FILES: &[&str] = &[
    "skill.md",
    "plugin.json",
    "hooks.json",
    ".mcp.json",
    "mcp.json",
];

/// What is said of a folder that stands where a file has to be.
pub(crate) const FOLDER_MESSAGE: &str = "it is a folder, not a file";

/// The files of a container, by their path from its root.
#[derive(Debug, Clone, Default)]
pub struct Package {
    files: BTreeMap<String, PackageFile>,
    /// Digests of the bytes of files, as they were before they became text.
    digests: BTreeMap<String, [u8; 32]>,
    problems: Vec<String>,
    bytes: u64,
    full: bool,
}

/// A file of a package.
#[derive(Clone, PartialEq, Eq)]
pub enum PackageFile {
    /// Text that may mean something.
    Text(Arc<str>),
    /// Something that nobody looks into, by its digest.
    Other([u8; 32]),
    /// It could not be read; why, in words.
    Unreadable(String),
}

/// Shows nothing of what is in it.
impl std::fmt::Debug for PackageFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PackageFile::Text(_) => f.write_str("Text(…)"),
            PackageFile::Other(_) => f.write_str("Other(…)"),
            PackageFile::Unreadable(why) => f.debug_tuple("Unreadable").field(why).finish(),
        }
    }
}

/// Whether there is room for another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageCapacity {
    /// It fits.
    Available,
    /// It does not: nothing more is to be read.
    Full,
}

impl Package {
    /// Whether a file of some size still fits. If not, that is noted once.
    pub fn check_capacity(&mut self, size: u64) -> PackageCapacity {
        let fits = self.files.len() < MAX_PACKAGE_FILES
            && self.bytes.saturating_add(size.min(MAX_PACKAGE_FILE_BYTES)) <= MAX_PACKAGE_BYTES;
        if !fits && !self.full {
            self.full = true;
            self.problems.push(format!(
                "it has more than {MAX_PACKAGE_FILES} files or {} MiB: the rest was left out",
                MAX_PACKAGE_BYTES / (1024 * 1024)
            ));
        }
        match fits {
            true => PackageCapacity::Available,
            false => PackageCapacity::Full,
        }
    }

    /// Adds a file that was read.
    pub fn add_file(&mut self, path: &str, bytes: Vec<u8>) {
        let size = bytes.len() as u64;
        if size > MAX_PACKAGE_FILE_BYTES {
            self.add_large(path, size);
            return;
        }
        if self.check_capacity(size) == PackageCapacity::Full {
            return;
        }
        self.bytes += size;
        let digest = Sha256::digest(&bytes).into();
        let file = match is_parsed_extension(path) {
            true => decode_text(bytes),
            false => PackageFile::Other(digest),
        };
        self.digests.insert(path.to_owned(), digest);
        self.files.insert(path.to_owned(), file);
    }

    /// Adds a file that is too large to look into.
    pub fn add_large(&mut self, path: &str, size: u64) {
        if self.check_capacity(0) == PackageCapacity::Full {
            return;
        }
        let file = match is_parsed_extension(path) {
            true => PackageFile::Unreadable(format!(
                "it is larger than {} MiB",
                MAX_PACKAGE_FILE_BYTES / (1024 * 1024)
            )),
            false => PackageFile::Other(Sha256::digest(size.to_be_bytes()).into()),
        };
        self.digests.remove(path);
        self.files.insert(path.to_owned(), file);
    }

    /// Adds a file that could not be read.
    pub fn add_unreadable(&mut self, path: &str, why: impl Into<String>) {
        if self.check_capacity(0) == PackageCapacity::Available {
            let file = PackageFile::Unreadable(why.into());
            self.digests.remove(path);
            self.files.insert(path.to_owned(), file);
        }
    }

    /// Notes that there is a folder, if a file has to be there.
    pub fn add_folder(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        if NAMES_OF_FILES
            .iter()
            .any(|file| name.eq_ignore_ascii_case(file))
        {
            self.add_unreadable(path, FOLDER_MESSAGE);
        }
    }

    /// Notes something that is wrong with the whole.
    pub fn add_problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// A file.
    pub fn file(&self, path: &str) -> Option<&PackageFile> {
        self.files.get(path)
    }

    /// All files below a folder, in order; of all of it if the name is empty.
    pub fn files_below<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a PackageFile)> {
        self.files.iter().filter_map(move |(path, file)| {
            let inside = match folder {
                "" => true,
                _ => path
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.starts_with('/')),
            };
            inside.then_some((path.as_str(), file))
        })
    }

    /// Whether there is nothing in it, and nothing to say about it.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.problems.is_empty()
    }

    /// What was wrong with the whole.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// A digest of the paths and bytes of all files except Markdown. Of a file
    /// that was not read, such as one that is too large, only the path counts:
    /// such a file of a client is not written to this disk either.
    pub fn code_digest(&self) -> [u8; 32] {
        let mut all = Sha256::new();
        for path in self.files.keys() {
            if path.ends_with(".md") || path.ends_with(".mdc") {
                continue;
            }
            all.update((path.len() as u64).to_be_bytes());
            all.update(path.as_bytes());
            match self.digests.get(path) {
                Some(digest) => {
                    all.update([1]);
                    all.update(digest);
                }
                None => all.update([0]),
            }
        }
        all.finalize().into()
    }
}

/// Whether a name inside a folder can be used: it names something right there,
/// and nothing that is skipped.
pub fn is_usable_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '\0'])
        && !SKIPPED_FOLDERS.contains(&name)
}

fn is_parsed_extension(path: &str) -> bool {
    PARSED_EXTENSIONS
        .iter()
        .any(|ending| path.ends_with(ending))
}

fn decode_text(bytes: Vec<u8>) -> PackageFile {
    if bytes.contains(&0) {
        return PackageFile::Unreadable("it is binary".to_owned());
    }
    match String::from_utf8(bytes) {
        Ok(text) => PackageFile::Text(text.trim_start_matches('\u{feff}').into()),
        Err(_) => PackageFile::Unreadable("it is not text in UTF-8".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_bounds() {
        let mut package = Package::default();
        for number in 0..MAX_PACKAGE_FILES + 5 {
            package.add_file(&format!("{number}.md"), b"x".to_vec());
        }
        assert_eq!(package.files_below("").count(), MAX_PACKAGE_FILES);
        assert_eq!(package.problems().len(), 1);
        let mut package = Package::default();
        for number in 0..20 {
            package.add_file(&format!("{number}.md"), vec![b'x'; 1024 * 1024]);
        }
        assert_eq!(package.files_below("").count(), 8);
        assert_eq!(package.problems().len(), 1);
    }

    #[test]
    fn what_is_no_text_is_said_so() {
        let mut package = Package::default();
        package.add_file("a.md", b"a\0b".to_vec());
        package.add_file("b.md", vec![0xff, 0xfe]);
        package.add_file("c.md", vec![b'c'; 1024 * 1024 + 1]);
        package.add_file("d.png", b"a\0b".to_vec());
        let told: Vec<_> = package
            .files_below("")
            .map(|(path, file)| format!("{path} {file:?}"))
            .collect();
        assert_eq!(
            told,
            [
                "a.md Unreadable(\"it is binary\")",
                "b.md Unreadable(\"it is not text in UTF-8\")",
                "c.md Unreadable(\"it is larger than 1 MiB\")",
                "d.png Other(…)",
            ]
        );
    }

    #[test]
    fn a_script_that_changed_is_other_code() {
        let with = |script: &str, prose: &str| {
            let mut package = Package::default();
            package.add_file("x.sh", script.into());
            package.add_file("x.md", prose.into());
            package.code_digest()
        };
        assert_eq!(with("a", "a"), with("a", "b"));
        assert_ne!(with("a", "a"), with("b", "a"));
    }
}
