//! Additions to the standard library.
//!
//! **What it does.** [`private_file`] creates and opens files and directories that belong to
//! one user; [`private_socket`] binds Unix sockets that only this user can connect to;
//! [`disk_space`] says why nothing can be written; [`scratch`] makes temporary directories that
//! a later process removes if this one is killed; [`redaction`] masks secrets; [`sync`] locks
//! without poisoning; [`result`] ignores errors for a stated reason; [`shell`] quotes words;
//! [`text`] shortens text; [`hex`] writes digests.
//!
//! **What it must never do.** It knows nothing of the protocol, the host or
//! its configuration, and uses no other crate of the workspace.
//!
//! **Where to start.** [`private_file`].

pub mod disk_space;
pub mod hex;
pub mod private_file;
pub mod private_socket;
pub mod redaction;
pub mod result;
pub mod scratch;
pub mod shell;
pub mod sync;
pub mod text;
