//! Files that a message names by their path.
//!
//! Whether they are there does not matter: a message may ask for a new one.

use std::path::{Component, Path, PathBuf};

/// Most files that are taken from a message.
const MAX_MENTIONED_FILES: usize = 100;

/// Longest path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;

/// What stands between words in prose, Markdown and code, beside spaces.
const WORD_SEPARATORS: &[char] = &[
    '`', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';',
];

/// What stands around words.
const SURROUNDING_PUNCTUATION: &[char] = &['!', '?', '*', ':'];

/// All files that a message names, as seen from each of these folders.
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

/// The path that a word is; none if it is a word like others.
fn path_in_word(word: &str) -> Option<&str> {
    let word = word.trim_matches(SURROUNDING_PUNCTUATION);
    let word = word.strip_prefix('@').unwrap_or(word);
    // `src/x.rs:12:3` is a place in a file; `x.rs.` the end of a sentence.
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

/// A path without steps that lead nowhere; none if it leads above all.
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
    fn paths_are_found_in_prose() {
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
    fn a_message_names_only_so_many() {
        let text = "a.rs ".repeat(10_000);
        let found = mentioned_files(&text, &[PathBuf::from("/w")], None);
        assert_eq!(found.len(), MAX_MENTIONED_FILES);
    }
}
