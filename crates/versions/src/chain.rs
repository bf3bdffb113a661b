//! Runs the version steps between 1.0 and a release.

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

/// Actions that 1.0 has removed, with the version that introduced them.
const REMOVED_ACTIONS: &[(&str, Version)] = &[
    ("session/agentChanged", Version::new(0, 2, 0)),
    ("changeset/filesReviewedChanged", Version::new(0, 5, 2)),
];

/// The error of a value that can't be serialized to JSON. It is a bug in the host.
#[derive(Debug, thiserror::Error)]
#[error("could not be translated: {0}")]
pub struct TranslationError(#[from] serde_json::Error);

impl fmt::Debug for VersionChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases = self.steps.iter().map(|step| step.older_release());
        f.debug_list().entries(releases).finish()
    }
}

/// The version steps between 1.0 and a release, for both directions.
#[derive(Clone, Copy)]
pub struct VersionChain {
    /// Steps, latest release first.
    pub(crate) steps: &'static [&'static dyn VersionStep],
}

impl VersionChain {
    /// Returns the steps for a release; for 1.0 there are none.
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

    /// Returns `true` if the release has snapshots of this kind of channel.
    fn has_snapshots(&self, kind: ChannelKind) -> bool {
        self.steps.iter().all(|step| step.has_snapshots(kind))
    }

    /// Returns `true` if a client of the release can subscribe to this kind of channel. The
    /// release may have no snapshots of it; then the client receives only its actions.
    pub fn can_subscribe(&self, kind: ChannelKind) -> bool {
        self.steps.iter().all(|step| step.can_subscribe(kind))
    }

    /// Returns `true` if the release encodes the action identically, so that no downgrade is
    /// necessary. Applies to stream deltas in all releases that have chats.
    pub fn is_passthrough(&self, action: &Action) -> bool {
        let older = self.steps.last().map(|step| step.older_release());
        let chats = older.is_none_or(|release| release.capabilities().chats);
        // Up to 0.6 `content` was required.
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

    /// Downgrades an action to the equivalent actions, in order. The first one carries the
    /// origin.
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

    /// Downgrades a rejected action that was received as 1.0. If a step upgraded the action,
    /// send back the original action instead.
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

    /// Downgrades a snapshot; returns `None` if the release has no snapshots of this kind.
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

    /// Downgrades the state of a channel; returns `None` if the release has no snapshots of
    /// this kind.
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

    /// Downgrades a part with the given 1.0 type name (`Turn` …); returns `None` if the release
    /// has no equivalent.
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

    /// Downgrades the result of a request. Snapshots and actions in it must already be
    /// downgraded.
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

    /// Downgrades a notification other than `action`.
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

    /// Downgrades a request of the host to a client.
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

    /// Downgrades the code and data of an error response.
    pub fn downgrade_error(&self, code: &mut i64, data: &mut Option<Json>) {
        for step in self.steps {
            step.downgrade_error(code, data);
        }
    }

    /// Upgrades a request, or a notification other than `dispatchAction`. Returns the actions
    /// to dispatch on behalf of the client after the request has succeeded.
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

    /// Upgrades an action dispatched by a client; fails if the client's version does not define
    /// it.
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

    /// Upgrades the response of a client to a request of the host.
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

/// Downgrades the parts of an object at a node of the graph by one step. Returns the fate of
/// the object itself.
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

/// Serializes a value that must be a JSON object.
fn to_object(value: &impl Serialize) -> Result<Object, TranslationError> {
    let Json::Object(object) = serde_json::to_value(value)? else {
        return Err(TranslationError(serde::ser::Error::custom("not an object")));
    };
    Ok(object)
}
