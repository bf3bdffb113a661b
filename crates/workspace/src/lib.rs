//! What agents and their clients work on.
//!
//! **What it does.** [`Files`] reads and changes files inside of granted
//! folders; [`Contents`] keeps what is too large for a state; [`Watch`] tells
//! what changes in a folder; [`Changes`] remembers how files were, and says how
//! they differ; [`Terminal`] is a shell to type into, or a command;
//! [`find_files`] looks for files by what was typed of their names; [`path_of`]
//! and [`uri_of`] say which file a `file:` URI names.
//!
//! **What it never does.** It decides nothing about sessions and sends nothing
//! to anybody: it is asked, and answers. It follows no symbolic link out of
//! the directories that it is given.
//!
//! **Where to start.** [`find_files`].

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
pub use changes::{Changes, ChangesError, Leftover, is_whole_edit};
pub use contents::{ContentError, Contents};
pub use environment::shared_environment;
pub use files::{FileError, Files, LARGEST};
pub use find::{Bounds, find_files};
pub use git::{GitError, RepositoryCode, RepositoryHook, clone_shallow, version as git_version};
pub use protected::ProtectedPaths;
pub use terminal::{
    GRACE, KeepOutput, Program, RUN_VARIABLE, Run, RunMark, RunningNote, Shell, Startup, Terminal,
    TerminalError, TerminalStart, sweep,
};
pub use text::take_whole;
pub use watch::{FolderSubscription, Watch, WatchDepth, WatchError, WatchEvent, WatchEvents};
