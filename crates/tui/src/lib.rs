//! The terminal user interface.
//!
//! **What it does.** Shows the sessions of a host on the alternate screen of a terminal, and lets
//! the user write, answer, review and control them. [`TerminalScreen`] is a state machine: it takes
//! events of the keyboard and changes of the [`agenthost_frontend::Frontend`], draws into a frame,
//! and returns requests. [`run`] is the loop around it that owns the terminal and the connection.
//!
//! **What it must never do.** The screen does no I/O and reads no clock. No text of a model, a file
//! or a peer reaches the terminal with control characters in it. Nothing runs while nothing
//! changes.
//!
//! **Where to start.** [`run`] in `event_loop.rs`; `screen.rs` for keys and layout, then a pane in
//! `panes`.

mod bindings;
mod dialogs;
mod event_loop;
mod model;
mod paint;
mod panes;
mod screen;

pub use event_loop::{
    FrameBackend, HostStartError, HostStartFuture, HostStarter, TuiError, TuiOptions, run,
};
pub use paint::theme::ScreenTheme;
pub use screen::{ScreenOptions, ScreenRequest, TerminalScreen};
