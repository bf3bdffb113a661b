//! Files, terminals, git change tracking and file watches of a workspace.
//!
//! **What it does.** [`FileService`] reads and changes files within granted directories;
//! [`ContentStore`] stores content that is too large for a channel's state; [`DirectoryWatch`]
//! reports changes of a directory; [`ChangeTracker`] takes checkpoints of files and compares
//! them; [`ResourceService`] dispatches a request to the owner of its URI; [`Terminal`] runs a
//! shell or a command in a pseudoterminal; [`search_files`] finds files by a part of their
//! path; [`path_of`] and [`uri_of`] convert between paths and `file:` URIs.
//!
//! **What it never does.** It decides nothing about sessions and sends no messages to clients:
//! its callers do both. It follows no symbolic link out of the granted directories.
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

pub use change_tracker::{
    ChangeTracker, ChangesError, UnmergedWork, WorktreeRemoval, is_whole_edit,
};
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
