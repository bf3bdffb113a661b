//! 0.5.0 ↔ 0.4: the head of a session lies flat in its state, times are text,
//! several clients can be active, and a model is chosen for a message.
//!
//! Up to 0.4 a session has one model, one custom agent and one active client.
//! Model and agent are those of the message that is being typed in its chat,
//! or else of the latest one; choosing another changes what is being typed.
//!
//! Lost: active clients but one, the text that somebody is typing, options of
//! models that are not text, the limits of a model.

mod clients;
mod selection;
mod summary;
mod up;
mod values;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::chat::{ChatAction, DraftChanged};
use agenthost_protocol::session::SessionAction;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{remove, text};
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

use selection::Selection;

pub(crate) struct Step;

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_4
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        match (&action, at.before) {
            (
                Action::Session(
                    SessionAction::ActiveClientSet(_) | SessionAction::ActiveClientRemoved(_),
                ),
                Some(ChannelState::Session(before)),
            ) => clients::reword(at, before, &action),
            // Older releases are not told of these turns, but of what they show to
            // be chosen.
            (Action::Chat(ChatAction::TurnsLoaded(_)), Some(ChannelState::Chat(_))) => {
                let draft = ChatAction::DraftChanged(DraftChanged { draft: None });
                vec![action, Action::Chat(draft)]
            }
            _ => vec![action],
        }
    }

    fn part(&self, at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "Message" => remove(part, &["model", "agent"]),
            "ModelSelection" => values::write_model_options(part),
            "ModelInfo" => remove(part, &["maxOutputTokens", "maxPromptTokens"]),
            "ConfigPropertySchema" | "SessionConfigPropertySchema" => values::write_choices(part),
            "SessionConfigState" | "RootConfigState" | "ResolveSessionConfigResult" => {
                values::write_chosen(part);
            }
            "ChatState" => {
                remove(part, &["draft"]);
                selection::put_into_chat(at, part);
            }
            "ChatSummary" => {
                if let Some(chat) = text(part, "resource").map(Uri::from) {
                    Selection::of_chat(at, &chat).put(part);
                }
            }
            "SessionSummary" => summary::whole(at, part),
            "PartialSessionSummary" => summary::partial(part),
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        match envelope.kind() {
            "session/activeClientSet" | "session/activeClientRemoved" => {
                clients::changed(at, &mut envelope);
            }
            "session/configChanged" | "root/configChanged" => {
                let channel = envelope.channel.as_deref().unwrap_or_default();
                values::write_changes(at, &Uri::from(channel), &mut envelope.action);
            }
            "session/defaultChatChanged" => {
                let moved = selection::moved_with_session(at, &envelope);
                return [vec![envelope], moved].concat();
            }
            "chat/turnStarted" | "chat/truncated" => {
                let moved = selection::moved_with_chat(at, &envelope);
                return [vec![envelope], moved].concat();
            }
            "chat/draftChanged" => return selection::moved_with_chat(at, &envelope),
            "chat/activityChanged" => return Vec::new(),
            _ => {}
        }
        vec![envelope]
    }

    fn snapshot(
        &self,
        at: &Moment<'_>,
        kind: ChannelKind,
        resource: &mut String,
        state: &mut Object,
    ) {
        if kind == ChannelKind::Session {
            summary::fold(at, &Uri::from(resource.as_str()), state);
            clients::fold(at, state);
        }
    }

    fn notification(&self, at: &Moment<'_>, mut call: Call) -> Vec<Call> {
        match call.method.as_str() {
            "root/progress" => return Vec::new(),
            "root/sessionSummaryChanged" => summary::choose_again(at, &mut call.params),
            _ => {}
        }
        vec![call]
    }

    fn params(&self, at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        Ok(match call.method.as_str() {
            "createSession" => up::create_session(at, &mut call.params),
            "createChat" => up::create_chat(at, &mut call.params),
            _ => Vec::new(),
        })
    }

    fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        match dispatch.kind() {
            "session/activeClientChanged" => clients::set_or_remove(at, &mut dispatch.action),
            "session/activeClientToolsChanged" => clients::set_tools(at, dispatch)?,
            "session/modelChanged" | "session/agentChanged" => up::choose(at, dispatch)?,
            "session/configChanged" | "root/configChanged" => {
                let channel = Uri::from(dispatch.channel.as_str());
                values::read_changes(at, &channel, &mut dispatch.action);
            }
            "chat/turnStarted" | "chat/pendingMessageSet" => up::address(at, dispatch),
            _ => {}
        }
        Ok(())
    }
}
