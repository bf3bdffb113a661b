//! What a folder has, read once for a person: no host is needed, and nothing
//! is followed.

use std::path::{Path, PathBuf};

use agenthost_core::as_kept;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::wire::Object;
use agenthost_workspace::uri_of;

use crate::mcp::McpSpec;
use crate::parse::{Declared, Detail, Hook, Parsed};
use crate::placeholders::{Names, NotSet};
use crate::sources::{Definition, Settings, code_key, definitions, servers};

/// What has to be allowed before the code of a container is run, in its
/// `_meta`.
pub const CODE: &str = "agenthost.code";

/// Something that a folder has.
#[derive(Debug, Clone)]
pub struct Looked {
    /// What clients get to see of it.
    pub shown: Customization,
    /// How far reading it has got, apart from whether its code is allowed.
    pub load: LoadState,
    /// Where its files are; a server of the configuration has none.
    pub root: Option<PathBuf>,
    /// What it would run.
    pub code: Option<Code>,
}

/// What a container would run.
#[derive(Debug, Clone)]
pub struct Code {
    /// What has to be allowed; see [`code_key`].
    pub key: String,
    /// Whether it is.
    pub allowed: Allowed,
    /// What it is, one by one.
    pub runs: Vec<Runs>,
}

/// Whether code may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// It is the user's own, or the configuration names it.
    Own,
    /// A person allowed it.
    ByPerson,
    /// Nobody has allowed it as it is now.
    NotYet,
}

/// Something that would be run. It is for the person who has to allow it, and
/// for no client (CUS-19).
#[derive(Debug, Clone)]
pub enum Runs {
    /// A hook.
    Hook {
        /// When, as its file calls it.
        event: String,
        /// What.
        hook: Hook,
    },
    /// A server.
    Server {
        /// As it was declared: no name in it is resolved.
        declared: Declared,
        /// How it would be reached.
        reached: Result<McpSpec, NotSet>,
    },
}

impl Code {
    /// Whether nobody has allowed it as it is now.
    pub fn waits(&self) -> bool {
        self.allowed == Allowed::NotYet
    }
}

/// Reads all that a session of an agent in these folders would have, the
/// primary folder first; what is there for any agent if none is named.
pub fn look(
    settings: &Settings,
    data: &Path,
    agent: Option<&ProviderId>,
    directories: &[PathBuf],
) -> Vec<Looked> {
    let mut settings = settings.clone();
    let agent = agent.cloned().unwrap_or_else(|| {
        for plugin in &mut settings.plugins {
            plugin.agents = None;
        }
        ProviderId::from("")
    });
    let workspace = directories.first().map(PathBuf::as_path);
    let containers = definitions(&settings, data, &agent, directories);
    let containers = containers.iter().filter_map(|definition| {
        let reading = definition.read();
        let parsed = &reading.parsed;
        let names = definition.names(&settings, data, workspace);
        let code = code(&settings, definition, parsed, &names);
        let waits = code.as_ref().is_some_and(Code::waits);
        let complaint = waits.then(|| {
            let name = &definition.name;
            format!("its code waits to be allowed: see `agenthost customizations allow {name}`")
        });
        definition.shown_if(reading.present).then(|| Looked {
            shown: definition.customization(Some(parsed), complaint.as_deref()),
            load: parsed.load(None),
            root: Some(definition.root.clone()),
            code,
        })
    });
    let names = Names {
        package: None,
        data: None,
        workspace,
        home: settings.home.as_deref(),
        environment: &settings.environment,
    };
    let configured = servers(&settings).zip(&settings.servers);
    let configured = configured.map(|(shown, declared)| Looked {
        shown,
        load: LoadState::Loaded,
        root: None,
        code: Some(Code {
            key: String::new(),
            allowed: Allowed::Own,
            runs: vec![server(declared, &names)],
        }),
    });
    containers.chain(configured).collect()
}

/// Marks what is on and off in a folder, by what a host remembers in its
/// settings.
pub fn decide(looked: &mut [Looked], settings: &Object, folder: &Path) {
    let folder = uri_of(folder);
    for one in looked {
        as_kept(settings, folder.as_ref(), &mut one.shown);
    }
}

fn code(
    settings: &Settings,
    definition: &Definition,
    parsed: &Parsed,
    names: &Names<'_>,
) -> Option<Code> {
    let key = code_key(&definition.frame.uri, parsed.code.as_ref()?);
    let allowed = match definition.is_trusted() {
        true => Allowed::Own,
        false if settings.trusted.contains(&key) => Allowed::ByPerson,
        false => Allowed::NotYet,
    };
    let runs = parsed.items.iter().flat_map(|item| match &item.detail {
        Detail::Hooks(hooks) => hooks
            .iter()
            .map(|hook| Runs::Hook {
                event: item.name.clone(),
                hook: hook.clone(),
            })
            .collect(),
        Detail::Server(declared) => vec![server(declared, names)],
        Detail::Agent(_)
        | Detail::Skill(_)
        | Detail::Command(_)
        | Detail::Prompt(_)
        | Detail::Rule(_) => Vec::new(),
    });
    Some(Code {
        key,
        allowed,
        runs: runs.collect(),
    })
}

fn server(declared: &Declared, names: &Names<'_>) -> Runs {
    Runs::Server {
        reached: names.server(declared),
        declared: declared.clone(),
    }
}
