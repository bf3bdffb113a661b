//! The creation of sessions: their settings, their first message, and copies of other sessions.

use agenthost_client::ClientResponse;
use agenthost_protocol::chat::Attachment;
use agenthost_protocol::session::{
    CreateSessionParams, ResolveSessionConfigParams, SessionConfigState, SessionLifecycle,
};
use agenthost_protocol::uri::{RootChannel, Uri, session_uri};
use agenthost_protocol::wire::Object;
use agenthost_view::composer::choice_rows;
use agenthost_view::visible_text::visible_label;
use serde::Serialize;
use serde_json::value::RawValue;

use super::PageCore;
use super::chat::to_attachment;
use super::responses::{RequestError, ResponsePurpose, decode, encode};
use super::sessions::folder_uri;
use crate::input::{NewChatSource, SessionCommand};

/// Maximum length of the reason for which a session failed, in characters.
const MAX_REASON_CHARS: usize = 400;

/// The message that a session begins with.
#[derive(Debug)]
pub(super) struct MessageDraft {
    pub(super) text: String,
    attachments: Vec<Attachment>,
    model: Option<String>,
}

impl MessageDraft {
    fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }
}

/// The first message of a session, which is sent when the session is ready.
#[derive(Debug)]
pub(super) struct FirstMessage {
    session: Uri,
    chat: Uri,
    draft: MessageDraft,
}

/// A copy of a session that waits for the chat of the session.
#[derive(Debug)]
pub(super) struct PendingFork {
    command: u64,
    session: Uri,
}

/// The result of a command that creates a session.
#[derive(Debug, Serialize)]
struct CreatedSession<'a> {
    session: &'a Uri,
}

impl PageCore {
    pub(super) fn execute_session(&mut self, id: u64, command: SessionCommand) {
        match command {
            SessionCommand::Create {
                provider,
                folder,
                model,
                config,
                text,
                attachments,
            } => {
                let attachments = attachments.into_iter().map(to_attachment).collect();
                let draft = MessageDraft {
                    text,
                    attachments,
                    model,
                };
                self.create_session(id, &provider, folder, config, draft);
            }
            SessionCommand::ResolveConfig {
                provider,
                folder,
                config,
            } => {
                let params = ResolveSessionConfigParams {
                    channel: RootChannel,
                    provider: Some(provider.as_str().into()),
                    working_directory: folder.map(|folder| folder_uri(&folder)),
                    config: (!config.is_empty()).then_some(config),
                    meta: None,
                };
                self.request_for(id, &params, to_choices);
            }
            SessionCommand::Fork { session } => self.fork_session(id, Uri::from(session)),
        }
    }

    fn create_session(
        &mut self,
        id: u64,
        provider: &str,
        folder: Option<String>,
        config: Object,
        draft: MessageDraft,
    ) {
        let name = self.new_id();
        let session = session_uri(&provider.into(), &name);
        let folders = folder.map(|folder| vec![folder_uri(&folder)]);
        let params = CreateSessionParams {
            channel: session.clone(),
            provider: Some(provider.into()),
            working_directories: folders,
            config: (!config.is_empty()).then_some(config),
            active_client: None,
            progress_token: None,
            meta: None,
        };
        let purpose = ResponsePurpose::Create {
            command: id,
            session,
            draft,
        };
        self.request(&params, purpose);
    }

    /// Shows a session that was created and sends its first message.
    pub(super) fn start_session(&mut self, id: u64, session: Uri, draft: MessageDraft) {
        self.leave_session();
        let chat = self.default_chat(&session);
        self.session = Some(session.clone());
        self.sync_subscriptions();
        self.show_chat(chat.clone());
        if !draft.is_empty() {
            self.first_message = Some(FirstMessage {
                session: session.clone(),
                chat,
                draft,
            });
        }
        self.reply(id, &CreatedSession { session: &session });
    }

    /// Sends the first message of a new session as soon as the session is ready and the page
    /// follows its chat, so that the host's answer to the message arrives.
    pub(super) fn send_first_message(&mut self) {
        let Some(first) = &self.first_message else {
            return;
        };
        let lifecycle = self.session_state(&first.session);
        let lifecycle = lifecycle.map(|state| state.lifecycle.clone());
        let is_followed = self.state(&first.chat).is_some();
        let is_ready = match lifecycle {
            Some(SessionLifecycle::Ready | SessionLifecycle::Unknown(_)) => is_followed,
            Some(SessionLifecycle::Failed) => false,
            Some(SessionLifecycle::Creating) | None => return,
        };
        let is_failed = matches!(lifecycle, Some(SessionLifecycle::Failed));
        if !is_ready && !is_failed {
            return;
        }
        let error = self.session_state(&first.session);
        let error = error.and_then(|state| state.creation_error.as_ref());
        let reason = error.map(|error| visible_label(&error.message, MAX_REASON_CHARS));
        let Some(FirstMessage { chat, draft, .. }) = self.first_message.take() else {
            return;
        };
        if is_failed {
            let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
            let reason = format!("the session could not be created: {reason}");
            self.add_note(reason, Some(draft.text));
        } else {
            // Command 0 has no caller: a rejection is shown as a note.
            self.start_turn(0, &chat, draft.text, draft.attachments, draft.model);
            self.send_pending();
        }
    }

    fn fork_session(&mut self, id: u64, session: Uri) {
        if !self.link.is_live() {
            return self.fail(id, "there is no connection to the host".to_owned());
        }
        if self.sessions.get(&session).is_none() {
            return self.fail(id, "the session was removed".to_owned());
        }
        self.show_session(session.clone());
        let pending = PendingFork {
            command: id,
            session,
        };
        if let Some(before) = self.fork.replace(pending) {
            self.fail(before.command, "another session was forked".to_owned());
        }
    }

    /// Copies the chat of the session that waits for it, as soon as the chat is there.
    pub(super) fn continue_fork(&mut self) {
        let Some(fork) = &self.fork else {
            return;
        };
        let (command, is_selected) = (fork.command, self.session.as_ref() == Some(&fork.session));
        let is_loaded = self.session_state(&fork.session).is_some() && self.chat_state().is_some();
        if is_selected && self.link.is_live() && !is_loaded {
            return;
        }
        self.fork = None;
        if !is_selected {
            self.fail(command, "another session was opened".to_owned());
        } else if !self.link.is_live() {
            self.fail(command, "the connection was lost".to_owned());
        } else {
            self.create_chat(command, Some(NewChatSource::Fork), None, None);
            self.send_pending();
        }
    }
}

fn to_choices(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    let resolved = decode::<ResolveSessionConfigParams>(response)?;
    encode(&choice_rows(&SessionConfigState {
        schema: resolved.schema,
        values: resolved.values,
    }))
}
