//! Reports surveyed edits in the results of tool calls.

use agenthost_protocol::chat::{
    ChatAction, ConfirmationReason, ToolCallComplete, ToolCallQuestion, ToolCallReady,
    ToolCallResult, ToolCallStart, ToolCallTarget, ToolResultContent,
};
use agenthost_protocol::common::{FileEdit, Meta};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::changeset::driver::SurveyedEdits;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::resource::uris;

impl Host {
    /// Completes a call with the surveyed edits of the files that it reports.
    pub(super) fn complete_surveyed(
        &mut self,
        env: &Env,
        chat: &Uri,
        mut complete: Box<ToolCallComplete>,
        surveyed: &mut SurveyedEdits,
        out: &mut Effects,
    ) {
        let content = complete.result.content.take().unwrap_or_default();
        let mut reported = Vec::new();
        let content = content.into_iter().flat_map(|block| match block {
            ToolResultContent::FileEdit(claimed) => {
                replace_claimed_edit(claimed, surveyed, &mut reported)
            }
            ToolResultContent::Text(_)
            | ToolResultContent::EmbeddedResource(_)
            | ToolResultContent::Resource(_)
            | ToolResultContent::Terminal(_)
            | ToolResultContent::Subagent(_)
            | ToolResultContent::Unknown(_) => vec![block],
        });
        let content: Vec<_> = content.collect();
        complete.result.content = (!content.is_empty()).then_some(content);
        self.complete_agent_call(env, chat, complete, out);
    }

    /// Reports edits by a tool call of the host.
    pub(super) fn report_edits(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        edits: Vec<FileEdit>,
        out: &mut Effects,
    ) {
        if !self.is_running(chat, turn) {
            return;
        }
        let words = match edits.len() {
            1 => "Changed 1 file".to_owned(),
            count => format!("Changed {count} files"),
        };
        let meta = [("kind".to_owned(), Json::from("edit"))];
        let target = ToolCallTarget {
            turn_id: turn.clone(),
            tool_call_id: ToolCallId::from(env.unique_id("changes")),
            meta: None,
        };
        let start = ToolCallStart {
            target: ToolCallTarget {
                meta: Some(Meta::new(meta.into_iter().collect())),
                ..target.clone()
            },
            tool_name: "changes".to_owned(),
            display_name: "Changed files".to_owned(),
            intention: None,
            contributor: None,
        };
        let ready = ToolCallReady {
            target: target.clone(),
            contributor: None,
            intention: None,
            invocation_message: words.clone().into(),
            tool_input: None,
            question: ToolCallQuestion::default(),
            confirmed: Some(ConfirmationReason::NotNeeded),
        };
        let content = edits.into_iter().map(ToolResultContent::FileEdit);
        let complete = ToolCallComplete {
            target,
            result: ToolCallResult {
                success: true,
                past_tense_message: words.into(),
                content: Some(content.collect()),
                structured_content: None,
                error: None,
            },
            requires_result_confirmation: None,
        };
        let complete = ChatAction::ToolCallComplete(Box::new(complete));
        // If the response is full, the edits are still visible in the changeset of the
        // turn.
        if self.check_response_size(chat, &complete).is_err() {
            return;
        }
        for action in [
            ChatAction::ToolCallStart(Box::new(start)),
            ChatAction::ToolCallReady(Box::new(ready)),
            complete,
        ] {
            self.originate(chat, action, out);
        }
        self.sync_chat(chat, out);
    }
}

/// Returns the edits that a completed call reports.
pub(super) fn edits_in(complete: &ToolCallComplete) -> impl Iterator<Item = &FileEdit> {
    let content = complete.result.content.iter().flatten();
    content.filter_map(|block| match block {
        ToolResultContent::FileEdit(edit) => Some(edit),
        ToolResultContent::Text(_)
        | ToolResultContent::EmbeddedResource(_)
        | ToolResultContent::Resource(_)
        | ToolResultContent::Terminal(_)
        | ToolResultContent::Subagent(_)
        | ToolResultContent::Unknown(_) => None,
    })
}

/// Replaces the edits of a completed call by links to the files, if the files can't be
/// surveyed any more.
pub(crate) fn strip_edits(action: &mut ChatAction) {
    if let ChatAction::ToolCallComplete(complete) = action {
        for block in complete.result.content.iter_mut().flatten() {
            if let ToolResultContent::FileEdit(edit) = block
                && let Some(side) = edit.after.take().or(edit.before.take())
            {
                *block = ToolResultContent::Resource(side.content);
            }
        }
    }
}

/// Replaces a reported edit by the surveyed edits of the same file; several reported edits
/// of one file become one.
///
/// An edit that could not be confirmed is not reported as an edit: a client that restores
/// files would write a part of a file, or delete a file that existed before.
fn replace_claimed_edit(
    claimed: FileEdit,
    surveyed: &mut SurveyedEdits,
    reported: &mut Vec<Uri>,
) -> Vec<ToolResultContent> {
    let is_of = |uri: &Uri| edited_uris(&claimed).any(|path| uris::is_same_uri(path, uri));
    if reported.iter().any(is_of) {
        return Vec::new();
    }
    let made = surveyed
        .edits
        .extract_if(.., |edit| edited_uris(edit).any(is_of));
    let made: Vec<_> = made.collect();
    if !made.is_empty() {
        reported.extend(made.iter().flat_map(edited_uris).cloned());
        return made.into_iter().map(ToolResultContent::FileEdit).collect();
    }
    if surveyed.confirmed.contains(&claimed) {
        return vec![ToolResultContent::FileEdit(claimed)];
    }
    let side = claimed.after.or(claimed.before);
    let content = side.map(|side| ToolResultContent::Resource(side.content));
    content.into_iter().collect()
}

fn edited_uris(edit: &FileEdit) -> impl Iterator<Item = &Uri> {
    let sides = [&edit.before, &edit.after].into_iter().flatten();
    sides.map(|side| &side.uri)
}
