//! Jobs for the change tracker and their results.
//!
//! The change tracker runs outside of this crate. It takes checkpoints, computes diffs,
//! runs changeset operations and creates worktrees.

use agenthost_protocol::changeset::{
    ChangesetFile, ChangesetOperationFollowUp, InvokeChangesetOperationResult,
};
use agenthost_protocol::common::{ChangesSummary, FileEdit};
use agenthost_protocol::ids::{OperationId, TurnId};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;

use crate::host::input::ConnectionId;
use crate::terminal::output::CommandLine;

/// A job for the change tracker. The jobs of one session run in order.
#[derive(Debug, Clone)]
pub struct ChangeJob {
    /// The session that the job belongs to.
    pub session: Uri,
    /// Folders of the job; the first is the primary one.
    pub directories: Vec<Uri>,
    /// The task to run.
    pub task: ChangeTask,
}

/// A task of the change tracker. Each one names the input that reports its result.
#[derive(Debug, Clone)]
pub enum ChangeTask {
    /// Take a checkpoint, and send `Input::CheckpointTaken`.
    TakeCheckpoint {
        /// Id of the new checkpoint.
        checkpoint: CheckpointId,
        /// Checkpoint at the start of the chat, to count the changes since.
        chat_start: Option<CheckpointId>,
    },
    /// Compute a diff, and send `Input::DiffComputed`.
    ComputeDiff {
        /// The changeset to publish it on.
        channel: Uri,
        /// The endpoints to compare.
        range: DiffRange,
    },
    /// Find the files that an active turn has edited since its last survey, and send
    /// `Input::EditsSurveyed`.
    SurveyEdits(Box<EditSurvey>),
    /// Run a changeset operation, and send `Input::OperationFinished`.
    RunOperation {
        /// Id of the operation in the changeset.
        operation_id: OperationId,
        /// The operation and its parameters.
        request: Box<OperationRequest>,
    },
    /// Create a worktree of the first folder, and send `Input::WorktreeCreated`.
    CreateWorktree(WorktreeRequest),
    /// Delete all data of the session, and remove its worktree. There is no result.
    ForgetSession { worktree: WorktreeDisposal },
}

/// The worktree of a removed session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorktreeDisposal {
    /// Keep it if it has uncommitted changes, and its branch if that has commits that the base
    /// branch does not have.
    #[default]
    KeepWork,
    /// Remove it with its branch, whatever they contain.
    Discard,
}

/// Identity of a checkpoint. A later checkpoint with the same id replaces the earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointId {
    /// Taken when the session is created.
    SessionStart,
    /// Taken before the turn begins.
    BeforeTurn(TurnRef),
    /// Taken after the turn has ended.
    AfterTurn(TurnRef),
}

/// Reference to a turn of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRef {
    pub chat: Uri,
    pub turn: TurnId,
}

/// A survey of the files that an active turn has edited.
#[derive(Debug, Clone)]
pub struct EditSurvey {
    /// The turn that reports the edits.
    pub turn: TurnRef,
    /// The turn whose last survey is the baseline, or whose start if there is none. For a
    /// worker chat, the turn that spawned it.
    pub base: TurnRef,
    /// The edits to report.
    pub scope: SurveyScope,
    /// Edits that the agent has reported. Their contents may be parts of files only.
    pub claimed: Vec<FileEdit>,
}

/// Selects the edits that a survey reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyScope {
    /// All edits. This survey is the baseline of the next one.
    All,
    /// Edits of files that the agent has reported. The baseline stays, so the next survey
    /// reports these edits again.
    Claimed,
}

/// The result of an edit survey.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SurveyedEdits {
    /// Edits of text files with their whole contents, one for each file. A renamed file is
    /// reported as one deleted and one created file.
    pub edits: Vec<FileEdit>,
    /// Edits reported by the agent in files that are not tracked, if their contents are
    /// known to be whole.
    pub confirmed: Vec<FileEdit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffEndpoint {
    /// The last commit of the branch.
    Head,
    /// The merge base of the branch and the branch it is based on.
    MergeBase,
    /// A checkpoint of the session.
    Checkpoint(CheckpointId),
    /// The files at the time of the diff.
    WorkingTree,
}

/// The two endpoints of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRange {
    /// The earlier endpoint of the range.
    pub from: DiffEndpoint,
    /// The later endpoint of the range.
    pub to: DiffEndpoint,
}

/// A client's request to run an operation on a changeset.
#[derive(Debug, Clone)]
pub struct OperationRequest {
    /// Connection of the client that sent the request.
    pub connection: ConnectionId,
    /// Id of the request, for the response.
    pub id: RequestId,
    /// URI of the changeset.
    pub channel: Uri,
    /// Diff range of the changeset.
    pub range: DiffRange,
    /// The operation to run.
    pub operation: OperationKind,
    /// The file to operate on; `None` means all files.
    pub file: Option<Uri>,
    /// Commit message, for operations that commit.
    pub message: String,
}

/// An operation on the files of a changeset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// Add the files to the git index.
    Stage,
    /// Commit all changed files.
    Commit,
    /// Restore the files of the changeset to the earlier endpoint.
    Undo,
    /// Restore all files to the earlier endpoint, including changes made after the later
    /// one.
    Restore,
    /// Return the diff as text.
    ShowPatch,
    /// Apply the changes to the folder that the worktree was created from.
    Apply,
    /// Merge the branch of the worktree into the branch that it was created from.
    Merge,
}

/// Status of a session's folders, found while a job ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkspaceStatus {
    /// Git status of the primary folder, if it is in a repository.
    pub git: Option<GitStatus>,
}

/// Git status of a repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GitStatus {
    /// The current branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The branch that the current one is based on.
    pub base: Option<String>,
    /// The upstream branch of the current one.
    pub upstream: Option<String>,
    /// Number of commits that only the upstream branch has.
    pub incoming: Option<u64>,
    /// Number of commits that only the current branch has.
    pub outgoing: Option<u64>,
    /// Number of files that differ from the last commit.
    pub uncommitted: u64,
    /// An operation that must be finished first, such as a merge.
    pub operation_in_progress: Option<String>,
    /// The folder that this worktree was created from, if the host created it.
    pub worktree_of: Option<Uri>,
}

/// The result of a checkpoint.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckpointReport {
    /// Status of the folders, if it was determined.
    pub status: Option<WorkspaceStatus>,
    /// Changes since the start of the session.
    pub session_total: Option<ChangesSummary>,
    /// Changes since the start of the chat.
    pub chat_total: Option<ChangesSummary>,
}

/// The result of a diff.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangesetDiff {
    /// The changed files, sorted by name.
    pub files: Vec<ChangesetFile>,
    /// Status of the folders at that time.
    pub status: WorkspaceStatus,
}

/// The result of a changeset operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationResult {
    /// Description of the result, shown to users.
    pub message: String,
    /// Content for the client to open.
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

/// A request to create a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeRequest {
    /// Name of the worktree; generated if `None`.
    pub name: Option<String>,
    /// The branch to start from; the current one if `None`.
    pub base: Option<String>,
    /// Untracked files to copy into the worktree.
    pub files: Vec<String>,
    /// Command to run in the new worktree first.
    pub setup: Option<CommandLine>,
}

/// A worktree that the host has created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Folder of the worktree, which replaces the original one.
    pub directory: Uri,
    /// Branch of the worktree.
    pub branch: String,
}
