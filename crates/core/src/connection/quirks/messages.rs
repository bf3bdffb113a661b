//! Repairs messages of clients that do not show the reason of a rejection.

use std::sync::Arc;

use agenthost_protocol::action::{Action, ActionOrigin};
use agenthost_protocol::chat::{Attachment, ChatAction, ErrorPart, Message, TurnStarted};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{ChildCustomization, SessionState};
use agenthost_protocol::uri::Uri;

use crate::chat::completions;
use crate::customization::all_customizations;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::Refusal;
use crate::host::step::Env;
use crate::resource::uris;

/// URI prefix of VS Code in a browser for files on the machine of its server.
const REMOTE_URI_PREFIX: &str = "vscode-remote://";

/// Removes a model and a custom agent that no longer exist, and attachments without
/// content. Rewrites the URIs of files of the session and its customizations to those of
/// this host.
pub(super) fn normalize_message(
    agent: Option<&AgentInfo>,
    session: Option<&SessionState>,
    message: &mut Arc<Message>,
) {
    let unknown_model = message.model.as_ref().is_some_and(|model| {
        let id = &model.id;
        agent.is_some_and(|agent| !agent.has_model(id))
    });
    let offers = |uri: &Uri| session.is_none_or(|session| session.offers_agent(uri));
    let custom = message.agent.as_ref().map(|custom| &custom.uri);
    let renamed_agent = custom.and_then(local_file).filter(|file| offers(file));
    let unknown_agent = renamed_agent.is_none() && custom.is_some_and(|uri| !offers(uri));
    let mut attachments = message.attachments.iter().flatten();
    let odd = attachments
        .any(|attachment| is_remote_attachment(attachment) || is_empty_attachment(attachment));
    if !(unknown_model || unknown_agent || renamed_agent.is_some() || odd) {
        return;
    }
    let message = Arc::make_mut(message);
    if unknown_model {
        message.model = None;
    }
    if unknown_agent {
        message.agent = None;
    }
    if let (Some(custom), Some(file)) = (&mut message.agent, renamed_agent) {
        custom.uri = file;
    }
    if let Some(attachments) = &mut message.attachments {
        attachments.retain(|attachment| !is_empty_attachment(attachment));
    }
    for attachment in message.attachments.iter_mut().flatten() {
        if let Attachment::Resource(resource) = attachment
            && let Some(file) = session_file(session, &resource.content.uri)
        {
            resource.content.uri = file;
        }
    }
}

fn is_remote_attachment(attachment: &Attachment) -> bool {
    match attachment {
        Attachment::Resource(resource) => {
            resource.content.uri.as_str().starts_with(REMOTE_URI_PREFIX)
        }
        Attachment::Simple(_)
        | Attachment::EmbeddedResource(_)
        | Attachment::Annotations(_)
        | Attachment::Chat(_)
        | Attachment::Unknown(_) => false,
    }
}

/// Returns `true` if an attachment has no content for the model.
fn is_empty_attachment(attachment: &Attachment) -> bool {
    matches!(attachment, Attachment::Simple(simple) if !completions::has_model_representation(simple))
}

/// Returns the local file of a URI of VS Code's server, assuming that the server runs on
/// this machine.
fn local_file(uri: &Uri) -> Option<Uri> {
    let rest = uri.as_str().strip_prefix(REMOTE_URI_PREFIX)?;
    let (_, path) = rest.split_once('/')?;
    Some(Uri::from(format!("file:///{path}")))
}

/// Returns the local file of a URI of VS Code's server, if it is in a folder of the session
/// or belongs to one of its customizations. Any other file is read from the client.
fn session_file(session: Option<&SessionState>, uri: &Uri) -> Option<Uri> {
    let (file, session) = (local_file(uri)?, session?);
    let mut directories = session.metadata.working_directories.iter().flatten();
    let within = directories.any(|directory| uris::is_within(directory, &file));
    let mut children =
        all_customizations(session).flat_map(|one| one.children().unwrap_or_default());
    let shown = |child: &ChildCustomization| child.base().is_some_and(|base| base.uri == file);
    (within || children.any(shown)).then_some(file)
}

impl Host {
    /// Starts a turn that was refused because its session is not ready, and fails it with
    /// the error of the session. Returns `false` if the turn was refused for
    /// another reason or could not be started.
    pub(crate) fn fail_refused_turn(
        &mut self,
        env: &Env,
        chat: &Uri,
        action: &Action,
        origin: &ActionOrigin,
        refusal: &Refusal,
        out: &mut Effects,
    ) -> bool {
        let (Action::Chat(ChatAction::TurnStarted(start)), Refusal::NotReady) = (action, refusal)
        else {
            return false;
        };
        let session = self
            .session_of(chat)
            .and_then(|session| self.session(session));
        let error = session.and_then(|session| session.creation_error.clone());
        let error = error.unwrap_or_else(|| ErrorInfo::new("notReady", refusal.to_string()));
        let turn = start.turn_id.clone();
        let started = TurnStarted {
            started_at: env.timestamp(),
            ..start.clone()
        };
        let started = ChatAction::TurnStarted(started);
        if self.commit(chat, started.into(), Some(origin.clone()), out) != Outcome::Applied {
            return false;
        }
        let part = ErrorPart {
            error,
            resumable: None,
        };
        self.end_turn(env, chat, &turn, Some(part), out);
        true
    }
}
