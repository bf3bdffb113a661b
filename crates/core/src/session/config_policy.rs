//! Values that nobody may choose for the sessions of an agent.
//!
//! Some let an agent do everything without asking. That is for whoever runs
//! the host to allow, so clients are told no, with the reason, wherever they
//! choose: in `createSession` and in `session/configChanged`. In
//! `resolveSessionConfig`, where somebody is still choosing, they are left out.

use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::SessionState;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::agent::ForbiddenValue;
use crate::host::Host;
use crate::host::effect::Effects;

/// Most such values that an agent can make known while it runs.
const MAX_FORBIDDEN_VALUES: usize = 500;

impl Host {
    /// An agent says which values nobody may choose; all of them.
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
        let is_new = self.config.forbidden_values.get(&provider) != Some(&values);
        self.config
            .forbidden_values
            .insert(provider.clone(), values);
        if is_new {
            self.store_agent_options(&provider, out);
        }
    }

    /// Why nobody may choose a value, if nobody may.
    pub(crate) fn forbidden_reason(
        &self,
        provider: &ProviderId,
        key: &str,
        value: &Json,
    ) -> Option<&str> {
        let mut values = self.config.forbidden_values.get(provider)?.iter();
        let found = values.find(|one| one.key == key && one.value == *value);
        found.map(|one| one.reason.as_str())
    }

    /// The first of some values that nobody may choose and that is news to the
    /// session, with the reason.
    pub(crate) fn find_forbidden_value<'a>(
        &'a self,
        session: &SessionState,
        values: impl IntoIterator<Item = (&'a String, &'a Json)>,
    ) -> Option<&'a str> {
        let held = session.config.as_ref().map(|config| &config.values);
        values.into_iter().find_map(|(key, value)| {
            let news = held.and_then(|held| held.get(key)) != Some(value);
            news.then(|| self.forbidden_reason(&session.metadata.provider, key, value))?
        })
    }
}
