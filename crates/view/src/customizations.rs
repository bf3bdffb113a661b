//! Customizations of a session as a tree: containers, their content, and MCP servers.

mod decision;
mod row;
mod server;

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{Customization, SessionState};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::wire::Object;
use serde::Serialize;

pub use decision::{DecisionScope, decisions};
pub use row::{
    CodeApproval, CodeState, ContainerLoad, CustomizationKind, CustomizationOrigin,
    CustomizationRow, LoadKind,
};
pub use server::{ServerRow, ServerStateKind, TokenRequirement};

use row::RowContext;

/// The `_meta` key with which the host marks a container whose code waits for approval. Its value
/// is the key to approve.
const CODE_META_KEY: &str = "agenthost.code";

/// The host setting with the keys of approved code.
pub const TRUSTED_CODE_SETTING: &str = "trustedCode";

/// The customizations of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationTree {
    /// Containers and top-level MCP servers that match the filter.
    pub rows: Vec<CustomizationRow>,
    /// Number of items of each kind that the session has, without regard to the filter.
    pub counts: Vec<KindCount>,
    /// Number of enabled containers whose code waits for approval.
    pub waiting: usize,
    /// Number of containers and top-level MCP servers, without regard to the filter.
    pub total: usize,
}

/// The number of items of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// Kind of the items.
    pub kind: CustomizationKind,
    /// Their number.
    pub count: usize,
}

impl CustomizationTree {
    /// Computes the tree of a session. `settings` are the settings of the host, with the approved
    /// code; `filter` selects rows by their name, description or path.
    pub fn compute(session: &SessionState, settings: Option<&Object>, filter: &str) -> Self {
        let context = RowContext::new(session, settings);
        let all = session.customizations.iter().flat_map(|all| all.items());
        let mut rows: Vec<_> = all.filter_map(|one| context.top_row(one)).collect();
        let mut counts = SortedMap::<CustomizationKind, usize>::new();
        for row in rows.iter().flat_map(CustomizationRow::with_children) {
            *counts.or_default(row.kind) += 1;
        }
        let waiting = rows.iter().filter(|row| row.is_waiting()).count();
        let total = rows.len();
        let wanted = filter.trim().to_lowercase();
        if !wanted.is_empty() {
            rows.retain_mut(|row| row.retain_matches(&wanted));
        }
        CustomizationTree {
            rows,
            counts: counts
                .into_iter()
                .map(|(kind, count)| KindCount { kind, count })
                .collect(),
            waiting,
            total,
        }
    }
}

/// Returns the top-level customization with an id.
pub fn find_container<'a>(session: &'a SessionState, id: &str) -> Option<&'a Customization> {
    let mut all = session.customizations.iter().flat_map(|all| all.items());
    all.find(|one| one.id().map(CustomizationId::as_str) == Some(id))
}

/// Returns the key to approve of a container whose code waits for approval.
pub fn waiting_code(container: &Customization) -> Option<&str> {
    let meta = container.base()?.meta.as_ref()?;
    meta.get(CODE_META_KEY)?.as_str()
}

/// Returns `true` if an approved key belongs to a container, in any version of its code.
pub fn is_key_of(key: &str, container: &Customization) -> bool {
    let uri = container.base().map(|base| base.uri.as_str());
    let rest = uri.and_then(|uri| key.strip_prefix(uri));
    rest.is_some_and(|rest| rest.starts_with('#'))
}

#[cfg(test)]
#[path = "customizations_tests.rs"]
mod tests;
