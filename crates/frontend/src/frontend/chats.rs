//! The chats of a session: new chats, forks, moves, and the restore of an earlier state.

use agenthost_client::ClientResponse;
use agenthost_protocol::changeset::{
    Changeset, ChangesetState, ChangesetStatus, InvokeChangesetOperationParams,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{
    ChatAction, ChatMoveDestination, ChatMoveToSession, ChatSource, CreateChatParams,
    DisposeChatParams, ForkChatSource, MoveChatParams, SideChatSelection, SideChatSource,
    Truncated,
};
use agenthost_protocol::ids::{OperationId, TurnId};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::uri::Uri;
use agenthost_view::changes::{
    ChangeFileRow, ChangesStatus, ChangesView, OperationStatus, compare_changeset, turn_changeset,
};
use agenthost_view::usage_report::{UsageReport, UsageSource};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Frontend;
use super::responses::{RequestError, ResponsePurpose, decode, discard, encode};
use super::slices::SliceCache;
use crate::effect::SlicePatch;
use crate::input::{ChatCommand, NewChatSource};

/// Operation of the changeset of a turn that restores the files from before the turn.
const RESTORE_OPERATION: &str = "restore";

/// Dialogs and panels about the chats of a session.
#[derive(Debug, Default)]
pub(super) struct ChatsPanel {
    restore: Option<RestorePreview>,
    /// Offset of the local time from UTC while the usage panel is open.
    usage_offset: Option<i64>,
}

/// The open preview of a restore.
#[derive(Debug)]
struct RestorePreview {
    turn: TurnId,
    /// Changeset of the turn, which has the operation.
    own: Option<Uri>,
    /// Changes of the turn, and those since its end.
    changesets: Vec<Uri>,
}

/// The preview of a restore.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreView<'a> {
    /// Turn before which the state is restored.
    pub turn: &'a TurnId,
    /// Message of the turn, which becomes the draft when the turn is removed.
    pub text: &'a str,
    pub status: ChangesStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Files that a restore would change.
    pub files: Vec<ChangeFileRow>,
    pub can_restore_files: bool,
    /// Number of turns that are removed from the chat.
    pub turns: usize,
}

#[derive(Debug, Serialize)]
struct CreatedChat<'a> {
    chat: &'a Uri,
}

#[derive(Debug, Serialize)]
struct MovedChat {
    session: Uri,
}

impl Frontend {
    pub(super) fn execute_chat(&mut self, id: u64, command: ChatCommand) {
        match command {
            ChatCommand::Create {
                source,
                turn,
                selection,
            } => self.create_chat(id, source, turn, selection),
            ChatCommand::Close { chat } => {
                let params = DisposeChatParams {
                    channel: Uri::from(chat),
                    meta: None,
                };
                self.request_for(id, &params, discard::<DisposeChatParams>);
            }
            ChatCommand::Move { chat, session } => self.move_chat(id, chat, session),
            ChatCommand::PreviewRestore { turn } => self.preview_restore(id, &turn),
            ChatCommand::EndRestore {} => {
                self.close_restore();
                self.done(id);
            }
            ChatCommand::RestoreFiles { turn } => self.restore_files(id, &turn),
            ChatCommand::Truncate { turn } => self.truncate_chat(id, &turn),
            ChatCommand::SetHidden { hidden } => self.set_hidden(id, hidden),
            ChatCommand::DismissAway {} => self.dismiss_away(id),
            ChatCommand::WatchUsage {
                open,
                utc_offset_minutes,
            } => {
                self.chats.usage_offset = open.then_some(utc_offset_minutes);
                self.dirty.panels = true;
                self.done(id);
            }
        }
    }

    pub(super) fn create_chat(
        &mut self,
        id: u64,
        source: Option<NewChatSource>,
        turn: Option<String>,
        selection: Option<String>,
    ) {
        let (Some(channel), Some(current)) = (self.session.clone(), self.chat.clone()) else {
            return self.fail(id, "no session is selected".to_owned());
        };
        let state = self.chat_state();
        let active = state.and_then(|state| state.active_turn.as_ref());
        let last = state.and_then(|state| state.turns.last_item());
        let last = last.map(|turn| turn.id.clone());
        // A side chat can refer to the active turn, a fork cannot.
        let latest = match source {
            Some(NewChatSource::Side) => active.map(|turn| turn.id.clone()).or(last),
            Some(NewChatSource::Fork) | None => last,
        };
        let turn = turn.map(TurnId::from).or(latest);
        let source = match (source, turn) {
            (None, _) => None,
            (Some(_), None) => {
                return self.fail(id, "this chat has no turns yet".to_owned());
            }
            (Some(NewChatSource::Fork), Some(turn_id)) => Some(ChatSource::Fork(ForkChatSource {
                chat: current,
                turn_id,
            })),
            (Some(NewChatSource::Side), Some(turn_id)) => {
                let selection = selection.filter(|text| !text.is_empty());
                Some(ChatSource::SideChat(SideChatSource {
                    chat: current,
                    turn_id,
                    selection: selection.map(|text| SideChatSelection {
                        text,
                        response_part_id: None,
                    }),
                }))
            }
        };
        let chat = Uri::from(format!("ahp-chat:/{}", self.new_id()));
        let params = CreateChatParams {
            channel,
            chat: chat.clone(),
            initial_message: None,
            source,
            working_directories: None,
            meta: None,
        };
        self.request(&params, ResponsePurpose::CreateChat { command: id, chat });
    }

    /// Shows a chat that was created.
    pub(super) fn show_created_chat(&mut self, id: u64, chat: Uri) {
        if let Some(before) = self.chat.take() {
            self.unfollow(&before);
        }
        self.show_chat(chat.clone());
        self.reply(id, &CreatedChat { chat: &chat });
    }

    fn move_chat(&mut self, id: u64, chat: String, session: Option<String>) {
        let destination = match session {
            None => ChatMoveDestination::NewSession,
            Some(session) => {
                let session = Uri::from(session);
                let summary = self.sessions.get(&session);
                let chats = summary.and_then(|summary| summary.chats.as_ref());
                let after = chats.and_then(|chats| Some(chats.last()?.resource.clone()));
                ChatMoveDestination::Session(ChatMoveToSession { session, after })
            }
        };
        let params = MoveChatParams {
            channel: Uri::from(chat),
            destination,
            meta: None,
        };
        self.request_for(id, &params, to_moved_chat);
    }

    /// Shows the default chat of the session if the shown one was removed or moved.
    pub(super) fn leave_removed_chat(&mut self) {
        let (Some(session), Some(chat)) = (&self.session, &self.chat) else {
            return;
        };
        let Some(state) = self.session_state(session) else {
            return;
        };
        let default = self.default_chat(session);
        let has_chats = !state.chats.is_empty();
        let is_known = state.chats.items().any(|known| known.resource == *chat);
        if !has_chats || is_known || *chat == default {
            return;
        }
        if let Some(before) = self.chat.take() {
            self.unfollow(&before);
        }
        self.close_restore();
        self.show_chat(default);
        self.send_pending();
    }

    /// Returns the changesets that the chat and its session offer.
    fn turn_catalogue(&self) -> Vec<Changeset> {
        let chat = self.chat_state().and_then(|chat| chat.changesets.as_ref());
        let session = self.session.as_ref();
        let session = session.and_then(|session| self.session_state(session));
        let session = session.and_then(|session| session.changesets.as_ref());
        let offered = [chat, session].into_iter().flatten().flatten();
        offered.cloned().collect()
    }

    fn preview_restore(&mut self, id: u64, turn: &str) {
        self.close_restore();
        let turn = TurnId::from(turn);
        let turns = self.chat_state().map(|chat| &chat.turns);
        let Some(last) = turns.and_then(|turns| turns.last_item()) else {
            return self.fail(id, "this chat has no turns yet".to_owned());
        };
        let last = last.id.clone();
        let catalogue = self.turn_catalogue();
        let own = turn_changeset(&catalogue, &turn).map(|choice| choice.uri);
        let later = (last != turn).then(|| compare_changeset(&catalogue, &turn, &last));
        let later = later.flatten().map(|choice| choice.uri);
        let changesets: Vec<_> = own.iter().cloned().chain(later).collect();
        for changeset in &changesets {
            self.follow(changeset);
        }
        self.chats.restore = Some(RestorePreview {
            turn,
            own,
            changesets,
        });
        self.dirty.panels = true;
        self.done(id);
    }

    fn close_restore(&mut self) {
        let Some(preview) = self.chats.restore.take() else {
            return;
        };
        for changeset in preview.changesets {
            if !self.changes.is_open(&changeset) {
                self.unfollow(&changeset);
            }
        }
        self.dirty.panels = true;
    }

    fn restore_files(&mut self, id: u64, turn: &str) {
        let preview = self.chats.restore.as_ref();
        let preview = preview.filter(|preview| preview.turn.as_str() == turn);
        let Some(channel) = preview.and_then(|preview| preview.own.clone()) else {
            return self.fail(id, "the host keeps no files of this turn".to_owned());
        };
        let params = InvokeChangesetOperationParams {
            channel,
            operation_id: OperationId::from(RESTORE_OPERATION),
            target: None,
            meta: None,
        };
        self.request_for(id, &params, discard::<InvokeChangesetOperationParams>);
    }

    /// Removes a turn and all later ones.
    fn truncate_chat(&mut self, id: u64, turn: &str) {
        let Some((chat, state)) = self.chat.clone().zip(self.chat_state()) else {
            return self.fail(id, "no chat is selected".to_owned());
        };
        let position = state.turns.find(|other| other.id.as_str() == turn);
        let Some(position) = position else {
            return self.fail(id, "the turn is no longer in this chat".to_owned());
        };
        let before = position.checked_sub(1);
        let before = before.and_then(|position| state.turns.item(position));
        if before.is_none() && state.turns_next_cursor.is_some() {
            let reason = "load the turns before this one first";
            return self.fail(id, reason.to_owned());
        }
        let turn_id = before.map(|turn| turn.id.clone());
        let action = ChatAction::Truncated(Truncated { turn_id });
        self.dispatch(id, &chat, action.into(), None);
    }

    pub(super) fn draw_chats(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        slices.set_value(patches, "restore", &self.restore_view());
        slices.set_value(patches, "away", &self.away.summary);
        let report = self.chats.usage_offset.map(|utc_offset_minutes| {
            let session = self.session.as_ref();
            let source = UsageSource {
                session: session.and_then(|session| self.session_state(session)),
                chat: self.chat_state(),
                utc_offset_minutes,
            };
            UsageReport::compute(source, self.sessions.summaries())
        });
        slices.set_value(patches, "usage", &report);
    }

    pub(super) fn restore_view(&self) -> Option<RestoreView<'_>> {
        let preview = self.chats.restore.as_ref()?;
        let turns = &self.chat_state()?.turns;
        let position = turns.find(|turn| turn.id == preview.turn)?;
        let text = turns.item(position)?.message.text.as_str();
        let mut view = RestoreView {
            turn: &preview.turn,
            text,
            status: ChangesStatus::Ready,
            error: None,
            files: Vec::new(),
            can_restore_files: false,
            turns: turns.len() - position,
        };
        let mut files = SortedMap::new();
        for uri in &preview.changesets {
            let Some(state) = self.changeset_of(uri) else {
                view.status = ChangesStatus::Computing;
                continue;
            };
            let changes = ChangesView::compute(uri, "", state);
            match changes.status {
                ChangesStatus::Ready => {}
                ChangesStatus::Computing => view.status = ChangesStatus::Computing,
                ChangesStatus::Error => view.error = changes.error,
            }
            let is_settled = !matches!(state.status, ChangesetStatus::Computing);
            let mut operations = changes.operations.iter();
            view.can_restore_files |= is_settled
                && operations.any(|operation| {
                    operation.id.as_str() == RESTORE_OPERATION
                        && operation.status != OperationStatus::Disabled
                });
            let rows = changes.files.into_iter();
            // Boxes, because an insertion moves the entries after it.
            files.extend(rows.map(|file| (file.edit.path.clone(), Box::new(file))));
        }
        view.files = files.into_values().map(|file| *file).collect();
        Some(view)
    }

    fn changeset_of(&self, uri: &Uri) -> Option<&ChangesetState> {
        match self.state(uri)? {
            ChannelState::Changeset(state) => Some(state),
            _ => None,
        }
    }
}

fn to_moved_chat(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    let moved = decode::<MoveChatParams>(response)?;
    encode(&MovedChat {
        session: moved.session,
    })
}
