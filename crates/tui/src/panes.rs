//! The parts of the screen.

mod call_rows;
pub(crate) mod code_view;
pub(crate) mod composer;
pub(crate) mod diff_view;
pub(crate) mod edit_contents;
pub(crate) mod inspector;
pub(crate) mod list_entries;
pub(crate) mod request_panel;
pub(crate) mod row_text;
pub(crate) mod session_pane;
pub(crate) mod terminal_view;
pub(crate) mod text_input;
pub(crate) mod timeline;
pub(crate) mod timeline_rows;
