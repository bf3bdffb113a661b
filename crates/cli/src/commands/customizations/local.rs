//! Reads the customizations of a folder without the host.

use std::path::{Path, PathBuf};

use agenthost_customizations::{
    CustomizationSettings, InspectedContainer, apply_stored_enablement, inspect,
};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::wire::Object;
use agenthost_server::{PACKAGES_DIR, ServerConfig};
use anyhow::{Context, bail};

use crate::commands::run::resolve_directory;
use crate::connect::{COMMAND_RECONNECT_TIMEOUT, HostConnection, HostOptions};
use crate::host_settings;
use crate::host_settings::string_list;
use crate::output;

/// The key of the host setting with the approved code.
pub(super) const TRUSTED_CODE_KEY: &str = "trustedCode";

/// A folder and the configuration that applies to its customizations.
pub(crate) struct LocalCustomizations {
    /// The folder whose customizations are read.
    pub(crate) directory: PathBuf,
    /// The settings from the configuration file and the host.
    pub(crate) settings: CustomizationSettings,
    /// The directory of fetched packages.
    pub(crate) package_directory: PathBuf,
    /// The agent whose plugins are included, or `None` for those of all agents.
    pub(crate) agent: Option<ProviderId>,
    /// The settings of the host, or empty if they were not requested.
    host_values: Object,
    /// The data directory of the host.
    data_directory: PathBuf,
    agents: Vec<ProviderId>,
}

/// The availability of the host's list of approved code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrustSource {
    /// The list was read, or no host has ever run.
    Known,
    /// The host could not be reached, for this reason.
    Unknown(String),
}

impl LocalCustomizations {
    /// Resolves the settings for the given folder, or for the current one.
    pub(crate) fn new(options: &HostOptions, named: Option<&Path>) -> anyhow::Result<Self> {
        let host = options.resolve_settings()?;
        let mut config = ServerConfig::new(&host.data_directory);
        host.file.apply(&mut config)?;
        let Some(customizations) = config.customizations else {
            bail!("customizations are disabled in the configuration (`customizations = false`)");
        };
        let mut settings = customizations.settings;
        for agent in &config.agents {
            let provider = agent.info().provider;
            settings
                .native_paths
                .entry(provider)
                .or_insert(agent.native_customizations());
        }
        let agents = config.agents.iter().map(|agent| agent.info().provider);
        Ok(LocalCustomizations {
            directory: resolve_directory(named)?,
            settings,
            package_directory: host.data_directory.join(PACKAGES_DIR),
            agent: None,
            host_values: Object::new(),
            agents: agents.collect(),
            data_directory: host.data_directory,
        })
    }

    /// Returns the id of an agent that is offered here.
    pub(crate) fn find_agent(&self, name: &str) -> anyhow::Result<ProviderId> {
        let known = self.agents.iter().find(|agent| agent.as_str() == name);
        let known = known.cloned();
        known.with_context(|| {
            format!("there is no agent `{name}` here\nhint: `agenthost agents` lists them")
        })
    }

    /// Requests the approved code and the enablement of customizations from the host.
    /// Without a data directory there was never a host, so nothing is approved.
    pub(crate) async fn fetch_trust(&mut self, options: &HostOptions) -> TrustSource {
        if !self.data_directory.exists() {
            return TrustSource::Known;
        }
        match fetch_host_values(options).await {
            Ok(values) => {
                self.settings.trusted_code =
                    string_list(&values, TRUSTED_CODE_KEY).into_iter().collect();
                self.host_values = values;
                TrustSource::Known
            }
            Err(error) => TrustSource::Unknown(format!("{error:#}")),
        }
    }

    /// Reads all customizations of the folder.
    pub(crate) async fn inspect(&self) -> anyhow::Result<Vec<InspectedContainer>> {
        let (settings, data) = (self.settings.clone(), self.package_directory.clone());
        let (agent, directories) = (self.agent.clone(), vec![self.directory.clone()]);
        let reading = tokio::task::spawn_blocking(move || {
            inspect(&settings, &data, agent.as_ref(), &directories)
        });
        let folder = self.directory.display();
        let mut looked = reading.await.with_context(|| format!("read `{folder}`"))?;
        apply_stored_enablement(&mut looked, &self.host_values, &self.directory);
        Ok(looked)
    }
}

async fn fetch_host_values(options: &HostOptions) -> anyhow::Result<Object> {
    let mut connection = HostConnection::connect(options, COMMAND_RECONNECT_TIMEOUT).await?;
    let values = host_settings::read_settings(&mut connection.client).await;
    connection.close().await?;
    values
}

/// Prints a note if the approved code is unknown.
pub(super) fn warn_unknown_trust(trust: &TrustSource) {
    if let TrustSource::Unknown(problem) = trust {
        output::print_note(&format!(
            "approvals and disabled customizations are unknown, because the host cannot be reached: {problem}"
        ));
    }
}
