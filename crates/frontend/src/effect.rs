//! Requests of the frontend to its driver: the web worker of the page, or the event loop of the
//! terminal UI.

use agenthost_protocol::uri::Uri;
use agenthost_view::timeline::RowSplice;
use serde::Serialize;
use serde_json::value::RawValue;

/// A request of the frontend to its driver.
#[derive(Debug, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FrontendEffect {
    Connect {
        /// Address of the host.
        url: String,
    },
    SendText {
        text: String,
    },
    Disconnect,
    /// Sets the timer, or cancels it.
    Wake {
        /// Delay; absent cancels the timer.
        #[serde(skip_serializing_if = "Option::is_none")]
        after_ms: Option<u64>,
    },
    /// Asks for the input `frame`, at a time when the page can draw.
    WantFrame,
    /// Changes what the page shows.
    Patch {
        patches: Vec<SlicePatch>,
    },
    /// Saves the state of the page; an empty text removes it.
    Save {
        /// The state, as [`crate::FrontendInput::Open`] takes it.
        text: String,
    },
    /// Passes output of a terminal that the page shows.
    TerminalOutput {
        /// URI of the terminal.
        uri: Uri,
        /// `true` if `data` is the whole output: the page draws the terminal again.
        is_reset: bool,
        /// Output of the program, with its escape sequences.
        data: String,
    },
    /// Reports the result of a command.
    Done {
        /// Id of the command.
        id: u64,
        /// Reason for which the command failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Result of the command.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Box<RawValue>>,
    },
}

/// A change of a part of the page.
#[derive(Debug, Serialize)]
pub struct SlicePatch {
    /// Name of the slice.
    pub slice: &'static str,
    /// New value of the slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
    /// All keys of the rows in their order, if the order changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// Change of the order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splice: Option<RowSplice>,
    /// Changed rows by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Box<RawValue>>,
}
