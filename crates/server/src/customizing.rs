//! Whoever reads customizations and runs servers of tools, as the loop sees
//! them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_agents::{Agents, ToolRelay};
use agenthost_core::customizing::{CustomizationErrand, CustomizationEvent, Prepared};
use agenthost_core::tool_servers::{StartedBy, ToolErrand, ToolEvent};
use agenthost_core::{Input, Principal, Token, TokenPlace};
use agenthost_customizations::mcp::{
    GatewayAddress, ToolServers, ToolServersConfig, ToolServersError,
};
use agenthost_customizations::{Customizations, Settings, SpecError, declared};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::scratch::Scratch;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::config::ServerConfig;

/// Errands that wait to be taken. They are taken at once; so if there are more,
/// nobody takes any.
const ERRANDS: usize = 4_096;

/// Events that wait until the loop has time.
const EVENTS: usize = 256;

/// Where packages are, in the data directory.
pub const PACKAGES: &str = "packages";

/// What is read for sessions, and how agents get to the tools of the host.
#[derive(Debug, Clone, Default)]
pub struct CustomizationsConfig {
    /// What a person configured.
    pub settings: Settings,
    /// The program that agents start to get to the tools that the host offers;
    /// without one, they get none.
    pub relay: Option<RelayProgram>,
}

/// A program that passes on what agents say to the host: it calls
/// `agenthost_customizations::mcp::relay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Reads customizations, and runs servers of tools.
pub(crate) struct Customizing {
    errands: mpsc::Sender<CustomizationErrand>,
    sources: Arc<Customizations>,
    tools: ToolServers,
    /// Bring errands there, and events back.
    carriers: JoinSet<()>,
}

impl Customizing {
    /// Starts. What happens goes to the host through its queue of inputs.
    pub(crate) fn start(
        settings: Settings,
        data: &Path,
        notes: &Path,
        scratch: Scratch,
        inputs: &mpsc::Sender<Input>,
    ) -> Result<Self, ToolServersError> {
        let (told, mut events) = mpsc::channel::<(Uri, CustomizationEvent)>(EVENTS);
        let packages = data.join(PACKAGES);
        let sources = Customizations::with_notes(settings, packages, notes.to_owned(), told);
        let sources = Arc::new(sources);
        let (told, mut tool_events) = mpsc::channel::<(Uri, ToolEvent)>(EVENTS);
        let config = ToolServersConfig {
            notes: Some(notes.to_owned()),
            scratch,
            ..ToolServersConfig::default()
        };
        let tools = ToolServers::new(config, told)?;
        let (errands, mut waiting) = mpsc::channel(ERRANDS);
        let mut carriers = JoinSet::new();
        let reader = Arc::clone(&sources);
        carriers.spawn(async move {
            while let Some(errand) = waiting.recv().await {
                reader.errand(errand).await;
            }
        });
        let to_host = inputs.clone();
        carriers.spawn(async move {
            while let Some((session, event)) = events.recv().await {
                // When the host is gone, nobody wants to know.
                let told = to_host.send(Input::Customized { session, event }).await;
                told.unwrap_or_default();
            }
        });
        let to_host = inputs.clone();
        carriers.spawn(async move {
            while let Some((session, event)) = tool_events.recv().await {
                // The same.
                let told = to_host.send(Input::Tools { session, event }).await;
                told.unwrap_or_default();
            }
        });
        Ok(Customizing {
            errands,
            sources,
            tools,
            carriers,
        })
    }

    /// How agents get to the tools that the host offers.
    pub(crate) fn relay(&self, program: &RelayProgram) -> ToolRelay {
        let gateway: GatewayAddress = self.tools.gateway().clone();
        let web = self.tools.web_gateway().clone();
        ToolRelay::new(
            program.program.to_string_lossy(),
            program.arguments.clone(),
            move |session, chat| gateway.relay_environment(session, chat),
        )
        .with_web(move |session, chat| match web.place(session, chat) {
            Ok(place) => Some((place.url, place.headers)),
            Err(error) => {
                tracing::warn!(%error, "no port can be opened: an agent has no tools of the host");
                None
            }
        })
    }

    /// Has something found out. Should nobody be there to do that, turns begin
    /// without, and tools that hooks would have to look at are not used.
    pub(crate) fn customize(&self, errand: CustomizationErrand) -> Option<Input> {
        let failed = self.errands.try_send(errand).err()?;
        tracing::error!("nobody reads customizations any more");
        match failed.into_inner() {
            CustomizationErrand::Prepare(preparation) => Some(Input::Customized {
                session: preparation.session,
                event: CustomizationEvent::Prepared {
                    chat: preparation.chat,
                    turn: preparation.turn,
                    outcome: Box::new(Ok(Prepared::default())),
                },
            }),
            CustomizationErrand::CheckTool { ticket, tool } => Some(Input::Customized {
                session: tool.session,
                event: CustomizationEvent::ToolChecked {
                    ticket,
                    verdict: Err("its hooks could not be run".to_owned()),
                },
            }),
            _ => None,
        }
    }

    /// Has something done with servers. What must not be started is not, and
    /// only a person who wants it started is told why.
    pub(crate) fn tools(&self, errand: ToolErrand) -> Option<Input> {
        let ToolErrand::Start {
            session,
            server,
            by,
        } = errand
        else {
            self.tools.errand(errand, |_, _| None);
            return None;
        };
        let event = match (self.sources.spec(&session, &server), by) {
            (Ok(spec), StartedBy::Turn | StartedBy::Person) => {
                self.tools.start(&session, &server, spec);
                return None;
            }
            (Err(SpecError::NotTrusted(_)), StartedBy::Turn) => ToolEvent::Stopped { server },
            (Err(error), StartedBy::Turn | StartedBy::Person) => ToolEvent::Failed {
                server,
                error: ErrorInfo::new("mcpServerFailed", error.to_string()),
            },
        };
        Some(Input::Tools { session, event })
    }

    /// Gives a token to servers, or takes it back.
    pub(crate) fn token(&self, place: TokenPlace, token: Option<Token>) {
        self.tools.token(place, token);
    }

    /// Says whose tokens a session uses.
    pub(crate) fn tokens_of(&self, session: &Uri, principals: Vec<Principal>) {
        self.tools.tokens_of(session, principals);
    }

    /// Ends everything.
    pub(crate) async fn stop(mut self) {
        self.carriers.shutdown().await;
        let sources = Arc::into_inner(self.sources);
        let sources = async {
            if let Some(sources) = sources {
                sources.stop().await;
            }
        };
        tokio::join!(sources, self.tools.stop());
    }
}

/// The agents that take notice of customizations.
pub(crate) fn customizable(config: &ServerConfig) -> Option<BTreeSet<ProviderId>> {
    config.customizations.as_ref()?;
    let agents = config.agents.iter().filter(|agent| agent.is_customizable());
    Some(agents.map(|agent| agent.info().provider).collect())
}

/// Whoever reads customizations, if that is wanted.
pub(crate) fn start_customizing(
    config: &ServerConfig,
    notes: &Path,
    scratch: Scratch,
    inputs: &mpsc::Sender<Input>,
) -> Result<Option<Customizing>, ToolServersError> {
    let Some(customizations) = &config.customizations else {
        return Ok(None);
    };
    let mut settings = customizations.settings.clone();
    for agent in &config.agents {
        let provider = agent.info().provider;
        settings.native.entry(provider).or_insert(agent.reads());
    }
    let started = Customizing::start(settings, &config.data_directory, notes, scratch, inputs);
    Ok(Some(started?))
}

/// What clients get to know of agents: also what their sessions will have
/// (`AgentInfo.customizations`).
pub(crate) fn infos(config: &ServerConfig, agents: &Agents) -> Vec<AgentInfo> {
    let mut infos = agents.infos();
    if let Some(customizations) = &config.customizations {
        for info in &mut infos {
            let packages = config.data_directory.join(PACKAGES);
            let all = declared(&customizations.settings, &packages, &info.provider);
            info.customizations = (!all.is_empty()).then_some(all);
        }
    }
    infos
}
