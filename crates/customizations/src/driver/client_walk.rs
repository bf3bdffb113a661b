//! Walks the folders of a client's package with one request per folder and file.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use agenthost_core::ClientReadError;
use agenthost_core::customization::driver::{QueryId, ResourceQuery, ResourceReply};
use agenthost_protocol::resource::{ContentEncoding, ResourceListResult, ResourceReadResult};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::text::truncate_chars;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::time::Instant;

use crate::package::identity::uri_inside;
use crate::package::{
    MAX_FOLDER_DEPTH, MAX_PACKAGE_FILE_BYTES, MAX_PACKAGE_FILES, Package, PackageCapacity,
    is_usable_name,
};

/// Maximum number of requests to a client that are pending at the same time. A few requests
/// in parallel hide the latency without flooding the client.
const MAX_OPEN_QUERIES: usize = 8;

/// Maximum number of folders of a package. It bounds the requests that a client's listing
/// can cause.
const MAX_FOLDERS: usize = 200;

/// Timeout for reading a whole package from a client.
const WALK_TIMEOUT: Duration = Duration::from_secs(30);

/// The state of a package that is being read from a client.
pub(super) struct ClientWalk {
    /// The session that the requests are sent for.
    pub(super) session: Uri,
    root: Uri,
    pub(super) deadline: Instant,
    /// Requests that have not been sent yet.
    pending: VecDeque<WalkQuery>,
    open: BTreeMap<QueryId, WalkQuery>,
    /// The number of folders, at most one more than [`MAX_FOLDERS`].
    folders: usize,
    package: Package,
    /// The received files, which are mirrored to disk afterwards.
    files: Vec<(String, Vec<u8>)>,
    failure: Option<String>,
}

/// The files that were read, or the reason of the failure.
pub(super) struct WalkResult {
    pub(super) package: Package,
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// The reason why the package could not be read at all.
    pub(super) failure: Option<String>,
}

/// A request for a folder or file of the package.
enum WalkQuery {
    Folder { path: String, depth: usize },
    File(String),
}

impl ClientWalk {
    pub(super) fn new(session: Uri, root: Uri) -> Self {
        ClientWalk {
            session,
            root,
            deadline: Instant::now() + WALK_TIMEOUT,
            pending: VecDeque::from([WalkQuery::Folder {
                path: String::new(),
                depth: 0,
            }]),
            open: BTreeMap::new(),
            folders: 1,
            package: Package::default(),
            files: Vec::new(),
            failure: None,
        }
    }

    /// Returns `true` if a request is waiting and the limit of pending requests permits it.
    pub(super) fn can_ask(&self) -> bool {
        self.open.len() < MAX_OPEN_QUERIES && !self.pending.is_empty()
    }

    /// Returns `true` if no request is waiting or pending.
    pub(super) fn is_finished(&self) -> bool {
        self.open.is_empty() && self.pending.is_empty()
    }

    /// Moves the next request to the pending ones and returns its query.
    pub(super) fn next_query(&mut self, query: QueryId) -> Option<ResourceQuery> {
        let question = self.pending.pop_front()?;
        let resource = match &question {
            WalkQuery::Folder { path, .. } if path.is_empty() => {
                ResourceQuery::List(self.root.clone())
            }
            WalkQuery::Folder { path, .. } => ResourceQuery::List(uri_inside(&self.root, path)),
            WalkQuery::File(path) => ResourceQuery::Read(uri_inside(&self.root, path)),
        };
        self.open.insert(query, question);
        Some(resource)
    }

    /// Returns `true` if a request with this id is pending.
    pub(super) fn is_open(&self, query: QueryId) -> bool {
        self.open.contains_key(&query)
    }

    /// Adds the client's response to the package.
    pub(super) fn accept_reply(
        &mut self,
        query: QueryId,
        answer: Result<ResourceReply, ClientReadError>,
    ) {
        let Some(question) = self.open.remove(&query) else {
            return;
        };
        match (question, answer) {
            (WalkQuery::Folder { path, depth }, Ok(ResourceReply::Listed(listed))) => {
                self.add_listing(&path, depth, &listed);
            }
            (WalkQuery::File(path), Ok(ResourceReply::Read(read))) => self.add_file(&path, &read),
            (WalkQuery::Folder { path, .. }, Err(error)) if path.is_empty() => {
                self.failure = Some(format!(
                    "the client did not list its content: {}",
                    truncate_reason(&error)
                ));
            }
            (WalkQuery::Folder { path, .. }, Err(error)) => {
                self.package
                    .add_problem(format!("`{path}`: {}", truncate_reason(&error)));
            }
            (WalkQuery::File(path), Err(error)) => {
                self.package.add_unreadable(&path, truncate_reason(&error))
            }
            (WalkQuery::Folder { path, .. }, Ok(ResourceReply::Read(_)))
            | (WalkQuery::File(path), Ok(ResourceReply::Listed(_))) => {
                self.package
                    .add_problem(format!("`{path}`: unexpected response of the client"));
            }
        }
    }

    /// Ends the walk after the timeout. The files that were received so far are used. If
    /// the package is still empty, the walk has failed.
    pub(super) fn expire(&mut self) {
        let why = "the client did not list its content in time";
        if self.package.is_empty() {
            self.failure = Some(why.to_owned())
        } else {
            self.package.add_problem(why)
        }
        self.pending.clear();
        self.open.clear();
    }

    pub(super) fn into_result(self) -> WalkResult {
        WalkResult {
            package: self.package,
            files: self.files,
            failure: self.failure,
        }
    }

    fn add_listing(&mut self, path: &str, depth: usize, listed: &ResourceListResult) {
        for entry in listed.entries.iter().take(MAX_PACKAGE_FILES + 1) {
            if !is_usable_name(&entry.name) {
                if entry.name.contains(['/', '\\', '\0']) || entry.name == ".." {
                    let name = truncate_chars(&entry.name, 80);
                    self.package
                        .add_problem(format!("`{name}` is outside of the package"));
                }
                continue;
            }
            let inside = match path {
                "" => entry.name.clone(),
                _ => format!("{path}/{}", entry.name),
            };
            match entry.r#type.as_str() {
                "directory" if depth + 1 >= MAX_FOLDER_DEPTH => self
                    .package
                    .add_problem(format!("`{inside}`: folders are nested too deeply")),
                "directory" if self.folders >= MAX_FOLDERS => {
                    // Each of the remaining folders may exceed the limit, but the problem
                    // is reported once.
                    if self.folders == MAX_FOLDERS {
                        self.folders += 1;
                        self.package
                            .add_problem(format!("it has more than {MAX_FOLDERS} folders"));
                    }
                }
                "directory" => {
                    self.package.add_folder(&inside);
                    self.folders += 1;
                    self.pending.push_back(WalkQuery::Folder {
                        path: inside,
                        depth: depth + 1,
                    });
                }
                _ => self.pending.push_back(WalkQuery::File(inside)),
            }
        }
    }

    fn add_file(&mut self, path: &str, read: &ResourceReadResult) {
        let bytes = match read.encoding {
            ContentEncoding::Utf8 => read.data.clone().into_bytes(),
            ContentEncoding::Base64 => match STANDARD.decode(&read.data) {
                Ok(bytes) => bytes,
                Err(_) => {
                    self.package
                        .add_unreadable(path, "the client sent invalid base64");
                    return;
                }
            },
        };
        let size = bytes.len() as u64;
        if self.package.check_capacity(size) == PackageCapacity::Full {
            self.pending.clear();
            return;
        }
        if size <= MAX_PACKAGE_FILE_BYTES {
            self.files.push((path.to_owned(), bytes.clone()));
        }
        self.package.add_file(path, bytes);
    }
}

fn truncate_reason(why: &ClientReadError) -> String {
    truncate_chars(why.to_string().trim(), 200)
}
