//! The presentation model: what a client shows, computed from channel states as data.
//!
//! **What it does.** Turns the states of AHP channels into rows and blocks: the session list, the
//! inbox of open requests, the timeline of a chat, the queue, changed files, Markdown and diffs.
//! The page and the terminal client draw the same data.
//!
//! **What it must never do.** It contains no HTML and no terminal codes, does no I/O and reads
//! no clock. Text of agents and files stays text. It does not depend on crates of the host.
//!
//! **Where to start.** [`timeline`] for a chat, [`inbox`] for requests, [`session_list`].

pub mod annotations;
pub mod away;
pub mod away_sessions;
pub mod changes;
pub mod chat_list;
pub mod composer;
pub mod customizations;
pub mod diff;
pub mod file_content;
pub mod file_edit;
pub mod file_tree;
pub mod fuzzy;
pub mod inbox;
pub mod location;
pub mod markdown;
pub mod mcp_app;
pub mod queue;
pub mod request;
pub mod session_list;
pub mod settings;
pub mod terminals;
pub mod timeline;
pub mod title;
pub mod usage;
pub mod usage_report;
pub mod visible_text;

#[cfg(test)]
mod samples;
