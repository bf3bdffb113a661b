//! Describes changed files with URIs of their contents, and reads these contents.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_core::SessionKey;
use agenthost_protocol::changeset::ChangesetFile;
use agenthost_protocol::common::{ContentRef, FileEdit, FileEditDiffStats, FileEditSide};
use agenthost_protocol::ids::ChangesetFileId;
use agenthost_protocol::resource::{
    ContentEncoding, ResourceReadResult, ResourceResolveResult, ResourceType,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use super::diff::{FileDiff, TreeEntry};
use super::object_address::{GitContentUri, GitObjectKind};
use super::repository::ShadowRepository;
use super::{ChangeTracker, ChangesError, DIFF_TIMEOUT};
use crate::file_service::{FileError, MAX_FILE_BYTES, encode_content};
use crate::file_uri::uri_of_raw;
use crate::git::{GitCommand, GitError};

/// Converts differences to the changeset files that clients see.
pub(super) fn describe_files(
    key: &SessionKey,
    repositories: &[ShadowRepository],
    differences: Vec<FileDiff>,
) -> Result<Vec<ChangesetFile>, ChangesError> {
    let mut files = Vec::new();
    for repository in repositories {
        let here = || {
            differences
                .iter()
                .filter(|one| one.folder_key == repository.key)
        };
        let sizes = object_sizes(repository, here())?;
        for difference in here() {
            let side = |side: &Option<TreeEntry>| {
                side.as_ref().map(|side| FileEditSide {
                    uri: uri_of_raw(&repository.absolute_path(&side.name)),
                    content: content_reference(
                        key,
                        repository,
                        side,
                        &sizes,
                        difference.line_counts.is_some(),
                    ),
                })
            };
            let (before, after) = (side(&difference.before), side(&difference.after));
            let Some(named) = after.as_ref().or(before.as_ref()) else {
                continue;
            };
            files.push(ChangesetFile {
                id: ChangesetFileId::from(named.uri.as_str()),
                reviewed: None,
                meta: mode_change_meta(difference),
                edit: FileEdit {
                    before,
                    after,
                    diff: difference
                        .line_counts
                        .map(|(added, removed)| FileEditDiffStats {
                            added: Some(added),
                            removed: Some(removed),
                        }),
                },
            });
        }
    }
    Ok(files)
}

/// Describes changed files that are too large to be stored. They have only a path and a size.
pub(super) fn describe_large_files(
    repository: &ShadowRepository,
    names: &BTreeSet<Vec<u8>>,
) -> Vec<ChangesetFile> {
    let file = |name: &Vec<u8>| {
        let path = repository.absolute_path(name);
        let uri = uri_of_raw(&path);
        let metadata = std::fs::metadata(&path).ok();
        let content = ContentRef {
            uri: uri.clone(),
            size_hint: metadata.as_ref().map(std::fs::Metadata::len),
            content_type: None,
            nonce: metadata.and_then(|found| Some(format!("{:?}", found.modified().ok()?))),
        };
        let meta = [("agenthost.notKept".to_owned(), Json::from(true))];
        ChangesetFile {
            id: ChangesetFileId::from(uri.as_str()),
            edit: FileEdit {
                before: None,
                after: Some(FileEditSide { uri, content }),
                diff: None,
            },
            reviewed: None,
            meta: Some(Box::new(meta.into_iter().collect())),
        }
    };
    names.iter().map(file).collect()
}

/// Returns the metadata of a changed file mode.
fn mode_change_meta(difference: &FileDiff) -> Option<Box<agenthost_protocol::wire::Object>> {
    let (before, after) = (difference.before.as_ref()?, difference.after.as_ref()?);
    if before.mode == after.mode {
        return None;
    }
    let modes = Json::from_iter([("before", &*before.mode), ("after", &*after.mode)]);
    let meta = [("agenthost.mode".to_owned(), modes)];
    Some(Box::new(meta.into_iter().collect()))
}

fn content_reference(
    key: &SessionKey,
    repository: &ShadowRepository,
    side: &TreeEntry,
    sizes: &BTreeMap<String, u64>,
    has_lines: bool,
) -> ContentRef {
    let address = GitContentUri {
        session: key.clone(),
        object: side.object.clone(),
        kind: if side.is_submodule() {
            GitObjectKind::Commit
        } else {
            GitObjectKind::Blob
        },
    };
    let path = repository.absolute_path(&side.name);
    let binary = !has_lines;
    ContentRef {
        uri: address.to_uri(path.as_os_str().as_encoded_bytes()),
        size_hint: sizes.get(&side.object).copied(),
        content_type: binary.then(|| "application/octet-stream".to_owned()),
        nonce: Some(side.object.clone()),
    }
}

/// Returns the sizes of all blobs of the differences.
pub(super) fn object_sizes<'a>(
    repository: &ShadowRepository,
    differences: impl Iterator<Item = &'a FileDiff>,
) -> Result<BTreeMap<String, u64>, ChangesError> {
    let sides = differences.flat_map(|one| one.before.iter().chain(&one.after));
    let sides = sides.filter(|side| !side.is_submodule());
    let objects: BTreeSet<_> = sides.map(|side| side.object.as_str()).collect();
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    let list: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let check = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    let answer = repository
        .shadow
        .run(check, list.as_bytes())?
        .into_stdout()?;
    let answer = String::from_utf8_lossy(&answer);
    let lines = answer.lines().filter_map(|line| line.split_once(' '));
    let sizes = lines.filter_map(|(object, size)| Some((object.to_owned(), size.parse().ok()?)));
    Ok(sizes.collect())
}

/// Reads blobs by their object ids.
pub(super) fn read_blobs<'a>(
    repository: &ShadowRepository,
    objects: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, Vec<u8>>, ChangesError> {
    let objects: BTreeSet<_> = objects.collect();
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    let list: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let answer = repository
        .shadow
        .run(["cat-file", "--batch"], list.as_bytes())?;
    parse_batch(&answer.into_stdout()?).ok_or_else(|| {
        let words = "unexpected output".to_owned();
        ChangesError::Git(words)
    })
}

/// Parses the output of `git cat-file --batch`: for each object a line with its id, type and
/// size, its content, and a newline.
pub(super) fn parse_batch(mut output: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut blobs = BTreeMap::new();
    while !output.is_empty() {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = output.split_at_checked(end)?;
        let line = std::str::from_utf8(line).ok()?;
        let rest = rest.get(1..)?;
        let mut words = line.split(' ');
        let object = words.next()?;
        if words.next() == Some("missing") {
            output = rest;
            continue;
        }
        let size = words.next()?.parse().ok()?;
        let (content, rest) = rest.split_at_checked(size)?;
        blobs.insert(object.to_owned(), content.to_vec());
        output = rest.strip_prefix(b"\n")?;
    }
    Some(blobs)
}

impl ChangeTracker {
    /// Reads an earlier version of a file, encoded for a client.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such object, or it is too large.
    pub fn read(
        &self,
        uri: &Uri,
        encoding: Option<ContentEncoding>,
    ) -> Result<ResourceReadResult, FileError> {
        let bytes = self.read_object(uri)?;
        Ok(encode_content(bytes, encoding))
    }

    /// Describes an earlier version of a file. Its content never changes.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such object, or it is too large.
    pub fn resolve(&self, uri: &Uri) -> Result<ResourceResolveResult, FileError> {
        let bytes = self.read_object(uri)?;
        Ok(ResourceResolveResult {
            uri: uri.clone(),
            r#type: ResourceType::File,
            size: Some(bytes.len() as u64),
            mtime: None,
            ctime: None,
            content_type: None,
            etag: None,
        })
    }

    /// Returns the content of an earlier version of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such object, or it is too large.
    pub fn read_object(&self, uri: &Uri) -> Result<Vec<u8>, FileError> {
        let unknown = || FileError::NotFound(uri.clone());
        let address = GitContentUri::parse(uri).ok_or_else(unknown)?;
        if address.kind == GitObjectKind::Commit {
            return Ok(format!("Subproject commit {}\n", address.object).into_bytes());
        }
        let format = if address.object.len() == 40 {
            "sha1"
        } else {
            "sha256"
        };
        let session_dir = self.directory.join(address.session.as_str());
        let ours = session_dir.join(format!("git-{format}"));
        if !ours.is_dir() {
            return Err(unknown());
        }
        let git = GitCommand::for_host_repository(&ours, DIFF_TIMEOUT);
        let failed = |error: GitError| FileError::Failed {
            uri: uri.clone(),
            problem: error.to_string(),
        };
        let size = git
            .try_read_line(["cat-file", "-s", &address.object])
            .map_err(failed)?;
        let size: u64 = size
            .and_then(|size| size.parse().ok())
            .ok_or_else(unknown)?;
        if size > MAX_FILE_BYTES {
            let uri = uri.clone();
            return Err(FileError::TooLarge { uri, size });
        }
        git.read_output(["cat-file", "blob", &address.object])
            .map_err(failed)
    }
}
