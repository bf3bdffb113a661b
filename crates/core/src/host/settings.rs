//! The settings of the host that clients can change.
//!
//! The root state contains only the values that a user has chosen. The schema depends on the
//! program and its agents, so it is updated at every start and when the agents change.

mod storage;

use std::collections::BTreeSet;

use agenthost_protocol::common::{ConfigPropertySchema, ConfigSchema};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AgentInfo, RootAction, RootConfigChanged, RootConfigState};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};

use crate::customization::ENABLEMENT_SETTING;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::resource::uris;
use crate::resource::{FileAccess, GrantedRoot};
use crate::session::config::{ConfigValueError, check_value};
use storage::STORAGE_PROBLEM_SETTING;

/// The agent of sessions that name none.
const DEFAULT_AGENT_SETTING: &str = "defaultAgent";

/// Timeout in seconds after which a client tool call without any report fails.
const TOOL_TIMEOUT_SETTING: &str = "clientToolTimeout";

/// Folders that clients may read.
pub(crate) const READABLE_FOLDERS_SETTING: &str = "readableFolders";

/// Folders that clients may write to.
pub(crate) const WRITABLE_FOLDERS_SETTING: &str = "writableFolders";

/// Open access requests of clients. Read-only for clients.
pub(crate) const REQUESTED_FOLDERS_SETTING: &str = "requestedFolders";

/// Keys of the code of packages that the user has approved.
pub(crate) const TRUSTED_CODE_SETTING: &str = "trustedCode";

/// Maximum number of approved keys. The root state, which every client receives, contains all
/// of them.
const MAX_TRUSTED_CODE: u64 = 1_000;

/// Default timeout of 30 minutes: the client may show a request to its user, who needs time to
/// respond.
const DEFAULT_TOOL_TIMEOUT_SECS: u64 = 1_800;

/// Maximum number of folders in each list. File requests are checked against every folder.
const MAX_SETTING_FOLDERS: u64 = 100;

impl Host {
    /// Returns the chosen value of a setting, or its default.
    pub(crate) fn setting(&self, key: &str) -> Option<&Json> {
        let config = self.root()?.config.as_ref()?;
        let property = || config.schema.properties.get(key)?.default.as_ref();
        config.values.get(key).or_else(property)
    }

    /// Returns the agent of sessions that name none.
    pub(crate) fn default_agent(&self) -> Option<ProviderId> {
        Some(ProviderId::from(
            self.setting(DEFAULT_AGENT_SETTING)?.as_str()?,
        ))
    }

    /// Returns the timeout of client tool calls (CLT-5); `None` if they never time out.
    pub(crate) fn client_tool_timeout(&self) -> Option<Millis> {
        let seconds = self.setting(TOOL_TIMEOUT_SETTING)?.as_u64()?;
        let seconds = i64::try_from(seconds).ok().filter(|seconds| *seconds > 0)?;
        Some(Millis(seconds.saturating_mul(1_000)))
    }

    /// Returns the keys of approved code.
    pub(crate) fn trusted_code(&self) -> BTreeSet<String> {
        let keys = self.setting(TRUSTED_CODE_SETTING).and_then(Json::as_array);
        let keys = keys.into_iter().flatten().filter_map(Json::as_str);
        keys.map(str::to_owned).collect()
    }

    /// Returns the folders that the user has granted to clients.
    pub(crate) fn granted_folders(&self) -> Vec<GrantedRoot> {
        let mut roots = Vec::new();
        for (key, access) in [
            (READABLE_FOLDERS_SETTING, FileAccess::Read),
            (WRITABLE_FOLDERS_SETTING, FileAccess::Write),
        ] {
            let folders = self.setting(key).and_then(Json::as_array);
            let folders = folders.into_iter().flatten().filter_map(Json::as_str);
            roots.extend(folders.map(|uri| GrantedRoot {
                uri: Uri::from(uri),
                access,
            }));
        }
        roots
    }

    /// Updates the settings to the schema of the program. Values that no longer fit are removed
    /// with an action.
    pub(crate) fn refresh_settings(&mut self, out: &mut Effects) {
        self.refresh_settings_schema(out);
        let config = self.root().and_then(|root| root.config.as_ref());
        let Some(RootConfigState { schema, values }) = config else {
            return;
        };
        let is_fitting =
            |(key, value): &(&String, &Json)| check_setting(schema, key, value).is_ok();
        let fitting = values.iter().filter(is_fitting);
        let fitting: Object = fitting
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if fitting != *values {
            let changed = RootAction::ConfigChanged(RootConfigChanged {
                config: fitting,
                replace: Some(true),
            });
            self.originate(&RootChannel.into(), changed, out);
        }
    }

    /// Updates the settings schema to that of the program and its agents. No action can carry a
    /// schema (ROOT-20), so clients see it in their next snapshot.
    pub(crate) fn refresh_settings_schema(&mut self, out: &mut Effects) {
        let channel = Uri::from(RootChannel);
        let Some(root) = self.root() else {
            return;
        };
        let schema = settings_schema(&self.config.catalog.agents);
        let before = root.config.as_ref();
        if before.is_some_and(|config| config.schema == schema) {
            return;
        }
        let values = before.map(|config| config.values.clone());
        let mut root = root.clone();
        root.config = Some(RootConfigState {
            schema,
            values: values.unwrap_or_default(),
        });
        // The channel is created again, because the schema changes without an action. Its
        // subscribers stay.
        let entry = self.channels.get_mut(&channel);
        let subscribers = entry.map(|entry| std::mem::take(&mut entry.subscribers));
        self.remove_channel(&channel, out);
        self.create_channel(&channel, None, root.into(), out);
        if let Some(entry) = self.channels.get_mut(&channel) {
            entry.subscribers = subscribers.unwrap_or_default();
        }
    }
}

/// Checks a value against the schema and the additional rules of the host.
pub(crate) fn check_setting(
    schema: &ConfigSchema,
    key: &str,
    value: &Json,
) -> Result<(), ConfigValueError> {
    let Some(property) = schema.properties.get(key) else {
        return Err(ConfigValueError::UnknownSetting);
    };
    check_value(property, value)?;
    if key == TOOL_TIMEOUT_SETTING && value.as_u64().is_none() {
        return Err(ConfigValueError::NotWholeSeconds);
    }
    if key == READABLE_FOLDERS_SETTING || key == WRITABLE_FOLDERS_SETTING {
        let folders = value.as_array().into_iter().flatten();
        for folder in folders.filter_map(Json::as_str) {
            let checked = uris::check_directory(&Uri::from(folder));
            checked.map_err(ConfigValueError::InvalidFolder)?;
        }
    }
    Ok(())
}

/// Returns the schema of all settings.
pub(crate) fn settings_schema(agents: &[AgentInfo]) -> ConfigSchema {
    let names = agents.iter().map(|agent| agent.provider.as_str());
    let labels = agents.iter().map(|agent| agent.display_name.clone());
    let agent = ConfigPropertySchema {
        description: Some("The agent of sessions that do not name one.".to_owned()),
        default: names.clone().next().map(Json::from),
        r#enum: Some(names.map(Json::from).collect()),
        enum_labels: Some(labels.collect()),
        ..ConfigPropertySchema::new("string", "Default agent")
    };
    let tool_timeout = ConfigPropertySchema {
        description: Some(
            "Seconds without a report from the client after which a client tool call fails. 0 \
             disables the timeout."
                .to_owned(),
        ),
        default: Some(Json::from(DEFAULT_TOOL_TIMEOUT_SECS)),
        ..ConfigPropertySchema::new("number", "Client tool timeout")
    };
    let folders = |title: &str, what: &str| ConfigPropertySchema {
        description: Some(format!(
            "Folders that clients may {what}, besides those of sessions (file:///…)."
        )),
        items: Some(Box::new(ConfigPropertySchema::new("string", "Folder"))),
        max_items: Some(MAX_SETTING_FOLDERS),
        ..ConfigPropertySchema::new("array", title)
    };
    let requested = ConfigPropertySchema {
        description: Some(
            "Folders that clients have requested. To grant one, add it to the readable or \
             writable folders."
                .to_owned(),
        ),
        items: Some(Box::new(ConfigPropertySchema::new("string", "Request"))),
        read_only: Some(true),
        ..ConfigPropertySchema::new("array", "Requested folders")
    };
    let storage = ConfigPropertySchema {
        description: Some(
            "The reason why the host can't store changes at present, for example a full disk."
                .to_owned(),
        ),
        read_only: Some(true),
        ..ConfigPropertySchema::new("string", "Storage problem")
    };
    let trusted = ConfigPropertySchema {
        description: Some(
            "Hooks and MCP servers of workspaces and clients that may run; `agenthost \
             customizations allow` adds to them."
                .to_owned(),
        ),
        items: Some(Box::new(ConfigPropertySchema::new("string", "Code"))),
        max_items: Some(MAX_TRUSTED_CODE),
        ..ConfigPropertySchema::new("array", "Trusted code")
    };
    let decisions = ConfigPropertySchema {
        description: Some(
            "Which plugins and MCP servers are enabled, everywhere (*) or in a folder, by their \
             source."
                .to_owned(),
        ),
        ..ConfigPropertySchema::new("object", "Enabled customizations")
    };
    ConfigSchema {
        r#type: "object".to_owned(),
        properties: [
            (
                READABLE_FOLDERS_SETTING.to_owned(),
                folders("Readable folders", "read"),
            ),
            (
                WRITABLE_FOLDERS_SETTING.to_owned(),
                folders("Writable folders", "change"),
            ),
            (REQUESTED_FOLDERS_SETTING.to_owned(), requested),
            (STORAGE_PROBLEM_SETTING.to_owned(), storage),
            (ENABLEMENT_SETTING.to_owned(), decisions),
            (TRUSTED_CODE_SETTING.to_owned(), trusted),
            (DEFAULT_AGENT_SETTING.to_owned(), agent),
            (TOOL_TIMEOUT_SETTING.to_owned(), tool_timeout),
        ]
        .into_iter()
        .collect(),
        required: None,
    }
}
