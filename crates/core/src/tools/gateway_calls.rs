//! Calls of client tools that agents send to the gateway of a session.
//!
//! Such a call is a tool call of the turn like any other. The agent may have announced it
//! before; otherwise it starts here. The client executes it, and its result is the response to
//! the agent (CLT-4).

use std::collections::BTreeMap;

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ClientContributor, ConfirmationReason, ResponsePart, ToolCall,
    ToolCallContributor, ToolCallHead, ToolCallQuestion, ToolCallReady, ToolCallResult,
    ToolCallStart, ToolCallTarget, ToolInput,
};
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use serde::{Deserialize, Serialize};

use crate::agent::{AgentCommand, ClientTool};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::input::Input;
use crate::host::step::Env;
use crate::tools::client_tools::client_tools;
use crate::tools::mcp::driver::{GatewayCallId, McpCommand};

/// Time that an agent has to announce a call that it sent to the gateway. The announcement
/// comes through the agent connection, and every unannounced call is delayed by this timeout.
pub(crate) const ANNOUNCEMENT_TIMEOUT: Millis = Millis(150);

/// Maximum number of concurrent calls.
const MAX_GATEWAY_CALLS: usize = 1_000;

/// Calls of client tools whose agents wait for the result.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct GatewayCalls {
    pending: BTreeMap<GatewayCallId, CallLocation>,
    /// Calls that agents have sent to the gateway and may still announce.
    pub(crate) unannounced: BTreeMap<GatewayCallId, GatewayCall>,
    /// Calls of active turns whose results were sent to the agents.
    answered: Vec<CallLocation>,
}

/// A call of a client tool, as received at the gateway.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct GatewayCall {
    pub(crate) session: Uri,
    pub(crate) chat: Uri,
    /// The tool name that the agent uses.
    pub(crate) tool: String,
    /// The arguments as JSON.
    pub(crate) input: String,
}

/// Omits the arguments, so that they never reach the log.
impl std::fmt::Debug for GatewayCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayCall")
            .field("chat", &self.chat)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// Identifies a tool call in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CallLocation {
    chat: Uri,
    turn: TurnId,
    call: ToolCallId,
}

impl Host {
    /// Handles a call of a client tool. The agent announces the call on another path, possibly
    /// later, so the host waits a short time for the announcement.
    pub(crate) fn handle_client_tool_called(
        &mut self,
        env: &Env,
        id: GatewayCallId,
        called: GatewayCall,
        out: &mut Effects,
    ) {
        let Some(tool) = self.find_called_tool(&called) else {
            reject_gateway_call(id, "The tool no longer exists", out);
            return;
        };
        let announced = self.find_announced_call(&called.chat, &tool, &called.input);
        if announced.is_none()
            && self.has_active_turn(&called)
            && self.tools.gateway_calls.unannounced.len() < MAX_GATEWAY_CALLS
        {
            self.tools.gateway_calls.unannounced.insert(id, called);
            out.schedule(
                ANNOUNCEMENT_TIMEOUT,
                Input::CallAnnouncementTimedOut { call: id },
            );
            return;
        }
        self.match_or_begin_call(env, id, called, out);
    }

    /// Handles the end of that time: the client executes the call, announced or not.
    pub(crate) fn announcement_timed_out(
        &mut self,
        env: &Env,
        ticket: GatewayCallId,
        out: &mut Effects,
    ) {
        if let Some(called) = self.tools.gateway_calls.unannounced.remove(&ticket) {
            self.match_or_begin_call(env, ticket, called, out);
        }
    }

    fn find_called_tool(&self, called: &GatewayCall) -> Option<ClientTool> {
        let tools = client_tools(self.session(&called.session)?);
        tools.into_iter().find(|known| known.name == called.tool)
    }

    fn has_active_turn(&self, called: &GatewayCall) -> bool {
        let turn = self.chat(&called.chat);
        let turn = turn.and_then(|chat| chat.active_turn.as_ref());
        turn.is_some() && self.session_of(&called.chat) == Some(&called.session)
    }

    fn match_or_begin_call(
        &mut self,
        env: &Env,
        id: GatewayCallId,
        called: GatewayCall,
        out: &mut Effects,
    ) {
        let Some(tool) = self.find_called_tool(&called) else {
            reject_gateway_call(id, "The tool no longer exists", out);
            return;
        };
        let has_turn = self.has_active_turn(&called);
        let GatewayCall { chat, input, .. } = called;
        let chat = &chat;
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let Some(turn) = turn.filter(|_| has_turn) else {
            reject_gateway_call(id, "The chat has no active turn", out);
            return;
        };
        if self.tools.gateway_calls.pending.len() >= MAX_GATEWAY_CALLS {
            reject_gateway_call(id, "Too many tool calls are running", out);
            return;
        }
        let turn = turn.id.clone();
        let found = self.find_announced_call(chat, &tool, &input);
        let call = match found {
            Some(call) => call,
            None => self.begin_call(env, chat, &turn, &tool, out),
        };
        let location = CallLocation {
            chat: chat.clone(),
            turn,
            call,
        };
        let called = AgentCommand::HandOverToolCall {
            chat: chat.clone(),
            turn: location.turn.clone(),
            call: location.call.clone(),
            tool: tool.name.clone(),
            input: input.clone(),
        };
        self.send_agent_command(chat, called, out);
        self.ready_call(env, &location, &tool, input, out);
        self.tools.gateway_calls.pending.insert(id, location);
        self.deliver_results(chat, out);
    }

    /// Finds the call that the agent announced for a gateway call: same tool, and not matched
    /// with another gateway call. A call with the same arguments is preferred.
    fn find_announced_call(
        &self,
        chat: &Uri,
        tool: &ClientTool,
        input: &str,
    ) -> Option<ToolCallId> {
        let turn = self.chat(chat)?.active_turn.as_ref()?;
        let claimed = |call: &ToolCallId| {
            let waiting = self.tools.gateway_calls.pending.values();
            let mut places = waiting.chain(&self.tools.gateway_calls.answered);
            places.any(|place| place.chat == *chat && place.call == *call)
        };
        let mut fitting: Vec<_> = tool_calls(turn.response_parts.items())
            .filter(|(call, head)| {
                let of_client = matches!(
                    &head.contributor,
                    Some(ToolCallContributor::Client(owner)) if owner.client_id == tool.client
                );
                of_client
                    && head.tool_name == tool.definition.name
                    && is_open(call)
                    && !claimed(&head.tool_call_id)
            })
            .collect();
        fitting.sort_by_key(|(call, _)| !has_input(call, input));
        let (_, head) = fitting.first()?;
        Some(head.tool_call_id.clone())
    }

    /// Starts a tool call that the agent did not announce.
    fn begin_call(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        tool: &ClientTool,
        out: &mut Effects,
    ) -> ToolCallId {
        let id = ToolCallId::from(env.unique_id("call"));
        let start = ChatAction::ToolCallStart(Box::new(ToolCallStart {
            target: ToolCallTarget {
                turn_id: turn.clone(),
                tool_call_id: id.clone(),
                meta: None,
            },
            tool_name: tool.definition.name.clone(),
            display_name: display_title(tool),
            intention: None,
            contributor: Some(ToolCallContributor::Client(ClientContributor {
                client_id: tool.client.clone(),
            })),
        }));
        self.originate(chat, start, out);
        id
    }

    /// Marks the arguments of a call as complete, so that its client can execute it, unless it
    /// needs approval first.
    fn ready_call(
        &mut self,
        env: &Env,
        place: &CallLocation,
        tool: &ClientTool,
        input: String,
        out: &mut Effects,
    ) {
        let CallLocation { chat, turn, call } = place;
        let state = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let state = state.and_then(|turn| turn.response_parts.call(call.as_str()));
        if !matches!(state, Some(ToolCall::Streaming(_))) {
            return;
        }
        let ready = ChatAction::ToolCallReady(Box::new(ToolCallReady {
            target: ToolCallTarget {
                turn_id: turn.clone(),
                tool_call_id: call.clone(),
                meta: None,
            },
            contributor: None,
            intention: None,
            invocation_message: MaybeMarkdown::Plain(display_title(tool)),
            tool_input: Some(ToolInput::Inline(input)),
            question: ToolCallQuestion::default(),
            confirmed: Some(ConfirmationReason::NotNeeded),
        }));
        if self.originate(chat, ready.clone(), out) {
            self.react(env, chat, &ready.into(), out);
            self.fail_orphaned_calls(env, chat, out);
        }
    }

    /// Sends the results of finished calls in a chat to the agents that wait for them.
    pub(crate) fn deliver_results(&mut self, chat: &Uri, out: &mut Effects) {
        self.drop_late_checks(chat, out);
        self.drop_late_survey(chat);
        self.drop_answered_calls(chat);
        if !self
            .tools
            .gateway_calls
            .pending
            .values()
            .any(|place| place.chat == *chat)
        {
            return;
        }
        let mut settled = Vec::new();
        for (ticket, place) in &self.tools.gateway_calls.pending {
            if place.chat == *chat
                && let Some(result) = self.call_result(place)
            {
                settled.push((*ticket, result));
            }
        }
        for (ticket, result) in settled {
            let place = self.tools.gateway_calls.pending.remove(&ticket);
            self.tools.gateway_calls.answered.extend(place);
            complete_gateway_call(ticket, result, out);
        }
    }

    /// Ends the gateway calls of a removed chat.
    pub(crate) fn end_gateway_calls(&mut self, chat: &Uri, out: &mut Effects) {
        self.deliver_results(chat, out);
        self.drop_answered_calls(chat);
    }

    /// Returns the result of a call; `None` while it is open.
    fn call_result(&self, place: &CallLocation) -> Option<ToolCallResult> {
        let turn = self
            .chat(&place.chat)
            .and_then(|chat| chat.active_turn.as_ref());
        let turn = turn.filter(|turn| turn.id == place.turn);
        let call = turn.and_then(|turn| turn.response_parts.call(place.call.as_str()));
        match call {
            None => Some(failed_result("the turn has ended")),
            Some(ToolCall::Completed(call)) => Some(call.result.clone()),
            Some(ToolCall::Cancelled(call)) => Some(failed_result(match call.reason {
                CancellationReason::Denied => "The tool call was denied",
                CancellationReason::Skipped => "The tool call was skipped",
                CancellationReason::ResultDenied => "The tool ran, but its result was denied",
            })),
            Some(
                ToolCall::Streaming(_)
                | ToolCall::PendingConfirmation(_)
                | ToolCall::Running(_)
                | ToolCall::AuthRequired(_)
                | ToolCall::PendingResultConfirmation(_)
                | ToolCall::Unknown(_),
            ) => None,
        }
    }

    /// Records that an agent completed a call itself, possibly without calling the gateway. Its
    /// result must not answer a later gateway call.
    pub(crate) fn mark_call_answered(&mut self, chat: &Uri, target: &ToolCallTarget) {
        self.tools.gateway_calls.answered.push(CallLocation {
            chat: chat.clone(),
            turn: target.turn_id.clone(),
            call: target.tool_call_id.clone(),
        });
        self.drop_answered_calls(chat);
    }

    /// Drops the answered calls of turns that have ended.
    fn drop_answered_calls(&mut self, chat: &Uri) {
        let running = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let running = running.map(|turn| turn.id.clone());
        let answered = &mut self.tools.gateway_calls.answered;
        answered.retain(|place| place.chat != *chat || Some(&place.turn) == running.as_ref());
    }

    /// Fails a call that the agent no longer waits for.
    pub(crate) fn handle_call_abandoned(
        &mut self,
        env: &Env,
        ticket: GatewayCallId,
        out: &mut Effects,
    ) {
        self.tools.gateway_calls.unannounced.remove(&ticket);
        let Some(place) = self.tools.gateway_calls.pending.remove(&ticket) else {
            return;
        };
        self.tools.gateway_calls.answered.push(place.clone());
        if self.call_result(&place).is_none() {
            let target = ToolCallTarget {
                turn_id: place.turn,
                tool_call_id: place.call,
                meta: None,
            };
            let message = "the agent abandoned the call".to_owned();
            self.fail_call(env, &place.chat, target, message, out);
        }
    }
}

pub(crate) fn tool_calls<'a>(
    parts: impl Iterator<Item = &'a ResponsePart>,
) -> impl Iterator<Item = (&'a ToolCall, &'a ToolCallHead)> {
    let calls = parts.filter_map(ResponsePart::as_tool_call);
    calls.filter_map(|call| Some((call, call.head()?)))
}

/// Returns `true` if a gateway call may still be matched with this tool call. Completed calls
/// count, because a client can be faster than the gateway.
fn is_open(call: &ToolCall) -> bool {
    match call {
        ToolCall::Streaming(_)
        | ToolCall::PendingConfirmation(_)
        | ToolCall::Running(_)
        | ToolCall::PendingResultConfirmation(_)
        | ToolCall::Completed(_) => true,
        ToolCall::AuthRequired(_) | ToolCall::Cancelled(_) | ToolCall::Unknown(_) => false,
    }
}

/// Returns `true` if an announced call has these arguments, compared as JSON. For a streaming
/// call, the part so far must be a prefix.
fn has_input(call: &ToolCall, input: &str) -> bool {
    let wrote = match call {
        ToolCall::Streaming(call) => call.partial_input.as_deref(),
        ToolCall::Running(call) => match &call.parameters.tool_input {
            Some(ToolInput::Inline(input)) => Some(input.as_str()),
            Some(ToolInput::Referenced(_)) | None => None,
        },
        ToolCall::PendingConfirmation(_)
        | ToolCall::AuthRequired(_)
        | ToolCall::PendingResultConfirmation(_)
        | ToolCall::Completed(_)
        | ToolCall::Cancelled(_)
        | ToolCall::Unknown(_) => None,
    };
    let Some(wrote) = wrote else {
        return false;
    };
    let read = |text: &str| wire::from_str::<Json>(text).ok();
    match (read(wrote), read(input)) {
        (Some(wrote), Some(input)) => wrote == input,
        (None, Some(input)) => input.to_string().starts_with(wrote),
        (_, None) => wrote == input,
    }
}

fn display_title(tool: &ClientTool) -> String {
    let title = tool.definition.title.as_ref();
    title.unwrap_or(&tool.definition.name).clone()
}

fn failed_result(message: &str) -> ToolCallResult {
    ToolCallResult {
        success: false,
        past_tense_message: MaybeMarkdown::Plain(message.to_owned()),
        content: None,
        structured_content: None,
        error: Some(Json::from_iter([("message", message)])),
    }
}

/// Fails a gateway call with a message.
pub(crate) fn reject_gateway_call(call: GatewayCallId, message: &str, out: &mut Effects) {
    complete_gateway_call(call, failed_result(message), out);
}

fn complete_gateway_call(call: GatewayCallId, result: ToolCallResult, out: &mut Effects) {
    let result = Box::new(result);
    out.push(Effect::Mcp(Box::new(McpCommand::CompleteCall {
        call,
        result,
    })));
}
