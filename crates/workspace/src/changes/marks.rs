//! Moments that are remembered: a file each, with a tree for each folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use agenthost_core::{Mark, TurnOf, short_hash};

use super::repository::Repository;
use super::{ChangesError, Kept, LOOKING};
use crate::git::Git;

/// So many bytes of loose objects are a lot.
const MUCH: u64 = 128 * 1024 * 1024;

/// How the names of files begin that have the last survey of a turn.
const SURVEYED: &str = "surveyed";

/// The trees of all folders at one moment.
#[derive(Debug, Default)]
pub(super) struct Marks {
    trees: BTreeMap<String, String>,
}

impl Marks {
    pub(super) fn insert(&mut self, repository: &Repository, tree: String) {
        self.trees.insert(repository.key.clone(), tree);
    }

    pub(super) fn get(&self, repository: &Repository) -> Option<&str> {
        self.trees.get(&repository.key).map(String::as_str)
    }

    /// Writes them, whole or not at all.
    pub(super) fn write(&self, directory: &Path, mark: &Mark) -> Result<(), ChangesError> {
        self.write_as(directory, &name(mark))
    }

    /// Writes the trees of the last survey of a turn.
    pub(super) fn write_surveyed(
        &self,
        directory: &Path,
        turn: &TurnOf,
    ) -> Result<(), ChangesError> {
        self.write_as(directory, &name_of_turn(SURVEYED, turn))
    }

    fn write_as(&self, directory: &Path, name: &str) -> Result<(), ChangesError> {
        std::fs::create_dir_all(directory)?;
        let lines = self.trees.iter();
        let text: String = lines.map(|(key, tree)| format!("{key} {tree}\n")).collect();
        let path = directory.join(name);
        let unfinished = path.with_extension("new");
        std::fs::write(&unfinished, text)?;
        std::fs::rename(unfinished, path)?;
        Ok(())
    }

    /// All trees that are remembered in a directory.
    fn all(directory: &Path) -> Result<BTreeSet<String>, ChangesError> {
        let mut trees = BTreeSet::new();
        for entry in std::fs::read_dir(directory)? {
            let marks = Marks::parse(&std::fs::read_to_string(entry?.path())?);
            trees.extend(marks.trees.into_values());
        }
        Ok(trees)
    }

    /// Reads them; none if the moment was not marked.
    pub(super) fn read(directory: &Path, mark: &Mark) -> Result<Option<Self>, ChangesError> {
        Self::read_from(&directory.join(name(mark)))
    }

    /// Reads the trees of the last survey of a turn; none if there was none.
    pub(super) fn read_surveyed(
        directory: &Path,
        turn: &TurnOf,
    ) -> Result<Option<Self>, ChangesError> {
        Self::read_from(&directory.join(name_of_turn(SURVEYED, turn)))
    }

    fn read_from(path: &Path) -> Result<Option<Self>, ChangesError> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        Ok(Some(Marks::parse(&text)))
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let trees = lines.map(|(key, tree)| (key.to_owned(), tree.to_owned()));
        Marks {
            trees: trees.collect(),
        }
    }
}

impl Kept {
    /// Forgets what was in files at moments that nobody marked, when there is a
    /// lot of it. What somebody looked at a while ago stays for a while.
    pub(super) fn tidy(&self) -> Result<(), ChangesError> {
        for format in ["sha1", "sha256"] {
            let ours = self.directory.join(format!("git-{format}"));
            if !ours.is_dir() || size(&ours.join("objects"))? < MUCH {
                continue;
            }
            let git = Git::of_host(&ours, LOOKING);
            let mut arguments = vec!["prune".to_owned(), "--expire=10.minutes.ago".to_owned()];
            arguments.extend(Marks::all(&self.directory.join("marks"))?);
            git.ask(arguments)?;
        }
        Ok(())
    }
}

/// How much loose objects take up.
fn size(objects: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for folder in std::fs::read_dir(objects)? {
        let folder = folder?;
        if folder.file_type()?.is_dir() {
            for object in std::fs::read_dir(folder.path())? {
                bytes += object?.metadata()?.len();
            }
        }
    }
    Ok(bytes)
}

/// A name of a file.
fn name(mark: &Mark) -> String {
    match mark {
        Mark::Start => "start".to_owned(),
        Mark::Before(turn) => name_of_turn("before", turn),
        Mark::After(turn) => name_of_turn("after", turn),
    }
}

/// A name of a file about a turn. What clients choose does not become part of
/// it.
fn name_of_turn(when: &str, of: &TurnOf) -> String {
    let turn = format!("{}\n{}", of.chat, of.turn);
    format!("{when}-{}", short_hash(turn.as_bytes()))
}
