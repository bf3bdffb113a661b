//! Resolves chats and annotations that are attached to messages.
//!
//! The content is pinned when the message is accepted: the last turn of an attached chat is
//! written into the message, so that later turns do not change the meaning of the message
//! (CHT-42, CHT-45).

use std::sync::Arc;

use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::annotations::Annotation;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{Attachment, ChatAction, ChatAttachment, Message};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;

use crate::agent::{AgentCommand, AttachmentContent};
use crate::chat::origin::turns_through;
use crate::host::Host;
use crate::host::error::Refusal;

impl Host {
    /// Writes the last turn of each attached chat into the message, or refuses the message.
    pub(crate) fn pin_attachments(&self, message: &mut Arc<Message>) -> Result<(), Refusal> {
        if attached_chats(message).next().is_none() {
            return Ok(());
        }
        let attachments = Arc::make_mut(message).attachments.iter_mut().flatten();
        for attachment in attachments {
            if let Attachment::Chat(attached) = attachment {
                attached.end_turn = self.last_completed_turn(attached)?;
            }
        }
        Ok(())
    }

    /// Checks that the attached chats and turns of a message still exist.
    pub(crate) fn check_attachments(&self, message: &Message) -> Result<(), Refusal> {
        attached_chats(message)
            .try_for_each(|attached| self.last_completed_turn(attached).map(drop))
    }

    /// Returns the last turn of an attached chat that the attachment covers, or `None` if
    /// no turn has ended yet (CHT-41, CHT-44).
    fn last_completed_turn(&self, attached: &ChatAttachment) -> Result<Option<TurnId>, Refusal> {
        let unknown = |what, name: String| Refusal::Unknown { what, name };
        let chat = self.chat(&attached.resource);
        let chat = chat.ok_or_else(|| unknown("chat", attached.resource.to_string()))?;
        let earlier = self.evicted_turns(&attached.resource);
        match &attached.end_turn {
            None => {
                let last = chat.turns.last_item().map(|turn| &turn.id);
                Ok(last.or(earlier.last()).cloned())
            }
            Some(turn) => {
                let here = chat.turns.find(|other| other.id == *turn).is_some();
                if here || earlier.contains(turn) {
                    return Ok(Some(turn.clone()));
                }
                Err(unknown("completed turn", turn.to_string()))
            }
        }
    }

    /// Returns the commands that pass attached chats and annotations to the agent (CHT-43,
    /// ANN-7).
    pub(crate) fn attachment_commands(
        &self,
        chat: &Uri,
        turn: &TurnId,
        message: &Message,
    ) -> Vec<AgentCommand> {
        let attachments = message.attachments.iter().flatten();
        let contents =
            attachments.filter_map(|attachment| self.channel_attachment_content(attachment));
        let attached = contents.map(|(resource, content)| AgentCommand::AddAttachment {
            chat: chat.clone(),
            turn: turn.clone(),
            resource,
            content,
        });
        attached.collect()
    }

    /// Returns the content of the channel that an attachment names, if it names one.
    fn channel_attachment_content(
        &self,
        attachment: &Attachment,
    ) -> Option<(Uri, AttachmentContent)> {
        match attachment {
            Attachment::Chat(attached) => {
                let state = self.chat(&attached.resource)?;
                let turns = turns_through(&state.turns, attached.end_turn.as_ref()?);
                Some((attached.resource.clone(), AttachmentContent::Turns(turns)))
            }
            Attachment::Annotations(attached) => {
                let Some(ChannelState::Annotations(state)) = self.state(&attached.resource) else {
                    return None;
                };
                let meant = |annotation: &&Arc<Annotation>| {
                    let ids = attached.annotation_ids.as_ref();
                    ids.is_none_or(|ids| ids.contains(&annotation.id))
                };
                let annotations = state.annotations.iter().filter(meant).cloned().collect();
                let content = AttachmentContent::Annotations(annotations);
                Some((attached.resource.clone(), content))
            }
            Attachment::Simple(_)
            | Attachment::EmbeddedResource(_)
            | Attachment::Resource(_)
            | Attachment::Unknown(_) => None,
        }
    }
}

pub(crate) fn attached_chats(message: &Message) -> impl Iterator<Item = &ChatAttachment> {
    let attachments = message.attachments.iter().flatten();
    attachments.filter_map(|attachment| match attachment {
        Attachment::Chat(attached) => Some(attached),
        Attachment::Simple(_)
        | Attachment::EmbeddedResource(_)
        | Attachment::Resource(_)
        | Attachment::Annotations(_)
        | Attachment::Unknown(_) => None,
    })
}

/// Returns the channels (chats and annotations) that are attached to a message.
pub(crate) fn attached_channels(message: &Message) -> impl Iterator<Item = &Uri> {
    let attachments = message.attachments.iter().flatten();
    attachments.filter_map(|attachment| match attachment {
        Attachment::Chat(attached) => Some(&attached.resource),
        Attachment::Annotations(attached) => Some(&attached.resource),
        Attachment::Simple(_)
        | Attachment::EmbeddedResource(_)
        | Attachment::Resource(_)
        | Attachment::Unknown(_) => None,
    })
}

/// Returns the message of an action that starts a turn or adds a pending message.
pub(crate) fn message_in_action(action: &ReceivedAction) -> Option<&Message> {
    let ReceivedAction::Valid(Action::Chat(action)) = action else {
        return None;
    };
    if let ChatAction::TurnStarted(start) = action {
        Some(&start.message)
    } else if let ChatAction::PendingMessageSet(set) = action {
        Some(&set.message)
    } else {
        None
    }
}
