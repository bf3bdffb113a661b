//! Determines the edits of a running turn, with file contents before and after.
//!
//! Clients restore a file by writing the content before the edit as text to its path. So only
//! edits that can be undone in this way are reported: those of regular files that git does not
//! convert, with text before. All others are in the changesets only.

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

/// Maximum number of edits of one folder. If there are more, none of that folder is reported.
const MAX_EDITS: usize = 500;

/// Maximum size of a file content, in bytes.
const MAX_CONTENT_BYTES: u64 = 2 * 1024 * 1024;

/// Maximum size of all contents of one folder, in bytes; edits that don't fit are left out.
const MAX_SURVEY_BYTES: u64 = 32 * 1024 * 1024;

impl ChangeTracker {
    /// Returns the edits that a running turn has made since its last survey, and stores the
    /// file contents.
    ///
    /// # Errors
    ///
    /// Returns an error if the edits can't be determined. The next survey then starts from the
    /// previous one.
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

/// Returns `true` if an edit that an agent reports has complete contents: the file existed
/// before, and its content is that after the edit. Agents also report partial contents, or the
/// creation of an existing file.
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
            // A folder that was added since has no earlier tree to compare with.
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

    /// Stores the contents of the files and describes their edits.
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

/// Returns `true` if a client can undo the edit: it changes the content of regular files only.
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

/// Stores the content of one side of an edit.
fn store_side(
    session: &SessionKey,
    path: &Path,
    bytes: &[u8],
    contents: &ContentStore,
) -> Result<Option<FileEditSide>, ChangesError> {
    // A path that is not UTF-8 has no URI.
    let Some(uri) = uri_of(path) else {
        return Ok(None);
    };
    let stored = contents.insert(session, bytes, &path.to_string_lossy());
    let content = stored.map_err(|error| ChangesError::Io(error.to_string()))?;
    Ok(Some(FileEditSide { uri, content }))
}
