//! From files to what they mean.
//!
//! Nothing here touches a disk, and nothing here fails: what is wrong is said
//! in words, and the rest works.

mod code_digest;
mod components;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod hooks;
mod manifest;
mod markdown;
mod paths;
mod servers;

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::common::TextRange;
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::{
    ChildCustomization, CustomizationBase, CustomizationType, LeafBase, LoadProblem, LoadState,
};
use agenthost_protocol::uri::Uri;

pub(crate) use code_digest::VERSION as CODE_VERSION;
pub(crate) use components::means_all;
pub use hooks::{Hook, HookEvent};
pub use servers::{Declared, DeclaredWay};

use crate::declarations::Declarations;
use crate::front_matter::ParseBudget;
use crate::identity::{id_of, uri_inside};
use crate::package::{Package, PackageFile};

/// Longest name.
const LONGEST_NAME: usize = 200;

/// Longest description.
const LONGEST_DESCRIPTION: usize = 1_024;

/// Most problems that are told one by one.
const MOST_PROBLEMS: usize = 6;

/// How the files of a container are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// A package with all kinds.
    Plugin,
    /// A folder with one kind.
    Folder(Kind),
    /// Some files of a folder, all of one kind.
    Files(Kind),
}

/// What can be inside of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A custom agent.
    Agent,
    /// A skill.
    Skill,
    /// A skill in the flat format of `commands/`: one file, called by its path.
    Command,
    /// A prompt.
    Prompt,
    /// A rule.
    Rule,
    /// Hooks.
    Hook,
    /// A server of tools.
    Server,
}

impl Kind {
    /// What it is called in names.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Agent => "agent",
            Kind::Skill => "skill",
            Kind::Command => "command",
            Kind::Prompt => "prompt",
            Kind::Rule => "rule",
            Kind::Hook => "hook",
            Kind::Server => "server",
        }
    }

    /// What it is called in the protocol.
    pub fn customization_type(self) -> CustomizationType {
        match self {
            Kind::Agent => CustomizationType::Agent,
            Kind::Skill | Kind::Command => CustomizationType::Skill,
            Kind::Prompt => CustomizationType::Prompt,
            Kind::Rule => CustomizationType::Rule,
            Kind::Hook => CustomizationType::Hook,
            Kind::Server => CustomizationType::McpServer,
        }
    }
}

/// What a container is, apart from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Its address.
    pub uri: Uri,
    /// Tells it from others at the same address, such as those of other clients.
    pub owner: String,
    /// How its files are laid out.
    pub layout: Layout,
}

/// What the files of a container mean.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// Its name, if it says so.
    pub name: Option<String>,
    /// Its version, if it says so.
    pub version: Option<String>,
    /// What is in it.
    pub items: Vec<Item>,
    /// What is wrong with parts of it.
    pub problems: Vec<String>,
    /// Why nothing of it can be used.
    pub failure: Option<String>,
    /// A digest of its code, if it has any.
    pub code: Option<String>,
}

/// Something in a container.
#[derive(Debug, Clone)]
pub struct Item {
    /// What clients get to see.
    pub child: ChildCustomization,
    /// Its name.
    pub name: String,
    /// The file that it stands in, from the root of the container.
    pub path: String,
    /// What only the host knows.
    pub detail: Detail,
}

/// What only the host knows about something in a container.
#[derive(Clone)]
pub enum Detail {
    /// A custom agent's prompt.
    Agent(Arc<str>),
    /// A skill's text.
    Skill(Arc<str>),
    /// The text of a skill that is a command.
    Command(Arc<str>),
    /// A prompt's text.
    Prompt(Arc<str>),
    /// A rule's text.
    Rule(Arc<str>),
    /// What hooks run.
    Hooks(Vec<Hook>),
    /// How a server is reached.
    Server(Declared),
}

/// Shows nothing of what it says or runs.
impl std::fmt::Debug for Detail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Detail::Agent(_) => "Agent(…)",
            Detail::Skill(_) => "Skill(…)",
            Detail::Command(_) => "Command(…)",
            Detail::Prompt(_) => "Prompt(…)",
            Detail::Rule(_) => "Rule(…)",
            Detail::Hooks(_) => "Hooks(…)",
            Detail::Server(_) => "Server(…)",
        })
    }
}

impl Parsed {
    /// Of a container that could not even be looked at.
    pub fn failed(why: impl Into<String>) -> Self {
        Parsed {
            failure: Some(why.into()),
            ..Parsed::default()
        }
    }

    /// How far reading has got (CUS-5), with something more to complain about.
    pub fn load(&self, more: Option<&str>) -> LoadState {
        if let Some(failure) = &self.failure {
            return LoadState::Error(LoadProblem {
                message: failure.clone(),
            });
        }
        let all: Vec<&str> = more
            .into_iter()
            .chain(self.problems.iter().map(String::as_str))
            .collect();
        if all.is_empty() {
            return LoadState::Loaded;
        }
        let mut message = all
            .iter()
            .take(MOST_PROBLEMS)
            .copied()
            .collect::<Vec<_>>()
            .join("; ");
        if let Some(rest) = all
            .len()
            .checked_sub(MOST_PROBLEMS)
            .filter(|rest| *rest > 0)
        {
            message.push_str(&format!("; and {rest} more"));
        }
        LoadState::Degraded(LoadProblem { message })
    }

    /// What clients get to see of what is in it.
    pub fn children(&self) -> Vec<ChildCustomization> {
        self.items.iter().map(|item| item.child.clone()).collect()
    }
}

/// Finds out what files mean.
pub fn parse(package: &Package, frame: &Frame) -> Parsed {
    let mut found = Finding {
        package,
        frame,
        parsed: Parsed {
            problems: package.problems().to_vec(),
            ..Parsed::default()
        },
        names: BTreeMap::new(),
        budget: ParseBudget::default(),
        hooks_examined: 0,
    };
    match frame.layout {
        Layout::Plugin => manifest::plugin(&mut found),
        Layout::Folder(kind) => components::folder(&mut found, kind, ""),
        Layout::Files(kind) => components::files(&mut found, kind),
    }
    let mut parsed = found.parsed;
    parsed.code = code_digest::digest(&parsed, package, frame.layout);
    parsed
}

/// What was found so far.
struct Finding<'a> {
    package: &'a Package,
    frame: &'a Frame,
    parsed: Parsed,
    /// Who has a name: the first file that claims it.
    names: BTreeMap<(Kind, String), String>,
    /// Work that is left for front matter.
    budget: ParseBudget,
    /// Hooks that were looked at, whether they can be run or not.
    hooks_examined: usize,
}

impl Finding<'_> {
    fn problem(&mut self, path: &str, what: impl std::fmt::Display) {
        let path: String = path.chars().take(200).collect();
        let problem = format!("`{path}`: {what}");
        // What is too many is so again with each one more.
        if self.parsed.problems.last() != Some(&problem) {
            self.parsed.problems.push(problem);
        }
    }

    /// A file that has to be text; notes what is wrong with it.
    fn text(&mut self, path: &str) -> Option<Arc<str>> {
        match self.package.file(path)? {
            PackageFile::Text(text) => Some(text.clone()),
            PackageFile::Other(_) => None,
            PackageFile::Unreadable(why) => {
                let why = why.clone();
                self.problem(path, why);
                None
            }
        }
    }

    /// A file that has to be JSON; the same.
    fn declarations(&mut self, path: &str) -> Option<Declarations> {
        let text = self.text(path)?;
        let parsed = Declarations::parse(&text);
        parsed.map_err(|problem| self.problem(path, problem)).ok()
    }

    /// Whether a name is free; if it is, it is taken.
    fn claims(&mut self, kind: Kind, name: &str, path: &str) -> bool {
        let namespace = match kind {
            // Both are skills to clients, which tell children apart by type and name.
            Kind::Command => Kind::Skill,
            Kind::Agent | Kind::Skill | Kind::Prompt | Kind::Rule | Kind::Hook | Kind::Server => {
                kind
            }
        };
        let key = (namespace, name.to_owned());
        match self.names.get(&key) {
            Some(owner) if owner == path => false,
            Some(owner) => {
                let problem = format!("the name `{name}` is taken by `{owner}`");
                self.problem(path, problem);
                false
            }
            None => {
                self.names.insert(key, path.to_owned());
                true
            }
        }
    }

    fn id(&self, kind: Kind, path: &str, inline: &str) -> CustomizationId {
        let layout = match self.frame.layout {
            Layout::Plugin => "plugin",
            Layout::Folder(kind) | Layout::Files(kind) => kind.word(),
        };
        let frame = self.frame;
        id_of(
            kind.word(),
            &[&frame.owner, frame.uri.as_str(), layout, path, inline],
        )
    }

    /// What all customizations have.
    fn base(&self, kind: Kind, place: Place<'_>, name: &str) -> CustomizationBase {
        CustomizationBase {
            id: self.id(kind, place.path, place.inline),
            uri: uri_inside(&self.frame.uri, place.path),
            name: name.to_owned(),
            icons: None,
            range: place.range,
            meta: None,
        }
    }

    fn leaf(&self, kind: Kind, place: Place<'_>, name: &str) -> LeafBase {
        LeafBase {
            base: self.base(kind, place, name),
            enabled: None,
        }
    }
}

/// Where something stands.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    /// The file.
    path: &'a str,
    /// What it is called inside of that file, if that holds more.
    inline: &'a str,
    /// Where in the file.
    range: Option<TextRange>,
}

impl<'a> Place<'a> {
    fn whole(path: &'a str) -> Self {
        Place {
            path,
            inline: "",
            range: None,
        }
    }
}

/// Cuts a text short.
fn cut(text: &str, longest: usize) -> String {
    text.trim().chars().take(longest).collect()
}
