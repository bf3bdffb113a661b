//! How the files of a session were at some moments, and how they differ.
//! Looking at files is somebody else's work: this is what is asked, and what
//! comes back.

use agenthost_protocol::changeset::{
    ChangesetFile, ChangesetOperationFollowUp, InvokeChangesetOperationResult,
};
use agenthost_protocol::common::{ChangesSummary, FileEdit};
use agenthost_protocol::ids::{OperationId, TurnId};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;

use crate::input::ConnectionId;
use crate::terminal_output::CommandLine;

/// Something to find out about the files of a session, or to do with them.
/// What is asked for one session is done in order.
#[derive(Debug, Clone)]
pub struct ChangeErrand {
    /// The session.
    pub session: Uri,
    /// The folders; the first is the primary one.
    pub directories: Vec<Uri>,
    /// What.
    pub task: ChangeTask,
}

/// What can be asked.
#[derive(Debug, Clone)]
pub enum ChangeTask {
    /// Remember how the files are now, and send `Input::Marked`.
    Mark {
        /// The name of this moment.
        mark: Mark,
        /// When the chat began, to say how much it has changed.
        chat_began: Option<Mark>,
    },
    /// Say how the files differ, and send `Input::Compared`.
    Compare {
        /// The changeset that shows it.
        channel: Uri,
        /// Between when and when.
        span: Span,
    },
    /// Say which files a running turn has edited since the last survey of it,
    /// and send `Input::Surveyed`.
    Survey(Box<EditSurvey>),
    /// Do something about how they differ, and send `Input::Operated`.
    Operate {
        /// What it is called where it was offered.
        name: OperationId,
        /// What to do.
        wanted: Box<ChangeOperation>,
    },
    /// Make a worktree of the first folder, and send `Input::WorktreeMade`.
    MakeWorktree(WorktreeWish),
    /// Forget all about the session, and remove its worktree if it can go.
    Forget,
}

/// A moment that is remembered. A name stands for the latest of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// The session began.
    Start,
    /// A turn was about to begin.
    Before(TurnOf),
    /// A turn had ended.
    After(TurnOf),
}

/// A turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOf {
    /// The chat.
    pub chat: Uri,
    /// The turn.
    pub turn: TurnId,
}

/// A survey of the files that a running turn has edited.
#[derive(Debug, Clone)]
pub struct EditSurvey {
    /// The turn that the edits are reported in.
    pub turn: TurnOf,
    /// The turn whose last survey, or else beginning, files are compared with:
    /// for a worker, the turn that it works for.
    pub base: TurnOf,
    /// Which edits are reported.
    pub scope: SurveyScope,
    /// Edits that the agent has reported itself. Their contents may be parts of
    /// files only.
    pub claimed: Vec<FileEdit>,
}

/// Which edits a survey reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyScope {
    /// All of them. The next survey compares with this one.
    All,
    /// Those of files that the agent has reported itself. The next survey
    /// compares with the one before, and reports them again.
    Claimed,
}

/// The result of a survey.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SurveyedEdits {
    /// Edits of text files, with their whole contents, each file once. A
    /// renamed file is a deleted and a created one.
    pub edits: Vec<FileEdit>,
    /// Reported edits of files that are not tracked, as far as it is known
    /// that their contents are whole.
    pub confirmed: Vec<FileEdit>,
}

/// A moment to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The last commit.
    Committed,
    /// Where the branch parted from the one it is based on.
    BranchPoint,
    /// One that was marked.
    Marked(Mark),
    /// When it is looked at.
    Now,
}

/// From one moment to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The earlier one.
    pub from: Moment,
    /// The later one.
    pub to: Moment,
}

/// Something to do about how files differ.
#[derive(Debug, Clone)]
pub struct ChangeOperation {
    /// Who asked.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// The changeset.
    pub channel: Uri,
    /// Its span.
    pub span: Span,
    /// What to do.
    pub operation: Operation,
    /// To which file; all of them if none.
    pub file: Option<Uri>,
    /// Words for a commit.
    pub message: String,
}

/// What can be done about how files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Put the files into the next commit.
    Stage,
    /// Commit them.
    Commit,
    /// Make them what they were at the beginning of the span.
    Undo,
    /// Make all files what they were at the beginning of the span, whatever
    /// happened to them since its end.
    Restore,
    /// Show the differences as text.
    ShowPatch,
    /// Make the same changes in the folder that the worktree was made from.
    Apply,
    /// Merge the branch of the worktree into the one it was made from.
    Merge,
}

/// What is known of the folders when somebody has looked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standing {
    /// What git says of the primary folder, if it is in a repository.
    pub git: Option<GitStanding>,
}

/// Where a repository stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GitStanding {
    /// The branch; none if none is checked out.
    pub branch: Option<String>,
    /// The branch that it is based on.
    pub base: Option<String>,
    /// The branch that it follows elsewhere.
    pub upstream: Option<String>,
    /// Commits that the other has and it has not.
    pub incoming: Option<u64>,
    /// Commits that it has and the other has not.
    pub outgoing: Option<u64>,
    /// Files that are not as they were committed.
    pub uncommitted: u64,
    /// What is under way and has to be finished first, such as a merge.
    pub under_way: Option<String>,
    /// The folder that this one is a worktree of, if the host made it.
    pub worktree_of: Option<Uri>,
}

/// A moment was marked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marked {
    /// What was seen by the way, if somebody looked.
    pub standing: Option<Standing>,
    /// What changed since the session began.
    pub session: Option<ChangesSummary>,
    /// What changed since the chat began.
    pub chat: Option<ChangesSummary>,
}

/// How files differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Those that do, by name.
    pub files: Vec<ChangesetFile>,
    /// What was seen by the way.
    pub standing: Standing,
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operated {
    /// What was done, in words.
    pub message: String,
    /// Something to look at.
    pub follow_up: Option<ChangesetOperationFollowUp>,
}

impl From<Operated> for InvokeChangesetOperationResult {
    fn from(operated: Operated) -> Self {
        InvokeChangesetOperationResult {
            message: Some(operated.message.into()),
            follow_up: operated.follow_up,
        }
    }
}

/// A worktree that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeWish {
    /// What to call it.
    pub name: Option<String>,
    /// The branch to start from; the current one if none is named.
    pub base: Option<String>,
    /// Files that are not tracked, and are wanted in it.
    pub files: Vec<String>,
    /// What to run in it first.
    pub setup: Option<CommandLine>,
}

/// A worktree that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The folder, instead of the one it was made from.
    pub directory: Uri,
    /// Its branch.
    pub branch: String,
}
