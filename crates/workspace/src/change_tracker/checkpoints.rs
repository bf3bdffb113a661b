//! Moments that are remembered: a file each, with a tree for each folder.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use agenthost_core::{CheckpointId, TurnRef, short_hash};

use super::repository::ShadowRepository;
use super::{ChangesError, DIFF_TIMEOUT, SessionRepositories};
use crate::git::GitCommand;

/// So many bytes of loose objects are a lot.
const GC_THRESHOLD_BYTES: u64 = 128 * 1024 * 1024;

/// How the names of files begin that have the last survey of a turn.
const SURVEY_FILE_PREFIX: &str = "surveyed";

/// The trees of all folders at one moment.
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

    /// Writes them, whole or not at all.
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

    /// All trees that are remembered in a directory.
    fn all_trees(directory: &Path) -> Result<BTreeSet<String>, ChangesError> {
        let mut trees = BTreeSet::new();
        for entry in std::fs::read_dir(directory)? {
            let marks = CheckpointTrees::parse(&std::fs::read_to_string(entry?.path())?);
            trees.extend(marks.trees.into_values());
        }
        Ok(trees)
    }

    /// Reads them; none if the moment was not marked.
    pub(super) fn read(
        directory: &Path,
        mark: &CheckpointId,
    ) -> Result<Option<Self>, ChangesError> {
        Self::read_from(&directory.join(checkpoint_file_name(mark)))
    }

    /// Reads the trees of the last survey of a turn; none if there was none.
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
    /// Forgets what was in files at moments that nobody marked, when there is a
    /// lot of it. What somebody looked at a while ago stays for a while.
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

/// How much loose objects take up.
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

/// A name of a file.
fn checkpoint_file_name(mark: &CheckpointId) -> String {
    match mark {
        CheckpointId::SessionStart => "start".to_owned(),
        CheckpointId::BeforeTurn(turn) => turn_file_name("before", turn),
        CheckpointId::AfterTurn(turn) => turn_file_name("after", turn),
    }
}

/// A name of a file about a turn. What clients choose does not become part of
/// it.
fn turn_file_name(when: &str, of: &TurnRef) -> String {
    let turn = format!("{}\n{}", of.chat, of.turn);
    format!("{when}-{}", short_hash(turn.as_bytes()))
}
