//! Stores enablement decisions in the `_meta` of the session, also for absent customizations.
//!
//! The plugin of a client is removed with its client and may return later. The decisions about
//! it stay in the `_meta` of the session, so they last as long as the session, also across
//! restarts of the host (CUS-13).

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationEnablement, CustomizationToggled, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use super::all_customizations;
use crate::host::Host;
use crate::host::effect::Effects;

/// Key in `_meta` of the object with the decisions, by customization id.
const CUSTOMIZATIONS_META_KEY: &str = "agenthost.customizations";

/// Maximum number of decisions stored per session. The oldest entries are evicted first.
const MAX_SESSION_DECISIONS: usize = 500;

/// Maximum length of an id with a stored decision. `_meta` is part of every snapshot of the
/// session, so it must stay small.
const MAX_ID_BYTES: usize = 256;

/// Returns the stored decision of a session about an id, also if that customization is absent.
pub(super) fn session_decision(session: &SessionState, id: &CustomizationId) -> Option<bool> {
    let decided = session.meta.as_ref()?.get(CUSTOMIZATIONS_META_KEY)?;
    decided.get(id.as_str())?.as_bool()
}

/// Returns the decision with session scope, if the list has one.
pub(super) fn own_decision(decisions: &[CustomizationEnablement]) -> Option<bool> {
    decisions.iter().find_map(|decision| match decision {
        CustomizationEnablement::Session(decision) => Some(decision.enabled),
        CustomizationEnablement::Workspace(_)
        | CustomizationEnablement::Global(_)
        | CustomizationEnablement::Unknown(_) => None,
    })
}

impl Host {
    /// Stores the session decision of a client in the `_meta` of the session.
    pub(super) fn store_session_decision(
        &mut self,
        session: &Uri,
        toggled: &CustomizationToggled,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let id = &toggled.id;
        // A customization without scopes is on or off in its session, so the effective value
        // counts.
        let decision = if has_scopes(state, id) {
            own_decision(&toggled.enablement)
        } else {
            Some(CustomizationEnablement::effective(&toggled.enablement))
        };
        let decided = state
            .meta
            .as_ref()
            .and_then(|meta| meta.get(CUSTOMIZATIONS_META_KEY));
        let decided = decided.and_then(Json::as_object).cloned();
        let mut decided = decided.unwrap_or_default();
        decided.shift_remove(id.as_str());
        if let Some(decision) = decision.filter(|_| id.as_str().len() <= MAX_ID_BYTES) {
            decided.insert(id.as_str().to_owned(), Json::from(decision));
        }
        while decided.len() > MAX_SESSION_DECISIONS
            && let Some(oldest) = decided.keys().next().cloned()
        {
            decided.shift_remove(&oldest);
        }
        let decided = (!decided.is_empty()).then_some(Json::Object(decided));
        self.set_session_meta(session, CUSTOMIZATIONS_META_KEY, decided, out);
    }
}

/// Returns `true` if decisions about this id can apply beyond the session (CUS-12).
fn has_scopes(session: &SessionState, id: &CustomizationId) -> bool {
    all_customizations(session).any(|one| {
        let top = match one {
            Customization::Plugin(_) | Customization::McpServer(_) => one.id() == Some(id),
            Customization::Directory(_) | Customization::Unknown(_) => false,
        };
        let mut children = one.children().into_iter().flatten();
        top || children.any(|child| match child {
            ChildCustomization::McpServer(server) => server.base.id == *id,
            ChildCustomization::Agent(_)
            | ChildCustomization::Skill(_)
            | ChildCustomization::Prompt(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Hook(_)
            | ChildCustomization::Unknown(_) => false,
        })
    })
}
