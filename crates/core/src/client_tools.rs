//! Tools that clients carry out, and what becomes of them when a client is
//! gone.

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
use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;
use crate::input::Input;

/// Longest name of a tool that a model gets to see; agents put something before
/// it.
const TOOL: usize = 48;

/// Longest name of a client in that of a tool.
const CLIENT: usize = 32;

/// Most tools of one client that are offered.
const TOOLS: usize = 1_000;

/// A call that a client was to carry out and never will.
struct Orphan {
    target: ToolCallTarget,
    display_name: String,
    /// Whether its arguments are still being written. Such a call can't be
    /// completed before they are (CLT-9).
    streaming: bool,
}

/// The tools of all clients, each with a name of its own: one that is taken
/// gets the name of its client before it, and a number if that is taken, too.
pub(crate) fn client_tools(session: &SessionState) -> Vec<ClientTool> {
    let own = session.server_tools.iter().flatten();
    let mut taken: BTreeSet<String> = own.map(|tool| tool.name.clone()).collect();
    let mut tools = Vec::new();
    for active in &session.active_clients {
        for definition in active.tools.iter().take(TOOLS) {
            let client = active.client_id.clone();
            let own = plain(&definition.name, TOOL);
            let long = format!("{}_{own}", plain(client.as_str(), CLIENT));
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

/// Letters that models take in a name, and not too many of them: one name that
/// they do not take costs all tools of a request.
pub(crate) fn plain(name: &str, longest: usize) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    name.chars().take(longest).map(letter).collect()
}

impl Host {
    /// Tells the agent what tools the clients of its session offer (CLT-2).
    pub(crate) fn offer_client_tools(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let tools = client_tools(state);
        if self.opened.contains(session) {
            self.command(session, AgentCommand::ClientTools { tools }, out);
        }
        self.offer_to_gateway(session, out);
    }

    /// The agent has other tools now: those of clients may need other names.
    pub(crate) fn rename_client_tools(&mut self, session: &Uri, out: &mut Effects) {
        let state = self.session(session);
        if state.is_some_and(|state| !client_tools(state).is_empty()) {
            self.offer_client_tools(session, out);
        }
    }

    /// Fails what a client that has left was to carry out, in every chat of
    /// the session (CLT-8).
    pub(crate) fn fail_calls_of(
        &mut self,
        env: &Env,
        client: &ClientId,
        session: &Uri,
        out: &mut Effects,
    ) {
        let chats = self.session(session).map(|session| session.chats.clone());
        for chat in chats.iter().flat_map(|chats| chats.items()) {
            self.fail_orphans(env, &chat.resource, |owner| owner == client, out);
        }
    }

    /// Fails calls of a chat whose client is not there any more (CLT-12).
    pub(crate) fn fail_stray_calls(&mut self, env: &Env, chat: &Uri, out: &mut Effects) {
        let session = self.owner(chat).and_then(|session| self.session(session));
        let active: Vec<_> = session
            .iter()
            .flat_map(|session| &session.active_clients)
            .map(|active| active.client_id.clone())
            .collect();
        self.fail_orphans(env, chat, |owner| !active.contains(owner), out);
    }

    fn fail_orphans(
        &mut self,
        env: &Env,
        chat: &Uri,
        is_gone: impl Fn(&ClientId) -> bool,
        out: &mut Effects,
    ) {
        for orphan in self.orphans(chat, is_gone) {
            let message = format!("The client that was to run {} is gone", orphan.display_name);
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

    /// Waits for a client that runs a call, but not for ever (CLT-5).
    pub(crate) fn await_call(
        &self,
        session: &Uri,
        call: Arc<SessionInputRequest>,
        out: &mut Effects,
    ) {
        if let Some(after) = self.tool_patience() {
            let session = session.clone();
            out.later(after, Input::StillSilent { session, call });
        }
    }

    /// The patience with a call is over. If it is as it was then, it has
    /// failed; if something was heard of it, the patience begins anew.
    pub(crate) fn check_silence(
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
            self.await_call(session, now, out);
            return;
        }
        if let SessionInputRequest::ToolClientExecution(entry) = &*now {
            let head = &entry.tool_call.0.head;
            let message = format!(
                "The client that was to run {} did not answer",
                head.display_name
            );
            let target = ToolCallTarget {
                turn_id: entry.turn_id.clone(),
                tool_call_id: head.tool_call_id.clone(),
                meta: head.meta.clone(),
            };
            self.fail_call(env, &entry.base.chat.clone(), target, message, out);
        }
    }

    /// A call is over: gives the agent what a client brought, once it may be
    /// used.
    pub(crate) fn hand_over_result(
        &mut self,
        chat: &Uri,
        target: &ToolCallTarget,
        out: &mut Effects,
    ) {
        self.tool_used(chat, target, out);
        let Some(ToolCall::Completed(call)) = self.call(chat, target) else {
            return;
        };
        // What is not a client's, or waited for a token, the agent did itself.
        let contributor = call.head.contributor.as_ref();
        let own = !matches!(contributor, Some(ToolCallContributor::Client(_)));
        if own && call.result.success {
            return;
        }
        let completed = AgentCommand::ToolCompleted {
            chat: chat.clone(),
            turn: target.turn_id.clone(),
            call: target.tool_call_id.clone(),
            result: Box::new(call.result.clone()),
        };
        self.command(chat, completed, out);
    }

    /// A call of the running turn.
    pub(crate) fn call(&self, chat: &Uri, target: &ToolCallTarget) -> Option<&ToolCall> {
        let turn = self.chat(chat)?.active_turn.as_ref()?;
        let call = turn.response_parts.call(target.tool_call_id.as_str());
        call.filter(|_| turn.id == target.turn_id)
    }

    /// Whether a call runs.
    pub(crate) fn is_running_call(&self, chat: &Uri, target: &ToolCallTarget) -> bool {
        matches!(self.call(chat, target), Some(ToolCall::Running(_)))
    }

    /// Ends a call that did not come off, and says why.
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

    fn orphans(&self, chat: &Uri, is_gone: impl Fn(&ClientId) -> bool) -> Vec<Orphan> {
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
                is_gone(&owner.client_id).then(|| Orphan {
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
