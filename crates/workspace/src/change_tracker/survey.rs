//! Edits of a running turn, with the contents of the files before and after.
//!
//! Clients restore files by writing the content before an edit back, as text
//! and to the path of the file. So only edits are reported that this undoes: of
//! plain files that git does not convert, and with text before. All others are
//! in the changesets.

use std::path::Path;

use agenthost_core::{CheckpointId, ContentAddress, EditSurvey, SessionKey, SurveyScope};
use agenthost_protocol::common::{FileEdit, FileEditDiffStats, FileEditSide};
use agenthost_protocol::uri::Uri;

use super::checkpoints::CheckpointTrees;
use super::diff;
use super::diff::{FileDiff, TreeEntry};
use super::repository::ShadowRepository;
use super::{
    CHECKPOINT_TIMEOUT, ChangeTracker, ChangesError, SessionRepositories, attributes, git_content,
};
use crate::content_store::ContentStore;
use crate::file_uri::{path_of, uri_of};

/// Most edits of one survey. More are not reported.
const MAX_EDITS: usize = 500;

/// Largest content of an edit, in bytes.
const MAX_CONTENT_BYTES: u64 = 2 * 1024 * 1024;

/// Most bytes of the contents of all edits of a survey.
const MAX_SURVEY_BYTES: u64 = 32 * 1024 * 1024;

impl ChangeTracker {
    /// Returns the edits of files that a running turn has made since its last
    /// survey, and stores what is in the files.
    ///
    /// # Errors
    ///
    /// Why they are not known. The next survey compares with the one before,
    /// then.
    pub fn survey_edits(
        &self,
        session: &Uri,
        directories: &[Uri],
        survey: &EditSurvey,
        contents: &ContentStore,
    ) -> Result<Vec<FileEdit>, ChangesError> {
        let tracked = self.open_session(session)?;
        tracked.survey_edits(directories, survey, contents)
    }
}

/// Returns `true` if an edit that an agent reports has whole contents: the file
/// is as the edit left it, and was there before. Agents also report a part of a
/// file, or creating a file that was there.
pub fn is_whole_edit(claimed: &FileEdit) -> bool {
    let (Some(before), Some(after)) = (&claimed.before, &claimed.after) else {
        return false;
    };
    let Some(Ok(address)) = ContentAddress::parse(&after.content.uri) else {
        return false;
    };
    let path = path_of(&after.uri).filter(|_| before.uri == after.uri);
    let small = |path: &Path| {
        let found = std::fs::symlink_metadata(path);
        found.is_ok_and(|found| found.is_file() && found.len() <= MAX_CONTENT_BYTES)
    };
    let bytes = path.filter(|path| small(path)).map(std::fs::read);
    bytes.and_then(Result::ok).is_some_and(|bytes| {
        let now = ContentAddress::of(address.session(), &bytes, "");
        now.hash() == address.hash()
    })
}

impl SessionRepositories {
    fn survey_edits(
        &self,
        directories: &[Uri],
        survey: &EditSurvey,
        contents: &ContentStore,
    ) -> Result<Vec<FileEdit>, ChangesError> {
        if let Some(reason) = self.untracked_reason() {
            return Err(ChangesError::Untracked(reason));
        }
        let marks = self.directory.join("marks");
        let before = match CheckpointTrees::read_survey(&marks, &survey.base)? {
            Some(surveyed) => Some(surveyed),
            None => self.read_checkpoint(&CheckpointId::BeforeTurn(survey.base.clone()))?,
        };
        let before = before.ok_or(ChangesError::NoCheckpoint)?;
        let mut after = CheckpointTrees::default();
        let mut edits = Vec::new();
        for repository in &self.open_repositories(directories, CHECKPOINT_TIMEOUT)? {
            let to = &repository.snapshot()?.tree;
            after.insert(repository, to.clone());
            // A folder that the session was given since has no edits yet.
            let Some(from) = before.get(repository) else {
                continue;
            };
            let mut differences = diff::compare_without_renames(repository, from, to)?;
            differences.retain(is_restorable);
            if survey.scope == SurveyScope::Claimed {
                differences.retain(|difference| is_claimed(repository, difference, survey));
            }
            let sides = differences.iter();
            let sides = sides.flat_map(|one| one.before.iter().chain(&one.after));
            let names = sides.map(|side| side.name.as_slice());
            let converted = attributes::find_converted(repository, names)?;
            differences.retain(|one| {
                let mut sides = one.before.iter().chain(&one.after);
                !sides.any(|side| converted.contains(&side.name))
            });
            edits.extend(self.store_edits(repository, differences, contents)?);
        }
        if survey.scope == SurveyScope::All {
            after.write_survey(&marks, &survey.base)?;
        }
        Ok(edits)
    }

    /// Stores what is in files, and describes how they differ.
    fn store_edits(
        &self,
        repository: &ShadowRepository,
        differences: Vec<FileDiff>,
        contents: &ContentStore,
    ) -> Result<Vec<FileEdit>, ChangesError> {
        if differences.len() > MAX_EDITS {
            return Ok(Vec::new());
        }
        let sizes = git_content::object_sizes(repository, differences.iter())?;
        let mut left = MAX_SURVEY_BYTES;
        let fits = |difference: &FileDiff| {
            let size = |side: &TreeEntry| sizes.get(&side.object).copied().unwrap_or(u64::MAX);
            let sides = difference.before.iter().chain(&difference.after);
            let sides: Vec<_> = sides.map(size).collect();
            let total = sides
                .iter()
                .fold(0, |total: u64, size| total.saturating_add(*size));
            let fits = sides.iter().all(|size| *size <= MAX_CONTENT_BYTES) && total <= left;
            left -= if fits { total } else { 0 };
            fits
        };
        let differences: Vec<_> = differences.into_iter().filter(fits).collect();
        let objects = differences.iter();
        let objects = objects.flat_map(|one| one.before.iter().chain(&one.after));
        let blobs = git_content::read_blobs(repository, objects.map(|side| side.object.as_str()))?;
        let mut edits = Vec::new();
        for difference in &differences {
            let bytes = |side: &TreeEntry| blobs.get(&side.object).map(Vec::as_slice);
            let is_text =
                |side: &TreeEntry| bytes(side).is_some_and(|b| std::str::from_utf8(b).is_ok());
            if !difference.before.iter().all(is_text) {
                continue;
            }
            let store = |side: &Option<TreeEntry>| match side {
                Some(side) => {
                    let path = repository.absolute_path(&side.name);
                    store_side(&self.key, &path, bytes(side).unwrap_or_default(), contents)
                }
                None => Ok(None),
            };
            let (before, after) = (store(&difference.before)?, store(&difference.after)?);
            if (before.is_some(), after.is_some())
                != (difference.before.is_some(), difference.after.is_some())
            {
                continue;
            }
            edits.push(FileEdit {
                before,
                after,
                diff: difference
                    .line_counts
                    .map(|(added, removed)| FileEditDiffStats {
                        added: Some(added),
                        removed: Some(removed),
                    }),
            });
        }
        Ok(edits)
    }
}

/// Whether a client can undo an edit: it is one of the content of plain files.
fn is_restorable(difference: &FileDiff) -> bool {
    let mut sides = difference.before.iter().chain(&difference.after);
    let object = |side: &Option<TreeEntry>| side.as_ref().map(|side| side.object.clone());
    sides.all(TreeEntry::is_regular_file) && object(&difference.before) != object(&difference.after)
}

fn is_claimed(repository: &ShadowRepository, difference: &FileDiff, survey: &EditSurvey) -> bool {
    let sides = difference.before.iter().chain(&difference.after);
    let paths: Vec<_> = sides
        .map(|side| repository.absolute_path(&side.name))
        .collect();
    let claimed = survey.claimed.iter();
    let claimed = claimed.flat_map(|edit| [&edit.before, &edit.after].into_iter().flatten());
    let mut claimed = claimed.filter_map(|side| path_of(&side.uri));
    claimed.any(|path| paths.contains(&path))
}

/// Stores what is in a file.
fn store_side(
    session: &SessionKey,
    path: &Path,
    bytes: &[u8],
    contents: &ContentStore,
) -> Result<Option<FileEditSide>, ChangesError> {
    // A name that is no text can't be in an address.
    let Some(uri) = uri_of(path) else {
        return Ok(None);
    };
    let stored = contents.insert(session, bytes, &path.to_string_lossy());
    let content = stored.map_err(|error| ChangesError::Io(error.to_string()))?;
    Ok(Some(FileEditSide { uri, content }))
}
