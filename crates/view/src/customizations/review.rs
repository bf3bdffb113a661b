//! The code of a container, for the user who decides whether it may run.
//!
//! The session state never contains commands, so a client reads the files that declare them. All
//! of their text is shown: nothing is cut or summarized, and hidden characters are escaped.

use agenthost_protocol::session::{Customization, SessionState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use serde::Serialize;

use super::code::{CodeApproval, CodeState};
use super::row::{CustomizationKind, CustomizationOrigin, RowContext};
use crate::location::path_of;
use crate::visible_text::{visible_label, visible_text};

/// Files of a container that can be reviewed. Code in more files cannot be approved here.
pub const MAX_REVIEW_FILES: usize = 100;

/// Bytes of all files that can be reviewed. Longer code cannot be approved here.
const MAX_REVIEW_BYTES: usize = 1_000_000;

/// Characters of a path that are shown.
const MAX_PATH: usize = 1_000;

/// A file that declares code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeFile {
    /// Path of the file, or its address.
    pub path: String,
    /// Content of the file.
    #[serde(flatten)]
    pub content: CodeContent,
}

/// The content of a file that declares code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CodeContent {
    /// The file is being read.
    Loading {},
    /// The whole text, with hidden characters escaped.
    Text(String),
    /// The reason for which the text cannot be shown.
    Error(String),
}

/// The code of a container with its approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeReview {
    /// URI of the session channel.
    pub session: Uri,
    /// Id of the container in the session.
    pub container: String,
    /// Name of the container.
    pub name: String,
    /// Path of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Origin of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<CustomizationOrigin>,
    /// Name of the client that offers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// `true` if the container is on.
    pub enabled: bool,
    /// State of the approval.
    pub state: CodeState,
    /// Key to approve; empty if the code is approved.
    pub key: String,
    /// Names of the hooks.
    pub hooks: Vec<String>,
    /// Names of the MCP servers.
    pub servers: Vec<String>,
    /// Files that declare them.
    pub files: Vec<CodeFile>,
    /// State of the review.
    pub status: ReviewStatus,
}

/// The state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewStatus {
    /// Files are being read.
    Loading,
    /// The whole code is shown.
    Complete,
    /// Code cannot be shown, so it cannot be approved.
    Incomplete,
}

impl CodeFile {
    /// Returns a file that is being read.
    pub fn loading(uri: &Uri) -> Self {
        let path = if uri.as_str().starts_with("file:") {
            path_of(uri)
        } else {
            uri.as_str().to_owned()
        };
        CodeFile {
            path: visible_label(&path, MAX_PATH),
            content: CodeContent::Loading {},
        }
    }
}

impl CodeContent {
    /// Returns the content of a text.
    pub fn of_text(text: &str) -> Self {
        if text.len() > MAX_REVIEW_BYTES {
            return CodeContent::Error("the file is too large to be shown".to_owned());
        }
        CodeContent::Text(visible_text(text))
    }
}

impl CodeReview {
    /// Computes the review of a container from the files that were read. Returns `None` if the
    /// session does not have the container any more, or if it has no code that needs approval.
    pub fn compute(
        uri: &Uri,
        session: &SessionState,
        settings: Option<&Object>,
        container: &Customization,
        files: &[CodeFile],
    ) -> Option<Self> {
        let approval = CodeApproval::of_container(container, settings)?;
        let row = RowContext::new(session, settings).top_row(container)?;
        let names = |kind: CustomizationKind| {
            let children = row.children.iter().filter(|child| child.kind == kind);
            children.map(|child| child.name.clone()).collect()
        };
        Some(CodeReview {
            session: uri.clone(),
            hooks: names(CustomizationKind::Hook),
            servers: names(CustomizationKind::McpServer),
            status: ReviewStatus::of_files(&approval, files),
            state: approval.state,
            key: approval.key,
            files: files.to_vec(),
            container: row.key,
            name: row.name,
            path: row.path,
            origin: row.origin,
            client: row.client,
            enabled: row.enabled,
        })
    }
}

impl ReviewStatus {
    fn of_files(approval: &CodeApproval, files: &[CodeFile]) -> Self {
        let mut total = 0_usize;
        let mut loading = false;
        for file in files {
            match &file.content {
                CodeContent::Loading {} => loading = true,
                CodeContent::Text(text) => total = total.saturating_add(text.len()),
                CodeContent::Error(_) => return ReviewStatus::Incomplete,
            }
        }
        let is_whole = !files.is_empty() && files.len() == approval.files.len();
        if !is_whole || total > MAX_REVIEW_BYTES {
            ReviewStatus::Incomplete
        } else if loading {
            ReviewStatus::Loading
        } else {
            ReviewStatus::Complete
        }
    }
}
