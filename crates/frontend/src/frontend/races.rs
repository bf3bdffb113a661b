//! Actions that came too late, because another client acted first. The user reads what has happened
//! instead of the reason of the host, which names a turn or an id.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{Attachment, ChatState, PendingMessageKind};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_view::request::RequestCard;
use agenthost_view::timeline::{call_answered_by, form_answered_by};

use super::Frontend;
use super::slices::NoteRow;

/// The note about a message that was queued, because another client had started a turn.
const QUEUED: &str = "another device had started a turn: your message waits in the queue";

/// An action that another client may have made superfluous.
#[derive(Debug)]
pub(super) enum RacedAction {
    /// The answer to a request.
    Answer(Box<RequestCard>),
    /// A message that starts a turn.
    Message(Box<RacedMessage>),
    /// The end or the continuation of a turn.
    Turn {
        chat: Uri,
        turn: TurnId,
        goal: TurnGoal,
    },
}

/// What the user wants of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnGoal {
    Runs,
    Ends,
}

/// A message that starts a turn.
#[derive(Debug)]
pub(super) struct RacedMessage {
    pub(super) chat: Uri,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) model: Option<String>,
}

/// What became of an action that the host has rejected.
pub(super) enum RaceOutcome {
    /// Another client was first, and the user has nothing left to do.
    Settled,
    /// Another client was first, which the command reports.
    Lost(String),
    /// The action is sent again in another form, which reports the result of the command.
    Retried,
    /// No other client was first: the reason of the host counts. Has the text of the user.
    Rejected(Option<String>),
}

impl Frontend {
    /// Returns what became of a rejected action. Notes for the user are added here.
    pub(super) fn resolve_race(&mut self, command: u64, raced: RacedAction) -> RaceOutcome {
        match raced {
            RacedAction::Answer(card) => {
                if self.find_request(card.key()).is_some() {
                    return RaceOutcome::Rejected(None);
                }
                let text = match self.answered_by(&card) {
                    Some(name) => format!("already answered on {name}"),
                    None => "another device has answered this already".to_owned(),
                };
                self.add_info(text.clone());
                RaceOutcome::Lost(text)
            }
            RacedAction::Message(message) => {
                let running = self.chat_of(&message.chat);
                if running.is_none_or(|chat| chat.active_turn.is_none()) {
                    return RaceOutcome::Rejected(Some(message.text));
                }
                let RacedMessage {
                    chat,
                    text,
                    attachments,
                    model,
                } = *message;
                let kind = PendingMessageKind::Queued;
                self.add_pending(command, &chat, kind, text, attachments, model);
                self.add_info(QUEUED.to_owned());
                RaceOutcome::Retried
            }
            RacedAction::Turn { chat, turn, goal } => {
                let active = self.chat_of(&chat);
                let active = active.and_then(|chat| chat.active_turn.as_ref());
                let reached = match active.is_some_and(|active| active.id == turn) {
                    true => TurnGoal::Runs,
                    false => TurnGoal::Ends,
                };
                if reached == goal {
                    RaceOutcome::Settled
                } else {
                    RaceOutcome::Rejected(None)
                }
            }
        }
    }

    fn chat_of(&self, chat: &Uri) -> Option<&ChatState> {
        match self.state(chat)? {
            ChannelState::Chat(chat) => Some(chat),
            _ => None,
        }
    }

    /// Returns the name of the client that has answered a request.
    fn answered_by(&self, card: &RequestCard) -> Option<String> {
        match card {
            RequestCard::Approval(card) => {
                let chat = self.chat_of(&card.chat)?;
                call_answered_by(chat, &card.turn_id, &card.call_id)
            }
            RequestCard::Form(card) => {
                let session = self.session_state(&card.session)?;
                form_answered_by(session, &card.chat, &card.request_id)
            }
            RequestCard::SignIn(_) => None,
        }
    }

    fn add_info(&mut self, text: String) {
        let id = self.new_id();
        self.push_note(NoteRow::info(id, text));
    }
}
