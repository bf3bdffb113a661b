//! Runs the steps.

use std::fmt;

use agenthost_protocol::action::{Action, ActionEnvelope, Rejection};
use agenthost_protocol::channel::{ChannelKind, ChannelState, Snapshot};
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::version::{Release, Version};
use agenthost_protocol::wire::{Json, Object};
use serde::Serialize;

use crate::document::{Call, Dispatch, Envelope};
use crate::graph::{GRAPH, Order, Place};
use crate::step::{Fate, Refused, Step};
use crate::steps;
use crate::world::Moment;

/// Actions that 1.0 has no more, with the release that brought them.
const GONE: &[(&str, Version)] = &[
    ("session/agentChanged", Version::new(0, 2, 0)),
    ("changeset/filesReviewedChanged", Version::new(0, 5, 2)),
];

/// Something of ours could not be written as JSON. It is a mistake of ours.
#[derive(Debug, thiserror::Error)]
#[error("could not be translated: {0}")]
pub struct Lost(#[from] serde_json::Error);

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let releases = self.steps.iter().map(|step| step.older());
        f.debug_list().entries(releases).finish()
    }
}

/// The way from 1.0 to a release, and back.
#[derive(Clone, Copy)]
pub struct Chain {
    /// Newest first.
    pub(crate) steps: &'static [&'static dyn Step],
}

impl Chain {
    /// The way to a release. To 1.0 there is nothing to do.
    pub fn to(release: Release) -> Self {
        let all = steps::ALL;
        let count = all
            .iter()
            .take_while(|step| step.older() >= release)
            .count();
        Chain {
            steps: all.get(..count).unwrap_or(all),
        }
    }

    /// Whether the release has snapshots of such channels.
    fn knows(&self, kind: ChannelKind) -> bool {
        self.steps.iter().all(|step| step.knows(kind))
    }

    /// Whether a client of the release can subscribe to such channels. There
    /// may be no snapshot all the same: then it hears only what happens.
    pub fn follows(&self, kind: ChannelKind) -> bool {
        self.steps.iter().all(|step| step.follows(kind))
    }

    /// Whether an action is the same in the release to the letter. Pieces of a
    /// stream are, since there are chats: they need not be taken down.
    pub fn passes(&self, action: &Action) -> bool {
        let older = self.steps.last().map(|step| step.older());
        let chats = older.is_none_or(|release| release.capabilities().chats);
        chats
            && match action {
                Action::Chat(ChatAction::Delta(_) | ChatAction::Reasoning(_))
                | Action::Terminal(TerminalAction::Data(_)) => true,
                // Up to 0.6 there was always some of it.
                Action::Chat(ChatAction::ToolCallDelta(delta)) => delta.content.is_some(),
                _ => false,
            }
    }

    /// Takes an action down: the actions that say the same, in order. The
    /// first of them has its origin.
    pub fn action(
        &self,
        at: &Moment<'_>,
        envelope: &ActionEnvelope,
    ) -> Result<Vec<Envelope>, Lost> {
        let mut actions = vec![(*envelope.action).clone()];
        for step in self.steps {
            let reword = |action| step.reword(at, action);
            actions = actions.into_iter().flat_map(reword).collect();
        }
        let mut origin = match &envelope.origin {
            Some(origin) => Some(serde_json::to_value(origin)?),
            None => None,
        };
        let mut all = Vec::new();
        for action in &actions {
            let envelope = Envelope {
                channel: Some(envelope.channel.to_string()),
                action: object(action)?,
                server_seq: envelope.server_seq.0,
                origin: origin.take(),
                rejection: None,
            };
            all.extend(self.envelope(at, envelope));
        }
        Ok(all)
    }

    /// Takes a refused action down that came as 1.0. One that a step made
    /// should be sent back as it came instead.
    pub fn rejection(&self, at: &Moment<'_>, rejection: &Rejection) -> Result<Vec<Envelope>, Lost> {
        let envelope = Envelope {
            channel: Some(rejection.channel.to_string()),
            action: object(&rejection.action)?,
            server_seq: rejection.server_seq.0,
            origin: Some(serde_json::to_value(&rejection.origin)?),
            rejection: Some(rejection.rejection_reason.clone()),
        };
        Ok(self.envelope(at, envelope))
    }

    fn envelope(&self, at: &Moment<'_>, envelope: Envelope) -> Vec<Envelope> {
        let mut envelopes = vec![envelope];
        for step in self.steps {
            let down = |mut envelope: Envelope| {
                let place = GRAPH.action(envelope.kind());
                parts(*step, at, place, &mut envelope.action);
                let origin = envelope.origin.clone();
                let mut down = step.action(at, envelope);
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
    pub fn snapshot(&self, at: &Moment<'_>, snapshot: &Snapshot) -> Result<Option<Json>, Lost> {
        let mut resource = snapshot.resource.to_string();
        let Some(state) = self.state(at, &mut resource, &snapshot.state)? else {
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
    pub fn state(
        &self,
        at: &Moment<'_>,
        resource: &mut String,
        state: &ChannelState,
    ) -> Result<Option<Object>, Lost> {
        let kind = state.kind();
        if !self.knows(kind) {
            return Ok(None);
        }
        let mut state = object(state)?;
        for step in self.steps {
            parts(*step, at, GRAPH.state(kind), &mut state);
            step.snapshot(at, kind, resource, &mut state);
        }
        Ok(Some(state))
    }

    /// Takes a part down that goes by a name of 1.0 (`Turn` …); `None` if the
    /// release has nothing like it.
    pub fn part<T: Serialize>(
        &self,
        at: &Moment<'_>,
        name: &str,
        part: &T,
    ) -> Result<Option<Object>, Lost> {
        let mut part = object(part)?;
        for step in self.steps {
            if parts(*step, at, GRAPH.named(name), &mut part) == Fate::Drop {
                return Ok(None);
            }
        }
        Ok(Some(part))
    }

    /// Takes the result of a request down. Snapshots and actions in it have
    /// to be down already.
    pub fn result(&self, at: &Moment<'_>, method: &str, mut result: Json) -> Json {
        for step in self.steps {
            if let Json::Object(result) = &mut result {
                parts(*step, at, GRAPH.result(method), result);
            }
            step.result(at, method, &mut result);
        }
        result
    }

    /// Takes a notification down, but for `action`.
    pub fn notification(&self, at: &Moment<'_>, call: Call) -> Vec<Call> {
        let mut calls = vec![call];
        for step in self.steps {
            let down = |mut call: Call| {
                parts(*step, at, GRAPH.params(&call.method), &mut call.params);
                step.notification(at, call)
            };
            calls = calls.into_iter().flat_map(down).collect();
        }
        calls
    }

    /// Takes a request of the host down.
    pub fn request(&self, at: &Moment<'_>, call: &mut Call) {
        for step in self.steps {
            parts(*step, at, GRAPH.params(&call.method), &mut call.params);
            step.request(at, call);
        }
    }

    /// Takes an error down.
    pub fn error(&self, code: &mut i64, data: &mut Option<Json>) {
        for step in self.steps {
            step.error(code, data);
        }
    }

    /// Takes a request or a notification up, but for `dispatchAction`. What
    /// has to be dispatched for the client once it has succeeded comes back.
    pub fn params(&self, at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        let mut after: Vec<Dispatch> = Vec::new();
        for step in self.steps.iter().rev() {
            for dispatch in &mut after {
                up(*step, at, dispatch)?;
            }
            after.extend(step.params(at, call)?);
            parts_up(*step, GRAPH.params(&call.method), &mut call.params);
        }
        Ok(after)
    }

    /// Takes a client's action up, if its version has it.
    pub fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        let release = at.viewer.release();
        let kind = dispatch.kind();
        let known = Action::table().map(|info| (info.name, info.since));
        let mut known = known.chain(GONE.iter().copied());
        if let Some((name, since)) = known.find(|(name, _)| *name == kind)
            && since > release.version()
        {
            return Err(Refused::Unknown(format!("AHP {release} has no `{name}`")));
        }
        for step in self.steps.iter().rev() {
            up(*step, at, dispatch)?;
        }
        Ok(())
    }

    /// Takes a client's answer to a request of the host up.
    pub fn response(&self, at: &Moment<'_>, method: &str, result: &mut Json) {
        for step in self.steps.iter().rev() {
            step.response(at, method, result);
            if let Json::Object(result) = result {
                parts_up(*step, GRAPH.result(method), result);
            }
        }
    }
}

fn up(step: &dyn Step, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
    step.dispatch(at, dispatch)?;
    let place = GRAPH.action(dispatch.kind());
    parts_up(step, place, &mut dispatch.action);
    Ok(())
}

/// Takes the parts of an object at a place down by one step; what becomes of
/// the object itself is what is returned.
pub(crate) fn parts(
    step: &dyn Step,
    at: &Moment<'_>,
    place: Option<Place>,
    object: &mut Object,
) -> Fate {
    let Some(place) = place else {
        return Fate::Keep;
    };
    let mut visit = |name, part: &mut Object| step.part(at, name, part);
    GRAPH.walk(place, object, Order::InnermostFirst, &mut visit)
}

fn parts_up(step: &dyn Step, place: Option<Place>, object: &mut Object) {
    let Some(place) = place else {
        return;
    };
    let mut visit = |name, part: &mut Object| step.part_up(name, part);
    GRAPH.walk(place, object, Order::OutermostFirst, &mut visit);
}

/// The JSON of something that is an object.
fn object(value: &impl Serialize) -> Result<Object, Lost> {
    match serde_json::to_value(value)? {
        Json::Object(object) => Ok(object),
        _ => Err(Lost(serde::ser::Error::custom("not an object"))),
    }
}
