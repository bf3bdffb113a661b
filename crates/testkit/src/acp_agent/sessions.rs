//! Resumes, forks and lists the sessions of the agent.

use serde_json::{Value, json};

use super::output::{respond, respond_error, send_chunk, send_update, text_field};
use super::{FakeAgent, memory};

impl FakeAgent {
    /// Resumes a session. In mode `load`, it also replays the stored messages.
    pub(super) fn resume_session(&mut self, id: &Value, params: &Value) {
        let session = text_field(params, "sessionId");
        self.store_servers(session, params);
        let said = memory::messages_of(session);
        if said.is_empty() {
            let error = json!({"code": -32002, "message": "There is no such session"});
            return respond_error(id, &error);
        }
        if self.has_mode("load") && !self.has_mode("resume") {
            for said in said {
                // Some agents send a message in several chunks.
                let (first, second) = said.split_at(said.len() / 2);
                for text in [first, second] {
                    send_chunk(session, "user_message_chunk", text);
                }
                send_chunk(session, "agent_message_chunk", "I remember");
                let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "look", "status": "completed"});
                send_update(session, &call);
            }
            let title = json!({"sessionUpdate": "session_info_update", "title": "As before"});
            send_update(session, &title);
        }
        respond(id, &json!({}));
    }

    pub(super) fn fork_session(&mut self, id: &Value, params: &Value) {
        let copy = self.new_session_id();
        self.store_servers(&copy, params);
        for said in memory::messages_of(text_field(params, "sessionId")) {
            memory::append_message(&copy, &said);
        }
        respond(id, &json!({"sessionId": copy}));
    }
}

/// Returns a page of one session, so that clients have to request several pages.
pub(super) fn list_sessions(id: &Value, params: &Value) {
    let sessions = memory::session_ids();
    let page = text_field(params, "cursor").parse::<usize>().unwrap_or(0);
    let listed = sessions.get(page).map(|session| {
        json!({"sessionId": session, "cwd": "/usr", "title": memory::messages_of(session).first(),
            "updatedAt": "2026-01-05T09:00:00Z"})
    });
    let next = (page + 1 < sessions.len()).then(|| (page + 1).to_string());
    let listed: Vec<_> = listed.into_iter().collect();
    respond(id, &json!({"sessions": listed, "nextCursor": next}));
}
