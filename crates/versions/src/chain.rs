//! Runs the steps.

use std::fmt;

use agenthost_protocol::action::{Action, ActionEnvelope, Rejection};
use agenthost_protocol::channel::{ChannelKind, ChannelState, Snapshot};
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::version::{Release, Version};
use agenthost_protocol::wire::{Json, Object};
use serde::Serialize;

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::graph::{NodeId, PART_GRAPH, WalkOrder};
use crate::state_source::TranslationContext;
use crate::step::{PartFate, UpgradeRefusal, VersionStep};
use crate::steps;

/// Actions that 1.0 has no more, with the release that brought them.
const REMOVED_ACTIONS: &[(&str, Version)] = &[
    ("session/agentChanged", Version::new(0, 2, 0)),
    ("changeset/filesReviewedChanged", Version::new(0, 5, 2)),
];

/// Something of ours could not be written as JSON. It is a mistake of ours.
#[derive(Debug, thiserror::Error)]
#[error("could not be translated: {0}")]
pub struct TranslationError(#[from] serde_json::Error);

impl fmt::Debug for VersionChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases = self.steps.iter().map(|step| step.older_release());
        f.debug_list().entries(releases).finish()
    }
}

/// The way from 1.0 to a release, and back.
#[derive(Clone, Copy)]
pub struct VersionChain {
    /// Newest first.
    pub(crate) steps: &'static [&'static dyn VersionStep],
}

impl VersionChain {
    /// The way to a release. To 1.0 there is nothing to do.
    pub fn for_release(release: Release) -> Self {
        let all = steps::ALL_STEPS;
        let count = all
            .iter()
            .take_while(|step| step.older_release() >= release)
            .count();
        VersionChain {
            steps: all.get(..count).unwrap_or(all),
        }
    }

    /// Whether the release has snapshots of such channels.
    fn has_snapshots(&self, kind: ChannelKind) -> bool {
        self.steps.iter().all(|step| step.has_snapshots(kind))
    }

    /// Whether a client of the release can subscribe to such channels. There
    /// may be no snapshot all the same: then it hears only what happens.
    pub fn can_subscribe(&self, kind: ChannelKind) -> bool {
        self.steps.iter().all(|step| step.can_subscribe(kind))
    }

    /// Whether an action is the same in the release to the letter. Pieces of a
    /// stream are, since there are chats: they need not be taken down.
    pub fn is_passthrough(&self, action: &Action) -> bool {
        let older = self.steps.last().map(|step| step.older_release());
        let chats = older.is_none_or(|release| release.capabilities().chats);
        // Up to 0.6 there was always some of the arguments.
        chats
            && (matches!(
                action,
                Action::Chat(ChatAction::Delta(_) | ChatAction::Reasoning(_))
                    | Action::Terminal(TerminalAction::Data(_))
            ) || matches!(
                action,
                Action::Chat(ChatAction::ToolCallDelta(delta)) if delta.content.is_some()
            ))
    }

    /// Takes an action down: the actions that say the same, in order. The
    /// first of them has its origin.
    pub fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        envelope: &ActionEnvelope,
    ) -> Result<Vec<JsonEnvelope>, TranslationError> {
        let mut actions = vec![(*envelope.action).clone()];
        for step in self.steps {
            let reword = |action| step.rewrite(context, action);
            actions = actions.into_iter().flat_map(reword).collect();
        }
        let mut origin = match &envelope.origin {
            Some(origin) => Some(serde_json::to_value(origin)?),
            None => None,
        };
        let mut all = Vec::new();
        for action in &actions {
            let envelope = JsonEnvelope {
                channel: Some(envelope.channel.to_string()),
                action: to_object(action)?,
                server_seq: envelope.server_seq.0,
                origin: origin.take(),
                rejection_reason: None,
            };
            all.extend(self.downgrade_envelope(context, envelope));
        }
        Ok(all)
    }

    /// Takes a refused action down that came as 1.0. One that a step made
    /// should be sent back as it came instead.
    pub fn downgrade_rejection(
        &self,
        context: &TranslationContext<'_>,
        rejection: &Rejection,
    ) -> Result<Vec<JsonEnvelope>, TranslationError> {
        let envelope = JsonEnvelope {
            channel: Some(rejection.channel.to_string()),
            action: to_object(&rejection.action)?,
            server_seq: rejection.server_seq.0,
            origin: Some(serde_json::to_value(&rejection.origin)?),
            rejection_reason: Some(rejection.rejection_reason.clone()),
        };
        Ok(self.downgrade_envelope(context, envelope))
    }

    fn downgrade_envelope(
        &self,
        context: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        let mut envelopes = vec![envelope];
        for step in self.steps {
            let down = |mut envelope: JsonEnvelope| {
                let place = PART_GRAPH.action_node(envelope.action_type());
                downgrade_parts(*step, context, place, &mut envelope.action);
                let origin = envelope.origin.clone();
                let mut down = step.downgrade_action(context, envelope);
                if let Some(first) = down.first_mut() {
                    first.origin = origin;
                }
                down
            };
            envelopes = envelopes.into_iter().flat_map(down).collect();
        }
        envelopes
    }

    /// Takes a snapshot down; `None` if the release has none of its kind.
    pub fn downgrade_snapshot(
        &self,
        context: &TranslationContext<'_>,
        snapshot: &Snapshot,
    ) -> Result<Option<Json>, TranslationError> {
        let mut resource = snapshot.resource.to_string();
        let Some(state) = self.downgrade_state(context, &mut resource, &snapshot.state)? else {
            return Ok(None);
        };
        let mut json = Object::new();
        json.insert("resource".to_owned(), Json::String(resource));
        json.insert("state".to_owned(), Json::Object(state));
        json.insert("fromSeq".to_owned(), snapshot.from_seq.0.into());
        Ok(Some(Json::Object(json)))
    }

    /// Takes the state of a channel down; `None` if the release has none of
    /// its kind.
    pub fn downgrade_state(
        &self,
        context: &TranslationContext<'_>,
        resource: &mut String,
        state: &ChannelState,
    ) -> Result<Option<Object>, TranslationError> {
        let kind = state.kind();
        if !self.has_snapshots(kind) {
            return Ok(None);
        }
        let mut state = to_object(state)?;
        for step in self.steps {
            downgrade_parts(*step, context, PART_GRAPH.state_node(kind), &mut state);
            step.downgrade_state(context, kind, resource, &mut state);
        }
        Ok(Some(state))
    }

    /// Takes a part down that goes by a name of 1.0 (`Turn` …); `None` if the
    /// release has nothing like it.
    pub fn downgrade_part<T: Serialize>(
        &self,
        context: &TranslationContext<'_>,
        name: &str,
        part: &T,
    ) -> Result<Option<Object>, TranslationError> {
        let mut part = to_object(part)?;
        for step in self.steps {
            if downgrade_parts(*step, context, PART_GRAPH.named_node(name), &mut part)
                == PartFate::Drop
            {
                return Ok(None);
            }
        }
        Ok(Some(part))
    }

    /// Takes the result of a request down. Snapshots and actions in it have
    /// to be down already.
    pub fn downgrade_result(
        &self,
        context: &TranslationContext<'_>,
        method: &str,
        mut result: Json,
    ) -> Json {
        for step in self.steps {
            if let Json::Object(result) = &mut result {
                downgrade_parts(*step, context, PART_GRAPH.result_node(method), result);
            }
            step.downgrade_result(context, method, &mut result);
        }
        result
    }

    /// Takes a notification down, but for `action`.
    pub fn downgrade_notification(
        &self,
        context: &TranslationContext<'_>,
        call: JsonCall,
    ) -> Vec<JsonCall> {
        let mut calls = vec![call];
        for step in self.steps {
            let down = |mut call: JsonCall| {
                downgrade_parts(
                    *step,
                    context,
                    PART_GRAPH.params_node(&call.method),
                    &mut call.params,
                );
                step.downgrade_notification(context, call)
            };
            calls = calls.into_iter().flat_map(down).collect();
        }
        calls
    }

    /// Takes a request of the host down.
    pub fn downgrade_request(&self, context: &TranslationContext<'_>, call: &mut JsonCall) {
        for step in self.steps {
            downgrade_parts(
                *step,
                context,
                PART_GRAPH.params_node(&call.method),
                &mut call.params,
            );
            step.downgrade_request(context, call);
        }
    }

    /// Takes an error down.
    pub fn downgrade_error(&self, code: &mut i64, data: &mut Option<Json>) {
        for step in self.steps {
            step.downgrade_error(code, data);
        }
    }

    /// Takes a request or a notification up, but for `dispatchAction`. What
    /// has to be dispatched for the client once it has succeeded comes back.
    pub fn upgrade_params(
        &self,
        context: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        let mut after: Vec<JsonDispatch> = Vec::new();
        for step in self.steps.iter().rev() {
            for dispatch in &mut after {
                upgrade_by_step(*step, context, dispatch)?;
            }
            after.extend(step.upgrade_params(context, call)?);
            upgrade_parts(
                *step,
                PART_GRAPH.params_node(&call.method),
                &mut call.params,
            );
        }
        Ok(after)
    }

    /// Takes a client's action up, if its version has it.
    pub fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        let release = context.client.release();
        let kind = dispatch.action_type();
        let known = Action::table().map(|info| (info.name, info.since));
        let mut known = known.chain(REMOVED_ACTIONS.iter().copied());
        if let Some((name, since)) = known.find(|(name, _)| *name == kind)
            && since > release.version()
        {
            return Err(UpgradeRefusal::Unknown(format!(
                "AHP {release} has no `{name}`"
            )));
        }
        for step in self.steps.iter().rev() {
            upgrade_by_step(*step, context, dispatch)?;
        }
        Ok(())
    }

    /// Takes a client's answer to a request of the host up.
    pub fn upgrade_response(
        &self,
        context: &TranslationContext<'_>,
        method: &str,
        result: &mut Json,
    ) {
        for step in self.steps.iter().rev() {
            step.upgrade_response(context, method, result);
            if let Json::Object(result) = result {
                upgrade_parts(*step, PART_GRAPH.result_node(method), result);
            }
        }
    }
}

fn upgrade_by_step(
    step: &dyn VersionStep,
    context: &TranslationContext<'_>,
    dispatch: &mut JsonDispatch,
) -> Result<(), UpgradeRefusal> {
    step.upgrade_dispatch(context, dispatch)?;
    let place = PART_GRAPH.action_node(dispatch.action_type());
    upgrade_parts(step, place, &mut dispatch.action);
    Ok(())
}

/// Takes the parts of an object at a place down by one step; what becomes of
/// the object itself is what is returned.
pub(crate) fn downgrade_parts(
    step: &dyn VersionStep,
    context: &TranslationContext<'_>,
    place: Option<NodeId>,
    object: &mut Object,
) -> PartFate {
    let Some(place) = place else {
        return PartFate::Keep;
    };
    let mut visit = |name, part: &mut Object| step.downgrade_part(context, name, part);
    PART_GRAPH.walk(place, object, WalkOrder::InnermostFirst, &mut visit)
}

fn upgrade_parts(step: &dyn VersionStep, place: Option<NodeId>, object: &mut Object) {
    let Some(place) = place else {
        return;
    };
    let mut visit = |name, part: &mut Object| step.upgrade_part(name, part);
    PART_GRAPH.walk(place, object, WalkOrder::OutermostFirst, &mut visit);
}

/// The JSON of something that is an object.
fn to_object(value: &impl Serialize) -> Result<Object, TranslationError> {
    let Json::Object(object) = serde_json::to_value(value)? else {
        return Err(TranslationError(serde::ser::Error::custom("not an object")));
    };
    Ok(object)
}
