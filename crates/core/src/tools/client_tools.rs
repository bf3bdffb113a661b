//! Tools that active clients offer and execute, and the failure of their calls when a client
//! leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::chat::{
    ChatAction, ConfirmationReason, ResponsePart, ToolCall, ToolCallComplete, ToolCallContributor,
    ToolCallQuestion, ToolCallReady, ToolCallResult, ToolCallTarget,
};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::{SessionInputRequest, SessionState};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::agent::{AgentCommand, ClientTool};
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::Input;
use crate::host::step::Env;

/// Maximum length of a tool name. Model APIs limit the length of names, and agents add a
/// prefix.
const MAX_TOOL_NAME_CHARS: usize = 48;

/// Maximum length of the client part in a tool name.
const MAX_CLIENT_NAME_CHARS: usize = 32;

/// Maximum number of tools offered per client.
const MAX_CLIENT_TOOLS: usize = 1_000;

/// A call that a client should execute and never will.
struct OrphanedCall {
    target: ToolCallTarget,
    display_name: String,
    /// `true` while the arguments are still streaming. Such a call can't be completed before
    /// they are complete (CLT-9).
    streaming: bool,
}

/// Returns the tools of all clients with unique names: a name that is taken gets the client as
/// prefix, and a number if that is taken as well.
pub(crate) fn client_tools(session: &SessionState) -> Vec<ClientTool> {
    let own = session.server_tools.iter().flatten();
    let mut taken: BTreeSet<String> = own.map(|tool| tool.name.clone()).collect();
    let mut tools = Vec::new();
    for active in &session.active_clients {
        for definition in active.tools.iter().take(MAX_CLIENT_TOOLS) {
            let client = active.client_id.clone();
            let own = sanitize_tool_name(&definition.name, MAX_TOOL_NAME_CHARS);
            let long = format!(
                "{}_{own}",
                sanitize_tool_name(client.as_str(), MAX_CLIENT_NAME_CHARS)
            );
            let numbered = (2..).map(|number: u32| format!("{long}_{number}"));
            let mut names = [own, long.clone()].into_iter().chain(numbered);
            let Some(name) = names.find(|name| !taken.contains(name)) else {
                continue;
            };
            taken.insert(name.clone());
            tools.push(ClientTool {
                client,
                name,
                definition: definition.clone(),
            });
        }
    }
    tools
}

/// Replaces characters that models reject in names, and truncates the name. A single invalid
/// name makes a model reject all tools of a request.
pub(crate) fn sanitize_tool_name(name: &str, max_chars: usize) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().take(max_chars).map(letter).collect()
}

impl Host {
    /// Sends the tools of the session's clients to its agent and to the gateway (CLT-2).
    pub(crate) fn send_client_tools(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let tools = client_tools(state);
        if self.sessions.is_agent_open(session) {
            self.send_agent_command(session, AgentCommand::SetClientTools { tools }, out);
        }
        self.sync_gateway_tools(session, out);
    }

    /// Sends the client tools again after the agent's own tools have changed, because their
    /// names may collide now.
    pub(crate) fn resend_client_tools(&mut self, session: &Uri, out: &mut Effects) {
        let state = self.session(session);
        if state.is_some_and(|state| !client_tools(state).is_empty()) {
            self.send_client_tools(session, out);
        }
    }

    /// Fails the calls of a client that has left, in every chat of the session (CLT-8).
    pub(crate) fn fail_client_calls(
        &mut self,
        env: &Env,
        client: &ClientId,
        session: &Uri,
        out: &mut Effects,
    ) {
        let chats = self.session(session).map(|session| session.chats.clone());
        for chat in chats.iter().flat_map(|chats| chats.items()) {
            self.fail_calls_where(env, &chat.resource, |owner| owner == client, out);
        }
    }

    /// Fails the calls of a chat whose client is no longer active (CLT-12).
    pub(crate) fn fail_orphaned_calls(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        let session = self
            .session_of(chat)
            .and_then(|session| self.session(session));
        let active: Vec<_> = session
            .iter()
            .flat_map(|session| &session.active_clients)
            .map(|active| active.client_id.clone())
            .collect();
        self.fail_calls_where(env, chat, |owner| !active.contains(owner), out);
    }

    fn fail_calls_where(
        &mut self,
        env: &Env,
        chat: &Uri,
        is_gone: impl Fn(&ClientId) -> bool,
        out: &mut Effects,
    ) {
        for orphan in self.find_orphaned_calls(chat, is_gone) {
            let message = format!(
                "The client that runs {} has disconnected",
                orphan.display_name
            );
            if orphan.streaming {
                let ready = ChatAction::ToolCallReady(Box::new(ToolCallReady {
                    target: orphan.target.clone(),
                    contributor: None,
                    intention: None,
                    invocation_message: MaybeMarkdown::Plain(orphan.display_name.clone()),
                    tool_input: None,
                    question: ToolCallQuestion::default(),
                    confirmed: Some(ConfirmationReason::NotNeeded),
                }));
                self.originate(chat, ready, out);
            }
            self.fail_call(env, chat, orphan.target, message, out);
        }
    }

    /// Starts the timeout of a client tool call (CLT-5).
    pub(crate) fn start_call_timeout(
        &self,
        session: &Uri,
        call: Arc<SessionInputRequest>,
        out: &mut Effects,
    ) {
        if let Some(after) = self.client_tool_timeout() {
            let session = session.clone();
            out.schedule(after, Input::ClientToolTimedOut { session, call });
        }
    }

    /// Handles the timeout of a client tool call. The call fails if its entry has not changed
    /// since the timer was started; otherwise the timer is started again.
    pub(crate) fn expire_client_call(
        &mut self,
        env: &Env,
        session: &Uri,
        before: &Arc<SessionInputRequest>,
        out: &mut Effects,
    ) {
        let state = self.session(session);
        let mut entries = state
            .into_iter()
            .flat_map(|state| state.input_needed.iter().flat_map(|list| list.iter()));
        let Some(now) = entries.find(|entry| entry.key() == before.key()).cloned() else {
            return;
        };
        if now != *before {
            self.start_call_timeout(session, now, out);
            return;
        }
        if let SessionInputRequest::ToolClientExecution(entry) = &*now {
            let head = &entry.tool_call.0.head;
            let message = format!("The client that runs {} did not answer", head.display_name);
            let target = ToolCallTarget {
                turn_id: entry.turn_id.clone(),
                tool_call_id: head.tool_call_id.clone(),
                meta: head.meta.clone(),
            };
            self.fail_call(env, &entry.base.chat.clone(), target, message, out);
        }
    }

    /// Sends the result of a completed client tool call to the agent, unless the result still
    /// waits for approval.
    pub(crate) fn forward_tool_result(
        &mut self,
        chat: &Uri,
        target: &ToolCallTarget,
        out: &mut Effects,
    ) {
        self.notify_tool_used(chat, target, out);
        let Some(ToolCall::Completed(call)) = self.active_call(chat, target) else {
            return;
        };
        // The agent itself executed calls that belong to no client, and knows their results. It
        // does not know of a failure that a client reported for a call that waited for a token.
        let contributor = call.head.contributor.as_ref();
        let own = !matches!(contributor, Some(ToolCallContributor::Client(_)));
        if own && call.result.success {
            return;
        }
        let completed = AgentCommand::CompleteToolCall {
            chat: chat.clone(),
            turn: target.turn_id.clone(),
            call: target.tool_call_id.clone(),
            result: Box::new(call.result.clone()),
        };
        self.send_agent_command(chat, completed, out);
    }

    /// Returns a tool call of the active turn.
    pub(crate) fn active_call(&self, chat: &Uri, target: &ToolCallTarget) -> Option<&ToolCall> {
        let turn = self.chat(chat)?.active_turn.as_ref()?;
        let call = turn.response_parts.call(target.tool_call_id.as_str());
        call.filter(|_| turn.id == target.turn_id)
    }

    /// Returns `true` if a tool call is running.
    pub(crate) fn is_running_call(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        matches!(self.active_call(chat, target), Some(ToolCall::Running(_)))
    }

    /// Completes a tool call as failed, with a message.
    pub(crate) fn fail_call(
        &mut self,
        env: &Env,
        chat: &Uri,
        target: ToolCallTarget,
        message: String,
        out: &mut Effects,
    ) {
        let mut failed = ToolCallComplete {
            target,
            result: ToolCallResult {
                success: false,
                past_tense_message: MaybeMarkdown::Plain(message.clone()),
                content: None,
                structured_content: None,
                error: Some(Json::from_iter([("message", message)])),
            },
            requires_result_confirmation: None,
        };
        self.complete_with_workers(chat, &mut failed);
        let failed = ChatAction::ToolCallComplete(Box::new(failed));
        if self.originate(chat, failed.clone(), out) {
            self.react(env, chat, &failed.into(), out);
        }
    }

    fn find_orphaned_calls(
        &self,
        chat: &Uri,
        is_gone: impl Fn(&ClientId) -> bool,
    ) -> Vec<OrphanedCall> {
        let Some(turn) = self.chat(chat).and_then(|chat| chat.active_turn.as_ref()) else {
            return Vec::new();
        };
        let parts = turn.response_parts.items();
        parts
            .filter_map(|part| {
                let ResponsePart::ToolCall(part) = part else {
                    return None;
                };
                let head = part.tool_call.head()?;
                let Some(ToolCallContributor::Client(owner)) = &head.contributor else {
                    return None;
                };
                let streaming = match &part.tool_call {
                    ToolCall::Streaming(_) => true,
                    ToolCall::PendingConfirmation(_) | ToolCall::Running(_) => false,
                    ToolCall::AuthRequired(_)
                    | ToolCall::PendingResultConfirmation(_)
                    | ToolCall::Completed(_)
                    | ToolCall::Cancelled(_)
                    | ToolCall::Unknown(_) => return None,
                };
                is_gone(&owner.client_id).then(|| OrphanedCall {
                    target: ToolCallTarget {
                        turn_id: turn.id.clone(),
                        tool_call_id: head.tool_call_id.clone(),
                        meta: head.meta.clone(),
                    },
                    display_name: head.display_name.clone(),
                    streaming,
                })
            })
            .collect()
    }
}
