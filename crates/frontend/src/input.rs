//! Inputs of the frontend.
//!
//! Enums are externally tagged (`{"timer": {}}`): the derived code for tags inside the object
//! buffers values and makes the WebAssembly file larger. `web/src/bridge.ts` converts them.

mod annotations;
mod apps;
mod chats;
mod customizations;
mod files;
mod sessions;
mod settings;
mod terminals;

use agenthost_protocol::wire::{Input, Json, Object, Wire};

pub use annotations::AnnotationCommand;
pub use apps::AppCommand;
pub use chats::{ChatCommand, NewChatSource};
pub use customizations::{CustomizationCommand, Secret};
pub use files::FileCommand;
pub use sessions::SessionCommand;
pub use settings::SettingsCommand;
pub use terminals::TerminalCommand;

/// An input with the time at which it happened.
#[derive(Debug, Input)]
pub struct TimedInput {
    pub now: i64,
    pub input: FrontendInput,
}

/// An event that the worker reports.
#[derive(Debug, Input)]
pub enum FrontendInput {
    /// The page was opened.
    Open {
        /// Address of the host.
        url: String,
        /// Id of this client, the same after a reload.
        client_id: String,
        /// Name of the device.
        name: String,
        /// State that an earlier page has saved.
        saved: Option<String>,
    },
    /// The socket is open.
    SocketOpened {},
    /// The host sent a message.
    SocketText { text: String },
    /// The socket is closed, or could not be opened.
    SocketClosed {
        /// Reason of the close frame.
        reason: String,
    },
    /// The host does not know this device.
    SignedOut {},
    /// The device has a network again, or the page is visible again.
    Online {},
    /// The page is not visible any more; it may be closed.
    Hidden {},
    /// The user gave a command.
    Do {
        /// Id of the command, for its result.
        id: u64,
        command: FrontendCommand,
    },
    /// The timer has fired.
    Timer {},
    /// The page can draw.
    Frame {},
}

/// A command of the user.
#[derive(Debug, Input)]
pub enum FrontendCommand {
    SelectSession {
        session: String,
    },
    SelectChat {
        chat: String,
    },
    Send {
        chat: Option<String>,
        text: String,
        attachments: Option<Vec<NewAttachment>>,
        steer: Option<bool>,
        keep_draft: Option<bool>,
    },
    CancelTurn {},
    ResumeTurn {},
    AnswerApproval {
        key: String,
        option_id: Option<String>,
        approve: bool,
        edited_input: Option<String>,
    },
    AnswerForm {
        key: String,
        response: FormResponse,
        answers: Object,
    },
    DraftForm {
        key: String,
        question_id: String,
        answer: Json,
    },
    SetDraft {
        chat: Option<String>,
        text: String,
    },
    SetModel {
        model: String,
    },
    QueueEdit {
        key: String,
        text: String,
    },
    QueueRemove {
        key: String,
    },
    QueueMove {
        key: String,
        index: usize,
    },
    SteerNow {
        key: String,
    },
    Rename {
        session: String,
        title: String,
    },
    Archive {
        session: String,
        archived: bool,
    },
    Delete {
        session: String,
    },
    MarkRead {
        session: String,
    },
    SetConfig {
        key: String,
        value: String,
    },
    SelectChangeset {
        uri: String,
    },
    OpenDiff {
        file: String,
        layout: DiffLayout,
    },
    CloseDiff {},
    DiffRows {
        start: usize,
        end: usize,
    },
    /// Reads rows of the diff of an edit that waits for approval, by the URIs of its contents.
    EditRows {
        before: Option<String>,
        after: Option<String>,
        start: usize,
    },
    /// Finds the next hunk, or the previous one, of the open diff.
    FindHunk {
        row: usize,
        forward: bool,
    },
    Review {
        file: String,
        reviewed: bool,
    },
    Operation {
        id: String,
        file: Option<String>,
    },
    Filter {
        text: String,
        group: GroupMode,
        archived: bool,
        utc_offset_minutes: i64,
    },
    OlderTurns {},
    Completions {
        text: String,
        cursor: u64,
    },
    ReadFile {
        uri: String,
    },
    ListFolder {
        uri: String,
    },
    Digests {},
    DismissNote {
        id: String,
    },
    Annotation(AnnotationCommand),
    Chat(ChatCommand),
    Session(SessionCommand),
    Settings(SettingsCommand),
    File(FileCommand),
    Terminal(TerminalCommand),
    Customization(CustomizationCommand),
    App(AppCommand),
}

/// A file that the user adds to a message.
#[derive(Debug, Wire)]
pub struct NewAttachment {
    /// Name of the file.
    pub name: String,
    /// MIME type of the file.
    pub content_type: String,
    pub data: String,
}

/// The answer to a form as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum FormResponse {
    /// The user submits the answers.
    Accept,
    /// The user refuses to answer.
    Decline,
    /// The user closes the form.
    Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum DiffLayout {
    Unified,
    /// Old lines on the left, new lines on the right.
    Split,
}

/// The grouping of the session list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum GroupMode {
    /// One group per folder.
    Folder,
    /// One group per day.
    Time,
    None,
}
