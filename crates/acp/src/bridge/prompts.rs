//! Builds prompts from the user's message and the additions of the host, and sends them.

use agenthost_agents::TurnEvent;
use agenthost_protocol::uri::Uri;

use super::{AgentCall, MappedEvent, SessionBridge, set_option};
use crate::error::AcpError;
use crate::session::prompt::tags;
use crate::session::{HistoryKnowledge, PromptInFlight};
use crate::session::{options, prompt, transcript};

/// The notice for users when a new agent session received a transcript.
const TRANSCRIPT_NOTICE: &str =
    "The agent started a new session and received the earlier turns as text.";

/// The notice for users when the agent was restarted and resumed its session.
const RESUMED_NOTICE: &str = "The agent was restarted and resumed its own session.";

impl SessionBridge {
    /// Sends the message of a turn to the agent, after the transcript, instructions and context
    /// that the agent session lacks.
    pub(crate) async fn send_prompt(&mut self, chat_uri: &Uri) -> Result<(), AcpError> {
        let (Some(connection), Some(chat)) = (&mut self.connection, self.chats.get_mut(chat_uri))
        else {
            return Ok(());
        };
        let (Some(session), Some(turn)) = (chat.agent_session.open_session(), &mut chat.turn)
        else {
            return Ok(());
        };
        session.mapper.begin_turn(chat_uri, &turn.id);
        turn.mark_prompted();
        let prepared = std::mem::take(&mut turn.prepared);
        let mut preamble = Vec::new();
        let instructions = prepared.instructions;
        let previous_instructions =
            std::mem::replace(&mut session.instructions, instructions.clone());
        if instructions != previous_instructions {
            let tagged = instructions.as_deref().map(tags::tag_instructions);
            preamble.push(prompt::plain_text(
                &tagged.unwrap_or_else(tags::tag_cleared_instructions),
            ));
        }
        let history = std::mem::replace(&mut session.history, HistoryKnowledge::Complete);
        let mut has_transcript = false;
        let notice = match history {
            HistoryKnowledge::Complete => None,
            HistoryKnowledge::Resumed => Some(RESUMED_NOTICE),
            HistoryKnowledge::None => {
                let context = chat.context.as_ref().map(transcript::render_context);
                let history_text = (!turn.previous_turns.is_empty())
                    .then(|| transcript::render_history(&turn.previous_turns));
                let notice = history_text.is_some().then_some(TRANSCRIPT_NOTICE);
                let texts: Vec<_> = context.into_iter().chain(history_text).collect();
                has_transcript = !texts.is_empty();
                if has_transcript {
                    let text = texts.join("\n\n");
                    preamble.extend(prompt::history_block(
                        chat_uri,
                        &text,
                        connection.prompt_features,
                    ));
                }
                notice
            }
        };
        let context = prepared.context.as_deref().map(tags::tag_context);
        let typed_text = &turn.message.text;
        let expanded_text = prepared.text.as_ref().filter(|text| *text != typed_text);
        let typed_tag = expanded_text.map(|_| tags::tag_typed_text(typed_text));
        preamble.extend(
            [context, typed_tag]
                .iter()
                .flatten()
                .map(|text| prompt::plain_text(text)),
        );
        let text = prepared.text.as_deref().unwrap_or(typed_text);
        let resources = std::mem::take(&mut chat.attachments);
        let mut blocks = prompt::prompt_blocks(
            text,
            &turn.message,
            &resources.resources,
            connection.prompt_features,
        );
        // Agents recognize a slash command only in the first block.
        let index = usize::from(text.starts_with('/'));
        blocks.splice(index..index, preamble);
        let params = serde_json::json!({"sessionId": session.id, "prompt": blocks});
        let call = AgentCall::Prompt(chat_uri.clone(), turn.id.clone());
        connection.call(call, "session/prompt", &params);
        chat.in_flight = Some(PromptInFlight {
            turn: turn.id.clone(),
            cancel_deadline: None,
            // A failed prompt loses the earlier turns or the context of a side chat, if it
            // contained any.
            previous_history: if notice.is_some() || has_transcript {
                history
            } else {
                HistoryKnowledge::Complete
            },
            previous_instructions,
        });
        let notices = [
            notice.map(str::to_owned),
            connection.take_unsupported_notice(),
        ];
        let notices = notices.into_iter().flatten();
        let notices = notices.map(|notice| MappedEvent::Turn(TurnEvent::Notice(notice.into())));
        let notices = notices.collect();
        self.emit(Some(chat_uri), notices).await?;
        self.emit_notices().await
    }

    /// Restores the chosen model after a turn that used another one.
    pub(super) fn restore_model(&mut self, chat_uri: &Uri) {
        let (Some(connection), Some(chat)) = (&self.connection, self.chats.get_mut(chat_uri))
        else {
            return;
        };
        let session = chat.agent_session.open_session();
        if let Some((session, chosen_model)) = session.and_then(|session| {
            let chosen_model = session.chosen_model.take()?;
            Some((session, chosen_model))
        }) {
            set_option(connection, session, options::MODEL_KEY, &chosen_model);
        }
    }
}
