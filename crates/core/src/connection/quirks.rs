//! Deviations from AHP 1.0 that shipped clients rely on.
//!
//! Only this module decides which client gets which allowance. A client of AHP 1.0 must
//! follow the specification. Legacy clients were written before parts of it existed. VS
//! Code identifies itself in `clientInfo`, and needs more than its protocol version
//! explains; HSK-18 allows such a workaround as a last resort.

mod answers;
mod messages;

use agenthost_protocol::action::{Action, ActionOrigin};
use agenthost_protocol::chat::{ChatAction, PendingMessageSet, TurnStarted};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::root::RootAction;
use agenthost_protocol::session::{DisposeSessionParams, SessionAction};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Json;
use percent_encoding::percent_decode_str;

use crate::agent::models;
use crate::connection::registry::ClientRecord;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::effect::audit::RemovalReason;
use crate::host::error::{Refusal, RequestFailure};
use crate::host::input::ConnectionId;
use crate::host::settings;
use crate::host::step::Env;
use crate::resource::{content, uris};
use crate::session::worktree_disposal;

/// Prefix of the names that VS Code windows send in `clientInfo` (`vscode-editor-window`,
/// `vscode-agents-window`).
const VSCODE_NAME_PREFIX: &str = "vscode-";

/// The `_meta` key of `initialize` and `reconnect` in which VS Code names the connection
/// kind of a window.
const CONNECTION_KIND_META_KEY: &str = "vscode.clientConnectionKind";

/// Connection kind of a window in a browser or on a remote machine.
const REMOTE_WINDOW_KIND: &str = "remote_extension_host";

/// URI schemes that never name a channel.
const CONTENT_SCHEMES: [&str; 6] = [
    "file",
    "http",
    "https",
    content::CONTENT_SCHEME,
    uris::GIT_SCHEME,
    uris::HOST_FILE_SCHEME,
];

fn decode_uri(uri: &str) -> impl Iterator<Item = u8> {
    percent_decode_str(uri)
}

/// The deviations from AHP 1.0 that the host supports for a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientQuirks {
    /// Starts the first turn without waiting for `session/ready`. The turn begins when the
    /// session is ready, and fails if the session fails.
    pub early_turns: bool,
    /// Configures sessions with properties and values that an agent does not offer. The
    /// host drops them, as it does for `resolveSessionConfig`.
    pub unknown_config: bool,
    /// Creates a session as soon as its user selects an agent. The session stays unlisted,
    /// and its agent is not started, until there is a message.
    pub provisional_sessions: bool,
    /// Reads the provider of a session from the scheme of its URI. The host sends
    /// `<provider>:/<id>` for sessions with another URI.
    pub provider_schemes: bool,
    /// Parses and prints URIs, which may escape other characters than the original. The
    /// host compares its channels after decoding.
    pub reprinted_uris: bool,
    /// Dispatches `session/titleChanged` on a chat, and sends `completions` for a session.
    pub mixed_channels: bool,
    /// Does not show the reason of a rejected action. The host fails the turn instead, and
    /// removes a model or agent that no longer exists from the message.
    pub silent_rejections: bool,
    /// Answers questions for numbers with text, and requests without questions as if they
    /// had one.
    pub text_answers: bool,
    /// Does not list the sessions again after a reconnect. The host sends the changes of
    /// the list.
    pub keeps_list: bool,
    /// Resolves `file:` in edits on the machine that shows its window, and fails to restore
    /// the files. The host sends `agenthost-file:` there.
    pub remote_files: bool,
    /// Repeats `disposeSession` at every connect until it succeeds, also for a session that
    /// was removed.
    pub repeats_dispose: bool,
    /// Reads only the first page of `listSessions`, and never fetches turns that a snapshot
    /// leaves out.
    pub reads_first_page: bool,
    /// Loses the folder of a session if the host has a default directory, because its
    /// folders have a scheme of its own.
    pub no_default_directory: bool,
    /// Ends a call at once when its user cancels the turn, and releases a terminal that has
    /// exited. The host publishes the end of the output in running calls from time to time.
    pub forgets_terminals: bool,
}

impl ClientQuirks {
    /// Returns the quirks of a client by its release and program name.
    pub fn of(release: Release, program: Option<&str>) -> Self {
        let vscode = program.is_some_and(|name| name.starts_with(VSCODE_NAME_PREFIX));
        let lenient = vscode || release < Release::CURRENT;
        ClientQuirks {
            early_turns: lenient,
            unknown_config: lenient,
            provisional_sessions: vscode,
            provider_schemes: vscode,
            reprinted_uris: lenient,
            mixed_channels: vscode,
            silent_rejections: vscode,
            text_answers: vscode,
            keeps_list: vscode,
            remote_files: false,
            repeats_dispose: vscode,
            reads_first_page: vscode,
            no_default_directory: vscode,
            forgets_terminals: vscode,
        }
    }

    /// Returns the quirks with those of the connection, from the `_meta` of `initialize` or
    /// `reconnect`.
    #[must_use]
    pub fn connected_as(self, meta: Option<&Json>) -> Self {
        let kind = meta.and_then(|meta| meta.get(CONNECTION_KIND_META_KEY)?.as_str());
        ClientQuirks {
            remote_files: kind == Some(REMOTE_WINDOW_KIND),
            ..self
        }
    }
}

impl ClientRecord {
    /// Returns the quirks by the client's release and program.
    pub fn quirks(&self) -> ClientQuirks {
        let program = self.info.as_ref().map(|info| info.name.as_str());
        ClientQuirks::of(self.release(), program)
    }
}

impl Host {
    /// Returns the quirks of the connection's client; none before the handshake.
    pub(crate) fn connection_quirks(&self, connection: ConnectionId) -> ClientQuirks {
        let client = self.clients.client_of(connection);
        client.map_or_else(ClientQuirks::default, |client| self.client_quirks(client))
    }

    pub(crate) fn client_quirks(&self, client: &ClientId) -> ClientQuirks {
        let client = self.clients.clients.get(client);
        client.map_or_else(ClientQuirks::default, |client| client.record.quirks())
    }

    /// Finds the channel whose URI differs from `uri` in its escaping only. Returns `None`
    /// if there is no such channel, or if `uri` names a channel exactly.
    pub fn find_equivalent_channel(&self, uri: &str) -> Option<&Uri> {
        let (scheme, _) = uri.split_once(':')?;
        if CONTENT_SCHEMES.contains(&scheme) || self.channels.contains(&Uri::from(uri)) {
            return None;
        }
        let mut channels = self.channels.uris();
        channels.find(|known| decode_uri(known.as_str()).eq(decode_uri(uri)))
    }

    /// Normalizes an action of a client with quirks: removes configuration that is not
    /// offered, removes unknown models and agents, and converts answers to the type of
    /// their question.
    pub(crate) fn normalize_action(
        &self,
        quirks: ClientQuirks,
        channel: &Uri,
        mut action: Action,
    ) -> Action {
        if let Action::Root(RootAction::ConfigChanged(change)) = &mut action
            && quirks.unknown_config
            && let Some(config) = self.root().and_then(|root| root.config.as_ref())
        {
            let schema = &config.schema;
            let fits =
                |key: &str, value: &Json| settings::check_setting(schema, key, value).is_ok();
            change.config.retain(|key, value| fits(key, value));
        }
        if let Action::Session(SessionAction::ConfigChanged(change)) = &mut action
            && quirks.unknown_config
            && let Some(session) = self.session(channel)
            && let Some(config) = session.config.as_ref()
        {
            let provider = &session.metadata.provider;
            let given = std::mem::take(&mut change.config);
            change.config = self.retain_valid_values(provider, &config.schema, given);
        }
        if let Action::Chat(
            ChatAction::TurnStarted(TurnStarted { message, .. })
            | ChatAction::PendingMessageSet(PendingMessageSet { message, .. }),
        ) = &mut action
            && quirks.silent_rejections
        {
            let session = self
                .session_of(channel)
                .and_then(|owner| self.session(owner));
            let agent = session.and_then(|session| self.agent_of_session(session));
            models::drop_placeholder(agent, message);
            messages::normalize_message(agent, session, message);
        }
        if let Action::Chat(ChatAction::InputCompleted(completed)) = &mut action
            && quirks.text_answers
            && let Some(chat) = self.chat(channel)
        {
            answers::parse_text_answers(chat, completed);
        }
        action
    }

    /// Renames the session of a default chat, for a client that renames the chat instead.
    /// The client waits for the echo of its action on the chat.
    pub(crate) fn rename_through_chat(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        chat: &Uri,
        action: Action,
        origin: ActionOrigin,
        out: &mut Effects,
    ) -> Result<(), Refusal> {
        let session = self
            .session_of(chat)
            .cloned()
            .unwrap_or_else(|| chat.clone());
        let state = self.session(&session);
        if state.is_none_or(|state| state.default_chat.as_ref() != Some(chat)) {
            return Err(Refusal::Unsupported("renaming this chat"));
        }
        let checked = self.check_client_action(env, &session, &origin.client_id, action)?;
        if self.originate(&session, checked.clone(), out) {
            self.react(env, &session, &checked, out);
        }
        self.echo_unlogged(connection, chat, checked, origin, out);
        Ok(())
    }

    /// Disposes a session for a client. Some clients repeat this for removed sessions until
    /// it succeeds.
    pub(crate) fn dispose_session_for(
        &mut self,
        connection: ConnectionId,
        params: &DisposeSessionParams,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let reason = RemovalReason::Client(self.audit_actor(connection));
        let worktree = worktree_disposal(params.meta.as_ref());
        match self.dispose_session(&params.channel, reason, worktree, out) {
            Err(RequestFailure::UnknownSession(_))
                if self.connection_quirks(connection).repeats_dispose =>
            {
                Ok(())
            }
            other => other,
        }
    }
}
