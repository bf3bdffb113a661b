//! What a question about a tool call comes with.
//!
//! Agents put words and edits into the content of the call that they ask about.
//! The words are about the question: they are told with it, and are nothing that
//! the call has produced (codex-zed, which sends no other content). The edits
//! are what it will do, and some agents do not repeat them when it is done
//! (opencode).

use agenthost_protocol::chat::{ConfirmationOption, ConfirmationOptionKind};
use agenthost_protocol::ids::ConfirmationOptionId;
use agenthost_stdx::text::truncate_chars;

use crate::session::option_label;
use crate::transport::schema::{ContentBlock, ToolCallContent, ToolCallUpdate};

/// How much of the words is told.
const MAX_PROMPT_CHARS: usize = 4_000;

/// An answer that an agent offers, as it has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionOption {
    /// Its name; means nothing to anybody else.
    pub(crate) id: String,
    /// Its name for people.
    pub(crate) label: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or
    /// something newer.
    pub(crate) kind: String,
}

impl PermissionOption {
    /// How far it reaches, the least first. Who takes the first that fits
    /// should not allow something forever: goose has it that way round.
    pub(crate) fn scope_rank(&self) -> u32 {
        match self.kind.as_str() {
            "allow_once" => 0,
            "allow_always" => 1,
            "reject_once" => 2,
            "reject_always" => 3,
            _ => 4,
        }
    }

    /// Whether it lets the call run. What is not known does not.
    pub(crate) fn is_allow(&self) -> bool {
        option_label::is_allow_kind(&self.kind)
    }

    /// How people get to see it.
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

/// What the last question about a call came with.
#[derive(Debug, Default)]
pub(crate) struct PermissionPrompt {
    text: Option<String>,
    edits: Vec<ToolCallContent>,
}

impl PermissionPrompt {
    /// Takes the words out of a question; the rest is content of the call.
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
        let text = truncate_chars(&texts.join("\n\n"), MAX_PROMPT_CHARS);
        let edits = rest.iter().filter(|content| is_edit(content));
        let edits = edits.cloned().collect();
        // One of nothing but words does not take away what was produced.
        update.fields.content = (!rest.is_empty()).then_some(rest);
        PermissionPrompt {
            text: Some(text).filter(|text| !text.is_empty()),
            edits,
        }
    }

    /// What is asked, in words.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The call was carried out: what it was to change is changed, also if it
    /// has nothing to say but that it is done.
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
