//! What was in files: addresses that can be read later.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_core::{Answer, Failure, FileRequest, SessionKey, uris};
use agenthost_protocol::changeset::ChangesetFile;
use agenthost_protocol::common::{ContentRef, FileEdit, FileEditDiffStats, FileEditSide};
use agenthost_protocol::ids::ChangesetFileId;
use agenthost_protocol::resource::{ResourceResolveResult, ResourceType};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use super::compare::{Difference, Side};
use super::repository::Repository;
use super::{Changes, ChangesError, LOOKING};
use crate::address::{escape, uri_of_raw};
use crate::files::{FileError, LARGEST, encode};
use crate::git::{Git, GitError};

/// How addresses of what was in files begin.
pub(super) fn beginning() -> String {
    format!("{}:/", uris::GIT)
}

/// Differences as clients see them.
pub(super) fn describe(
    key: &SessionKey,
    repositories: &[Repository],
    differences: Vec<Difference>,
) -> Result<Vec<ChangesetFile>, ChangesError> {
    let mut files = Vec::new();
    for repository in repositories {
        let here = || differences.iter().filter(|one| one.key == repository.key);
        let sizes = sizes(repository, here())?;
        for difference in here() {
            let side = |side: &Option<Side>| {
                side.as_ref().map(|side| FileEditSide {
                    uri: uri_of_raw(&repository.path(&side.name)),
                    content: reference(key, side, &sizes, difference.lines.is_some()),
                })
            };
            let (before, after) = (side(&difference.before), side(&difference.after));
            let Some(named) = after.as_ref().or(before.as_ref()) else {
                continue;
            };
            files.push(ChangesetFile {
                id: ChangesetFileId::from(named.uri.as_str()),
                reviewed: None,
                meta: modes(difference),
                edit: FileEdit {
                    before,
                    after,
                    diff: difference.lines.map(|(added, removed)| FileEditDiffStats {
                        added: Some(added),
                        removed: Some(removed),
                    }),
                },
            });
        }
    }
    Ok(files)
}

/// Files that changed and are too large to be kept: that they are there, and
/// where, is all that is shown.
pub(super) fn large(repository: &Repository, names: &BTreeSet<Vec<u8>>) -> Vec<ChangesetFile> {
    let file = |name: &Vec<u8>| {
        let path = repository.path(name);
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

/// Says so if it is another kind of file than before.
fn modes(difference: &Difference) -> Option<Box<agenthost_protocol::wire::Object>> {
    let (before, after) = (difference.before.as_ref()?, difference.after.as_ref()?);
    if before.mode == after.mode {
        return None;
    }
    let modes = Json::from_iter([("before", &*before.mode), ("after", &*after.mode)]);
    let meta = [("agenthost.mode".to_owned(), modes)];
    Some(Box::new(meta.into_iter().collect()))
}

fn reference(
    key: &SessionKey,
    side: &Side,
    sizes: &BTreeMap<String, u64>,
    has_lines: bool,
) -> ContentRef {
    let kind = if side.is_submodule() { "link-" } else { "" };
    let name = escape(&side.name);
    let binary = !has_lines;
    ContentRef {
        uri: Uri::from(format!(
            "{}{}/{kind}{}/{name}",
            beginning(),
            key.as_str(),
            side.object
        )),
        size_hint: sizes.get(&side.object).copied(),
        content_type: binary.then(|| "application/octet-stream".to_owned()),
        nonce: Some(side.object.clone()),
    }
}

/// How large the contents are.
fn sizes<'a>(
    repository: &Repository,
    differences: impl Iterator<Item = &'a Difference>,
) -> Result<BTreeMap<String, u64>, ChangesError> {
    let sides = differences.flat_map(|one| one.before.iter().chain(&one.after));
    let sides = sides.filter(|side| !side.is_submodule());
    let objects: BTreeSet<_> = sides.map(|side| side.object.as_str()).collect();
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    let list: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let check = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    let answer = repository.shadow.run(check, list.as_bytes())?.succeeded()?;
    let answer = String::from_utf8_lossy(&answer);
    let lines = answer.lines().filter_map(|line| line.split_once(' '));
    let sizes = lines.filter_map(|(object, size)| Some((object.to_owned(), size.parse().ok()?)));
    Ok(sizes.collect())
}

impl Changes {
    /// Answers a request about something that was in a file; none if it is
    /// about something else. It can be read, and nothing else.
    pub fn answer(&self, request: &FileRequest) -> Option<Result<Answer, Failure>> {
        let ours = |uri: &Uri| uri.as_str().starts_with(&beginning());
        let answer = match request {
            FileRequest::Read(params) if ours(&params.uri) => {
                let read = self.read(&params.uri);
                read.map(|bytes| Answer::Read(Box::new(encode(bytes, params.encoding))))
            }
            FileRequest::Resolve(params) if ours(&params.uri) => {
                let read = self.read(&params.uri);
                read.map(|bytes| Answer::Resolve(Box::new(resolve(&params.uri, &bytes))))
            }
            _ => return None,
        };
        Some(answer.map_err(Failure::from))
    }

    /// What was in a file.
    ///
    /// # Errors
    ///
    /// If it is not known, or too large.
    pub fn read(&self, uri: &Uri) -> Result<Vec<u8>, FileError> {
        let unknown = || FileError::NotFound(uri.clone());
        let address = Address::read(uri).ok_or_else(unknown)?;
        if address.is_link {
            return Ok(format!("Subproject commit {}\n", address.object).into_bytes());
        }
        let format = if address.object.len() == 40 {
            "sha1"
        } else {
            "sha256"
        };
        let kept = self.directory.join(address.key);
        let ours = kept.join(format!("git-{format}"));
        if !ours.is_dir() {
            return Err(unknown());
        }
        let git = Git::of_host(&ours, LOOKING);
        let failed = |error: GitError| FileError::Failed {
            uri: uri.clone(),
            problem: error.to_string(),
        };
        let size = git
            .maybe(["cat-file", "-s", address.object])
            .map_err(failed)?;
        let size: u64 = size
            .and_then(|size| size.parse().ok())
            .ok_or_else(unknown)?;
        if size > LARGEST {
            let uri = uri.clone();
            return Err(FileError::TooLarge { uri, size });
        }
        git.ask(["cat-file", "blob", address.object])
            .map_err(failed)
    }
}

/// What it is: a file that never changes.
fn resolve(uri: &Uri, bytes: &[u8]) -> ResourceResolveResult {
    ResourceResolveResult {
        uri: uri.clone(),
        r#type: ResourceType::File,
        size: Some(bytes.len() as u64),
        mtime: None,
        ctime: None,
        content_type: None,
        etag: None,
    }
}

/// The parts of an address, checked.
struct Address<'a> {
    key: &'a str,
    object: &'a str,
    is_link: bool,
}

impl<'a> Address<'a> {
    fn read(uri: &'a Uri) -> Option<Self> {
        let mut parts = uri.as_str().strip_prefix(&beginning())?.splitn(3, '/');
        let (key, object) = (parts.next()?, parts.next()?);
        let (object, is_link) = match object.strip_prefix("link-") {
            Some(object) => (object, true),
            None => (object, false),
        };
        let is_hex = |text: &str| text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        let whole = key.len() == 32 && (object.len() == 40 || object.len() == 64);
        (whole && is_hex(key) && is_hex(object)).then_some(Address {
            key,
            object,
            is_link,
        })
    }
}
