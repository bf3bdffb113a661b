//! What agents and their clients work on.
//!
//! **What it does.** [`FileService`] reads and changes files inside of granted
//! folders; [`ContentStore`] keeps what is too large for a state; [`DirectoryWatch`] tells
//! what changes in a folder; [`ChangeTracker`] remembers how files were, and says how
//! they differ; [`ResourceService`] passes a request to the owner of its URI;
//! [`Terminal`] is a shell to type into, or a command; [`search_files`] finds
//! files by a part of their names; [`path_of`] and [`uri_of`] convert between
//! paths and `file:` URIs.
//!
//! **What it never does.** It decides nothing about sessions and sends nothing
//! to anybody: it is asked, and answers. It follows no symbolic link out of
//! the directories that it is given.
//!
//! **Where to start.** [`search_files`].

mod change_tracker;
mod content_store;
mod file_search;
mod file_service;
mod file_uri;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod git;
mod protected_paths;
mod resource;
mod terminal;
mod utf8;
mod watch;

pub use change_tracker::{ChangeTracker, ChangesError, WorktreeRemoval, is_whole_edit};
pub use content_store::{ContentError, ContentStore};
pub use file_search::{SearchLimits, search_files};
pub use file_service::{FileError, FileService, MAX_FILE_BYTES};
pub use file_uri::{path_of, uri_of};
pub use git::{GitError, RepositoryCode, RepositoryHook, clone_shallow, version as git_version};
pub use protected_paths::ProtectedPaths;
pub use resource::ResourceService;
pub use terminal::{
    EXIT_GRACE, ExecSpec, OutputSink, PtyProgram, ShellSpec, ShellStartup, Terminal, TerminalError,
    TerminalOptions,
};
pub use utf8::drain_valid_utf8;
pub use watch::{
    DirectoryWatch, FolderSubscription, WatchDepth, WatchError, WatchEvent, WatchEventReceiver,
};
