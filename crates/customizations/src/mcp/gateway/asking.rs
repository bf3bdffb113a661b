//! A call asks whether it may be made.

use std::sync::Arc;

use agenthost_core::tool_servers::{ToolEvent, ToolGuard, ToolTicket};
use agenthost_protocol::wire::{Json, Object};

use super::super::guard::Verdict;
use super::super::room::Room;
use super::super::servers::Shared;
use super::service::Counter;

/// A call that waits for a word. Dropped before that, the host hears that
/// nobody waits any more.
struct Asking {
    shared: Arc<Shared>,
    room: Arc<Room>,
    call: ToolTicket,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.room.guard.forget(self.call) {
            return;
        }
        let (shared, session) = (Arc::clone(&self.shared), self.room.session.clone());
        let abandoned = ToolEvent::Abandoned { call: self.call };
        self.shared.tasks.spawn(async move {
            shared.tell(&session, abandoned).await;
        });
    }
}

impl Counter {
    /// Waits until somebody agrees to a call, if somebody has to. Costs nothing
    /// if nobody has.
    pub(super) async fn ask_leave(&self, tool: &str, arguments: &Object) -> Verdict {
        match self.room.guard.who() {
            ToolGuard::Nobody => return Ok(()),
            ToolGuard::Hooks => {}
        }
        let call = self.shared.next_call();
        let answered = self.room.guard.wait_for(call);
        let _asking = Asking {
            shared: Arc::clone(&self.shared),
            room: Arc::clone(&self.room),
            call,
        };
        let calling = ToolEvent::Calling {
            chat: self.chat.clone(),
            call,
            tool: tool.to_owned(),
            input: Json::Object(arguments.clone()).to_string(),
        };
        self.shared.tell(&self.room.session, calling).await;
        let gone = |_| Err("the call was not answered".to_owned());
        answered.await.unwrap_or_else(gone)
    }
}
