//! The files of a container, in memory and within bounds.
//!
//! It does not matter where they come from: a folder on this disk and what a
//! client told file by file look the same from here on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Most bytes of a file that is looked into.
pub const LARGEST_FILE: u64 = 1024 * 1024;

/// Most bytes of all files together.
pub const LARGEST_PACKAGE: u64 = 8 * 1024 * 1024;

/// Most files.
pub const MOST_FILES: usize = 1_000;

/// How deep folders may be inside each other.
pub const DEEPEST: usize = 8;

/// Folders that hold nothing that is meant for agents.
const SKIPPED_FOLDERS: &[&str] = &[".git", "node_modules"];

/// What files that can mean something end with. Of others only a digest is
/// kept.
const READ_ENDINGS: &[&str] = &[".md", ".mdc", ".json", ".cursorrules"];

/// Names that mean something only as files.
const FILES: &[&str] = &[
    "skill.md",
    "plugin.json",
    "hooks.json",
    ".mcp.json",
    "mcp.json",
];

/// What is said of a folder that stands where a file has to be.
pub(crate) const A_FOLDER: &str = "it is a folder, not a file";

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
pub enum Room {
    /// It fits.
    Enough,
    /// It does not: nothing more is to be read.
    Full,
}

impl Package {
    /// Whether a file of some size still fits. If not, that is noted once.
    pub fn room_for(&mut self, size: u64) -> Room {
        let fits = self.files.len() < MOST_FILES
            && self.bytes.saturating_add(size.min(LARGEST_FILE)) <= LARGEST_PACKAGE;
        if !fits && !self.full {
            self.full = true;
            self.problems.push(format!(
                "it has more than {MOST_FILES} files or {} MiB: the rest was left out",
                LARGEST_PACKAGE / (1024 * 1024)
            ));
        }
        match fits {
            true => Room::Enough,
            false => Room::Full,
        }
    }

    /// Adds a file that was read.
    pub fn add(&mut self, path: &str, bytes: Vec<u8>) {
        let size = bytes.len() as u64;
        if size > LARGEST_FILE {
            self.add_large(path, size);
            return;
        }
        if self.room_for(size) == Room::Full {
            return;
        }
        self.bytes += size;
        let digest = Sha256::digest(&bytes).into();
        let file = match may_mean_something(path) {
            true => text(bytes),
            false => PackageFile::Other(digest),
        };
        self.digests.insert(path.to_owned(), digest);
        self.files.insert(path.to_owned(), file);
    }

    /// Adds a file that is too large to look into.
    pub fn add_large(&mut self, path: &str, size: u64) {
        if self.room_for(0) == Room::Full {
            return;
        }
        let file = match may_mean_something(path) {
            true => PackageFile::Unreadable(format!(
                "it is larger than {} MiB",
                LARGEST_FILE / (1024 * 1024)
            )),
            false => PackageFile::Other(Sha256::digest(size.to_be_bytes()).into()),
        };
        self.digests.remove(path);
        self.files.insert(path.to_owned(), file);
    }

    /// Adds a file that could not be read.
    pub fn add_unreadable(&mut self, path: &str, why: impl Into<String>) {
        if self.room_for(0) == Room::Enough {
            let file = PackageFile::Unreadable(why.into());
            self.digests.remove(path);
            self.files.insert(path.to_owned(), file);
        }
    }

    /// Notes that there is a folder, if a file has to be there.
    pub fn add_folder(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        if FILES.iter().any(|file| name.eq_ignore_ascii_case(file)) {
            self.add_unreadable(path, A_FOLDER);
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
    pub fn below<'a>(
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
pub fn usable_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '\0'])
        && !SKIPPED_FOLDERS.contains(&name)
}

/// The beginning of a digest, for people and names.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string can't fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}

fn may_mean_something(path: &str) -> bool {
    READ_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

fn text(bytes: Vec<u8>) -> PackageFile {
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
        for number in 0..MOST_FILES + 5 {
            package.add(&format!("{number}.md"), b"x".to_vec());
        }
        assert_eq!(package.below("").count(), MOST_FILES);
        assert_eq!(package.problems().len(), 1);
        let mut package = Package::default();
        for number in 0..20 {
            package.add(&format!("{number}.md"), vec![b'x'; 1024 * 1024]);
        }
        assert_eq!(package.below("").count(), 8);
        assert_eq!(package.problems().len(), 1);
    }

    #[test]
    fn what_is_no_text_is_said_so() {
        let mut package = Package::default();
        package.add("a.md", b"a\0b".to_vec());
        package.add("b.md", vec![0xff, 0xfe]);
        package.add("c.md", vec![b'c'; 1024 * 1024 + 1]);
        package.add("d.png", b"a\0b".to_vec());
        let told: Vec<_> = package
            .below("")
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
            package.add("x.sh", script.into());
            package.add("x.md", prose.into());
            package.code_digest()
        };
        assert_eq!(with("a", "a"), with("a", "b"));
        assert_ne!(with("a", "a"), with("b", "a"));
    }
}
