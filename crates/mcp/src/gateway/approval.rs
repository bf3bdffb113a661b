//! Requests the approval of gateway calls from the host.

use std::sync::Arc;

use agenthost_core::customization::driver::HookDenial;
use agenthost_core::tools::mcp::driver::{CallGateMode, GatewayCallId, McpEvent};
use agenthost_protocol::wire::{Json, Object};

use super::call_gate::CallVerdict;
use super::server::GatewayServer;
use crate::manager::McpContext;
use crate::session_tools::SessionTools;

/// A call that waits for its approval. If it is dropped before the verdict arrives, the host
/// receives [`McpEvent::CallAbandoned`].
struct PendingApproval {
    shared: Arc<McpContext>,
    session_tools: Arc<SessionTools>,
    call: GatewayCallId,
}

impl Drop for PendingApproval {
    fn drop(&mut self) {
        if !self.session_tools.call_gate.remove(self.call) {
            return;
        }
        let (shared, session) = (Arc::clone(&self.shared), self.session_tools.session.clone());
        let abandoned = McpEvent::CallAbandoned { call: self.call };
        self.shared.tasks.spawn(async move {
            shared.send_event(&session, abandoned).await;
        });
    }
}

impl GatewayServer {
    /// Waits for the approval of a call if the session has hooks. Otherwise returns at once
    /// without an event.
    pub(super) async fn await_approval(&self, tool: &str, arguments: &Object) -> CallVerdict {
        match self.session_tools.call_gate.mode() {
            CallGateMode::Open => return Ok(()),
            CallGateMode::Hooks => {}
        }
        let call = self.shared.next_call_id();
        let answered = self.session_tools.call_gate.register(call);
        let _pending = PendingApproval {
            shared: Arc::clone(&self.shared),
            session_tools: Arc::clone(&self.session_tools),
            call,
        };
        let calling = McpEvent::ApprovalRequested {
            chat: self.chat.clone(),
            call,
            tool: tool.to_owned(),
            input: Json::Object(arguments.clone()).to_string(),
        };
        self.shared
            .send_event(&self.session_tools.session, calling)
            .await;
        answered.await.unwrap_or(Err(HookDenial::Unanswered))
    }
}
