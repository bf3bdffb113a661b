//! How an agent is told what the user said, and what the host has to add.

use agenthost_protocol::uri::Uri;

use super::{Bridge, Call, Told, set};
use crate::acp::chat::{InFlight, Knows};
use crate::acp::{marks, options, prompt, transcript};
use crate::mapper::TurnEvent;

/// What is said when an agent was not there.
const GIVEN: &str =
    "The agent begins a new session of its own, and was given what was said before as text.";

/// What is said when an agent was away.
const TAKEN_UP: &str = "The agent was started again, and goes on with its own session.";

impl Bridge {
    /// Hands the message of a turn to the agent.
    pub(super) async fn prompt(&mut self, address: &Uri) -> Result<(), String> {
        let (Some(live), Some(chat)) = (&mut self.live, self.chats.get_mut(address)) else {
            return Ok(());
        };
        let (Some(session), Some(turn)) = (chat.agent_session.open(), &mut chat.turn) else {
            return Ok(());
        };
        session.mapper.begin(address, &turn.id);
        turn.mark_prompted();
        let prepared = std::mem::take(&mut turn.prepared);
        let mut before = Vec::new();
        let instructions = prepared.instructions;
        let instructed = std::mem::replace(&mut session.instructions, instructions.clone());
        if instructions != instructed {
            let told = instructions.as_deref().map(marks::instructions);
            before.push(prompt::text(&told.unwrap_or_else(marks::no_instructions)));
        }
        let knows = std::mem::replace(&mut session.knows, Knows::All);
        let notice = match knows {
            Knows::All => None,
            Knows::TakenUp => Some(TAKEN_UP),
            Knows::Nothing => {
                let context = chat.context.as_ref().map(transcript::context);
                let own = (!turn.before.is_empty()).then(|| transcript::of(&turn.before));
                let notice = own.is_some().then_some(GIVEN);
                let told: Vec<_> = context.into_iter().chain(own).collect();
                if !told.is_empty() {
                    let told = told.join("\n\n");
                    before.extend(prompt::recollection(address, &told, live.senses));
                }
                notice
            }
        };
        let context = prepared.context.as_deref().map(marks::context);
        let said = &turn.message.text;
        let stands_for = prepared.text.as_ref().filter(|text| *text != said);
        let said_so = stands_for.map(|_| marks::said(said));
        before.extend(
            [context, said_so]
                .iter()
                .flatten()
                .map(|told| prompt::text(told)),
        );
        let text = prepared.text.as_deref().unwrap_or(said);
        let resources = std::mem::take(&mut chat.resources);
        let mut blocks = prompt::blocks(text, &turn.message, &resources.read, live.senses);
        // A command is one at the very beginning only.
        let place = usize::from(text.starts_with('/'));
        blocks.splice(place..place, before);
        let params = serde_json::json!({"sessionId": session.id, "prompt": blocks});
        let call = Call::Prompt(address.clone(), turn.id.clone());
        live.call(call, "session/prompt", &params);
        chat.in_flight = Some(InFlight {
            turn: turn.id.clone(),
            stop_by: None,
            // Nothing is lost by a prompt that said nothing of before.
            knew: notice.map_or(Knows::All, |_| knows),
            instructed,
        });
        let notices = [notice.map(str::to_owned), live.take_left_out()];
        let notices = notices.into_iter().flatten();
        let notices = notices.map(|notice| Told::Turn(TurnEvent::Notice(notice.into())));
        let notices = notices.collect();
        self.tell(Some(address), notices).await?;
        self.make_remarks().await
    }

    /// A model that was for one turn alone is not used any longer.
    pub(super) fn give_back_model(&mut self, address: &Uri) {
        let (Some(live), Some(chat)) = (&self.live, self.chats.get_mut(address)) else {
            return;
        };
        let session = chat.agent_session.open();
        if let Some((session, own)) = session.and_then(|session| {
            let own = session.own_model.take()?;
            Some((session, own))
        }) {
            set(live, session, options::MODEL, &own);
        }
    }
}
