//! Refuses configuration values that clients may not choose for the sessions of an agent.
//!
//! Some values let an agent do everything without approval. Only the operator of the host may
//! allow that, so the host refuses such values with a reason in `createSession` and in
//! `session/configChanged`. `resolveSessionConfig` omits them, because there the user is still
//! choosing.

use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::SessionState;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::agent::ForbiddenValue;
use crate::host::Host;
use crate::host::effect::Effects;

/// Maximum number of forbidden values that an agent can publish.
const MAX_FORBIDDEN_VALUES: usize = 500;

impl Host {
    /// Replaces the forbidden values of the session's agent.
    pub(crate) fn set_forbidden_values(
        &mut self,
        session: &Uri,
        mut values: Vec<ForbiddenValue>,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let provider = state.metadata.provider.clone();
        values.truncate(MAX_FORBIDDEN_VALUES);
        let is_new = self.config.catalog.forbidden_values.get(&provider) != Some(&values);
        self.config
            .catalog
            .forbidden_values
            .insert(provider.clone(), values);
        if is_new {
            self.store_agent_options(&provider, out);
        }
    }

    /// Returns the reason why a value is forbidden, or `None` if it is allowed.
    pub(crate) fn forbidden_reason(
        &self,
        provider: &ProviderId,
        key: &str,
        value: &Json,
    ) -> Option<&str> {
        let mut values = self.config.catalog.forbidden_values.get(provider)?.iter();
        let found = values.find(|one| one.key == key && one.value == *value);
        found.map(|one| one.reason.as_str())
    }

    /// Returns the reason for the first forbidden value that differs from the session's current
    /// value.
    pub(crate) fn find_forbidden_value<'a>(
        &'a self,
        session: &SessionState,
        values: impl IntoIterator<Item = (&'a String, &'a Json)>,
    ) -> Option<&'a str> {
        let current_values = session.config.as_ref().map(|config| &config.values);
        values.into_iter().find_map(|(key, value)| {
            let is_changed =
                current_values.and_then(|current_values| current_values.get(key)) != Some(value);
            is_changed.then(|| self.forbidden_reason(&session.metadata.provider, key, value))?
        })
    }
}
