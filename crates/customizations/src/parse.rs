//! From files to what they mean.
//!
//! Nothing here touches a disk, and nothing here fails: what is wrong is said
//! in words, and the rest works.

mod code_digest;
mod components;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
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
use agenthost_stdx::text;

pub(crate) use code_digest::VERSION as CODE_VERSION;
pub(crate) use components::matches_all_files;
pub use hooks::{DeclaredHook, HookEvent};
pub use servers::{DeclaredServer, DeclaredTransport, ServerDeclError};

use crate::package::identity::{make_id, uri_inside};
use crate::package::{Package, PackageFile};
use crate::syntax::front_matter::ParseBudget;
use crate::syntax::jsonc::JsoncDocument;

/// Longest name.
const MAX_NAME_CHARS: usize = 200;

/// Longest description.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// Most problems that are told one by one.
const MAX_LISTED_PROBLEMS: usize = 6;

/// How the files of a container are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerLayout {
    /// A package with all kinds.
    Plugin,
    /// A folder with one kind.
    Folder(ItemKind),
    /// Some files of a folder, all of one kind.
    Files(ItemKind),
}

/// What can be inside of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
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

impl ItemKind {
    /// What it is called in names.
    pub fn label(self) -> &'static str {
        match self {
            ItemKind::Agent => "agent",
            ItemKind::Skill => "skill",
            ItemKind::Command => "command",
            ItemKind::Prompt => "prompt",
            ItemKind::Rule => "rule",
            ItemKind::Hook => "hook",
            ItemKind::Server => "server",
        }
    }

    /// What it is called in the protocol.
    pub fn customization_type(self) -> CustomizationType {
        match self {
            ItemKind::Agent => CustomizationType::Agent,
            ItemKind::Skill | ItemKind::Command => CustomizationType::Skill,
            ItemKind::Prompt => CustomizationType::Prompt,
            ItemKind::Rule => CustomizationType::Rule,
            ItemKind::Hook => CustomizationType::Hook,
            ItemKind::Server => CustomizationType::McpServer,
        }
    }
}

/// What a container is, apart from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFrame {
    /// Its address.
    pub uri: Uri,
    /// Tells it from others at the same address, such as those of other clients.
    pub owner: String,
    /// How its files are laid out.
    pub layout: ContainerLayout,
}

/// What the files of a container mean.
#[derive(Debug, Clone, Default)]
pub struct ParsedContainer {
    /// Its name, if it says so.
    pub name: Option<String>,
    /// Its version, if it says so.
    pub version: Option<String>,
    /// What is in it.
    pub items: Vec<ContainerItem>,
    /// What is wrong with parts of it.
    pub problems: Vec<String>,
    /// Why nothing of it can be used.
    pub failure: Option<String>,
    /// A digest of its code, if it has any.
    pub code: Option<String>,
}

/// Something in a container.
#[derive(Debug, Clone)]
pub struct ContainerItem {
    /// What clients get to see.
    pub child: ChildCustomization,
    /// Its name.
    pub name: String,
    /// The file that it stands in, from the root of the container.
    pub path: String,
    /// What only the host knows.
    pub detail: ItemDetail,
}

/// What only the host knows about something in a container.
#[derive(Clone)]
pub enum ItemDetail {
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
    Hooks(Vec<DeclaredHook>),
    /// How a server is reached.
    Server(DeclaredServer),
}

/// Shows nothing of what it says or runs.
impl std::fmt::Debug for ItemDetail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ItemDetail::Agent(_) => "Agent(…)",
            ItemDetail::Skill(_) => "Skill(…)",
            ItemDetail::Command(_) => "Command(…)",
            ItemDetail::Prompt(_) => "Prompt(…)",
            ItemDetail::Rule(_) => "Rule(…)",
            ItemDetail::Hooks(_) => "Hooks(…)",
            ItemDetail::Server(_) => "Server(…)",
        })
    }
}

impl ParsedContainer {
    /// Of a container that could not even be looked at.
    pub fn failed(why: impl Into<String>) -> Self {
        ParsedContainer {
            failure: Some(why.into()),
            ..ParsedContainer::default()
        }
    }

    /// How far reading has got (CUS-5), with something more to complain about.
    pub fn load_state(&self, more: Option<&str>) -> LoadState {
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
            .take(MAX_LISTED_PROBLEMS)
            .copied()
            .collect::<Vec<_>>()
            .join("; ");
        if let Some(rest) = all
            .len()
            .checked_sub(MAX_LISTED_PROBLEMS)
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
pub fn parse(package: &Package, frame: &ContainerFrame) -> ParsedContainer {
    let mut context = ParseContext {
        package,
        frame,
        parsed: ParsedContainer {
            problems: package.problems().to_vec(),
            ..ParsedContainer::default()
        },
        claimed_names: BTreeMap::new(),
        budget: ParseBudget::default(),
        hooks_examined: 0,
    };
    match frame.layout {
        ContainerLayout::Plugin => manifest::parse_plugin(&mut context),
        ContainerLayout::Folder(kind) => components::parse_folder(&mut context, kind, ""),
        ContainerLayout::Files(kind) => components::parse_files(&mut context, kind),
    }
    let mut parsed = context.parsed;
    parsed.code = code_digest::digest(&parsed, package, frame.layout);
    parsed
}

/// What was found so far.
struct ParseContext<'a> {
    package: &'a Package,
    frame: &'a ContainerFrame,
    parsed: ParsedContainer,
    /// Who has a name: the first file that claims it.
    claimed_names: BTreeMap<(ItemKind, String), String>,
    /// Work that is left for front matter.
    budget: ParseBudget,
    /// Hooks that were looked at, whether they can be run or not.
    hooks_examined: usize,
}

impl ParseContext<'_> {
    fn add_problem(&mut self, path: &str, what: impl std::fmt::Display) {
        let path = text::truncate_chars(path, 200);
        let problem = format!("`{path}`: {what}");
        // What is too many is so again with each one more.
        if self.parsed.problems.last() != Some(&problem) {
            self.parsed.problems.push(problem);
        }
    }

    /// A file that has to be text; notes what is wrong with it.
    fn read_text(&mut self, path: &str) -> Option<Arc<str>> {
        match self.package.file(path)? {
            PackageFile::Text(text) => Some(text.clone()),
            PackageFile::Other(_) => None,
            PackageFile::Unreadable(why) => {
                let why = why.clone();
                self.add_problem(path, why);
                None
            }
        }
    }

    /// A file that has to be JSON; the same.
    fn read_jsonc(&mut self, path: &str) -> Option<JsoncDocument> {
        let text = self.read_text(path)?;
        let parsed = JsoncDocument::parse(&text);
        parsed
            .map_err(|problem| self.add_problem(path, problem))
            .ok()
    }

    /// Whether a name is free; if it is, it is taken.
    fn claim_name(&mut self, kind: ItemKind, name: &str, path: &str) -> bool {
        let namespace = match kind {
            // Both are skills to clients, which tell children apart by type and name.
            ItemKind::Command => ItemKind::Skill,
            ItemKind::Agent
            | ItemKind::Skill
            | ItemKind::Prompt
            | ItemKind::Rule
            | ItemKind::Hook
            | ItemKind::Server => kind,
        };
        let key = (namespace, name.to_owned());
        match self.claimed_names.get(&key) {
            Some(owner) if owner == path => false,
            Some(owner) => {
                let problem = format!("the name `{name}` is taken by `{owner}`");
                self.add_problem(path, problem);
                false
            }
            None => {
                self.claimed_names.insert(key, path.to_owned());
                true
            }
        }
    }

    fn item_id(&self, kind: ItemKind, path: &str, inline: &str) -> CustomizationId {
        let layout = match self.frame.layout {
            ContainerLayout::Plugin => "plugin",
            ContainerLayout::Folder(kind) | ContainerLayout::Files(kind) => kind.label(),
        };
        let frame = self.frame;
        make_id(
            kind.label(),
            &[&frame.owner, frame.uri.as_str(), layout, path, inline],
        )
    }

    /// What all customizations have.
    fn item_base(
        &self,
        kind: ItemKind,
        location: ItemLocation<'_>,
        name: &str,
    ) -> CustomizationBase {
        CustomizationBase {
            id: self.item_id(kind, location.path, location.inline),
            uri: uri_inside(&self.frame.uri, location.path),
            name: name.to_owned(),
            icons: None,
            range: location.range,
            meta: None,
        }
    }

    fn leaf_base(&self, kind: ItemKind, location: ItemLocation<'_>, name: &str) -> LeafBase {
        LeafBase {
            base: self.item_base(kind, location, name),
            enabled: None,
        }
    }
}

/// Where something stands.
#[derive(Debug, Clone, Copy)]
struct ItemLocation<'a> {
    /// The file.
    path: &'a str,
    /// What it is called inside of that file, if that holds more.
    inline: &'a str,
    /// Where in the file.
    range: Option<TextRange>,
}

impl<'a> ItemLocation<'a> {
    fn whole_file(path: &'a str) -> Self {
        ItemLocation {
            path,
            inline: "",
            range: None,
        }
    }
}

/// Trims a text and cuts it short.
fn truncate_chars(text: &str, max_chars: usize) -> String {
    text::truncate_chars(text.trim(), max_chars)
}
