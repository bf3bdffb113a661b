//! What a folder has, read here and now.

use std::path::{Path, PathBuf};

use agenthost_customizations::{Looked, Settings, decide, look};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::wire::Object;
use agenthost_server::{PACKAGES, ServerConfig};
use anyhow::{Context, bail};

use crate::host_settings::{self, texts};
use crate::output;
use crate::place::{Attached, PATIENCE, Place};
use crate::run::folder;

/// The setting of the host with code that a person allowed.
pub(super) const TRUSTED: &str = "trustedCode";

/// A folder, and what the configuration says about customizations.
pub(crate) struct Here {
    /// The folder.
    pub(crate) directory: PathBuf,
    /// What a person configured.
    pub(crate) settings: Settings,
    /// Where packages are.
    pub(crate) data: PathBuf,
    /// The agent that is meant; all if there is none.
    pub(crate) agent: Option<ProviderId>,
    /// What the host is set to, as far as it was asked.
    remembered: Object,
    /// Where the host keeps what it remembers.
    data_directory: PathBuf,
    agents: Vec<ProviderId>,
}

/// Whether it is known which code a person allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is.
    Known,
    /// The host could not be asked; why.
    Unknown(String),
}

impl Here {
    /// A folder, or the one that the command is run in.
    pub(crate) fn new(place: &Place, named: Option<&Path>) -> anyhow::Result<Self> {
        let host = place.settings()?;
        let mut config = ServerConfig::new(&host.data_directory);
        host.file.apply(&mut config)?;
        let Some(customizations) = config.customizations else {
            bail!("nothing is read: the configuration says `customizations = false`");
        };
        let mut settings = customizations.settings;
        for agent in &config.agents {
            let provider = agent.info().provider;
            settings.native.entry(provider).or_insert(agent.reads());
        }
        let agents = config.agents.iter().map(|agent| agent.info().provider);
        Ok(Here {
            directory: folder(named)?,
            settings,
            data: host.data_directory.join(PACKAGES),
            agent: None,
            remembered: Object::new(),
            agents: agents.collect(),
            data_directory: host.data_directory,
        })
    }

    /// An agent that is offered here.
    pub(crate) fn known_agent(&self, name: &str) -> anyhow::Result<ProviderId> {
        let known = self.agents.iter().find(|agent| agent.as_str() == name);
        let known = known.cloned();
        known.with_context(|| {
            format!("there is no agent `{name}` here; `agenthost agents` lists them")
        })
    }

    /// Asks the host which code a person allowed, and what is on and off. Where
    /// there was never a host nobody has decided anything.
    pub(crate) async fn learn_trust(&mut self, place: &Place) -> Trust {
        if !self.data_directory.exists() {
            return Trust::Known;
        }
        match ask(place).await {
            Ok(values) => {
                self.settings.trusted = texts(&values, TRUSTED).into_iter().collect();
                self.remembered = values;
                Trust::Known
            }
            Err(error) => Trust::Unknown(format!("{error:#}")),
        }
    }

    /// Reads all there is.
    pub(crate) async fn look(&self) -> anyhow::Result<Vec<Looked>> {
        let (settings, data) = (self.settings.clone(), self.data.clone());
        let (agent, directories) = (self.agent.clone(), vec![self.directory.clone()]);
        let reading = tokio::task::spawn_blocking(move || {
            look(&settings, &data, agent.as_ref(), &directories)
        });
        let folder = self.directory.display();
        let mut looked = reading.await.with_context(|| format!("read `{folder}`"))?;
        decide(&mut looked, &self.remembered, &self.directory);
        Ok(looked)
    }
}

async fn ask(place: &Place) -> anyhow::Result<Object> {
    let mut attached = Attached::to(place, PATIENCE).await?;
    let values = host_settings::read(&mut attached.client).await;
    attached.leave().await?;
    values
}

/// Tells a person that it is not known which code was allowed.
pub(super) fn complain(trust: &Trust) {
    if let Trust::Unknown(problem) = trust {
        output::note(&format!(
            "which code was allowed and what is off is not known, the host can't be asked: {problem}"
        ));
    }
}
