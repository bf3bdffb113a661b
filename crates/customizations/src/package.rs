//! The files of a container, in memory and within limits.
//!
//! The source of the files makes no difference: a folder on the host's disk and files from
//! a client have the same representation.

pub(crate) mod disk;
pub(crate) mod identity;
pub(crate) mod mirror;

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Maximum size in bytes of a file that is read. Larger files are recorded with their size
/// only.
pub const MAX_PACKAGE_FILE_BYTES: u64 = 1024 * 1024;

/// Maximum total size in bytes of the files of a package. It bounds the memory of a
/// container.
pub const MAX_PACKAGE_BYTES: u64 = 8 * 1024 * 1024;

/// Maximum number of files in a package.
pub const MAX_PACKAGE_FILES: usize = 1_000;

/// Maximum depth of nested folders in a package.
pub const MAX_FOLDER_DEPTH: usize = 8;

/// Folders that contain no files for agents.
const SKIPPED_FOLDERS: &[&str] = &[".git", "node_modules"];

/// Extensions of files that may be parsed. Only the digests of other files are stored.
const PARSED_EXTENSIONS: &[&str] = &[".md", ".mdc", ".json", ".cursorrules"];

/// Names that are only valid for files. A folder with such a name is reported as a problem.
const NAMES_OF_FILES: &[&str] = &[
    "skill.md",
    "plugin.json",
    "hooks.json",
    ".mcp.json",
    "mcp.json",
];

/// The problem of a folder at the path of a file.
pub(crate) const FOLDER_MESSAGE: &str = "it is a folder, not a file";

/// The files of a container, by their path relative to its root.
#[derive(Debug, Clone, Default)]
pub struct Package {
    files: BTreeMap<String, PackageFile>,
    /// Digests of the file contents as raw bytes, before they were decoded.
    digests: BTreeMap<String, [u8; 32]>,
    problems: Vec<String>,
    bytes: u64,
    full: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub enum PackageFile {
    /// Text that may be parsed.
    Text(Arc<str>),
    /// The digest of a file that is not parsed.
    Other([u8; 32]),
    /// A file that could not be read, with the reason as text.
    Unreadable(String),
}

/// Omits the contents of the file, so that logs do not contain them.
impl std::fmt::Debug for PackageFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PackageFile::Text(_) => f.write_str("Text(…)"),
            PackageFile::Other(_) => f.write_str("Other(…)"),
            PackageFile::Unreadable(why) => f.debug_tuple("Unreadable").field(why).finish(),
        }
    }
}

/// The result of a capacity check for another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageCapacity {
    /// The file fits into the package.
    Available,
    /// The file does not fit, and no further files should be read.
    Full,
}

impl Package {
    /// Checks if a file of the given size still fits. The first failed check adds a
    /// problem.
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
        if fits {
            PackageCapacity::Available
        } else {
            PackageCapacity::Full
        }
    }

    /// Adds a file with its contents.
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
        let file = if is_parsed_extension(path) {
            decode_text(bytes)
        } else {
            PackageFile::Other(digest)
        };
        self.digests.insert(path.to_owned(), digest);
        self.files.insert(path.to_owned(), file);
    }

    /// Adds a file that is too large to be read.
    pub fn add_large(&mut self, path: &str, size: u64) {
        if self.check_capacity(0) == PackageCapacity::Full {
            return;
        }
        let file = if is_parsed_extension(path) {
            PackageFile::Unreadable(format!(
                "it is larger than {} MiB",
                MAX_PACKAGE_FILE_BYTES / (1024 * 1024)
            ))
        } else {
            PackageFile::Other(Sha256::digest(size.to_be_bytes()).into())
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

    /// Records a folder if its name is only valid for files.
    pub fn add_folder(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        if NAMES_OF_FILES
            .iter()
            .any(|file| name.eq_ignore_ascii_case(file))
        {
            self.add_unreadable(path, FOLDER_MESSAGE);
        }
    }

    /// Records a problem with the package as a whole.
    pub fn add_problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &str) -> Option<&PackageFile> {
        self.files.get(path)
    }

    /// Returns the files below a folder in the order of their paths; all files if the name
    /// is empty.
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

    /// Returns `true` if the package has no files and no problems.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.problems.is_empty()
    }

    /// Returns the problems with the package as a whole.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns a digest of the paths and bytes of all files except Markdown. Of a file that
    /// was not read, such as one that is too large, only the path counts: such a file of a
    /// client is not written to the host's disk either.
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

/// Returns `true` if a name inside of a folder can be used: it is a single path component
/// and not a skipped folder.
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
        Err(_) => PackageFile::Unreadable("it is not UTF-8 text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_and_bytes_of_a_package_are_limited() {
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
    fn binary_and_oversized_files_are_reported() {
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
                "b.md Unreadable(\"it is not UTF-8 text\")",
                "c.md Unreadable(\"it is larger than 1 MiB\")",
                "d.png Other(…)",
            ]
        );
    }

    #[test]
    fn a_changed_script_changes_the_code_digest() {
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
