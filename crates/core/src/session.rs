//! Creates, removes and lists sessions.

pub(crate) mod annotations;
pub(crate) mod config;
pub(crate) mod config_policy;
pub(crate) mod directories;
pub(crate) mod flags;
pub(crate) mod fork;
pub(crate) mod index;
pub(crate) mod list;
pub(crate) mod pending_input;
pub(crate) mod provisional;
pub(crate) mod summary;
pub(crate) mod worktree;

use std::sync::Arc;

use agenthost_protocol::chat::ChatState;
use agenthost_protocol::common::{Meta, SessionStatus};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{
    ActiveSessionsChanged, AgentInfo, ListSessionsParams, ListSessionsResult, RootAction,
    SessionRemovedParams,
};
use agenthost_protocol::rpc::{HostNotification, RequestId};
use agenthost_protocol::session::{
    ActiveClient, ChatRemoved, CreateSessionParams, ProjectInfo, SessionAction, SessionConfigState,
    SessionLifecycle, SessionMetadata, SessionState, SessionSummary,
};
use agenthost_protocol::uri::{RootChannel, Uri};
use percent_encoding::percent_decode_str;

use crate::agent::AgentCommand;
use crate::changeset::driver::{CheckpointId, WorktreeDisposal};
use crate::host::Host;
use crate::host::effect::audit::RemovalReason;
use crate::host::effect::{Effect, Effects, ResponseBody, StoreWrite};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::resource::uris;
use crate::session::fork::SessionFork;
use crate::session::list::RemovedSession;
use crate::{chat, policy};

/// The `_meta` key of `disposeSession` for the worktree of the session.
const WORKTREE_META_KEY: &str = "agenthost.worktree";

/// The value of that key with which the worktree is removed with the work in it.
const DISCARD_WORKTREE: &str = "discard";

/// Maximum number of sessions in one response, so that a page is encoded and sent quickly.
const SESSION_PAGE_SIZE: usize = 200;

impl Host {
    /// Creates a session and responds before its agent runs: the session exists at once and
    /// becomes ready later (SES-4, A-17).
    pub(crate) fn create_session(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        mut params: CreateSessionParams,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let quirks = self.connection_quirks(connection);
        let fork = self.resolve_fork(&mut params)?;
        let environment = self.requested_environment(connection, params.meta.as_ref())?;
        self.check_session_free(&params.channel)?;
        let session = params.channel;
        let agent = self.find_agent(params.provider.as_ref())?;
        if self.is_alias_taken(&session, &agent.provider) {
            return Err(RequestFailure::SessionExists(session));
        }
        self.check_maker_as_active(connection, params.active_client.as_ref())?;
        if let Some(active) = &mut params.active_client {
            self.name_active_client(connection, active);
        }
        let directories = usable_directories(agent, params.working_directories)?;
        let provider = agent.provider.clone();
        self.check_agent_session_free(&provider, params.config.as_ref())?;
        let (schema, values) =
            self.initial_config(&provider, directories.first(), params.config, quirks)?;
        let mut state = new_session_state(env, &session, provider, directories);
        let mut chat = chat::new_chat_summary(env, uris::default_chat_uri(&session));
        if let Some(fork) = &fork {
            fork.set_origin(&mut chat);
        }
        state.chats = [chat.clone()].into_iter().collect();
        let mut listed = new_session_summary(env, &session, &state);
        let maker = self.clients.client_of(connection).cloned();
        let maker = maker.filter(|_| quirks.provisional_sessions && fork.is_none());
        if let Some(maker) = &maker {
            provisional::set_maker(&mut listed, maker);
        }
        let state = SessionState {
            active_clients: params.active_client.into_iter().collect(),
            // A session without a schema could never change a value (SES-11).
            config: (!schema.properties.is_empty())
                .then_some(SessionConfigState { schema, values }),
            ..state
        };
        self.create_channel(&session, Some(&session), state.into(), out);
        let source = fork.as_ref().map(|fork| fork.session.clone());
        let resource = chat.resource.clone();
        let chat = ChatState {
            turns: fork.map(SessionFork::into_turns).unwrap_or_default(),
            ..chat::new_chat_state(chat)
        };
        self.create_channel(&resource, Some(&session), chat.into(), out);
        self.create_annotations(&session, out);
        let listed = Arc::new(listed);
        self.sessions.insert(session.clone(), Arc::clone(&listed));
        out.write(StoreWrite::Session(Arc::clone(&listed)));
        self.store_environment(&session, environment, source.as_ref(), out);
        out.respond(connection, id, ResponseBody::Null);
        match &maker {
            Some(maker) => self.evict_provisional(maker, out),
            None => self.announce_session(&listed, out),
        }
        if let Some(client) = self.clients.client_of(connection).cloned() {
            self.record_principal(&session, &client, out);
        }
        match source {
            Some(source) => self.open_forked_session(&session, source, resource, out),
            None if maker.is_none() => self.open_or_isolate(&session, out),
            None => {}
        }
        Ok(())
    }

    /// Checks that the URI is free and the limit of sessions is not reached.
    fn check_session_free(&self, session: &Uri) -> Result<(), RequestFailure> {
        uris::check_session(session)?;
        let taken = [
            session.clone(),
            uris::default_chat_uri(session),
            uris::annotations_uri(session),
        ];
        if taken.iter().any(|uri| self.channels.contains(uri)) {
            return Err(RequestFailure::SessionExists(session.clone()));
        }
        let listed = self.listed_sessions().count();
        if listed >= self.config.max_sessions {
            return Err(RequestFailure::TooManySessions(listed));
        }
        Ok(())
    }

    /// Checks that a client that creates a session names only itself as active client.
    fn check_maker_as_active(
        &self,
        connection: ConnectionId,
        active: Option<&ActiveClient>,
    ) -> Result<(), RequestFailure> {
        if let (Some(active), Some(client)) = (active, self.clients.client_of(connection)) {
            let judged = policy::session::check_active_client(client, active);
            judged.map_err(|refusal| {
                RequestFailure::InvalidParams(format!("activeClient: {refusal}"))
            })?;
        }
        Ok(())
    }

    /// Opens the agent of a forked session. The content of the copied turns must stay readable
    /// (RES-15), and the agent must know those turns.
    fn open_forked_session(&mut self, session: &Uri, source: Uri, chat: Uri, out: &mut Effects) {
        out.push(Effect::ShareContent {
            from: source,
            to: session.clone(),
        });
        self.take_checkpoint(session, CheckpointId::SessionStart, out);
        self.open_agent(session, out);
        self.open_moved_chats(&[chat], out);
    }

    /// Handles `disposeSession` of a client.
    pub(crate) fn dispose_session(
        &mut self,
        session: &Uri,
        reason: RemovalReason,
        worktree: WorktreeDisposal,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        if self.remove_session(session, reason, worktree, out) {
            Ok(())
        } else {
            Err(RequestFailure::UnknownSession(session.clone()))
        }
    }

    /// Removes a session with everything that belongs to it, chats first so that their
    /// subscribers can release them (SES-17, SES-18). Returns `false` if there is no such
    /// session.
    pub(crate) fn remove_session(
        &mut self,
        session: &Uri,
        reason: RemovalReason,
        worktree: WorktreeDisposal,
        out: &mut Effects,
    ) -> bool {
        let Some(gone) = self.sessions.remove(session) else {
            return false;
        };
        self.audit_removal(&gone, reason, out);
        self.untrack_customizations(session, out);
        self.drop_principals(session, out);
        self.close_session_terminals(session, out);
        if self.sessions.close_agent(session) {
            out.push(Effect::Agent {
                session: session.clone(),
                provider: gone.metadata.provider.clone(),
                command: Box::new(AgentCommand::Close),
            });
        }
        self.remove_changesets(session, out);
        self.forget_checkpoints(session, worktree, out);
        for chat in gone.chats.iter().flatten() {
            self.remove_changesets(&chat.resource, out);
            let removed = SessionAction::ChatRemoved(ChatRemoved {
                chat: chat.resource.clone(),
            });
            self.originate(session, removed, out);
        }
        let owned = self.channels.iter();
        let owned: Vec<_> = owned
            .filter(|(_, channel)| channel.session.as_ref() == Some(session))
            .map(|(uri, _)| uri.clone())
            .collect();
        for channel in owned {
            self.remove_channel(&channel, out);
        }
        out.write(StoreWrite::SessionRemoved(session.clone()));
        out.push(Effect::DeleteContent {
            session: session.clone(),
        });
        if provisional::maker(&gone).is_none() {
            let removed = RemovedSession {
                session: session.clone(),
                provider: gone.metadata.provider.clone(),
                seq: self.log.seq,
            };
            out.write(StoreWrite::SessionUnlisted(removed.clone()));
            self.sessions.changes.record_removal(removed);
            let removed = SessionRemovedParams {
                channel: RootChannel,
                session: session.clone(),
            };
            self.notify_root_subscribers(HostNotification::SessionRemoved(removed), out);
            self.sync_session_count(out);
        }
        true
    }

    pub(crate) fn sync_session_count(&mut self, out: &mut Effects) {
        let active_sessions = self.listed_sessions().count() as u64;
        let changed = ActiveSessionsChanged { active_sessions };
        self.originate(
            &RootChannel.into(),
            RootAction::ActiveSessionsChanged(changed),
            out,
        );
    }

    /// Lists the sessions, the most recently modified first. A cursor names the last session of
    /// a page, so it stays valid when sessions are added or removed. Releases up to 0.5.0 have
    /// no pages: their clients get all sessions.
    pub(crate) fn list_sessions(
        &self,
        connection: ConnectionId,
        params: &ListSessionsParams,
    ) -> Result<ResponseBody, RequestFailure> {
        let mut sorted: Vec<_> = self.listed_sessions().map(|s| (list_key(s), s)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        let start = match &params.cursor {
            None => 0,
            Some(cursor) => {
                let after = parse_cursor(cursor)
                    .ok_or_else(|| RequestFailure::InvalidParams("cursor: unknown".to_owned()))?;
                sorted.partition_point(|(key, _)| *key <= after)
            }
        };
        let limit = params.limit.and_then(|limit| usize::try_from(limit).ok());
        let peer = self.clients.connections.get(&connection);
        let unpaged = peer.is_some_and(|peer| !peer.release.capabilities().pages);
        let limit = match unpaged || self.connection_quirks(connection).reads_first_page {
            true => sorted.len(),
            false => limit
                .unwrap_or(SESSION_PAGE_SIZE)
                .clamp(1, SESSION_PAGE_SIZE),
        };
        let page: Vec<_> = sorted.iter().skip(start).take(limit).collect();
        let more = sorted.len() > start + limit;
        Ok(ResponseBody::ListSessions(ListSessionsResult {
            next_cursor: page
                .last()
                .filter(|_| more)
                .map(|(key, _)| format_cursor(key)),
            items: page
                .iter()
                .map(|(_, summary)| (***summary).clone())
                .collect(),
        }))
    }
}

/// Returns the disposal of the worktree that a `disposeSession` requests.
pub(crate) fn worktree_disposal(meta: Option<&Meta>) -> WorktreeDisposal {
    let wanted = meta.and_then(|meta| meta.get(WORKTREE_META_KEY)?.as_str());
    match wanted == Some(DISCARD_WORKTREE) {
        true => WorktreeDisposal::Discard,
        false => WorktreeDisposal::KeepWork,
    }
}

/// Sort key of a session in the list: the most recently modified first, then by URI.
type SessionListKey = (std::cmp::Reverse<i64>, Uri);

fn list_key(summary: &SessionSummary) -> SessionListKey {
    let modified = summary.modified_at.to_millis().unwrap_or(Millis(0));
    (std::cmp::Reverse(modified.0), summary.resource.clone())
}

fn format_cursor((modified, session): &SessionListKey) -> String {
    format!("{}:{session}", modified.0)
}

fn parse_cursor(cursor: &str) -> Option<SessionListKey> {
    let (modified, session) = cursor.split_once(':')?;
    Some((
        std::cmp::Reverse(modified.parse().ok()?),
        Uri::from(session),
    ))
}

/// Returns the directories of a new session: only the first, unless its agent supports several.
fn usable_directories(
    agent: &AgentInfo,
    directories: Option<Vec<Uri>>,
) -> Result<Vec<Uri>, RequestFailure> {
    let mut directories = directories.unwrap_or_default();
    let several = agent
        .capabilities
        .as_ref()
        .is_some_and(|capabilities| capabilities.multiple_working_directories.is_some());
    if !several {
        directories.truncate(1);
    }
    directories.iter().try_for_each(uris::check_directory)?;
    Ok(directories)
}

pub(crate) fn new_session_state(
    env: &Env,
    session: &Uri,
    provider: agenthost_protocol::ids::ProviderId,
    directories: Vec<Uri>,
) -> SessionState {
    let chat = chat::new_chat_summary(env, uris::default_chat_uri(session));
    SessionState {
        metadata: SessionMetadata {
            provider,
            title: String::new(),
            status: SessionStatus::IDLE,
            activity: None,
            origin: None,
            project: directories.first().map(project_info),
            working_directories: (!directories.is_empty()).then_some(directories),
            annotations: Some(annotations::empty_summary(session)),
        },
        lifecycle: SessionLifecycle::Creating,
        creation_error: None,
        server_tools: None,
        active_clients: Vec::new(),
        default_chat: Some(chat.resource.clone()),
        chats: [chat].into_iter().collect(),
        config: None,
        customizations: None,
        changesets: None,
        input_needed: None,
        meta: None,
    }
}

/// Returns the project of a session: its first directory, with the name of that directory
/// (SES-25).
fn project_info(directory: &Uri) -> ProjectInfo {
    let path = directory.as_str().trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
    ProjectInfo {
        uri: directory.clone(),
        display_name: name,
    }
}

pub(crate) fn new_session_summary(
    env: &Env,
    session: &Uri,
    state: &SessionState,
) -> SessionSummary {
    let blank = SessionSummary {
        metadata: state.metadata.clone(),
        resource: session.clone(),
        created_at: env.timestamp(),
        modified_at: env.timestamp(),
        changes: None,
        meta: None,
        chats: None,
        default_chat: None,
    };
    summary::summarize_session(state, &blank)
}
