//! Builds the loop from the configuration and from what the store remembers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agenthost_agents::Agents;
use agenthost_core::{Config, Host, SessionKey};
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::number::Millis;
use agenthost_stdx::scratch::Scratch;
use agenthost_store::Store;
use agenthost_workspace::{Contents, Shell, uri_of};
use tokio::sync::mpsc;

use crate::config::{CHANGES, RUNNING, SCRATCH, ServerConfig};
use crate::connection::Event;
use crate::customizing::{customizable, infos, start_customizing};
use crate::deliveries::Deliveries;
use crate::drive::Driver;
use crate::later::Later;
use crate::older::Older;
use crate::outbox::Room;
use crate::serve::ServeError;
use crate::surveys::Surveys;

/// The same for agents. Their inputs can be large.
const AGENT_INPUTS: usize = 256;

/// Where content is kept that is too large for a state, in the data directory.
const CONTENT: &str = "content";

/// The loop, with what it owns.
pub(crate) fn driver(
    config: &ServerConfig,
    mut store: Store,
    events: mpsc::Receiver<Event>,
) -> Result<Driver, ServeError> {
    let (to_agents, from_agents) = mpsc::channel(AGENT_INPUTS);
    let notes = config.data_directory.join(RUNNING);
    let protected = config.protected();
    let path = config.data_directory.join(CONTENT);
    let contents = Contents::open(&path);
    let contents = contents.map_err(|source| ServeError::Content { path, source })?;
    let contents = Arc::new(contents);
    let changes = config.data_directory.join(CHANGES);
    let kept = Arc::clone(&contents);
    let surveys = Surveys::new(changes, kept, &notes, protected.clone());
    let scratch = scratch(&config.data_directory)?;
    let shell = Shell {
        path: config.shell.clone(),
        scratch: scratch.clone(),
        ..Shell::default()
    };
    let inputs = to_agents.clone();
    let kept = Arc::clone(&contents);
    let later = Later::new(inputs, kept, surveys, &notes, shell, protected.clone());
    // Programs that used them have ended by now. The next start tries again.
    if let Err(error) = scratch.sweep() {
        tracing::warn!(%error, "failed to remove temporary directories of an earlier host");
    }
    let customizing = start_customizing(config, &notes, scratch, &to_agents)?;
    let mut agents = Agents::new(to_agents);
    agents.protect(protected);
    agents.put_aside_in(Arc::clone(&contents));
    let relay = config.customizations.as_ref();
    let relay = relay.and_then(|customizations| customizations.relay.as_ref());
    if let (Some(relay), Some(customizing)) = (relay, &customizing) {
        agents.offer_tools_by(customizing.relay(relay));
    }
    let mut schemas = BTreeMap::new();
    let mut forbidden = BTreeMap::new();
    for agent in &config.agents {
        agent.begin();
        let provider = agent.info().provider;
        schemas.extend(agent.schema().map(|schema| (provider.clone(), schema)));
        forbidden.insert(provider, agent.forbidden());
        agents.add(Arc::clone(agent));
    }
    // Before anything is read: numbers go on from here.
    store.begin_epoch(micros_since_1970(), random() as u32)?;
    let remembered = store.remembered()?;
    for problem in &remembered.unreadable {
        tracing::error!(problem, "something is lost");
    }
    // What can't be read may be what it belongs to.
    if remembered.unreadable.is_empty() {
        let sessions = remembered.sessions.iter();
        let sessions = sessions.map(|session| SessionKey::of(&session.resource));
        let sessions = sessions.collect();
        // The next start tries again.
        if let Err(error) = later.surveys.changes().forget_others(&sessions) {
            tracing::warn!(%error, "what was kept of sessions that are gone is left behind");
        }
        if let Err(error) = contents.forget_others(&sessions) {
            tracing::warn!(%error, "content of sessions that are gone is left behind");
        }
    }
    let compacted = remembered.seq;
    let grace = config.limits.grace.as_millis();
    let host = Host::new(
        Config {
            server: Implementation {
                name: "agenthost".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                title: None,
            },
            agents: infos(config, &agents),
            schemas,
            forbidden,
            roots: config.roots.clone(),
            default_directory: std::env::home_dir().and_then(|home| uri_of(&home)),
            customizable: customizable(config),
            grace: Millis(i64::try_from(grace).unwrap_or(i64::MAX)),
            subscriptions: config.limits.subscriptions,
            max_sessions: config.limits.sessions,
        },
        remembered,
    );
    Ok(Driver {
        host,
        store,
        agents,
        retention: config.retention,
        events,
        from_agents,
        deliveries: Deliveries::new(config.limits.patience),
        older: Older::default(),
        limits: config.limits.message,
        room: Room::default(),
        later,
        customizing,
        nonce: random(),
        compacted,
        unsettled: false,
        appended: Vec::new(),
    })
}

fn micros_since_1970() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

fn scratch(data_directory: &Path) -> Result<Scratch, ServeError> {
    let path = data_directory.join(SCRATCH);
    Scratch::below(&path).map_err(|source| ServeError::Scratch { path, source })
}

/// A place to count from that no other run has used.
fn random() -> u128 {
    let mut bytes = [0; 16];
    // Without randomness the clock has to do: names only have to be new.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        return since.map_or(0, |since| since.as_nanos()) << 32;
    }
    // Room to count up from.
    u128::from_be_bytes(bytes) >> 8
}
