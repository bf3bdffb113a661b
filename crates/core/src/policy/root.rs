//! Checks client actions on the root channel.

use agenthost_protocol::root::{RootAction, RootConfigChanged, RootConfigState, RootState};

use crate::host::error::Refusal;
use crate::host::settings;

pub(super) fn check_root_action(
    root: &RootState,
    action: RootAction,
) -> Result<RootAction, Refusal> {
    match &action {
        RootAction::ConfigChanged(change) => match &root.config {
            Some(config) => check_config_change(config, change)?,
            None => return Err(Refusal::Unsupported("configuration of the host")),
        },
        RootAction::AgentsChanged(_)
        | RootAction::ActiveSessionsChanged(_)
        | RootAction::TerminalsChanged(_) => {
            return Err(Refusal::HostOnly(action.info().name));
        }
    }
    Ok(action)
}

/// Checks that a change sets only known settings to valid values, and that it neither changes
/// read-only settings nor omits required ones.
fn check_config_change(
    config: &RootConfigState,
    change: &RootConfigChanged,
) -> Result<(), Refusal> {
    let invalid = |key: &str, problem: &str| {
        let key: String = key.chars().take(60).collect();
        Refusal::Invalid(format!("`{key}`: {problem}"))
    };
    let shown_only = |key: &str| {
        let property = config.schema.properties.get(key);
        property.is_some_and(|property| property.read_only == Some(true))
    };
    for (key, value) in &change.config {
        settings::check_setting(&config.schema, key, value)
            .map_err(|problem| invalid(key, &problem.to_string()))?;
        if shown_only(key) && config.values.get(key) != Some(value) {
            return Err(invalid(key, "can't be changed"));
        }
    }
    if change.replace != Some(true) {
        return Ok(());
    }
    let required = config.schema.required.iter().flatten();
    let fixed = config.values.keys().filter(|key| shown_only(key));
    let mut needed = required.chain(fixed);
    match needed.find(|key| !change.config.contains_key(*key)) {
        Some(key) => Err(invalid(key, "can't be removed")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use agenthost_protocol::wire;

    use super::*;

    /// Uses a schema of its own, because no setting of the host is required. The rules are
    /// those of the protocol.
    #[test]
    fn read_only_settings_cannot_be_changed() {
        let config: RootConfigState = wire::from_str(
            r#"{"schema": {"type": "object", "required": ["b"], "properties": {
                "a": {"type": "string", "title": "A", "readOnly": true},
                "b": {"type": "boolean", "title": "B"}}},
                "values": {"a": "x", "b": true}}"#,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let judge = |change: &str| {
            let change = wire::from_str(change).unwrap_or_else(|error| panic!("{error}"));
            check_config_change(&config, &change).map_err(|refusal| refusal.to_string())
        };
        assert_eq!(judge(r#"{"config": {"b": false}}"#), Ok(()));
        assert_eq!(
            judge(r#"{"config": {"a": "x", "b": false}, "replace": true}"#),
            Ok(())
        );
        let refused = [
            (r#"{"config": {"a": "y"}}"#, "`a`: can't be changed"),
            (
                r#"{"config": {"b": 1}}"#,
                "`b`: expected a value of type boolean",
            ),
            (r#"{"config": {"c": 1}}"#, "`c`: there is no such setting"),
            (
                r#"{"config": {"b": true}, "replace": true}"#,
                "`a`: can't be removed",
            ),
            (
                r#"{"config": {"a": "x"}, "replace": true}"#,
                "`b`: can't be removed",
            ),
        ];
        for (change, reason) in refused {
            assert_eq!(judge(change), Err(reason.to_owned()), "{change}");
        }
    }
}
