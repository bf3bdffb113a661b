//! The client behind the page and the terminal UI, as a state machine.
//!
//! **What it does.** [`Frontend`] takes messages of the host and commands of the user, and returns
//! messages to send, results of commands and patches of what the user sees. The page runs it as
//! WebAssembly in a worker, the terminal UI in its event loop.
//!
//! **What it must never do.** It does no I/O and reads no clock. It uses the protocol
//! like any other client; the host has no interface that is only for it.
//!
//! **Where to start.** [`Frontend::step`]; `web/src/worker.ts` and the crate `page` call it for
//! the page.

mod effect;
mod frontend;
mod input;

pub use effect::{FrontendEffect, SlicePatch};
pub use frontend::{
    ChangedViews, ClientName, DiffView, Frontend, LinkState, LinkView, NoteRow, RestoreView,
    TimelineSource,
};
pub use input::{
    AnnotationCommand, AppCommand, ChatCommand, CustomizationCommand, DiffLayout, FileCommand,
    FormResponse, FrontendCommand, FrontendInput, GroupMode, NewAttachment, NewChatSource, Secret,
    SessionCommand, SettingsCommand, TerminalCommand, TimedInput,
};
