//! Customizations of a session as a tree: containers, their content, and MCP servers.

mod code;
mod decision;
mod review;
mod row;
mod server;
mod token;

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{Customization, SessionState};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::wire::Object;
use serde::Serialize;

pub use code::{
    CodeApproval, CodeCard, CodeState, TRUSTED_CODE_SETTING, allowed_keys, keys_without,
    waiting_code,
};
pub use decision::{DecisionScope, decisions};
pub use review::{CodeContent, CodeFile, CodeReview, MAX_REVIEW_FILES, ReviewStatus};
pub use row::{ContainerLoad, CustomizationKind, CustomizationOrigin, CustomizationRow, LoadKind};
pub use server::{ServerRow, ServerStateKind};
pub use token::{
    AgentResource, AgentTokens, TokenLink, TokenRequirement, challenged_servers, required_scopes,
    required_tokens,
};

use row::RowContext;

/// Rows of a tree, with their children.
const MAX_ROWS: usize = 5_000;

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
    /// Number of rows that match the filter, but are too many to be shown.
    pub hidden: usize,
}

/// A selection of customizations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomizationFilter {
    /// Text in the name, the description or the path.
    pub text: String,
    /// Kind of the customization or of its content.
    pub kind: Option<CustomizationKind>,
}

/// The number of items of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// Kind of the items.
    pub kind: CustomizationKind,
    pub count: usize,
}

impl CustomizationTree {
    /// Computes the tree of a session. `settings` are the settings of the host, with the approved
    /// code.
    pub fn compute(
        session: &SessionState,
        settings: Option<&Object>,
        filter: &CustomizationFilter,
    ) -> Self {
        let context = RowContext::new(session, settings);
        let all = session.customizations.iter().flat_map(|all| all.items());
        let mut rows: Vec<_> = all.filter_map(|one| context.top_row(one)).collect();
        let mut counts = SortedMap::<CustomizationKind, usize>::new();
        for row in rows.iter().flat_map(CustomizationRow::with_children) {
            *counts.or_default(row.kind) += 1;
        }
        let waiting = rows.iter().filter(|row| row.is_waiting()).count();
        let total = rows.len();
        if let Some(kind) = filter.kind {
            rows.retain_mut(|row| row.retain_matches(|row| row.kind == kind));
        }
        let wanted = filter.text.trim().to_lowercase();
        if !wanted.is_empty() {
            rows.retain_mut(|row| row.retain_matches(|row| row.matches(&wanted)));
        }
        let hidden = limit_rows(&mut rows, MAX_ROWS);
        CustomizationTree {
            rows,
            counts: counts
                .into_iter()
                .map(|(kind, count)| KindCount { kind, count })
                .collect(),
            waiting,
            total,
            hidden,
        }
    }
}

/// Removes rows and children after the first ones. Returns the number of removed ones.
fn limit_rows(rows: &mut Vec<CustomizationRow>, limit: usize) -> usize {
    let before = rows
        .iter()
        .flat_map(CustomizationRow::with_children)
        .count();
    let mut left = limit;
    for row in &mut *rows {
        left = left.saturating_sub(1);
        row.children.truncate(left);
        left -= row.children.len();
    }
    rows.truncate(limit);
    let after = rows
        .iter()
        .flat_map(CustomizationRow::with_children)
        .count();
    before - after
}

/// Returns the top-level customization with an id.
pub fn find_container<'a>(session: &'a SessionState, id: &str) -> Option<&'a Customization> {
    let mut all = session.customizations.iter().flat_map(|all| all.items());
    all.find(|one| one.id().map(CustomizationId::as_str) == Some(id))
}

#[cfg(test)]
#[path = "customizations_tests.rs"]
mod tests;
