//! Reading a client's package, question by question.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use agenthost_core::customizing::{Heard, Ticket, Wanted};
use agenthost_protocol::resource::{ContentEncoding, ResourceListResult, ResourceReadResult};
use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::time::Instant;

use crate::identity::uri_inside;
use crate::package::{DEEPEST, LARGEST_FILE, MOST_FILES, Package, Room, usable_name};

/// Most questions that a client has to answer at a time.
const OPEN: usize = 8;

/// Most folders of a package.
const MOST_FOLDERS: usize = 200;

/// How long reading a package may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A package that is being read.
pub(super) struct Walk {
    /// The session that it is asked for.
    pub(super) session: Uri,
    root: Uri,
    pub(super) deadline: Instant,
    /// What there is still to ask.
    pending: VecDeque<Question>,
    open: BTreeMap<Ticket, Question>,
    /// How many folders there are, up to one too many.
    folders: usize,
    package: Package,
    /// The files as they came, to be written down.
    files: Vec<(String, Vec<u8>)>,
    failure: Option<String>,
}

/// What was gathered.
pub(super) struct Gathered {
    pub(super) package: Package,
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Why there is nothing.
    pub(super) failure: Option<String>,
}

/// Something to ask.
enum Question {
    Folder { path: String, depth: usize },
    File(String),
}

impl Walk {
    pub(super) fn new(session: Uri, root: Uri) -> Self {
        Walk {
            session,
            root,
            deadline: Instant::now() + PATIENCE,
            pending: VecDeque::from([Question::Folder {
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

    /// Whether there is another question that can be asked now.
    pub(super) fn can_ask(&self) -> bool {
        self.open.len() < OPEN && !self.pending.is_empty()
    }

    /// Whether all is known.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty() && self.pending.is_empty()
    }

    /// Asks the next question.
    pub(super) fn ask(&mut self, ticket: Ticket) -> Option<Wanted> {
        let question = self.pending.pop_front()?;
        let wanted = match &question {
            Question::Folder { path, .. } if path.is_empty() => Wanted::List(self.root.clone()),
            Question::Folder { path, .. } => Wanted::List(uri_inside(&self.root, path)),
            Question::File(path) => Wanted::Read(uri_inside(&self.root, path)),
        };
        self.open.insert(ticket, question);
        Some(wanted)
    }

    /// Whether a question is one of these.
    pub(super) fn asked(&self, ticket: Ticket) -> bool {
        self.open.contains_key(&ticket)
    }

    /// Takes what a client said.
    pub(super) fn hear(&mut self, ticket: Ticket, answer: Result<Heard, String>) {
        let Some(question) = self.open.remove(&ticket) else {
            return;
        };
        match (question, answer) {
            (Question::Folder { path, depth }, Ok(Heard::Listed(listed))) => {
                self.folder(&path, depth, &listed);
            }
            (Question::File(path), Ok(Heard::Read(read))) => self.file(&path, &read),
            (Question::Folder { path, .. }, Err(why)) if path.is_empty() => {
                self.failure = Some(format!(
                    "the client does not tell what is in it: {}",
                    short(&why)
                ));
            }
            (Question::Folder { path, .. }, Err(why)) => {
                self.package
                    .add_problem(format!("`{path}`: {}", short(&why)));
            }
            (Question::File(path), Err(why)) => self.package.add_unreadable(&path, short(&why)),
            (Question::Folder { path, .. }, Ok(Heard::Read(_)))
            | (Question::File(path), Ok(Heard::Listed(_))) => {
                self.package
                    .add_problem(format!("`{path}`: the client answered something else"));
            }
        }
    }

    /// Time is up: what is there has to do.
    pub(super) fn give_up(&mut self) {
        let why = "the client took too long to tell what is in it";
        match self.package.is_empty() {
            true => self.failure = Some(why.to_owned()),
            false => self.package.add_problem(why),
        }
        self.pending.clear();
        self.open.clear();
    }

    pub(super) fn gathered(self) -> Gathered {
        Gathered {
            package: self.package,
            files: self.files,
            failure: self.failure,
        }
    }

    fn folder(&mut self, path: &str, depth: usize, listed: &ResourceListResult) {
        for entry in listed.entries.iter().take(MOST_FILES + 1) {
            if !usable_name(&entry.name) {
                if entry.name.contains(['/', '\\', '\0']) || entry.name == ".." {
                    let name: String = entry.name.chars().take(80).collect();
                    self.package
                        .add_problem(format!("`{name}` leads out of the package"));
                }
                continue;
            }
            let inside = match path {
                "" => entry.name.clone(),
                _ => format!("{path}/{}", entry.name),
            };
            match entry.r#type.as_str() {
                "directory" if depth + 1 >= DEEPEST => self.package.add_problem(format!(
                    "`{inside}`: folders are too deep inside each other"
                )),
                "directory" if self.folders >= MOST_FOLDERS => {
                    // Every folder that is still to be told may have more of them.
                    if self.folders == MOST_FOLDERS {
                        self.folders += 1;
                        self.package
                            .add_problem(format!("it has more than {MOST_FOLDERS} folders"));
                    }
                }
                "directory" => {
                    self.package.add_folder(&inside);
                    self.folders += 1;
                    self.pending.push_back(Question::Folder {
                        path: inside,
                        depth: depth + 1,
                    });
                }
                _ => self.pending.push_back(Question::File(inside)),
            }
        }
    }

    fn file(&mut self, path: &str, read: &ResourceReadResult) {
        let bytes = match read.encoding {
            ContentEncoding::Utf8 => read.data.clone().into_bytes(),
            ContentEncoding::Base64 => match STANDARD.decode(&read.data) {
                Ok(bytes) => bytes,
                Err(_) => {
                    self.package
                        .add_unreadable(path, "the client sent what is not base64");
                    return;
                }
            },
        };
        let size = bytes.len() as u64;
        if self.package.room_for(size) == Room::Full {
            self.pending.clear();
            return;
        }
        if size <= LARGEST_FILE {
            self.files.push((path.to_owned(), bytes.clone()));
        }
        self.package.add(path, bytes);
    }
}

fn short(why: &str) -> String {
    why.trim().chars().take(200).collect()
}
