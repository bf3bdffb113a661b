//! Spawns, signals and kills the child processes of the host.
//!
//! **What it does.** [`ManagedChild`] spawns a program with pipes and ends it with all of its
//! descendants; [`ProcessGroup`] signals a process group, also at a deadline, and [`GroupGuard`]
//! kills one on drop; [`ProcessSession`] ends the POSIX session of a terminal; [`EnvMarker`] finds
//! descendants that left their group; [`PidFile`] and [`kill_leftovers`] end the processes of a
//! host that was killed; [`ProcessIdentity`] recognizes and ends a process that is not a child;
//! [`StreamTail`] keeps the end of a stream, and [`inherited_environment`]
//! returns the variables that a child may inherit. This is the only crate that signals process
//! groups and reads processes from procfs.
//!
//! **What it must never do.** It does not decide which programs run, and it does not log or show
//! arguments, environments or output: all of them may contain secrets.
//!
//! **Where to start.** [`ManagedChild`] in `child.rs`.

mod child;
mod environment;
mod group;
mod identity;
mod marker;
mod pid_file;
mod procfs;
mod session;
mod tail;
mod tree;

pub use child::{
    ChildConfig, ChildPipes, ChildSpawnError, ManagedChild, STDERR_DRAIN_TIMEOUT, SignalScope,
};
pub use environment::inherited_environment;
pub use group::{DeadlineStatus, GroupGuard, KillStep, ProcessGroup};
pub use identity::{ProcessIdentity, own_user};
pub use marker::{EnvMarker, MARKER_VARIABLE};
pub use pid_file::{PidFile, kill_leftovers};
pub use procfs::PROC_ROOT;
pub use session::{LeaderState, OrphanPolicy, ProcessSession, TerminateSignal};
pub use tail::StreamTail;
