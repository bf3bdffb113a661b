//! 0.6 ↔ 0.5.2: questions within the response, times of turns, tool calls that
//! wait for a token, judgements of risk.
//!
//! Up to 0.5.2 open questions stand beside the turn, in `inputRequests`, and
//! become parts of the response only when they are answered.
//!
//! Lost: when turns began and how long they took, what a judge thinks of a
//! call, and that a call waits for a token: it looks as if it ran.

mod calls;
mod waiting;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{default, object_mut, remove, rename, set, stop_waiting, text};
use crate::rows::Row;
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

/// A time that can't be meant: the host puts its own in its place.
const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_5_2
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        let Some(ChannelState::Chat(before)) = at.before else {
            return vec![action];
        };
        match action {
            Action::Chat(ChatAction::ToolCallReady(ready)) => calls::ready(before, ready),
            Action::Chat(ChatAction::ToolCallComplete(done)) => calls::complete(before, done),
            action => vec![action],
        }
    }

    fn part(&self, at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "Turn" => {
                remove(part, &["startedAt", "duration"]);
                waiting::take_open_requests(part);
            }
            "ActiveTurn" => remove(part, &["startedAt"]),
            "ChatState" => waiting::show_requests_in_chat(part),
            "ToolCall" => calls::down(part),
            "ToolCallConfirmation" => remove(part, &["riskAssessment"]),
            "McpServerState" => remove(part, &["oauthClient"]),
            "Changeset" => remove(part, &["capabilities"]),
            "ResponsePart" if text(part, "kind") == Some("systemNotification") => {
                remove(part, &["_meta"]);
            }
            "SessionState" => waiting::forget_authentication(part),
            "SessionSummary" => {
                let session = text(part, "resource").map(Uri::from);
                if session.is_some_and(|session| waiting::only_for_token(at, &session, None)) {
                    stop_waiting(part);
                }
            }
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        if envelope.kind() == "chat/responsePart" {
            waiting::ask(&mut envelope.action);
        }
        match envelope.kind() {
            "chat/turnStarted" => remove(&mut envelope.action, &["startedAt"]),
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" => {
                remove(&mut envelope.action, &["duration"]);
            }
            "chat/toolCallReady" => remove(&mut envelope.action, &["riskAssessment"]),
            "chat/toolCallAuthRequired" | "chat/toolCallAuthResolved" => return Vec::new(),
            "chat/inputRequested" if !has_turn(at, &envelope) => return Vec::new(),
            "session/inputNeededSet" | "session/inputNeededRemoved" => {
                return waiting::change(at, envelope);
            }
            "session/chatAdded" => {
                let chat = object_mut(&mut envelope.action, "summary")
                    .and_then(|summary| text(summary, "resource"))
                    .map(Uri::from);
                waiting::fix_chat(at, &mut envelope, chat, "summary");
            }
            "session/chatUpdated" => {
                let chat = text(&envelope.action, "chat").map(Uri::from);
                waiting::fix_chat(at, &mut envelope, chat, "changes");
            }
            "changeset/filesReviewChanged" => {
                set(
                    &mut envelope.action,
                    "type",
                    "changeset/filesReviewedChanged",
                );
                rename(&mut envelope.action, "files", "fileIds");
            }
            _ => {}
        }
        vec![envelope]
    }

    fn notification(&self, at: &Moment<'_>, mut call: Call) -> Vec<Call> {
        if call.method == "root/sessionSummaryChanged" {
            let session = text(&call.params, "session").map(Uri::from);
            if session.is_some_and(|session| waiting::only_for_token(at, &session, None))
                && let Some(changes) = object_mut(&mut call.params, "changes")
            {
                stop_waiting(changes);
            }
        }
        vec![call]
    }

    fn dispatch(&self, _at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        take_up(&mut dispatch.action, NO_TIME);
        Ok(())
    }

    fn lift(&self, row: &Row<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "ActiveTurn" => {
                default(part, "startedAt", Timestamp::from_millis(row.at).as_str());
            }
            "ChatState" => waiting::ask_within_turn(part),
            _ => {}
        }
        Fate::Keep
    }

    fn lift_action(&self, row: &Row<'_>, action: &mut Object) {
        take_up(action, Timestamp::from_millis(row.at).as_str());
    }
}

/// Takes an action up, whoever said it. When a turn began is given.
fn take_up(action: &mut Object, began: &str) {
    match text(action, "type") {
        Some("chat/turnStarted") => default(action, "startedAt", began),
        Some("chat/turnComplete" | "chat/turnCancelled" | "chat/error") => {
            default(action, "duration", 0);
        }
        Some("changeset/filesReviewedChanged") => {
            set(action, "type", "changeset/filesReviewChanged");
            rename(action, "fileIds", "files");
        }
        _ => {}
    }
}

/// Whether a turn is running. Newer clients do not take up a question without
/// one; these would, and never be rid of it. What is asked when a turn goes on
/// is asked of one that was not running before.
fn has_turn(at: &Moment<'_>, envelope: &Envelope) -> bool {
    let channel = envelope.channel.as_deref().map(Uri::from);
    let after = channel.and_then(|channel| at.world.state(&channel));
    match after.as_ref().or(at.before) {
        Some(ChannelState::Chat(chat)) => chat.active_turn.is_some(),
        _ => true,
    }
}

/// Whether this is a question that nobody has answered.
fn is_open_request(part: &Object) -> bool {
    let response = part.get("response").is_none_or(Json::is_null);
    text(part, "kind") == Some("inputRequest") && response
}
