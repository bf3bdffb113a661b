//! Reducer functions for tool calls.
//!
//! Each transition takes the current call and returns either an advanced call or the unchanged
//! one. A transition that is illegal in the current status leaves the call unchanged.

use crate::chat::actions::{
    ToolCallAuthNeeded, ToolCallAuthResolved, ToolCallComplete, ToolCallConfirmed,
    ToolCallContentChanged, ToolCallDelta, ToolCallReady, ToolCallResultConfirmed, ToolCallStart,
    ToolCallTarget,
};
use crate::chat::response::{ResponsePart, ToolCallPart};
use crate::chat::state::ChatState;
use crate::chat::tool_call::{
    CancellationReason, ConfirmationReason, ToolCall, ToolCallApproval, ToolCallAuthRequired,
    ToolCallCancelled, ToolCallCompleted, ToolCallContributor, ToolCallHead, ToolCallParameters,
    ToolCallPendingConfirmation, ToolCallPendingResultConfirmation, ToolCallQuestion,
    ToolCallRunning, ToolCallStreaming, ToolInput,
};
use crate::outcome::Outcome;
use crate::wire::Unknown;

/// The result of a transition: advanced if it was legal in the current status.
enum CallTransition {
    Advanced(ToolCall),
    Unchanged(ToolCall),
}

impl ChatState {
    pub(super) fn start_call(&mut self, action: &ToolCallStart) -> Outcome {
        let Some(active) = self.active(&action.target.turn_id) else {
            return Outcome::NoOp;
        };
        let call = ToolCall::Streaming(ToolCallStreaming {
            head: ToolCallHead {
                tool_call_id: action.target.tool_call_id.clone(),
                tool_name: action.tool_name.clone(),
                display_name: action.display_name.clone(),
                intention: action.intention.clone(),
                contributor: action.contributor.clone(),
                meta: action.target.meta.clone(),
            },
            partial_input: None,
            invocation_message: None,
        });
        active.response_parts.push(call_part(call));
        Outcome::Applied
    }

    pub(super) fn extend_call(&mut self, action: &ToolCallDelta) -> Outcome {
        self.step(&action.target, |call| call.extend(action))
            .map_or(Outcome::NoOp, Outcome::applied_if)
    }

    pub(super) fn change_call_content(&mut self, action: &ToolCallContentChanged) -> Outcome {
        self.step(&action.target, |call| call.change_content(action))
            .map_or(Outcome::NoOp, Outcome::applied_if)
    }

    pub(super) fn ready_call(&mut self, action: &ToolCallReady) -> Outcome {
        self.step_and_refresh(&action.target, |call| call.ready(action))
    }

    pub(super) fn confirm_call(&mut self, action: &ToolCallConfirmed) -> Outcome {
        self.step_and_refresh(&action.target, |call| call.confirm(action))
    }

    pub(super) fn complete_call(&mut self, action: &ToolCallComplete) -> Outcome {
        self.step_and_refresh(&action.target, |call| call.complete(action))
    }

    pub(super) fn confirm_result(&mut self, action: &ToolCallResultConfirmed) -> Outcome {
        self.step_and_refresh(&action.target, |call| call.confirm_result(action))
    }

    pub(super) fn require_auth(&mut self, action: &ToolCallAuthNeeded) -> Outcome {
        self.step_and_refresh(&action.target, |call| call.require_auth(action))
    }

    pub(super) fn resolve_auth(&mut self, action: &ToolCallAuthResolved) -> Outcome {
        self.step_and_refresh(&action.target, ToolCall::resolve_auth)
    }

    /// Applies a transition to a call. Returns `None` if the call does not exist, otherwise
    /// `Some(true)` if the call advanced.
    fn step(
        &mut self,
        target: &ToolCallTarget,
        step: impl FnOnce(ToolCall) -> CallTransition,
    ) -> Option<bool> {
        let parts = &mut self.active(&target.turn_id)?.response_parts;
        let index = parts.position_of_call(target.tool_call_id.as_str())?;
        parts.change(index, |part| {
            let ResponsePart::ToolCall(part) = part else {
                return false;
            };
            let call =
                std::mem::replace(&mut part.tool_call, ToolCall::Unknown(Unknown::default()));
            let (mut call, stepped) = match step(call) {
                CallTransition::Advanced(call) => (call, true),
                CallTransition::Unchanged(call) => (call, false),
            };
            if stepped && let (Some(head), Some(meta)) = (call.head_mut(), &target.meta) {
                head.meta = Some(meta.clone());
            }
            part.tool_call = call;
            stepped
        })
    }

    /// Applies a transition that can start or end a wait for the user. Derives the activity
    /// even if the transition was illegal: clients do so, too, and a part that was added by
    /// `chat/responsePart` has not been counted yet.
    fn step_and_refresh(
        &mut self,
        target: &ToolCallTarget,
        step: impl FnOnce(ToolCall) -> CallTransition,
    ) -> Outcome {
        let Some(stepped) = self.step(target, step) else {
            return Outcome::NoOp;
        };
        let before = self.summary.status;
        self.refresh_activity();
        Outcome::applied_if(stepped || self.summary.status != before)
    }
}

impl ToolCall {
    fn head_mut(&mut self) -> Option<&mut ToolCallHead> {
        match self {
            ToolCall::Streaming(call) => Some(&mut call.head),
            ToolCall::PendingConfirmation(call) => Some(&mut call.head),
            ToolCall::Running(call) => Some(&mut call.head),
            ToolCall::AuthRequired(call) => Some(&mut call.head),
            ToolCall::PendingResultConfirmation(call) => Some(&mut call.head),
            ToolCall::Completed(call) => Some(&mut call.head),
            ToolCall::Cancelled(call) => Some(&mut call.head),
            ToolCall::Unknown(_) => None,
        }
    }

    fn extend(self, action: &ToolCallDelta) -> CallTransition {
        let ToolCall::Streaming(mut call) = self else {
            return CallTransition::Unchanged(self);
        };
        if let Some(content) = &action.content {
            call.partial_input.get_or_insert_default().push_str(content);
        }
        if let Some(message) = &action.invocation_message {
            call.invocation_message = Some(message.clone());
        }
        CallTransition::Advanced(ToolCall::Streaming(call))
    }

    fn change_content(self, action: &ToolCallContentChanged) -> CallTransition {
        let ToolCall::Running(mut call) = self else {
            return CallTransition::Unchanged(self);
        };
        call.content = Some(action.content.clone());
        CallTransition::Advanced(ToolCall::Running(call))
    }

    /// Moves a call from streaming, running or pending confirmation: to running if `confirmed`
    /// is present, otherwise to pending confirmation. The dialog data of a pending call is
    /// retained where the action has none (TOO-6); the content of a running call is dropped
    /// (TOO-8).
    fn ready(self, action: &ToolCallReady) -> CallTransition {
        let (mut head, input, asked) = match self {
            ToolCall::Streaming(call) => (call.head, None, ToolCallQuestion::default()),
            ToolCall::Running(call) => {
                let asked = ToolCallQuestion::default();
                (call.head, call.parameters.tool_input, asked)
            }
            ToolCall::PendingConfirmation(call) => {
                (call.head, call.parameters.tool_input, call.question)
            }
            ToolCall::AuthRequired(_)
            | ToolCall::PendingResultConfirmation(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => return CallTransition::Unchanged(self),
        };
        if let Some(intention) = &action.intention {
            head.intention = Some(intention.clone());
        }
        head.contributor = refine_contributor(head.contributor, action.contributor.as_ref());
        let parameters = ToolCallParameters {
            invocation_message: action.invocation_message.clone(),
            tool_input: action.tool_input.clone().or(input),
        };
        if let Some(confirmed) = &action.confirmed {
            return CallTransition::Advanced(ToolCall::Running(ToolCallRunning {
                head,
                parameters,
                approval: ToolCallApproval {
                    confirmed: confirmed.clone(),
                    selected_option: None,
                },
                content: None,
            }));
        }
        CallTransition::Advanced(ToolCall::PendingConfirmation(ToolCallPendingConfirmation {
            head,
            parameters,
            question: action.question.clone().or(asked),
        }))
    }

    /// Moves a call from pending confirmation to running or cancelled.
    fn confirm(self, action: &ToolCallConfirmed) -> CallTransition {
        let ToolCall::PendingConfirmation(call) = self else {
            return CallTransition::Unchanged(self);
        };
        let selected_option = action.selected_option_id.as_ref().and_then(|id| {
            let mut options = call.question.options.iter().flatten();
            options.find(|option| option.id == *id).cloned()
        });
        let (head, mut parameters) = (call.head, call.parameters);
        if !action.approved {
            return CallTransition::Advanced(ToolCall::Cancelled(ToolCallCancelled {
                head,
                parameters,
                reason: action.reason.unwrap_or(CancellationReason::Denied),
                reason_message: action.reason_message.clone(),
                user_suggestion: action.user_suggestion.clone(),
                selected_option,
            }));
        }
        // The host rewrites referenced input in place before it publishes the confirmation.
        if let (Some(edited), Some(ToolInput::Inline(input))) =
            (&action.edited_tool_input, &mut parameters.tool_input)
        {
            input.clone_from(edited);
        }
        let confirmed = action.confirmed.clone();
        CallTransition::Advanced(ToolCall::Running(ToolCallRunning {
            head,
            parameters,
            approval: ToolCallApproval {
                // The action itself is a confirmation, so `user-action` is the default reason
                // (CRT-8).
                confirmed: confirmed.unwrap_or(ConfirmationReason::UserAction),
                selected_option,
            },
            content: None,
        }))
    }

    /// Moves a call from running or pending confirmation to completed or pending result
    /// confirmation. A call that requires authentication can only fail, and retains its content
    /// (TOO-21, TOO-22).
    fn complete(self, action: &ToolCallComplete) -> CallTransition {
        let mut result = action.result.clone();
        let mut review = action.requires_result_confirmation == Some(true);
        let (head, parameters, approval) = match self {
            ToolCall::Running(call) => (call.head, call.parameters, call.approval),
            ToolCall::PendingConfirmation(call) => {
                let approval = ToolCallApproval {
                    confirmed: ConfirmationReason::NotNeeded,
                    selected_option: None,
                };
                (call.head, call.parameters, approval)
            }
            ToolCall::AuthRequired(call) if !action.result.success => {
                review = false;
                result.content = result.content.or(call.content);
                (call.head, call.parameters, call.approval)
            }
            ToolCall::Streaming(_)
            | ToolCall::AuthRequired(_)
            | ToolCall::PendingResultConfirmation(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => return CallTransition::Unchanged(self),
        };
        CallTransition::Advanced(if review {
            ToolCall::PendingResultConfirmation(ToolCallPendingResultConfirmation {
                head,
                parameters,
                result,
                approval,
            })
        } else {
            ToolCall::Completed(ToolCallCompleted {
                head,
                parameters,
                result,
                approval,
            })
        })
    }

    /// Moves a call from pending result confirmation to completed or cancelled.
    fn confirm_result(self, action: &ToolCallResultConfirmed) -> CallTransition {
        let ToolCall::PendingResultConfirmation(call) = self else {
            return CallTransition::Unchanged(self);
        };
        CallTransition::Advanced(if action.approved {
            ToolCall::Completed(ToolCallCompleted {
                head: call.head,
                parameters: call.parameters,
                result: call.result,
                approval: call.approval,
            })
        } else {
            ToolCall::Cancelled(ToolCallCancelled {
                head: call.head,
                parameters: call.parameters,
                reason: CancellationReason::ResultDenied,
                reason_message: None,
                user_suggestion: None,
                selected_option: call.approval.selected_option,
            })
        })
    }

    /// Moves a call from running to authentication required; only for a call of an MCP server
    /// (TOO-18).
    fn require_auth(self, action: &ToolCallAuthNeeded) -> CallTransition {
        match self {
            ToolCall::Running(call)
                if matches!(call.head.contributor, Some(ToolCallContributor::Mcp(_))) =>
            {
                CallTransition::Advanced(ToolCall::AuthRequired(ToolCallAuthRequired {
                    head: call.head,
                    parameters: call.parameters,
                    approval: call.approval,
                    auth: action.auth.clone(),
                    content: call.content,
                }))
            }
            ToolCall::Streaming(_)
            | ToolCall::PendingConfirmation(_)
            | ToolCall::Running(_)
            | ToolCall::AuthRequired(_)
            | ToolCall::PendingResultConfirmation(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => CallTransition::Unchanged(self),
        }
    }

    /// Moves a call from authentication required back to running.
    fn resolve_auth(self) -> CallTransition {
        let ToolCall::AuthRequired(call) = self else {
            return CallTransition::Unchanged(self);
        };
        CallTransition::Advanced(ToolCall::Running(ToolCallRunning {
            head: call.head,
            parameters: call.parameters,
            approval: call.approval,
            content: call.content,
        }))
    }

    /// Returns the cancelled form of a call whose turn ends; `None` if the call has already
    /// ended. A status of a later protocol version is left unchanged.
    pub(super) fn skipped(&self) -> Option<ResponsePart> {
        let (head, parameters) = match self {
            ToolCall::Streaming(call) => (
                &call.head,
                ToolCallParameters {
                    invocation_message: call.invocation_message.clone().unwrap_or_default(),
                    tool_input: None,
                },
            ),
            ToolCall::PendingConfirmation(call) => (&call.head, call.parameters.clone()),
            ToolCall::Running(call) => (&call.head, call.parameters.clone()),
            ToolCall::AuthRequired(call) => (&call.head, call.parameters.clone()),
            ToolCall::PendingResultConfirmation(call) => (&call.head, call.parameters.clone()),
            ToolCall::Completed(_) | ToolCall::Cancelled(_) | ToolCall::Unknown(_) => return None,
        };
        Some(call_part(ToolCall::Cancelled(ToolCallCancelled {
            head: head.clone(),
            parameters,
            reason: CancellationReason::Skipped,
            reason_message: None,
            user_suggestion: None,
            selected_option: None,
        })))
    }
}

fn call_part(call: ToolCall) -> ResponsePart {
    ResponsePart::ToolCall(Box::new(ToolCallPart { tool_call: call }))
}

/// Returns the more precise contributor. A call is never transferred to a client or from one
/// (TOO-5).
fn refine_contributor(
    current: Option<ToolCallContributor>,
    next: Option<&ToolCallContributor>,
) -> Option<ToolCallContributor> {
    use ToolCallContributor::Client;
    match (&current, next) {
        (_, None) => current,
        (Some(Client(owner)), Some(Client(same))) if owner.client_id == same.client_id => {
            next.cloned()
        }
        (Some(Client(_)), Some(_)) | (_, Some(Client(_))) => current,
        (_, Some(_)) => next.cloned(),
    }
}
