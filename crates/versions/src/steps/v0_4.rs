//! 0.5.0 ↔ 0.4: from 0.5.0 on, the summary is flattened into the session state, times are text,
//! several clients can be active, and the model is selected per message.
//!
//! Up to 0.4 a session has one model, one custom agent and one active client. The model and
//! agent are those of the draft of its chat, or else of the latest message; selecting another
//! one changes the draft.
//!
//! Lost: all active clients but one, the text of drafts, non-text options of models, the limits
//! of a model.

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

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{remove_fields, text_field};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

use selection::ModelChoice;

pub(crate) struct StepV0_4;

impl step::VersionStep for StepV0_4 {
    fn older_release(&self) -> Release {
        Release::V0_4
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        if let Action::Session(
            SessionAction::ActiveClientSet(_) | SessionAction::ActiveClientRemoved(_),
        ) = &action
            && let Some(ChannelState::Session(before)) = context.state_before
        {
            return clients::rewrite_active_client(context, before, &action);
        }
        // Releases up to 0.4 do not receive the loaded turns, but the selection that these
        // turns imply. The added action makes the step compare the selection.
        if let Action::Chat(ChatAction::TurnsLoaded(_)) = &action
            && let Some(ChannelState::Chat(_)) = context.state_before
        {
            let draft = ChatAction::DraftChanged(DraftChanged { draft: None });
            return vec![action, Action::Chat(draft)];
        }
        vec![action]
    }

    fn downgrade_part(
        &self,
        context: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "Message" => remove_fields(part, &["model", "agent"]),
            "ModelSelection" => values::stringify_model_options(part),
            "ModelInfo" => remove_fields(part, &["maxOutputTokens", "maxPromptTokens"]),
            "ConfigPropertySchema" | "SessionConfigPropertySchema" => {
                values::stringify_choices(part)
            }
            "SessionConfigState" | "RootConfigState" | "ResolveSessionConfigResult" => {
                values::stringify_values(part);
            }
            "ChatState" => {
                remove_fields(part, &["draft"]);
                selection::add_choice_to_chat(context, part);
            }
            "ChatSummary" => {
                if let Some(chat) = text_field(part, "resource").map(Uri::from) {
                    ModelChoice::of_chat(context, &chat).write_to(part);
                }
            }
            "SessionSummary" => summary::downgrade_summary(context, part),
            "PartialSessionSummary" => summary::downgrade_partial_summary(part),
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        match envelope.action_type() {
            "session/activeClientSet" | "session/activeClientRemoved" => {
                clients::downgrade_active_client(context, &mut envelope);
            }
            "session/configChanged" | "root/configChanged" => {
                let channel = envelope.channel.as_deref().unwrap_or_default();
                values::stringify_changes(context, &Uri::from(channel), &mut envelope.action);
            }
            "session/defaultChatChanged" => {
                let moved = selection::choice_actions_for_session(context, &envelope);
                return [vec![envelope], moved].concat();
            }
            "chat/turnStarted" | "chat/truncated" => {
                let moved = selection::choice_actions_for_chat(context, &envelope);
                return [vec![envelope], moved].concat();
            }
            "chat/draftChanged" => return selection::choice_actions_for_chat(context, &envelope),
            "chat/activityChanged" => return Vec::new(),
            _ => {}
        }
        vec![envelope]
    }

    fn downgrade_state(
        &self,
        context: &TranslationContext<'_>,
        kind: ChannelKind,
        resource: &mut String,
        state: &mut Object,
    ) {
        if kind == ChannelKind::Session {
            summary::fold_summary(context, &Uri::from(resource.as_str()), state);
            clients::fold_active_clients(context, state);
        }
    }

    fn downgrade_notification(
        &self,
        context: &TranslationContext<'_>,
        mut call: JsonCall,
    ) -> Vec<JsonCall> {
        match call.method.as_str() {
            "root/progress" => return Vec::new(),
            "root/sessionSummaryChanged" => {
                summary::add_choice_to_changes(context, &mut call.params)
            }
            _ => {}
        }
        vec![call]
    }

    fn upgrade_params(
        &self,
        context: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        Ok(match call.method.as_str() {
            "createSession" => up::upgrade_create_session(context, &mut call.params),
            "createChat" => up::upgrade_create_chat(context, &mut call.params),
            _ => Vec::new(),
        })
    }

    fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        match dispatch.action_type() {
            "session/activeClientChanged" => {
                clients::upgrade_active_client(context, &mut dispatch.action)
            }
            "session/activeClientToolsChanged" => clients::upgrade_client_tools(context, dispatch)?,
            "session/modelChanged" | "session/agentChanged" => {
                up::upgrade_choice(context, dispatch)?
            }
            "session/configChanged" | "root/configChanged" => {
                let channel = Uri::from(dispatch.channel.as_str());
                values::parse_changes(context, &channel, &mut dispatch.action);
            }
            "chat/turnStarted" | "chat/pendingMessageSet" => {
                up::set_message_choice(context, dispatch)
            }
            _ => {}
        }
        Ok(())
    }
}
