//! Reducers of the automation catalogue and of automation runs.

use std::sync::Arc;

use super::actions::{AutomationRunAction, AutomationsAction};
use super::run::AutomationRunState;
use super::state::AutomationsState;
use crate::outcome::Outcome;

impl AutomationsState {
    /// Applies an action to the catalogue. A create or update request changes nothing: the host
    /// publishes its result with `automation/set`.
    pub fn reduce(&mut self, action: &AutomationsAction) -> Outcome {
        match action {
            AutomationsAction::CreateRequested(_) | AutomationsAction::UpdateRequested(_) => {
                Outcome::NoOp
            }
            AutomationsAction::Set(action) => {
                let resource = &action.automation.resource;
                self.entries
                    .upsert(Arc::clone(&action.automation), |entry| {
                        entry.resource == *resource
                    });
                Outcome::Applied
            }
            AutomationsAction::Removed(action) => {
                let Some(index) = self.entries.find(|entry| entry.resource == action.resource)
                else {
                    return Outcome::NoOp;
                };
                self.entries.remove(index);
                Outcome::Applied
            }
        }
    }
}

impl AutomationRunState {
    /// Applies an action to the run. A cancel request changes nothing: the host publishes the
    /// outcome later.
    pub fn reduce(&mut self, action: &AutomationRunAction) -> Outcome {
        match action {
            AutomationRunAction::LifecycleChanged(action) => {
                self.lifecycle = action.lifecycle.clone();
                Outcome::Applied
            }
            AutomationRunAction::SessionSet(action) => {
                if self.sessions.contains(&action.session) {
                    return Outcome::NoOp;
                }
                self.sessions.push(action.session.clone());
                Outcome::Applied
            }
            AutomationRunAction::SessionRemoved(action) => {
                let mut sessions = self.sessions.iter();
                let Some(index) = sessions.position(|session| *session == action.session) else {
                    return Outcome::NoOp;
                };
                self.sessions.remove(index);
                self.primary_session
                    .take_if(|session| *session == action.session);
                Outcome::Applied
            }
            AutomationRunAction::PrimarySessionChanged(action) => {
                self.primary_session.clone_from(&action.primary_session);
                Outcome::Applied
            }
            AutomationRunAction::CancelRequested(_) => Outcome::NoOp,
        }
    }
}
