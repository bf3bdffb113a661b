//! The creation of sessions: their settings, their first message, and copies of other sessions.

use agenthost_client::{ClientResponse, EngineError, MAX_MESSAGE_BYTES};
use agenthost_protocol::chat::{Attachment, Message};
use agenthost_protocol::session::{
    CreateSessionParams, ResolveSessionConfigParams, SessionConfigState, SessionLifecycle,
};
use agenthost_protocol::uri::{RootChannel, Uri, session_uri};
use agenthost_protocol::wire::{Object, Wire};
use agenthost_view::composer::choice_rows;
use agenthost_view::location::path_of;
use serde::Serialize;
use serde_json::value::RawValue;

use super::Frontend;
use super::chat::{to_attachment, to_message};
use super::responses::{RequestError, ResponsePurpose, decode, encode};
use super::sessions::folder_uri;
use crate::input::{NewChatSource, SessionCommand};

/// Maximum number of first messages that are kept of sessions that could not be created.
const MAX_UNSENT_MESSAGES: usize = 5;

/// The message that a session begins with, and the choices of the user for the session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub(super) struct MessageDraft {
    text: String,
    attachments: Vec<Attachment>,
    model: Option<String>,
    folder: Option<String>,
    config: Object,
}

impl MessageDraft {
    /// Returns the size of the message, without what its encoding adds.
    fn bytes(&self) -> usize {
        let files = self.attachments.iter().map(|file| match file {
            Attachment::EmbeddedResource(file) => file.data.len(),
            Attachment::Simple(_)
            | Attachment::Resource(_)
            | Attachment::Annotations(_)
            | Attachment::Chat(_)
            | Attachment::Unknown(_) => 0,
        });
        self.text.len() + files.sum::<usize>()
    }

    fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }
}

/// The first message of a session, which is sent when the session is ready. It outlives the page.
#[derive(Debug, Clone, PartialEq, Wire)]
pub(super) struct FirstMessage {
    session: Uri,
    chat: Uri,
    draft: MessageDraft,
    /// `true` if the session could not be created: the user may try again.
    is_failed: bool,
}

/// The first message of a session that could not be created, as the page edits it.
#[derive(Debug, Serialize)]
struct UnsentMessage<'a> {
    text: &'a str,
    attachments: Vec<UnsentFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'a str>,
    config: &'a Object,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct UnsentFile<'a> {
    name: &'a str,
    content_type: &'a str,
    data: &'a str,
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

impl Frontend {
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
                    folder,
                    config,
                };
                self.create_session(id, &provider, draft);
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
            SessionCommand::Unsent { session } => self.report_unsent(id, &Uri::from(session)),
            SessionCommand::Fork { session } => self.fork_session(id, Uri::from(session)),
        }
    }

    fn create_session(&mut self, id: u64, provider: &str, draft: MessageDraft) {
        if draft.bytes() > MAX_MESSAGE_BYTES {
            // The session would start without its message.
            let error = EngineError::TooLarge {
                bytes: draft.bytes(),
            };
            return self.fail(id, error.to_string());
        }
        let name = self.new_session_name();
        let session = session_uri(&provider.into(), &name);
        let folder = draft.folder.as_deref();
        let folders = folder.map(|folder| vec![folder_uri(folder)]);
        let params = CreateSessionParams {
            channel: session.clone(),
            provider: Some(provider.into()),
            working_directories: folders,
            config: (!draft.config.is_empty()).then(|| draft.config.clone()),
            active_client: None,
            progress_token: None,
            meta: self.session_meta.clone(),
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
        if !draft.is_empty() {
            self.first_messages.push(FirstMessage {
                session: session.clone(),
                chat: chat.clone(),
                draft,
                is_failed: false,
            });
        }
        self.sync_subscriptions();
        self.show_chat(chat);
        // The page may be closed before the session is ready.
        self.mark_unsaved();
        self.save_now();
        self.reply(id, &CreatedSession { session: &session });
    }

    /// Returns the sessions whose first messages wait for them.
    pub(super) fn starting_sessions(&self) -> impl Iterator<Item = &Uri> {
        let waiting = self.first_messages.iter().filter(|first| !first.is_failed);
        waiting.map(|first| &first.session)
    }

    /// Sends the first messages of new sessions that are ready. If the page shows the session, the
    /// message waits for its chat, too, so that the host's answer to the message arrives.
    pub(super) fn send_first_messages(&mut self) {
        let mut at = 0;
        while let Some(first) = self.first_messages.get(at) {
            let state = self.session_state(&first.session);
            let is_followed = self.state(&first.chat).is_some();
            match state.map(|state| &state.lifecycle) {
                Some(SessionLifecycle::Ready | SessionLifecycle::Unknown(_))
                    if self.link.is_live()
                        && (is_followed || self.chat.as_ref() != Some(&first.chat)) =>
                {
                    let FirstMessage { chat, draft, .. } = self.first_messages.remove(at);
                    // Command 0 has no caller: a rejection is shown as a note.
                    self.start_turn(0, &chat, draft.text, draft.attachments, draft.model);
                    self.mark_unsaved();
                    self.save_now();
                    self.send_pending();
                }
                Some(SessionLifecycle::Failed) if !first.is_failed => self.keep_unsent(at),
                Some(
                    SessionLifecycle::Ready
                    | SessionLifecycle::Unknown(_)
                    | SessionLifecycle::Creating
                    | SessionLifecycle::Failed,
                )
                | None => at += 1,
            }
        }
    }

    /// Keeps the first message of a session that could not be created. It becomes the draft of the
    /// chat as well, so that another device can try again.
    fn keep_unsent(&mut self, at: usize) {
        if let Some(first) = self.first_messages.get_mut(at) {
            first.is_failed = true;
            let (chat, draft) = (first.chat.clone(), first.draft.clone());
            let message = to_message(draft.text, draft.attachments, draft.model);
            self.dispatch_draft(&chat, Some(message));
            self.send_pending();
        }
        let failed = self.first_messages.iter().filter(|first| first.is_failed);
        if failed.count() > MAX_UNSENT_MESSAGES {
            let oldest = self.first_messages.iter().position(|first| first.is_failed);
            if let Some(oldest) = oldest {
                let lost = self.first_messages.remove(oldest);
                let reason = "the session could not be created".to_owned();
                self.add_note(reason, Some(lost.draft.text));
            }
        }
        self.dirty.chat = true;
        self.dirty.sessions = true;
        self.mark_unsaved();
        self.save_now();
    }

    /// Drops the first message of a session that was removed.
    pub(super) fn drop_first_message(&mut self, session: &Uri) {
        self.first_messages
            .retain(|first| first.session != *session);
    }

    /// Returns the text of the first message of a session that could not be created.
    pub(super) fn unsent_text(&self, session: &Uri) -> Option<&str> {
        match self.unsent(session) {
            Some(draft) => Some(&draft.text),
            None => self.shared_unsent(session).map(|draft| draft.text.as_str()),
        }
    }

    /// Returns the first message of the selected session that another device has kept.
    fn shared_unsent(&self, session: &Uri) -> Option<&Message> {
        let state = self.session_state(session)?;
        if state.lifecycle != SessionLifecycle::Failed || self.session.as_ref() != Some(session) {
            return None;
        }
        self.chat_state()?.draft.as_deref()
    }

    /// Returns what [`Self::unsent`] returns on the device that has created the session.
    fn shared_draft(&self, session: &Uri) -> Option<MessageDraft> {
        let message = self.shared_unsent(session)?;
        let state = self.session_state(session)?;
        let folders = state.metadata.working_directories.iter().flatten();
        let config = state.config.as_ref();
        Some(MessageDraft {
            text: message.text.clone(),
            attachments: message.attachments.clone().unwrap_or_default(),
            model: message.model.as_ref().map(|model| model.id.to_string()),
            folder: folders.map(path_of).next(),
            config: config.map_or_else(Object::new, |config| config.values.clone()),
        })
    }

    fn unsent(&self, session: &Uri) -> Option<&MessageDraft> {
        let mut failed = self.first_messages.iter().filter(|first| first.is_failed);
        let first = failed.find(|first| first.session == *session)?;
        Some(&first.draft)
    }

    fn report_unsent(&mut self, id: u64, session: &Uri) {
        let own = self.unsent(session).cloned();
        let Some(draft) = own.or_else(|| self.shared_draft(session)) else {
            return self.fail(id, "the session has no message".to_owned());
        };
        let files = draft.attachments.iter().filter_map(|file| match file {
            Attachment::EmbeddedResource(file) => Some(UnsentFile {
                name: &file.base.label,
                content_type: &file.content_type,
                data: &file.data,
            }),
            Attachment::Simple(_)
            | Attachment::Resource(_)
            | Attachment::Annotations(_)
            | Attachment::Chat(_)
            | Attachment::Unknown(_) => None,
        });
        let message = UnsentMessage {
            text: &draft.text,
            attachments: files.collect(),
            model: draft.model.as_deref(),
            folder: draft.folder.as_deref(),
            config: &draft.config,
        };
        self.reply(id, &message);
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
