//! Clients that answer host requests, refuse them, send invalid answers or stay silent.

use agenthost_protocol::chat::MessageKind;

use super::*;
use crate::script::json_of;

impl Simulation {
    /// Returns a message, sometimes with attachments that only its sender has.
    pub(super) fn message(&mut self) -> Json {
        let mut message = json!({"text": "do it", "origin": {"kind": "user"}});
        if self.chance.chance(0.3) {
            let count = self.chance.rng.usize(1..4);
            let one = |index| json!({"type": "resource", "label": "x", "uri": format!("virtual:/{index}")});
            message["attachments"] = (0..count).map(one).collect();
        }
        message
    }

    /// Answers a host request or lets it time out, in any order; some are answered twice.
    pub(super) fn answer_request(&mut self) {
        let asked = self.test_host.asked.make_contiguous();
        let Some((connection, id)) = self.chance.pick(asked).cloned() else {
            return;
        };
        let found = json!({"data": "content", "encoding": "utf-8"});
        let (how, what) = match self.chance.rng.u32(0..10) {
            0..2 => ("result", found),
            2 => ("result", json!({})),
            3 => ("result", json!([1])),
            4 => ("error", json!({"code": -32009, "message": "no"})),
            5 => ("error", json!({"code": -32601, "message": "what?"})),
            6 => return self.time_out_request(),
            _ => return,
        };
        if self.chance.chance(0.9) {
            self.test_host.asked.retain(|(_, other)| *other != id);
        }
        // A client that has left does not answer. Sometimes another one does.
        let stranger = self.connection().filter(|_| self.chance.chance(0.1));
        let connection = stranger.unwrap_or(connection);
        if self.test_host.clients.contains_key(&connection) {
            let message = json!({"jsonrpc": "2.0", "id": json_of(&id), how: what});
            self.test_host.step(Input::Received {
                connection,
                message: received(&message.to_string()),
            });
        }
    }

    /// Lets all host requests time out.
    pub(super) fn time_out_requests(&mut self) {
        while !self.test_host.unanswered.is_empty() {
            self.time_out_request();
        }
    }

    /// Checks that agents have got every turn that runs, once all host requests are complete.
    pub(super) fn check_prompts_sent(&self) {
        for (chat, state) in &self.test_host.log.channels {
            if let ChannelState::Chat(state) = state
                && let Some(turn) = &state.active_turn
                && turn.message.origin.kind == MessageKind::User
                // The host runs `!` commands itself.
                && !turn.message.text.starts_with('!')
            {
                let told = (chat.clone(), turn.id.clone());
                assert!(self.test_host.told.contains(&told), "{told:?} goes nowhere");
            }
        }
    }

    fn time_out_request(&mut self) {
        if let Some((connection, id)) = self.test_host.unanswered.pop_front() {
            self.test_host
                .step(Input::HostRequestTimedOut { connection, id });
        }
    }
}
