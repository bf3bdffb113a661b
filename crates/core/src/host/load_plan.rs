//! Computes the channels to load from the store before a step.
//!
//! A step never blocks. So the host loop first requests the list of channels that the next
//! input needs, loads them, and passes them in as `Input::ChannelLoaded`.

use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::chat::{ChatAction, ChatMoveDestination, ChatSource, CreateChatParams};
use agenthost_protocol::connection::{DispatchActionParams, ReconnectRequest};
use agenthost_protocol::rpc::{ClientNotification, ClientRequest};
use agenthost_protocol::session::{CreateSessionParams, SessionAction};
use agenthost_protocol::uri::Uri;

use crate::agent::AgentEvent;
use crate::changeset::driver::CheckpointId;
use crate::changeset::view::ChangesetView;
use crate::chat::attachments;
use crate::host::Host;
use crate::host::channels::ChannelResidency;
use crate::host::input::{ChannelNeed, ClientMessage, Input, LoadExtent};
use crate::session::fork;
use crate::terminal::output::TerminalEvent;

impl Host {
    /// Returns the channels that the input needs and that are not in memory. Once these are
    /// loaded, the input may need more, so the caller has to repeat the call until it returns
    /// none.
    pub fn missing_channels(&self, input: &Input) -> Vec<ChannelNeed> {
        let (channels, extent) = self.channels_for_input(input);
        self.missing_among(channels, extent)
    }

    /// Returns the channels of the list that are not in memory, with the sessions that own
    /// them, and the terminals of turns that were active when the host stopped.
    pub fn missing_among(&self, channels: Vec<Uri>, extent: LoadExtent) -> Vec<ChannelNeed> {
        let mut needed: Vec<ChannelNeed> = Vec::new();
        let interrupted = self.turns.interrupted_chats.iter();
        let terminals = interrupted.flat_map(|chat| self.missing_terminals(chat));
        for channel in channels.into_iter().chain(terminals) {
            let owner = self.session_of(&channel).cloned();
            for channel in owner.into_iter().chain([channel]) {
                let missing = match self
                    .channels
                    .get(&channel)
                    .map(|channel| &channel.residency)
                {
                    None => false,
                    Some(ChannelResidency::Evicted) => true,
                    Some(ChannelResidency::Resident(loaded)) => {
                        extent == LoadExtent::Whole && !loaded.evicted_turns.is_empty()
                    }
                };
                if missing && !needed.iter().any(|need| need.channel == channel) {
                    needed.push(ChannelNeed { channel, extent });
                }
            }
        }
        needed
    }

    /// Returns the channels of an input. Snapshots and truncations need whole chats. Everything
    /// else happens at the end of a chat.
    fn channels_for_input(&self, input: &Input) -> (Vec<Uri>, LoadExtent) {
        match input {
            Input::Received { message, .. } => self.channels_for_message(message),
            Input::Agent { session, event } => self.channels_for_agent_event(session, event),
            Input::Terminal { terminal, event } => {
                self.channels_for_terminal_event(terminal, event)
            }
            Input::ClientToolTimedOut { session, call } => {
                let chat = call.chat().cloned();
                let channels = chat.into_iter().chain([session.clone()]);
                (channels.collect(), LoadExtent::Tail)
            }
            Input::CheckpointTaken {
                session,
                checkpoint,
                ..
            } => {
                let chats = match checkpoint {
                    CheckpointId::SessionStart => self.chats_of(session).collect(),
                    CheckpointId::BeforeTurn(turn) | CheckpointId::AfterTurn(turn) => {
                        vec![turn.chat.clone()]
                    }
                };
                let channels = chats.into_iter().chain([session.clone()]);
                (channels.collect(), LoadExtent::Tail)
            }
            Input::EditsSurveyed { turn, .. } => self.channels_for_turn_end(&turn.chat),
            Input::WorktreeCreated { session, .. }
            | Input::Customization { session, .. }
            | Input::Mcp { session, .. } => (vec![session.clone()], LoadExtent::Tail),
            Input::DiffComputed { channel, .. } => (vec![channel.clone()], LoadExtent::Tail),
            Input::OperationFinished { request, .. } => {
                (vec![request.channel.clone()], LoadExtent::Tail)
            }
            Input::RunnerLost { .. } => {
                let sessions = self
                    .sessions
                    .open_agents()
                    .chain(self.customizations.sessions());
                (sessions.cloned().collect(), LoadExtent::Tail)
            }
            Input::RetentionDue(check) => {
                let expired = self.expired_sessions(check).into_iter();
                let channels = expired.flat_map(|(session, _)| self.channels_of_session(&session));
                (channels.collect(), LoadExtent::Tail)
            }
            Input::Started
            | Input::Recovered
            | Input::ChangesetRefreshDue { .. }
            | Input::PreviewDue { .. }
            | Input::Connected { .. }
            | Input::Disconnected { .. }
            | Input::ClientLoaded { .. }
            | Input::NotStored { .. }
            | Input::StorageChanged { .. }
            | Input::PeerRefused(_)
            | Input::DevicePaired(_)
            | Input::PrincipalRevoked(_)
            | Input::GraceExpired { .. }
            | Input::TokenExpired { .. }
            | Input::LogCompacted { .. }
            | Input::ChannelLoaded { .. }
            | Input::FileSearchFinished { .. }
            | Input::RequestCompleted { .. }
            | Input::WatchStarted { .. }
            | Input::AccessRequestTimedOut { .. }
            | Input::CallAnnouncementTimedOut { .. }
            | Input::AgentListDebounced
            | Input::AgentsReplaced { .. }
            | Input::FilesChanged { .. }
            | Input::WatchIdleTimedOut { .. }
            | Input::HostRequestTimedOut { .. }
            | Input::EvictionDue => (Vec::new(), LoadExtent::Tail),
        }
    }

    fn channels_for_message(&self, message: &ClientMessage) -> (Vec<Uri>, LoadExtent) {
        match message {
            ClientMessage::Request(_, request) => self.channels_for_request(request),
            ClientMessage::Notification(notification) => match &**notification {
                ClientNotification::DispatchAction(params) => self.channels_for_dispatch(params),
                ClientNotification::Unsubscribe(_) => (Vec::new(), LoadExtent::Tail),
            },
            ClientMessage::ReplayTooLarge(_, params) => {
                (params.subscriptions.clone(), LoadExtent::Whole)
            }
            // These concern only chats with an active turn, which are always in memory.
            ClientMessage::Response(..)
            | ClientMessage::Invalid(..)
            | ClientMessage::Rejected(_)
            | ClientMessage::ToMcpServer(..) => (Vec::new(), LoadExtent::Tail),
        }
    }

    fn channels_for_dispatch(&self, params: &DispatchActionParams) -> (Vec<Uri>, LoadExtent) {
        let cuts = matches!(
            params.action,
            ReceivedAction::Valid(Action::Chat(ChatAction::Truncated(_)))
        );
        let message = attachments::message_in_action(&params.action);
        let attached = message.into_iter().flat_map(attachments::attached_channels);
        let attached: Vec<_> = attached.cloned().collect();
        // An attached chat is passed to the agent as a whole.
        let whole = cuts || !attached.is_empty();
        let extent = if whole {
            LoadExtent::Whole
        } else {
            LoadExtent::Tail
        };
        let mut channels = vec![params.channel.clone()];
        channels.extend(attached);
        if affects_default_chat(&params.action) {
            let session = self.sessions.get(&params.channel);
            let default = session.and_then(|summary| summary.default_chat.clone());
            channels.extend(default);
        }
        if removes_directory(&params.action) {
            channels.extend(self.chats_of(&params.channel));
        }
        (channels, extent)
    }

    fn channels_for_agent_event(
        &self,
        session: &Uri,
        event: &AgentEvent,
    ) -> (Vec<Uri>, LoadExtent) {
        let channel = match event {
            AgentEvent::TurnEnded { chat, .. } => return self.channels_for_turn_end(chat),
            AgentEvent::Chat { chat, .. }
            | AgentEvent::SteeringAccepted { chat, .. }
            | AgentEvent::TurnStarted { chat, .. }
            | AgentEvent::WorkerClosed { chat }
            | AgentEvent::HistoryImported { chat, .. } => chat,
            AgentEvent::WorkerOpened(worker) => &worker.parent,
            AgentEvent::Terminal { terminal, .. } => terminal,
            AgentEvent::Opened { .. }
            | AgentEvent::Stopped { .. }
            | AgentEvent::SlashCommandsChanged { .. }
            | AgentEvent::ConfigSchemaChanged { .. }
            | AgentEvent::NoteChanged { .. }
            | AgentEvent::ForbiddenValuesChanged { .. }
            | AgentEvent::AuthRequired
            | AgentEvent::TitleSuggested { .. }
            | AgentEvent::TerminalOpened { .. } => session,
        };
        (vec![channel.clone()], LoadExtent::Tail)
    }

    /// Returns the channels for the end of a command turn, which ends with its terminal.
    fn channels_for_terminal_event(
        &self,
        terminal: &Uri,
        event: &TerminalEvent,
    ) -> (Vec<Uri>, LoadExtent) {
        let has_ended = matches!(event, TerminalEvent::Exited(_) | TerminalEvent::Failed(_));
        match self.turns.command_run(terminal).filter(|_| has_ended) {
            Some(run) => self.channels_for_turn_end(&run.chat),
            None => (Vec::new(), LoadExtent::Tail),
        }
    }

    /// Returns the channels for the end of a turn. The next queued message, which then starts,
    /// may refer to other chats.
    fn channels_for_turn_end(&self, chat: &Uri) -> (Vec<Uri>, LoadExtent) {
        let queue = self
            .chat(chat)
            .and_then(|chat| chat.queued_messages.as_ref());
        let next = queue.and_then(|queue| queue.items().next());
        let attached = next
            .into_iter()
            .flat_map(|next| attachments::attached_channels(&next.message));
        let mut channels: Vec<_> = attached.cloned().collect();
        let extent = if channels.is_empty() {
            LoadExtent::Tail
        } else {
            LoadExtent::Whole
        };
        channels.push(chat.clone());
        (channels, extent)
    }

    fn chats_of(&self, session: &Uri) -> impl Iterator<Item = Uri> {
        let chats = self.sessions.get(session).into_iter();
        let chats = chats.flat_map(|summary| summary.chats.iter().flatten());
        chats.map(|chat| chat.resource.clone())
    }

    /// Returns the chats whose turns a changeset may show.
    fn chats_with_turns(&self, changeset: &Uri) -> impl Iterator<Item = Uri> {
        let owner = match ChangesetView::parse_changeset_uri(changeset) {
            Some((owner, ChangesetView::Turn(_) | ChangesetView::BetweenTurns(..))) => Some(owner),
            Some((
                _,
                ChangesetView::Branch | ChangesetView::Uncommitted | ChangesetView::Session,
            ))
            | None => None,
        };
        let owner = owner.into_iter();
        owner.flat_map(|owner| {
            self.chats_of(&owner)
                .chain([owner.clone()])
                .collect::<Vec<_>>()
        })
    }

    fn channels_for_request(&self, request: &ClientRequest) -> (Vec<Uri>, LoadExtent) {
        let channels = match request {
            ClientRequest::Initialize(params) => {
                params.initial_subscriptions.clone().unwrap_or_default()
            }
            ClientRequest::Reconnect(request) => return self.channels_for_reconnect(request),
            ClientRequest::Subscribe(params) => self.channels_with_turns(&params.channel),
            ClientRequest::InvokeChangesetOperation(params) => {
                self.channels_with_turns(&params.channel)
            }
            ClientRequest::DisposeSession(params) => self.channels_of_session(&params.channel),
            ClientRequest::CreateChat(params) => channels_for_new_chat(params),
            ClientRequest::MoveChat(params) => {
                let mut channels = self.channels_for_move(&params.channel);
                if let ChatMoveDestination::Session(to) = &params.destination {
                    channels.push(to.session.clone());
                }
                channels
            }
            ClientRequest::CreateSession(params) => self.channels_for_new_session(params),
            ClientRequest::DisposeChat(params) => vec![params.channel.clone()],
            // VS Code names the session and means its default chat.
            ClientRequest::Completions(params) => {
                let listed = self.sessions.get(&params.channel);
                let default = listed.and_then(|listed| listed.default_chat.clone());
                default
                    .into_iter()
                    .chain([params.channel.clone()])
                    .collect()
            }
            ClientRequest::FetchTurns(params) => vec![params.channel.clone()],
            ClientRequest::Ping(_)
            | ClientRequest::ListSessions(_)
            | ClientRequest::ResolveSessionConfig(_)
            | ClientRequest::SessionConfigCompletions(_)
            | ClientRequest::CreateTerminal(_)
            | ClientRequest::DisposeTerminal(_)
            | ClientRequest::Authenticate(_)
            | ClientRequest::ResourceRead(_)
            | ClientRequest::ResourceWrite(_)
            | ClientRequest::ResourceList(_)
            | ClientRequest::ResourceCopy(_)
            | ClientRequest::ResourceDelete(_)
            | ClientRequest::ResourceMove(_)
            | ClientRequest::ResourceResolve(_)
            | ClientRequest::ResourceMkdir(_)
            | ClientRequest::ResourceRequest(_)
            | ClientRequest::CreateResourceWatch(_)
            | ClientRequest::ListAutomationTriggerDefinitions(_)
            | ClientRequest::RunAutomation(_)
            | ClientRequest::FetchAutomationRuns(_) => Vec::new(),
        };
        (channels, extent_for_request(request))
    }

    /// Returns the channels of a reconnect. A replay comes straight from the log, but snapshots
    /// need states. Changesets are refreshed, and may refer to turns.
    fn channels_for_reconnect(&self, request: &ReconnectRequest) -> (Vec<Uri>, LoadExtent) {
        match request {
            ReconnectRequest::Connection(params) if self.can_replay(params) => {
                let watched = params.subscriptions.iter();
                let turns = watched.flat_map(|channel| self.chats_with_turns(channel));
                (turns.collect(), LoadExtent::Tail)
            }
            ReconnectRequest::Connection(params) => {
                (params.subscriptions.clone(), LoadExtent::Whole)
            }
            ReconnectRequest::Channels(params) => {
                let plan = self.plan_recovery(params);
                let replayed = plan.replays.iter().map(|cursor| &cursor.channel);
                let watched = replayed.chain(&plan.snapshots);
                let mut needed: Vec<_> = watched
                    .flat_map(|channel| self.chats_with_turns(channel))
                    .collect();
                if plan.snapshots.is_empty() {
                    return (needed, LoadExtent::Tail);
                }
                needed.extend(plan.snapshots);
                (needed, LoadExtent::Whole)
            }
        }
    }

    /// Returns a channel and, if it is a changeset, the chats whose turns it may show.
    fn channels_with_turns(&self, channel: &Uri) -> Vec<Uri> {
        let turns = self.chats_with_turns(channel);
        turns.chain([channel.clone()]).collect()
    }

    /// Returns a session with its chats and changesets.
    fn channels_of_session(&self, session: &Uri) -> Vec<Uri> {
        let chats = self.chats_of(session);
        let changesets = self.changesets_of(session);
        let rest = changesets.chain([session.clone()]);
        chats.chain(rest).collect()
    }

    /// Returns the source session of a fork with its chats; empty for any other new session.
    fn channels_for_new_session(&self, params: &CreateSessionParams) -> Vec<Uri> {
        let forked = fork::requested_fork(params.meta.as_ref());
        let chats = forked.into_iter().flat_map(|(session, _)| {
            let chats: Vec<_> = self.chats_of(&session).collect();
            chats.into_iter().chain([session])
        });
        chats.collect()
    }
}

/// Returns the session of a new chat, its source, and the channels that its first message
/// refers to.
fn channels_for_new_chat(params: &CreateChatParams) -> Vec<Uri> {
    let source = params.source.as_ref().map(|source| match source {
        ChatSource::Fork(fork) => &fork.chat,
        ChatSource::SideChat(side) => &side.chat,
    });
    let message = params.initial_message.iter();
    let attached = message.flat_map(|message| attachments::attached_channels(message));
    let channels = source.into_iter().chain([&params.channel]).chain(attached);
    channels.cloned().collect()
}

/// Returns the extent that a request needs. A response with a snapshot needs whole channels,
/// unless a window of the turns is sufficient.
fn extent_for_request(request: &ClientRequest) -> LoadExtent {
    let is_windowed = if let ClientRequest::Subscribe(params) = request {
        let view = params.view.as_ref();
        view.is_some_and(|view| view.turns.is_some())
    } else {
        false
    };
    let is_shown = matches!(
        request,
        ClientRequest::Initialize(_)
            | ClientRequest::Reconnect(_)
            | ClientRequest::Subscribe(_)
            | ClientRequest::CreateSession(_)
            | ClientRequest::CreateChat(_)
            | ClientRequest::MoveChat(_)
            | ClientRequest::FetchTurns(_)
    );
    if is_shown && !is_windowed {
        LoadExtent::Whole
    } else {
        LoadExtent::Tail
    }
}

/// Returns `true` if a session action also changes the default chat.
fn affects_default_chat(action: &ReceivedAction) -> bool {
    matches!(
        action,
        ReceivedAction::Valid(Action::Session(SessionAction::IsArchivedChanged(_)))
    )
}

/// Returns `true` if a session action removes a directory from the chats.
fn removes_directory(action: &ReceivedAction) -> bool {
    matches!(
        action,
        ReceivedAction::Valid(Action::Session(
            SessionAction::WorkingDirectoryRemoved(_) | SessionAction::WorkingDirectoryReplaced(_)
        ))
    )
}
