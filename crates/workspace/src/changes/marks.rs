//! Moments that are remembered: a file each, with a tree for each folder.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use agenthost_core::{Mark, TurnOf};

use super::repository::Repository;
use super::{ChangesError, short_hash};

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
        std::fs::create_dir_all(directory)?;
        let lines = self.trees.iter();
        let text: String = lines.map(|(key, tree)| format!("{key} {tree}\n")).collect();
        let path = directory.join(name(mark));
        let unfinished = path.with_extension("new");
        std::fs::write(&unfinished, text)?;
        std::fs::rename(unfinished, path)?;
        Ok(())
    }

    /// Reads them; none if the moment was not marked.
    pub(super) fn read(directory: &Path, mark: &Mark) -> Result<Option<Self>, ChangesError> {
        let text = match std::fs::read_to_string(directory.join(name(mark))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let trees = lines.map(|(key, tree)| (key.to_owned(), tree.to_owned()));
        Ok(Some(Marks {
            trees: trees.collect(),
        }))
    }
}

/// A name of a file. What clients choose does not become part of it.
fn name(mark: &Mark) -> String {
    let of = |when: &str, of: &TurnOf| {
        let turn = format!("{}\n{}", of.chat, of.turn);
        format!("{when}-{}", short_hash(turn.as_bytes()))
    };
    match mark {
        Mark::Start => "start".to_owned(),
        Mark::Before(turn) => of("before", turn),
        Mark::After(turn) => of("after", turn),
    }
}
