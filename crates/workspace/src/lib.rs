//! What agents and their clients work on.
//!
//! **What it does.** [`FileService`] reads and changes files inside of granted
//! folders; [`ContentStore`] keeps what is too large for a state; [`DirectoryWatch`] tells
//! what changes in a folder; [`ChangeTracker`] remembers how files were, and says how
//! they differ; [`Terminal`] is a shell to type into, or a command;
//! [`search_files`] looks for files by what was typed of their names; [`path_of`]
//! and [`uri_of`] say which file a `file:` URI names.
//!
//! **What it never does.** It decides nothing about sessions and sends nothing
//! to anybody: it is asked, and answers. It follows no symbolic link out of
//! the directories that it is given.
//!
//! **Where to start.** [`search_files`].

mod address;
mod changes;
mod contents;
mod environment;
mod files;
mod find;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod git;
mod protected;
mod terminal;
mod text;
mod watch;

pub use address::{path_of, uri_of};
pub use changes::{ChangeTracker, ChangesError, WorktreeRemoval, is_whole_edit};
pub use contents::{ContentError, ContentStore};
pub use environment::inherited_environment;
pub use files::{FileError, FileService, MAX_FILE_BYTES};
pub use find::{SearchLimits, search_files};
pub use git::{GitError, RepositoryCode, RepositoryHook, clone_shallow, version as git_version};
pub use protected::ProtectedPaths;
pub use terminal::{
    EXIT_GRACE, EnvMarker, ExecSpec, MARKER_VARIABLE, OutputSink, PidFile, PtyProgram, ShellSpec,
    ShellStartup, Terminal, TerminalError, TerminalOptions, kill_leftovers,
};
pub use text::drain_valid_utf8;
pub use watch::{
    DirectoryWatch, FolderSubscription, WatchDepth, WatchError, WatchEvent, WatchEventReceiver,
};
