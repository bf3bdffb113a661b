//! Finds files that a message mentions by their path.
//!
//! The files need not exist: a message may ask for a new one.

use std::path::{Component, Path, PathBuf};

/// Maximum number of files that are taken from a message.
const MAX_MENTIONED_FILES: usize = 100;

/// Maximum length of a path in bytes.
const MAX_PATH_BYTES: usize = 1_024;

/// Characters besides whitespace that separate words in prose, Markdown and code.
const WORD_SEPARATORS: &[char] = &[
    '`', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';',
];

/// Punctuation that is trimmed from words.
const SURROUNDING_PUNCTUATION: &[char] = &['!', '?', '*', ':'];

/// Returns the files that a message mentions, resolved relative to each of the folders.
pub(super) fn mentioned_files(
    text: &str,
    directories: &[PathBuf],
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let words = text.split(|c: char| c.is_whitespace() || WORD_SEPARATORS.contains(&c));
    for word in words {
        let Some(path) = path_in_word(word) else {
            continue;
        };
        let from: Vec<PathBuf> = match (path.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => vec![home.join(rest)],
            (Some(_), None) => Vec::new(),
            (None, _) => directories.iter().map(|from| from.join(path)).collect(),
        };
        files.extend(from.iter().filter_map(|path| normalize_path(path)));
        if files.len() >= MAX_MENTIONED_FILES {
            break;
        }
    }
    files
}

/// Returns the path in a word, or `None` for an ordinary word.
fn path_in_word(word: &str) -> Option<&str> {
    let word = word.trim_matches(SURROUNDING_PUNCTUATION);
    let word = word.strip_prefix('@').unwrap_or(word);
    // `src/x.rs:12:3` is a position in a file, and the dot of `x.rs.` ends a sentence.
    let word = word.split(':').next().unwrap_or(word);
    let word = word
        .trim_end_matches(SURROUNDING_PUNCTUATION)
        .trim_end_matches('.');
    let name = word.rsplit('/').next().unwrap_or(word);
    let has_ending = name
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ending.chars().all(char::is_alphanumeric));
    let usable = !name.is_empty() && word.len() <= MAX_PATH_BYTES && !word.contains(['\0', '\\']);
    (usable && (has_ending || word.contains('/'))).then_some(word)
}

/// Removes `.` and `..` from a path; `None` if it leads above the root.
fn normalize_path(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if !plain.pop() => return None,
            Component::ParentDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_a_message() {
        let directories = [PathBuf::from("/w")];
        let check = |text: &str, expected: &[&str]| {
            let found = mentioned_files(text, &directories, Some(Path::new("/home/me")));
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("Look at src/x.rs.", &["/w/src/x.rs"]);
        check(
            "@src/x.rs and (`./b.ts`), please",
            &["/w/src/x.rs", "/w/b.ts"],
        );
        check(
            "see [it](docs/a.md), src/__x__.py:12:3!",
            &["/w/docs/a.md", "/w/src/__x__.py"],
        );
        check("in /w/a/../b.rs and ~/c.md", &["/w/b.rs", "/home/me/c.md"]);
        check("**Makefile** or src/Makefile", &["/w/src/Makefile"]);
        check(
            "No files here, e.g.; and https://a.b/c.rs is none",
            &["/w/e.g"],
        );
        check("@ / . .. ... ../../../x.rs", &[]);
    }

    #[test]
    fn the_number_of_mentioned_files_is_limited() {
        let text = "a.rs ".repeat(10_000);
        let found = mentioned_files(&text, &[PathBuf::from("/w")], None);
        assert_eq!(found.len(), MAX_MENTIONED_FILES);
    }
}
