//! Stored checkpoints: one file each, with the git tree of each folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use agenthost_core::{CheckpointId, TurnRef, short_hash};

use super::repository::ShadowRepository;
use super::{ChangesError, DIFF_TIMEOUT, SessionRepositories};
use crate::git::GitCommand;

/// Size of loose objects above which unreachable ones are pruned.
const GC_THRESHOLD_BYTES: u64 = 128 * 1024 * 1024;

/// Prefix of the files with the last survey of a turn.
const SURVEY_FILE_PREFIX: &str = "surveyed";

/// The git trees of all folders at one checkpoint.
#[derive(Debug, Default)]
pub(super) struct CheckpointTrees {
    trees: BTreeMap<String, String>,
}

impl CheckpointTrees {
    pub(super) fn insert(&mut self, repository: &ShadowRepository, tree: String) {
        self.trees.insert(repository.key.clone(), tree);
    }

    pub(super) fn get(&self, repository: &ShadowRepository) -> Option<&str> {
        self.trees.get(&repository.key).map(String::as_str)
    }

    /// Writes the checkpoint file atomically.
    pub(super) fn write(&self, directory: &Path, mark: &CheckpointId) -> Result<(), ChangesError> {
        self.write_as(directory, &checkpoint_file_name(mark))
    }

    /// Writes the trees of the last survey of a turn.
    pub(super) fn write_survey(
        &self,
        directory: &Path,
        turn: &TurnRef,
    ) -> Result<(), ChangesError> {
        self.write_as(directory, &turn_file_name(SURVEY_FILE_PREFIX, turn))
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

    /// Returns the trees of all checkpoints and surveys in a directory.
    fn all_trees(directory: &Path) -> Result<BTreeSet<String>, ChangesError> {
        let mut trees = BTreeSet::new();
        for entry in std::fs::read_dir(directory)? {
            let marks = CheckpointTrees::parse(&std::fs::read_to_string(entry?.path())?);
            trees.extend(marks.trees.into_values());
        }
        Ok(trees)
    }

    /// Reads a checkpoint. Returns `None` if it was not taken.
    pub(super) fn read(
        directory: &Path,
        mark: &CheckpointId,
    ) -> Result<Option<Self>, ChangesError> {
        Self::read_from(&directory.join(checkpoint_file_name(mark)))
    }

    /// Reads the trees of the last survey of a turn. Returns `None` if there was none.
    pub(super) fn read_survey(
        directory: &Path,
        turn: &TurnRef,
    ) -> Result<Option<Self>, ChangesError> {
        Self::read_from(&directory.join(turn_file_name(SURVEY_FILE_PREFIX, turn)))
    }

    fn read_from(path: &Path) -> Result<Option<Self>, ChangesError> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        Ok(Some(CheckpointTrees::parse(&text)))
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        let trees = lines.map(|(key, tree)| (key.to_owned(), tree.to_owned()));
        CheckpointTrees {
            trees: trees.collect(),
        }
    }
}

impl SessionRepositories {
    /// Prunes objects that no checkpoint refers to, once they exceed the threshold. Objects of
    /// the last ten minutes stay, because clients may still read them.
    pub(super) fn prune_objects(&self) -> Result<(), ChangesError> {
        for format in ["sha1", "sha256"] {
            let ours = self.directory.join(format!("git-{format}"));
            if !ours.is_dir() || loose_object_bytes(&ours.join("objects"))? < GC_THRESHOLD_BYTES {
                continue;
            }
            let git = GitCommand::for_host_repository(&ours, DIFF_TIMEOUT);
            let mut arguments = vec!["prune".to_owned(), "--expire=10.minutes.ago".to_owned()];
            arguments.extend(CheckpointTrees::all_trees(&self.directory.join("marks"))?);
            git.read_output(arguments)?;
        }
        Ok(())
    }
}

/// Returns the total size of the loose objects.
fn loose_object_bytes(objects: &Path) -> io::Result<u64> {
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

fn checkpoint_file_name(mark: &CheckpointId) -> String {
    match mark {
        CheckpointId::SessionStart => "start".to_owned(),
        CheckpointId::BeforeTurn(turn) => turn_file_name("before", turn),
        CheckpointId::AfterTurn(turn) => turn_file_name("after", turn),
    }
}

/// Returns the name of a file about a turn. It contains a hash, because clients choose the ids
/// of turns.
fn turn_file_name(when: &str, of: &TurnRef) -> String {
    let turn = format!("{}\n{}", of.chat, of.turn);
    format!("{when}-{}", short_hash(turn.as_bytes()))
}
