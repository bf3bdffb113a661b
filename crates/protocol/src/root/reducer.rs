//! Reducer of the root channel.

use super::actions::RootAction;
use super::state::RootState;
use crate::common::change_config;
use crate::outcome::Outcome;

impl RootState {
    /// Applies an action to the root state.
    pub fn reduce(&mut self, action: &RootAction) -> Outcome {
        match action {
            RootAction::AgentsChanged(action) => {
                self.agents.clone_from(&action.agents);
                Outcome::Applied
            }
            RootAction::ActiveSessionsChanged(action) => {
                self.active_sessions = Some(action.active_sessions);
                Outcome::Applied
            }
            RootAction::TerminalsChanged(action) => {
                self.terminals = Some(action.terminals.clone());
                Outcome::Applied
            }
            RootAction::ConfigChanged(action) => {
                let values = self.config.as_mut().map(|config| &mut config.values);
                change_config(values, &action.config, action.replace)
            }
        }
    }
}
