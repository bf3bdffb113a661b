//! Sessions that the agent takes up, copies and lists.

use serde_json::{Value, json};

use super::output::{answer, chunk, fail, tell_update, text_of};
use super::{Agent, memory};

impl Agent {
    /// Says again what was said, as far as it knows.
    pub(super) fn take_up(&mut self, id: &Value, params: &Value) {
        let session = text_of(params, "sessionId");
        self.take_servers(session, params);
        let said = memory::of(session);
        if said.is_empty() {
            let error = json!({"code": -32002, "message": "There is no such session"});
            return fail(id, &error);
        }
        if self.is("load") && !self.is("resume") {
            for said in said {
                // Some agents tell a message in pieces.
                let (first, second) = said.split_at(said.len() / 2);
                for text in [first, second] {
                    chunk(session, "user_message_chunk", text);
                }
                chunk(session, "agent_message_chunk", "I remember");
                let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "look", "status": "completed"});
                tell_update(session, &call);
            }
            let title = json!({"sessionUpdate": "session_info_update", "title": "As before"});
            tell_update(session, &title);
        }
        answer(id, &json!({}));
    }

    pub(super) fn copy(&mut self, id: &Value, params: &Value) {
        let copy = self.name();
        self.take_servers(&copy, params);
        for said in memory::of(text_of(params, "sessionId")) {
            memory::keep(&copy, &said);
        }
        answer(id, &json!({"sessionId": copy}));
    }
}

/// A page of one session, so that there are pages.
pub(super) fn list(id: &Value, params: &Value) {
    let sessions = memory::sessions();
    let page = text_of(params, "cursor").parse::<usize>().unwrap_or(0);
    let listed = sessions.get(page).map(|session| {
        json!({"sessionId": session, "cwd": "/usr", "title": memory::of(session).first(),
            "updatedAt": "2026-01-05T09:00:00Z"})
    });
    let next = (page + 1 < sessions.len()).then(|| (page + 1).to_string());
    let listed: Vec<_> = listed.into_iter().collect();
    answer(id, &json!({"sessions": listed, "nextCursor": next}));
}
