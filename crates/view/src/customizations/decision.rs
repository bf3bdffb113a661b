//! Decisions that turn customizations on and off.

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    Customization, CustomizationEnablement, Enablement, SessionState, WorkspaceEnablement,
};
use agenthost_protocol::wire::Wire;

/// The extent of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Wire)]
pub enum DecisionScope {
    Session,
    /// All sessions in the first folder of this session.
    Workspace,
    Global,
}

/// Returns all decisions on a customization after a new one. Decisions of a narrower scope are
/// dropped, because they would override it. Folders and the items of a container other than MCP
/// servers can be turned off only in the session. Returns `None` if the session has no such
/// customization, or no folder for a decision on the folder.
pub fn decisions(
    session: &SessionState,
    id: &str,
    scope: DecisionScope,
    enabled: bool,
) -> Option<Vec<CustomizationEnablement>> {
    let new = match scope {
        DecisionScope::Session => CustomizationEnablement::Session(Enablement { enabled }),
        DecisionScope::Workspace => {
            let folders = session.metadata.working_directories.as_ref()?;
            CustomizationEnablement::Workspace(WorkspaceEnablement {
                uri: folders.first()?.clone(),
                enabled,
            })
        }
        DecisionScope::Global => CustomizationEnablement::Global(Enablement { enabled }),
    };
    let mut all = vec![new];
    if let Some(before) = current_decisions(session, id)? {
        let wider = before.iter();
        let wider = wider.filter(|one| scope_of(one).is_some_and(|other| other > scope));
        all.extend(wider.cloned());
    }
    Some(all)
}

/// Returns the decisions on a customization: `Some(None)` if it has only a session switch, `None`
/// if the session does not have it.
fn current_decisions<'a>(
    session: &'a SessionState,
    id: &str,
) -> Option<Option<&'a [CustomizationEnablement]>> {
    let mut all = session.customizations.iter().flat_map(|all| all.items());
    let is_meant = |other: Option<&CustomizationId>| other.map(CustomizationId::as_str) == Some(id);
    all.find_map(|one| {
        if is_meant(one.id()) {
            return Some(match one {
                Customization::Plugin(plugin) => plugin.enablement.as_deref(),
                Customization::McpServer(server) => server.enablement.as_deref(),
                Customization::Directory(_) | Customization::Unknown(_) => None,
            });
        }
        let mut children = one.children()?.iter();
        let child = children.find(|child| is_meant(child.id()))?;
        let server = child.as_mcp_server();
        Some(server.and_then(|server| server.enablement.as_deref()))
    })
}

/// Returns the scope of the decision that counts: the most specific one.
pub(super) fn deciding_scope(
    decisions: Option<&[CustomizationEnablement]>,
) -> Option<DecisionScope> {
    scope_of(decisions?.first()?)
}

fn scope_of(decision: &CustomizationEnablement) -> Option<DecisionScope> {
    match decision {
        CustomizationEnablement::Session(_) => Some(DecisionScope::Session),
        CustomizationEnablement::Workspace(_) => Some(DecisionScope::Workspace),
        CustomizationEnablement::Global(_) => Some(DecisionScope::Global),
        CustomizationEnablement::Unknown(_) => None,
    }
}
