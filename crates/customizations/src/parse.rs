//! Parses the files of a container into its items: rules, skills, prompts, agents, hooks,
//! MCP servers.
//!
//! Parsing never touches the disk and never fails: problems are collected as text, and the
//! valid parts are used.

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

/// Maximum length of an item's name, in characters.
const MAX_NAME_CHARS: usize = 200;

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// Maximum number of problems that are listed one by one; the rest is counted.
const MAX_LISTED_PROBLEMS: usize = 6;

/// The layout of a container's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerLayout {
    /// A package with items of all kinds.
    Plugin,
    /// A folder with items of one kind.
    Folder(ItemKind),
    /// Selected files of a folder, all of one kind.
    Files(ItemKind),
}

/// The kinds of items in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// A custom agent: a Markdown file with instructions.
    Agent,
    /// A skill, usually a folder with `SKILL.md`.
    Skill,
    /// A skill in the flat format of `commands/`: one file, named by its path.
    Command,
    /// A prompt that users invoke.
    Prompt,
    /// A rule with instructions for prompts.
    Rule,
    /// The hooks of one event.
    Hook,
    /// An MCP server declaration.
    Server,
}

impl ItemKind {
    /// Returns the label of the kind in ids.
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

    /// Returns the type of the kind in the protocol.
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

/// The identity and layout of a container, without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFrame {
    /// The URI of the container.
    pub uri: Uri,
    /// Distinguishes containers at the same URI, such as those of different clients.
    pub owner: String,
    /// The layout of its files.
    pub layout: ContainerLayout,
}

/// The parsed files of a container.
#[derive(Debug, Clone, Default)]
pub struct ParsedContainer {
    /// The name that its manifest declares.
    pub name: Option<String>,
    /// The version that its manifest declares.
    pub version: Option<String>,
    /// The items that could be parsed.
    pub items: Vec<ContainerItem>,
    /// Problems with parts of the container, as text.
    pub problems: Vec<String>,
    /// The reason why no part of the container can be used.
    pub failure: Option<String>,
    /// A digest of its code, if it declares any.
    pub code: Option<String>,
}

/// A rule, skill, prompt, agent, hook or MCP server of a container.
#[derive(Debug, Clone)]
pub struct ContainerItem {
    /// The customization as clients see it.
    pub child: ChildCustomization,
    /// The name, unique for its kind in the container.
    pub name: String,
    /// The path of its file, relative to the root of the container.
    pub path: String,
    /// The contents that clients do not see.
    pub detail: ItemDetail,
}

/// The contents of an item that only the host uses.
#[derive(Clone)]
pub enum ItemDetail {
    /// The instructions of a custom agent.
    Agent(Arc<str>),
    /// The text of a skill.
    Skill(Arc<str>),
    /// The text of a skill in the `commands/` format.
    Command(Arc<str>),
    /// The text of a prompt.
    Prompt(Arc<str>),
    /// The text of a rule.
    Rule(Arc<str>),
    Hooks(Vec<DeclaredHook>),
    /// The declaration of an MCP server.
    Server(DeclaredServer),
}

/// Omits texts and commands, so that logs do not contain them.
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
    /// Returns the result for a container that could not be read at all.
    pub fn failed(why: impl Into<String>) -> Self {
        ParsedContainer {
            failure: Some(why.into()),
            ..ParsedContainer::default()
        }
    }

    /// Returns the load state (CUS-5), optionally with an additional problem.
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

    /// Returns the items as clients see them.
    pub fn children(&self) -> Vec<ChildCustomization> {
        self.items.iter().map(|item| item.child.clone()).collect()
    }
}

/// Parses the files of a container.
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

/// The state of a parse run.
struct ParseContext<'a> {
    package: &'a Package,
    frame: &'a ContainerFrame,
    parsed: ParsedContainer,
    /// The file that claimed a name first, by kind and name.
    claimed_names: BTreeMap<(ItemKind, String), String>,
    /// The remaining budget for parsing front matter.
    budget: ParseBudget,
    /// The number of examined hooks, including those that can't be run.
    hooks_examined: usize,
}

impl ParseContext<'_> {
    fn add_problem(&mut self, path: &str, what: impl std::fmt::Display) {
        let path = text::truncate_chars(path, 200);
        let problem = format!("`{path}`: {what}");
        // A limit is exceeded again by each further item, but reported once.
        if self.parsed.problems.last() != Some(&problem) {
            self.parsed.problems.push(problem);
        }
    }

    /// Returns the text of a file, or adds the problem with it.
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

    /// Returns a parsed JSONC file, or adds the problem with it.
    fn read_jsonc(&mut self, path: &str) -> Option<JsoncDocument> {
        let text = self.read_text(path)?;
        let parsed = JsoncDocument::parse(&text);
        parsed
            .map_err(|problem| self.add_problem(path, problem))
            .ok()
    }

    /// Claims a name for a file. Returns `false` and adds a problem if another file has
    /// claimed it.
    fn claim_name(&mut self, kind: ItemKind, name: &str, path: &str) -> bool {
        let namespace = match kind {
            // Both are skills to clients, which distinguish children by type and name.
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

    /// Returns the fields that all customizations share.
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

/// The location of an item's declaration.
#[derive(Debug, Clone, Copy)]
struct ItemLocation<'a> {
    /// The path of the file.
    path: &'a str,
    /// The name of the item inside of a file with several items.
    inline: &'a str,
    /// The range of the declaration in the file.
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

/// Trims a text and truncates it to a number of characters.
fn truncate_chars(text: &str, max_chars: usize) -> String {
    text::truncate_chars(text.trim(), max_chars)
}
