//! Handles dispatched actions of clients: checks, commits and follow-up work.

use agenthost_protocol::action::{Action, ActionOrigin, RawAction, ReceivedAction};
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::connection::DispatchActionParams;
use agenthost_protocol::ids::InputRequestId;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::SessionAction;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;

use crate::chat::turn::unfinished_calls::TurnEnd;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::Refusal;
use crate::host::input::ConnectionId;
use crate::host::step::Env;

impl Host {
    /// Handles an action that a client dispatches. No subscription is required (DSP-8), and
    /// an action on an unknown channel is ignored (DSP-3).
    pub(crate) fn dispatch_action(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        params: DispatchActionParams,
        out: &mut Effects,
    ) {
        let channel = params.channel;
        let Some(client_id) = self.clients.client_of(connection).cloned() else {
            return;
        };
        if self.state(&channel).is_none() {
            return;
        }
        let origin = ActionOrigin {
            client_id,
            client_seq: params.client_seq,
        };
        if let ReceivedAction::Valid(action) = &params.action
            && let Err(refusal) = self.check_action_scope(connection, action)
        {
            let raw = RawAction(wire::to_json(action));
            self.reject_action(connection, channel, raw, origin, refusal.to_string(), out);
            return;
        }
        self.load_turn_for_all(&channel, &params.action, out);
        let action = match params.action.into_valid() {
            Ok(action) => action,
            Err((raw, reason)) => {
                self.reject_action(connection, channel, raw, origin, reason, out);
                return;
            }
        };
        let sent = action.clone();
        let quirks = self.connection_quirks(connection);
        let mut action = self.normalize_action(quirks, &channel, action);
        self.name_client_in_action(connection, &mut action);
        let renames = matches!(action, Action::Session(SessionAction::TitleChanged(_)));
        let refused = if quirks.mixed_channels && renames && self.chat(&channel).is_some() {
            let sender = origin.clone();
            self.rename_through_chat(env, connection, &channel, action, sender, out)
                .err()
        } else {
            self.execute_action(env, connection, &channel, action, &origin, out)
        };
        if let Some(refusal) = refused {
            if quirks.silent_rejections
                && self.fail_refused_turn(env, &channel, &sent, &origin, &refusal, out)
            {
                return;
            }
            let raw = RawAction(wire::to_json(&sent));
            self.reject_action(connection, channel, raw, origin, refusal.to_string(), out);
        }
    }

    /// Checks and commits an action. Returns the reason if it is refused.
    fn execute_action(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        channel: &Uri,
        action: Action,
        origin: &ActionOrigin,
        out: &mut Effects,
    ) -> Option<Refusal> {
        let client = &origin.client_id;
        let mut accepted = self.check_client_action(env, channel, client, action);
        if let Ok(action) = &mut accepted {
            self.record_answering_client(connection, client, channel, action);
        }
        match accepted {
            Ok(Action::Terminal(TerminalAction::Input(input))) => {
                self.write_input(connection, channel, &input, origin.clone(), out);
                None
            }
            Ok(action) => {
                let form = completed_form(&action).cloned();
                let entries = self.audit_entries(connection, channel, &action);
                let refused = self
                    .accept_action(env, channel, action, origin.clone(), out)
                    .err();
                if refused.is_none() {
                    out.write_audit(entries);
                }
                if let (None, Some(form)) = (&refused, form) {
                    self.record_form_answer(connection, client, channel, &form, out);
                }
                refused
            }
            Err(refusal) => Some(refusal),
        }
    }

    fn accept_action(
        &mut self,
        env: &Env,
        channel: &Uri,
        action: Action,
        origin: ActionOrigin,
        out: &mut Effects,
    ) -> Result<(), Refusal> {
        let (name, by) = (action.info().name, origin.client_id.clone());
        if let Action::Chat(ChatAction::ToolCallConfirmed(confirmed)) = &action {
            self.store_edited_input(channel, confirmed, out);
        }
        if let Action::Chat(ChatAction::TurnCancelled(_)) = &action {
            self.complete_unfinished_calls(channel, TurnEnd::Cancelled, out);
        }
        match self.commit(channel, action.clone(), Some(origin), out) {
            Outcome::Applied | Outcome::NoOp => {
                if let Action::Chat(action) = &action {
                    self.record_sender(channel, action, &by);
                }
                if let Action::Session(SessionAction::McpServerStartRequested(_)) = &action {
                    self.record_principal(channel, &by, out);
                }
                self.react(env, channel, &action, out);
                Ok(())
            }
            Outcome::WrongChannel => Err(Refusal::WrongChannel(name)),
            Outcome::Invalid(reason) => Err(Refusal::Invalid(reason.to_string())),
        }
    }
}

/// Returns the form that an action answers.
fn completed_form(action: &Action) -> Option<&InputRequestId> {
    if let Action::Chat(ChatAction::InputCompleted(completed)) = action {
        Some(&completed.request_id)
    } else {
        None
    }
}
