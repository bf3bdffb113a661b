//! Tools that the host offers, in a chat.

use std::sync::Arc;

use agenthost_protocol::ids::ToolCallId;

use super::{ChatMapper, Offered, Teller, Told};

impl ChatMapper {
    /// The host offers these tools from now on.
    pub(crate) fn offer(&mut self, offered: &Arc<Offered>) {
        self.offered = Arc::clone(offered);
        if let Some(turn) = &mut self.turn {
            turn.tools.offer(Arc::clone(offered));
        }
    }

    /// The agent really calls a tool of a client, with some JSON.
    pub(crate) fn called(&mut self, call: &ToolCallId, tool: &str, input: &str) -> Vec<Told> {
        let session = self.session.clone();
        let mut teller = Teller::new(&session);
        if let Some(turn) = &mut self.turn {
            turn.tools
                .called(call, tool, input, &mut self.scene, &mut teller);
        }
        teller.told
    }

    /// A client has completed a call.
    pub(crate) fn completed(&mut self, call: &ToolCallId) {
        if let Some(turn) = &mut self.turn {
            turn.tools.completed(call);
        }
    }
}
