//! The options and the content of a permission request.
//!
//! Agents put text and edits into the content of the tool call that the request is about. The
//! text explains the request: it is shown with the request, and is not a result of the tool
//! call (codex-zed, which sends no other content). The edits are the changes that the tool call
//! will make, and some agents do not send them again with the result (opencode).

use agenthost_protocol::chat::{ConfirmationOption, ConfirmationOptionKind};
use agenthost_protocol::ids::ConfirmationOptionId;
use agenthost_stdx::text::truncate_chars;

use crate::session::option_label;
use crate::transport::schema::{ContentBlock, ToolCallContent, ToolCallUpdate};

/// The maximum number of characters that are shown of the text of a request.
const MAX_PROMPT_CHARS: usize = 32_000;

/// An option that an agent offers in a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionOption {
    /// The id of the option, which only the agent interprets.
    pub(crate) id: String,
    /// The agent's label of the option, for users.
    pub(crate) label: String,
    /// The kind: `allow_once`, `allow_always`, `reject_once`, `reject_always`, or a value of a
    /// later ACP version.
    pub(crate) kind: String,
}

impl PermissionOption {
    /// Returns the sort key of the option, the narrowest scope first. A client that takes the
    /// first matching option must not allow something forever; goose lists its options in the
    /// opposite order.
    pub(crate) fn scope_rank(&self) -> u32 {
        match self.kind.as_str() {
            "allow_once" => 0,
            "allow_always" => 1,
            "reject_once" => 2,
            "reject_always" => 3,
            _ => 4,
        }
    }

    /// Returns `true` if the option lets the tool call run. Unknown kinds do not.
    pub(crate) fn is_allow(&self) -> bool {
        option_label::is_allow_kind(&self.kind)
    }

    /// Converts the option for clients.
    pub(crate) fn to_option(&self) -> ConfirmationOption {
        let (kind, group) = if self.is_allow() {
            (ConfirmationOptionKind::Approve, 0)
        } else {
            (ConfirmationOptionKind::Deny, 1)
        };
        ConfirmationOption {
            id: ConfirmationOptionId::from(self.id.as_str()),
            label: option_label::option_label(&self.label, &self.kind),
            kind,
            group: Some(group),
        }
    }
}

/// The text and the edits of the last permission request of a tool call.
#[derive(Debug, Default)]
pub(crate) struct PermissionPrompt {
    text: Option<String>,
    /// `true` if the text of the agent was longer.
    is_truncated: bool,
    edits: Vec<ToolCallContent>,
}

impl PermissionPrompt {
    /// Takes the text out of a permission request; the rest stays content of the tool call.
    pub(crate) fn split_prompt(update: &mut ToolCallUpdate) -> Self {
        let Some(content) = update.fields.content.take() else {
            return PermissionPrompt::default();
        };
        let mut texts = Vec::new();
        let mut rest = Vec::new();
        for content in content {
            match content_text(&content) {
                Some(text) => texts.push(text.to_owned()),
                None => rest.push(content),
            }
        }
        let whole = texts.join("\n\n");
        let text = truncate_chars(&whole, MAX_PROMPT_CHARS);
        let is_truncated = text.len() < whole.len();
        let edits = rest.iter().filter(|content| is_edit(content));
        let edits = edits.cloned().collect();
        // A request that contains only text must not clear the results of the tool call.
        update.fields.content = (!rest.is_empty()).then_some(rest);
        PermissionPrompt {
            text: Some(text).filter(|text| !text.is_empty()),
            is_truncated,
            edits,
        }
    }

    /// Returns the text of the request.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns `true` if the agent sent more text than [`Self::text`] returns.
    pub(crate) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Adds the requested edits to the content of a completed tool call, if the agent has sent
    /// no edits with the result.
    pub(crate) fn apply_edits(&mut self, content: &mut Vec<ToolCallContent>) {
        if !content.iter().any(is_edit) {
            content.append(&mut self.edits);
        }
    }
}

fn content_text(content: &ToolCallContent) -> Option<&str> {
    match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(&text.text),
            _ => None,
        },
        _ => None,
    }
}

fn is_edit(content: &ToolCallContent) -> bool {
    matches!(content, ToolCallContent::Diff(_))
}
