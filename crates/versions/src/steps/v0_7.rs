//! 0.8 ↔ 0.7: customizations that are on or off for a session, a workspace or
//! everywhere, directories that take the place of another.
//!
//! Lost: which of the decisions about a customization made it be on or off,
//! and the tools that a session waits for other clients to run.

mod up;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::ids::InputNeededId;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{
    InputNeededRemoved, SessionAction, SessionInputRequest, SessionWorkingDirectoryRemoved,
    SessionWorkingDirectorySet,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{carry, remove, set, take_object, text};
use crate::rows::Row;
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_7
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        match (at.before, &action) {
            (Some(before), Action::Session(SessionAction::WorkingDirectoryReplaced(_))) => {
                list_anew(before, &action)
            }
            (before, Action::Session(SessionAction::InputNeededSet(set)))
                if !is_shown(at, &set.request) =>
            {
                take_back(at, before, &set.request)
            }
            (Some(before), Action::Session(SessionAction::InputNeededRemoved(removed)))
                if waiting_for(before, removed.id.as_str()).is_some_and(|it| !is_shown(at, it)) =>
            {
                Vec::new()
            }
            _ => vec![action],
        }
    }

    fn part(&self, at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "Customization" | "ChildCustomization" if can_be_off(part) => decide(part),
            "CustomizationToggled" => decide(part),
            "ClientPluginCustomization" => {
                decide(part);
                remove(part, &["childEnablement"]);
            }
            "AuthRequiredParams" => {
                if let Some(mut resource) = take_object(part, "resource") {
                    carry(&mut resource, part, "resource");
                }
            }
            "MultipleWorkingDirectoriesCapability" => remove(part, &["primaryReplacement"]),
            "SessionInputRequest" if is_for_another(at, part) => return Fate::Drop,
            "SessionState" => wait_for_client(part),
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, _at: &Moment<'_>, envelope: Envelope) -> Vec<Envelope> {
        if envelope.kind() == "session/workingDirectoryReplaced" {
            return Vec::new();
        }
        vec![envelope]
    }

    fn request(&self, _at: &Moment<'_>, call: &mut Call) {
        remove(&mut call.params, &["_meta"]);
    }

    fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        if dispatch.kind() == "session/customizationToggled" {
            up::toggle(at, dispatch);
        }
        Ok(())
    }

    fn part_up(&self, name: &'static str, part: &mut Object) -> Fate {
        let decides = match name {
            "ClientPluginCustomization" => true,
            "ChildCustomization" => text(part, "type") == Some("mcpServer"),
            _ => false,
        };
        if decides {
            up::decide_everywhere(part);
        }
        Fate::Keep
    }

    fn lift(&self, _row: &Row<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "CustomizationToggled" => up::decide_for_session(name, part),
            "Customization" | "ChildCustomization" if can_be_off(part) => {
                up::decide_for_session(name, part);
            }
            "ClientPluginCustomization" => up::decide_everywhere(part),
            _ => {}
        }
        Fate::Keep
    }
}

/// Whether it is something that decisions are made about.
fn can_be_off(part: &Object) -> bool {
    matches!(text(part, "type"), Some("plugin" | "mcpServer"))
}

/// The first decision is the one that counts; without any it is on.
fn decide(part: &mut Object) {
    let decisions = part.shift_remove("enablement");
    let first = decisions.as_ref().and_then(|list| list.get(0));
    let enabled = first.is_none_or(|first| first.get("enabled") == Some(&Json::Bool(true)));
    set(part, "enabled", enabled);
}

/// Up to 0.7 whatever a session waits for is a question to whoever sees it. A
/// tool that another client runs is none.
fn is_shown(at: &Moment<'_>, request: &SessionInputRequest) -> bool {
    match request {
        SessionInputRequest::ToolClientExecution(tool) => tool.client_id == *at.viewer.client(),
        SessionInputRequest::ChatInput(_)
        | SessionInputRequest::ToolConfirmation(_)
        | SessionInputRequest::ToolAuthentication(_)
        | SessionInputRequest::Unknown(_) => true,
    }
}

/// The same, of one that is on its way down.
fn is_for_another(at: &Moment<'_>, request: &Object) -> bool {
    text(request, "kind") == Some("toolClientExecution")
        && text(request, "clientId") != Some(at.viewer.client().as_str())
}

/// What is not shown may come in place of something that was.
fn take_back(
    at: &Moment<'_>,
    before: Option<&ChannelState>,
    request: &SessionInputRequest,
) -> Vec<Action> {
    let Some((before, key)) = before.zip(request.key()) else {
        return Vec::new();
    };
    if !waiting_for(before, key).is_some_and(|old| is_shown(at, old)) {
        return Vec::new();
    }
    let id = InputNeededId::from(key);
    let removed = SessionAction::InputNeededRemoved(InputNeededRemoved { id });
    vec![Action::Session(removed)]
}

/// What a session waits for by a name.
fn waiting_for<'a>(session: &'a ChannelState, key: &str) -> Option<&'a SessionInputRequest> {
    let ChannelState::Session(session) = session else {
        return None;
    };
    let mut waiting = session.input_needed.as_ref()?.items();
    waiting.find(|request| request.key() == Some(key))
}

/// A client of 0.7 takes a tool that it is to run for input that is needed:
/// what it is told first says so as well.
fn wait_for_client(session: &mut Object) {
    let waiting = session.get("inputNeeded").and_then(Json::as_array);
    if waiting.is_some_and(Vec::is_empty) {
        // What it waits for is not shown: it waits for nothing.
        session.shift_remove("inputNeeded");
        return;
    }
    let runs_tool = waiting.into_iter().flatten().any(|request| {
        let kind = request.get("kind").and_then(Json::as_str);
        kind == Some("toolClientExecution")
    });
    let bits = session.get("status").and_then(Json::as_u64);
    let bits = bits.and_then(|bits| u32::try_from(bits).ok());
    if let (true, Some(bits)) = (runs_tool, bits) {
        let status = SessionStatus::from_bits(bits).with_activity(SessionStatus::INPUT_NEEDED);
        set(session, "status", status.bits());
    }
}

/// Directories come and go only at the end of the list: from the first that
/// is another on, all go, and come as they are now.
fn list_anew(before: &ChannelState, action: &Action) -> Vec<Action> {
    let mut after = before.clone();
    if !matches!(after.reduce(action), Outcome::Applied) {
        return Vec::new();
    }
    let (before, after) = (directories(before), directories(&after));
    let mut both = before.iter().zip(after);
    let same = both.position(|(old, new)| old != new);
    let same = same.unwrap_or(before.len().min(after.len()));
    let gone = before.iter().skip(same).map(|directory| {
        let directory = directory.clone();
        SessionAction::WorkingDirectoryRemoved(SessionWorkingDirectoryRemoved { directory })
    });
    let come = after.iter().skip(same).map(|directory| {
        let directory = directory.clone();
        SessionAction::WorkingDirectorySet(SessionWorkingDirectorySet { directory })
    });
    gone.chain(come).map(Action::Session).collect()
}

fn directories(state: &ChannelState) -> &[Uri] {
    match state {
        ChannelState::Session(session) => {
            let directories = session.metadata.working_directories.as_deref();
            directories.unwrap_or_default()
        }
        _ => &[],
    }
}
