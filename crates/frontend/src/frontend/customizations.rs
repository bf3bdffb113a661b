//! Customizations of the selected session: the tree, switches and MCP servers.

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    CustomizationToggled, McpServerBackgroundRequested, McpServerStartRequested,
    McpServerStopRequested, SessionAction,
};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use agenthost_view::customizations::{
    AgentTokens, CustomizationFilter, CustomizationRow, CustomizationTree, DecisionScope,
    KindCount, decisions,
};
use serde::Serialize;

use super::Frontend;
use super::slices::SliceCache;
use crate::effect::SlicePatch;
use crate::input::CustomizationCommand;

/// `value` of slice `customizations`, beside its rows.
#[derive(Debug, Serialize)]
struct CustomizationsView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a Uri>,
    counts: Vec<KindCount>,
    waiting: usize,
    total: usize,
    hidden: usize,
    agents: Vec<AgentTokens>,
    /// Resources for which this page has sent a token.
    given: &'a SortedSet<String>,
}

impl Frontend {
    pub(super) fn execute_customization(&mut self, id: u64, command: CustomizationCommand) {
        match command {
            CustomizationCommand::Watch { filter, kind } => {
                self.customization_filter = Some(CustomizationFilter { text: filter, kind });
                self.dirty.panels = true;
                self.done(id);
            }
            CustomizationCommand::Unwatch {} => {
                self.customization_filter = None;
                self.dirty.panels = true;
                self.done(id);
            }
            CustomizationCommand::Decide {
                session,
                key,
                scope,
                enabled,
            } => self.decide(id, &Uri::from(session), &key, scope, enabled),
            CustomizationCommand::StartServer { session, key } => {
                let server = CustomizationId::from(key);
                let action = McpServerStartRequested { id: server };
                let action = SessionAction::McpServerStartRequested(action);
                self.dispatch(id, &Uri::from(session), action.into(), None);
            }
            CustomizationCommand::StopServer { session, key } => {
                let server = CustomizationId::from(key);
                let action = McpServerStopRequested { id: server };
                let action = SessionAction::McpServerStopRequested(action);
                self.dispatch(id, &Uri::from(session), action.into(), None);
            }
            CustomizationCommand::ContinueWithout { session, key } => {
                let server = CustomizationId::from(key);
                let action = McpServerBackgroundRequested { id: server };
                let action = SessionAction::McpServerBackgroundRequested(action);
                self.dispatch(id, &Uri::from(session), action.into(), None);
            }
            CustomizationCommand::Review { session, key } => {
                self.open_review(id, Uri::from(session), key);
            }
            CustomizationCommand::CloseReview {} => self.close_review(id),
            CustomizationCommand::Allow { code } => self.allow_code(id, &code),
            CustomizationCommand::Deny {} => self.deny_code(id),
            CustomizationCommand::Revoke { session, key } => {
                self.revoke_code(id, &Uri::from(session), &key);
            }
            CustomizationCommand::SignIn {
                resource,
                token,
                expires_in,
            } => self.send_token(id, resource, token, expires_in),
            CustomizationCommand::SignOut { resource } => self.withdraw_token(id, resource),
        }
    }

    /// Turns a customization on or off.
    pub(super) fn decide(
        &mut self,
        id: u64,
        session: &Uri,
        key: &str,
        scope: DecisionScope,
        enabled: bool,
    ) {
        let state = self.session_state(session);
        let all = state.and_then(|state| decisions(state, key, scope, enabled));
        let Some(enablement) = all else {
            let reason = "the session does not have this customization any more, or no folder";
            return self.fail(id, reason.to_owned());
        };
        let action = SessionAction::CustomizationToggled(CustomizationToggled {
            id: CustomizationId::from(key),
            enablement,
        });
        self.dispatch(id, session, action.into(), None);
    }

    /// Returns the settings of the host.
    pub(super) fn host_settings(&self) -> Option<&Object> {
        Some(&self.root_state()?.config.as_ref()?.values)
    }

    pub(super) fn draw_customizations(
        &self,
        slices: &mut SliceCache,
        patches: &mut Vec<SlicePatch>,
    ) {
        let Some(filter) = &self.customization_filter else {
            slices.set_rows::<()>(patches, "customizations", std::iter::empty());
            return slices.set_value(patches, "customizations", &());
        };
        let session = self.session.as_ref();
        let state = session.and_then(|session| self.session_state(session));
        let tree =
            state.map(|state| CustomizationTree::compute(state, self.host_settings(), filter));
        let mut keys = SortedSet::new();
        let rows = tree.iter().flat_map(|tree| &tree.rows);
        // The page needs unique keys, also from a host that does not keep to the protocol.
        let rows = rows.filter(|row: &&CustomizationRow| keys.insert(row.key.as_str()));
        let keyed = rows.map(|row| (row.key.clone(), row));
        slices.set_rows(patches, "customizations", keyed);
        let value = CustomizationsView {
            session: session.filter(|_| tree.is_some()),
            waiting: tree.as_ref().map_or(0, |tree| tree.waiting),
            total: tree.as_ref().map_or(0, |tree| tree.total),
            hidden: tree.as_ref().map_or(0, |tree| tree.hidden),
            counts: tree.map(|tree| tree.counts).unwrap_or_default(),
            agents: AgentTokens::of_agents(self.root_state().map_or(&[], |root| &root.agents)),
            given: &self.tokens.given,
        };
        slices.set_value(patches, "customizations", &value);
    }
}
