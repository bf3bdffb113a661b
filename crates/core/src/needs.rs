//! What has to be read from the log before a step.
//!
//! A step never waits. So whoever drives the host asks first what the next
//! input needs, reads it, and hands it in as `Input::Restored`.

use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::chat::{ChatAction, ChatMoveDestination, ChatSource};
use agenthost_protocol::connection::ReconnectRequest;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest};
use agenthost_protocol::session::SessionAction;
use agenthost_protocol::uri::Uri;

use crate::agent::AgentEvent;
use crate::changes::Mark;
use crate::changesets::view::View;
use crate::host::{Held, Host};
use crate::input::{Extent, Input, Need, Received};
use crate::terminal_output::TerminalEvent;
use crate::{attachments, forks};

impl Host {
    /// Channels whose state the input needs and the host does not have. When
    /// they are there, it may turn out to need more: ask again.
    pub fn needs(&self, input: &Input) -> Vec<Need> {
        let (channels, extent) = self.touched(input);
        self.needs_of(channels, extent)
    }

    /// Which of some channels the host does not have in memory, with the
    /// sessions that they belong to; and the terminals that turns show which
    /// were running when the host stopped.
    pub fn needs_of(&self, channels: Vec<Uri>, extent: Extent) -> Vec<Need> {
        let mut needed: Vec<Need> = Vec::new();
        let interrupted = self.interrupted.iter();
        let terminals = interrupted.flat_map(|chat| self.missing_terminals(chat));
        for channel in channels.into_iter().chain(terminals) {
            let owner = self.owner(&channel).cloned();
            for channel in owner.into_iter().chain([channel]) {
                let missing = match self.channels.get(&channel).map(|channel| &channel.held) {
                    None => false,
                    Some(Held::Stored) => true,
                    Some(Held::Here(loaded)) => {
                        extent == Extent::Whole && !loaded.earlier.is_empty()
                    }
                };
                if missing && !needed.iter().any(|need| need.channel == channel) {
                    needed.push(Need { channel, extent });
                }
            }
        }
        needed
    }

    /// Snapshots show whole chats, and cutting one off may cut anywhere. All
    /// else happens at its end.
    fn touched(&self, input: &Input) -> (Vec<Uri>, Extent) {
        match input {
            Input::Received { message, .. } => match message {
                Received::Request(_, request) => self.touched_by(request),
                Received::Notification(notification) => match &**notification {
                    ClientNotification::DispatchAction(params) => {
                        let cuts = matches!(
                            params.action,
                            ReceivedAction::Valid(Action::Chat(ChatAction::Truncated(_)))
                        );
                        let message = attachments::message_of(&params.action);
                        let attached = message.into_iter().flat_map(attachments::channels);
                        let attached: Vec<_> = attached.cloned().collect();
                        // Of a chat that is attached, all of it is meant.
                        let whole = cuts || !attached.is_empty();
                        let extent = if whole { Extent::Whole } else { Extent::Tail };
                        let mut channels = vec![params.channel.clone()];
                        channels.extend(attached);
                        if touches_default(&params.action) {
                            let session = self.sessions.get(&params.channel);
                            let default = session.and_then(|summary| summary.default_chat.clone());
                            channels.extend(default);
                        }
                        if narrows(&params.action) {
                            channels.extend(self.chats_of(&params.channel));
                        }
                        (channels, extent)
                    }
                    ClientNotification::Unsubscribe(_) => (Vec::new(), Extent::Tail),
                },
                Received::TooMuchMissed(_, params) => (params.subscriptions.clone(), Extent::Whole),
                // A chat with a turn that runs is in memory.
                Received::Response(..)
                | Received::Invalid(..)
                | Received::Refused(_)
                | Received::ToServer(..) => (Vec::new(), Extent::Tail),
            },
            Input::Agent {
                event: AgentEvent::TurnEnded { chat, .. },
                ..
            } => self.touched_by_end(chat),
            Input::Terminal {
                terminal,
                event: TerminalEvent::Exited(_) | TerminalEvent::Failed(_),
            } => match self.runs.get(terminal) {
                Some(run) => self.touched_by_end(&run.place.chat),
                None => (Vec::new(), Extent::Tail),
            },
            Input::Agent { session, event } => {
                let channel = match event {
                    AgentEvent::Chat { chat, .. }
                    | AgentEvent::Steered { chat, .. }
                    | AgentEvent::TurnBegun { chat, .. }
                    | AgentEvent::WorkerClosed { chat }
                    | AgentEvent::Adopted { chat, .. }
                    | AgentEvent::TurnEnded { chat, .. } => chat,
                    AgentEvent::WorkerOpened(worker) => &worker.parent,
                    AgentEvent::Terminal { terminal, .. } => terminal,
                    AgentEvent::Opened { .. }
                    | AgentEvent::Stopped { .. }
                    | AgentEvent::Commands { .. }
                    | AgentEvent::Configurable { .. }
                    | AgentEvent::Noted { .. }
                    | AgentEvent::Forbids { .. }
                    | AgentEvent::SignInNeeded
                    | AgentEvent::Titled { .. }
                    | AgentEvent::TerminalOpened { .. } => session,
                };
                (vec![channel.clone()], Extent::Tail)
            }
            Input::StillSilent { session, call } => {
                let chat = call.chat().cloned();
                let channels = chat.into_iter().chain([session.clone()]);
                (channels.collect(), Extent::Tail)
            }
            Input::Marked { session, mark, .. } => {
                let chats = match mark {
                    Mark::Start => self.chats_of(session).collect(),
                    Mark::Before(turn) | Mark::After(turn) => vec![turn.chat.clone()],
                };
                let channels = chats.into_iter().chain([session.clone()]);
                (channels.collect(), Extent::Tail)
            }
            Input::Surveyed { turn, .. } => self.touched_by_end(&turn.chat),
            Input::WorktreeMade { session, .. }
            | Input::Customized { session, .. }
            | Input::Tools { session, .. } => (vec![session.clone()], Extent::Tail),
            Input::Compared { channel, .. } => (vec![channel.clone()], Extent::Tail),
            Input::Operated { wanted, .. } => (vec![wanted.channel.clone()], Extent::Tail),
            Input::Started
            | Input::LookAgain { .. }
            | Input::PreviewDue { .. }
            | Input::Connected { .. }
            | Input::Disconnected { .. }
            | Input::GraceEnded { .. }
            | Input::TokenExpired { .. }
            | Input::Compacted { .. }
            | Input::Restored { .. }
            | Input::FilesFound { .. }
            | Input::Answered { .. }
            | Input::Watching { .. }
            | Input::StillUngranted { .. }
            | Input::StillUntold { .. }
            | Input::AgentsLearned
            | Input::Terminal { .. }
            | Input::FilesChanged { .. }
            | Input::StillUnwatched { .. }
            | Input::StillUnanswered { .. }
            | Input::Quiet => (Vec::new(), Extent::Tail),
        }
    }

    /// When a turn ends, the next message of the queue may refer to other
    /// chats.
    fn touched_by_end(&self, chat: &Uri) -> (Vec<Uri>, Extent) {
        let queue = self
            .chat(chat)
            .and_then(|chat| chat.queued_messages.as_ref());
        let next = queue.and_then(|queue| queue.items().next());
        let attached = next
            .into_iter()
            .flat_map(|next| attachments::channels(&next.message));
        let mut channels: Vec<_> = attached.cloned().collect();
        let extent = if channels.is_empty() {
            Extent::Tail
        } else {
            Extent::Whole
        };
        channels.push(chat.clone());
        (channels, extent)
    }

    fn chats_of(&self, session: &Uri) -> impl Iterator<Item = Uri> {
        let chats = self.sessions.get(session).into_iter();
        let chats = chats.flat_map(|summary| summary.chats.iter().flatten());
        chats.map(|chat| chat.resource.clone())
    }

    /// The chats whose turns a changeset may be about.
    fn chats_with_turns(&self, changeset: &Uri) -> impl Iterator<Item = Uri> {
        let owner = match View::read(changeset) {
            Some((owner, View::Turn(_) | View::Between(..))) => Some(owner),
            _ => None,
        };
        let owner = owner.into_iter();
        owner.flat_map(|owner| {
            self.chats_of(&owner)
                .chain([owner.clone()])
                .collect::<Vec<_>>()
        })
    }

    fn touched_by(&self, request: &ClientRequest) -> (Vec<Uri>, Extent) {
        let channels = match request {
            ClientRequest::Initialize(params) => {
                params.initial_subscriptions.clone().unwrap_or_default()
            }
            // A replay comes from the log as it is; snapshots need states.
            // Changesets are looked at again, and may be about turns.
            ClientRequest::Reconnect(ReconnectRequest::Connection(params))
                if self.can_replay(params) =>
            {
                let watched = params.subscriptions.iter();
                let turns = watched.flat_map(|channel| self.chats_with_turns(channel));
                return (turns.collect(), Extent::Tail);
            }
            ClientRequest::Reconnect(ReconnectRequest::Connection(params)) => {
                params.subscriptions.clone()
            }
            ClientRequest::Reconnect(ReconnectRequest::Channels(params)) => {
                let plan = self.plan_recovery(params);
                let replayed = plan.replayed.iter().map(|cursor| &cursor.channel);
                let watched = replayed.chain(&plan.shown);
                let mut needed: Vec<_> = watched
                    .flat_map(|channel| self.chats_with_turns(channel))
                    .collect();
                if plan.shown.is_empty() {
                    return (needed, Extent::Tail);
                }
                needed.extend(plan.shown);
                needed
            }
            ClientRequest::Subscribe(params) => {
                let turns = self.chats_with_turns(&params.channel);
                turns.chain([params.channel.clone()]).collect()
            }
            ClientRequest::InvokeChangesetOperation(params) => {
                let turns = self.chats_with_turns(&params.channel);
                turns.chain([params.channel.clone()]).collect()
            }
            ClientRequest::DisposeSession(params) => {
                let chats = self.chats_of(&params.channel);
                let changesets = self.changesets_of(&params.channel);
                let rest = changesets.chain([params.channel.clone()]);
                chats.chain(rest).collect()
            }
            ClientRequest::CreateChat(params) => {
                let source = params.source.as_ref().map(|source| match source {
                    ChatSource::Fork(fork) => &fork.chat,
                    ChatSource::SideChat(side) => &side.chat,
                });
                let message = params.initial_message.iter();
                let attached = message.flat_map(|message| attachments::channels(message));
                let channels = source.into_iter().chain([&params.channel]).chain(attached);
                channels.cloned().collect()
            }
            ClientRequest::MoveChat(params) => match &params.destination {
                ChatMoveDestination::Session(to) => {
                    vec![params.channel.clone(), to.session.clone()]
                }
                ChatMoveDestination::NewSession => vec![params.channel.clone()],
            },
            ClientRequest::CreateSession(params) => {
                let forked = forks::wanted(params.meta.as_ref());
                let chats = forked.into_iter().flat_map(|(session, _)| {
                    let chats: Vec<_> = self.chats_of(&session).collect();
                    chats.into_iter().chain([session])
                });
                chats.collect()
            }
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
            _ => Vec::new(),
        };
        let windowed = match request {
            ClientRequest::Subscribe(params) => params
                .view
                .as_ref()
                .is_some_and(|view| view.turns.is_some()),
            _ => false,
        };
        let shown = matches!(
            request,
            ClientRequest::Initialize(_)
                | ClientRequest::Reconnect(_)
                | ClientRequest::Subscribe(_)
                | ClientRequest::CreateSession(_)
                | ClientRequest::CreateChat(_)
                | ClientRequest::MoveChat(_)
                | ClientRequest::FetchTurns(_)
        );
        let extent = if shown && !windowed {
            Extent::Whole
        } else {
            Extent::Tail
        };
        (channels, extent)
    }
}

/// Whether an action on a session is one on its default chat, too.
fn touches_default(action: &ReceivedAction) -> bool {
    matches!(
        action,
        ReceivedAction::Valid(Action::Session(SessionAction::IsArchivedChanged(_)))
    )
}

/// Whether an action on a session takes a directory from its chats.
fn narrows(action: &ReceivedAction) -> bool {
    matches!(
        action,
        ReceivedAction::Valid(Action::Session(
            SessionAction::WorkingDirectoryRemoved(_) | SessionAction::WorkingDirectoryReplaced(_)
        ))
    )
}
