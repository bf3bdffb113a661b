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

use crate::host::input::ConnectionId;
use crate::terminal::output::CommandLine;

/// Something to find out about the files of a session, or to do with them.
/// What is asked for one session is done in order.
#[derive(Debug, Clone)]
pub struct ChangeJob {
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
    /// Remember how the files are now, and send `Input::CheckpointTaken`.
    TakeCheckpoint {
        /// The name of this moment.
        checkpoint: CheckpointId,
        /// When the chat began, to say how much it has changed.
        chat_start: Option<CheckpointId>,
    },
    /// Say how the files differ, and send `Input::DiffComputed`.
    ComputeDiff {
        /// The changeset that shows it.
        channel: Uri,
        /// Between when and when.
        range: DiffRange,
    },
    /// Say which files a running turn has edited since the last survey of it,
    /// and send `Input::EditsSurveyed`.
    SurveyEdits(Box<EditSurvey>),
    /// Do something about how they differ, and send `Input::OperationFinished`.
    RunOperation {
        /// What it is called where it was offered.
        operation_id: OperationId,
        /// What to do.
        request: Box<OperationRequest>,
    },
    /// Make a worktree of the first folder, and send `Input::WorktreeCreated`.
    CreateWorktree(WorktreeRequest),
    /// Forget all about the session, and remove its worktree if it can go.
    ForgetSession,
}

/// A moment that is remembered. A name stands for the latest of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointId {
    /// The session began.
    SessionStart,
    /// A turn was about to begin.
    BeforeTurn(TurnRef),
    /// A turn had ended.
    AfterTurn(TurnRef),
}

/// A turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRef {
    /// The chat.
    pub chat: Uri,
    /// The turn.
    pub turn: TurnId,
}

/// A survey of the files that a running turn has edited.
#[derive(Debug, Clone)]
pub struct EditSurvey {
    /// The turn that the edits are reported in.
    pub turn: TurnRef,
    /// The turn whose last survey, or else beginning, files are compared with:
    /// for a worker, the turn that it works for.
    pub base: TurnRef,
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
pub enum DiffEndpoint {
    /// The last commit.
    Head,
    /// Where the branch parted from the one it is based on.
    MergeBase,
    /// One that was marked.
    Checkpoint(CheckpointId),
    /// When it is looked at.
    WorkingTree,
}

/// From one moment to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRange {
    /// The earlier one.
    pub from: DiffEndpoint,
    /// The later one.
    pub to: DiffEndpoint,
}

/// Something to do about how files differ.
#[derive(Debug, Clone)]
pub struct OperationRequest {
    /// Who asked.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// The changeset.
    pub channel: Uri,
    /// Its span.
    pub range: DiffRange,
    /// What to do.
    pub operation: OperationKind,
    /// To which file; all of them if none.
    pub file: Option<Uri>,
    /// Words for a commit.
    pub message: String,
}

/// What can be done about how files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
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
pub struct WorkspaceStatus {
    /// What git says of the primary folder, if it is in a repository.
    pub git: Option<GitStatus>,
}

/// Where a repository stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GitStatus {
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
    pub operation_in_progress: Option<String>,
    /// The folder that this one is a worktree of, if the host made it.
    pub worktree_of: Option<Uri>,
}

/// A moment was marked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointReport {
    /// What was seen by the way, if somebody looked.
    pub status: Option<WorkspaceStatus>,
    /// What changed since the session began.
    pub session_total: Option<ChangesSummary>,
    /// What changed since the chat began.
    pub chat_total: Option<ChangesSummary>,
}

/// How files differ.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangesetDiff {
    /// Those that do, by name.
    pub files: Vec<ChangesetFile>,
    /// What was seen by the way.
    pub status: WorkspaceStatus,
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationResult {
    /// What was done, in words.
    pub message: String,
    /// Something to look at.
    pub follow_up: Option<ChangesetOperationFollowUp>,
}

impl From<OperationResult> for InvokeChangesetOperationResult {
    fn from(operated: OperationResult) -> Self {
        InvokeChangesetOperationResult {
            message: Some(operated.message.into()),
            follow_up: operated.follow_up,
        }
    }
}

/// A worktree that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeRequest {
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
