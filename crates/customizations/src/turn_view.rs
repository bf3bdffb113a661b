//! A view of a session's customizations, from which a turn is prepared.

mod commands;
pub(crate) mod file_mentions;
mod rules;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agenthost_core::agent::SlashCommand;
use agenthost_core::customization::driver::{PreparationError, PreparedTurn, TurnPreparation};
use agenthost_protocol::common::ModelSelection;
use agenthost_protocol::ids::{CustomizationId, ModelId};
use agenthost_protocol::session::ChildCustomization;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::text::truncate_chars;
use agenthost_workspace::path_of;

use crate::parse::{ContainerItem, ItemDetail, ParsedContainer};
use crate::sources::{ContainerDefinition, is_native_path};

/// Maximum size in bytes of the instructions that are added to a prompt.
const MAX_INSTRUCTION_BYTES: usize = 256 * 1024;

/// A container with its parsed files.
#[derive(Debug, Clone)]
pub(crate) struct LoadedContainer {
    pub(crate) definition: Arc<ContainerDefinition>,
    pub(crate) parsed: Arc<ParsedContainer>,
}

/// A snapshot of the customizations of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionView {
    pub(crate) containers: Vec<LoadedContainer>,
    /// Ids of disabled containers and items.
    pub(crate) disabled: BTreeSet<CustomizationId>,
    /// Paths that the agent reads by itself.
    pub(crate) native_paths: Vec<String>,
    pub(crate) home: Option<PathBuf>,
    /// The folders of the session, the primary one first.
    pub(crate) directories: Vec<PathBuf>,
}

/// An enabled item with its container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnabledItem<'a> {
    pub(crate) definition: &'a ContainerDefinition,
    /// The container of the item.
    pub(crate) parsed: &'a ParsedContainer,
    pub(crate) item: &'a ContainerItem,
}

impl EnabledItem<'_> {
    /// Returns the name of the container as clients see it.
    fn container_name(&self) -> String {
        self.definition.published_name(Some(self.parsed))
    }

    fn file_path(&self) -> PathBuf {
        self.definition.root.join(&self.item.path)
    }
}

impl SessionView {
    /// Returns the enabled items, in order.
    pub(crate) fn enabled_items(&self) -> impl Iterator<Item = EnabledItem<'_>> {
        let on = |id: Option<&CustomizationId>| id.is_none_or(|id| !self.disabled.contains(id));
        let containers = self.containers.iter();
        containers
            .filter(move |container| on(Some(&container.definition.id)))
            .flat_map(|container| {
                let definition = container.definition.as_ref();
                let parsed = container.parsed.as_ref();
                let items = parsed.items.iter();
                items.map(move |item| EnabledItem {
                    definition,
                    parsed,
                    item,
                })
            })
            .filter(move |effective| on(effective.item.child.id()))
    }

    /// Returns `true` if the agent reads the item by itself.
    fn is_native(&self, effective: &EnabledItem<'_>) -> bool {
        let file = effective.file_path();
        let inside = |folder: &Path| {
            let inside = file.strip_prefix(folder).ok()?;
            Some(inside.to_string_lossy().into_owned())
        };
        let in_home = self.home.as_deref().and_then(inside);
        let in_home =
            in_home.is_some_and(|path| is_native_path(&self.native_paths, &format!("~/{path}")));
        let mut directories = self.directories.iter();
        in_home
            || directories.any(|directory| {
                inside(directory).is_some_and(|path| is_native_path(&self.native_paths, &path))
            })
    }

    /// Returns the commands that can begin a message.
    pub(crate) fn slash_commands(&self) -> Vec<SlashCommand> {
        commands::all_commands(self)
            .into_iter()
            .filter(|(_, effective)| !self.is_native(effective))
            .map(|(name, effective)| SlashCommand {
                name,
                description: item_description(effective.item)
                    .unwrap_or_default()
                    .to_owned(),
            })
            .collect()
    }

    /// Returns the additions to a turn, or the reason why it must not begin.
    pub(crate) fn prepare_turn(
        &self,
        preparation: &TurnPreparation,
    ) -> Result<PreparedTurn, PreparationError> {
        let agent = match &preparation.agent {
            Some(uri) => Some(self.find_agent(uri)?),
            None => None,
        };
        let mut files: Vec<PathBuf> = preparation.files.iter().filter_map(path_of).collect();
        let home = self.home.as_deref();
        files.extend(file_mentions::mentioned_files(
            &preparation.text,
            &self.directories,
            home,
        ));
        let mut text = String::new();
        rules::write_rules(self, &files, &mut text);
        if let Some(agent) = agent {
            write_agent(&agent, &mut text);
        }
        write_skills(self, &mut text);
        let chosen = agent.as_ref().and_then(|agent| match &agent.item.child {
            ChildCustomization::Agent(agent) => Some(agent),
            _ => None,
        });
        let model = chosen.and_then(|agent| agent.model.clone());
        let tools = chosen.and_then(|agent| agent.tools.clone());
        Ok(PreparedTurn {
            text: commands::expand_command(self, preparation),
            instructions: (!text.is_empty()).then(|| truncate_instructions(text).into()),
            context: None,
            model: model.map(|model| ModelSelection {
                id: ModelId::from(model),
                config: None,
            }),
            // An empty list means no restriction (CUS-18).
            tools: tools.filter(|tools| !tools.is_empty()),
        })
    }

    /// Returns the custom agent that the user selected. Without it the turn must not begin,
    /// because it would differ from the one that the user requested.
    fn find_agent(&self, uri: &Uri) -> Result<EnabledItem<'_>, PreparationError> {
        self.enabled_items()
            .find(|effective| match &effective.item.child {
                ChildCustomization::Agent(agent) => agent.leaf.base.uri == *uri,
                _ => false,
            })
            .ok_or_else(|| PreparationError::AgentNotEnabled(truncate_chars(uri.as_str(), 200)))
    }
}

fn write_agent(agent: &EnabledItem<'_>, text: &mut String) {
    let ItemDetail::Agent(body) = &agent.item.detail else {
        return;
    };
    push_heading(text, &format!("Act as the agent `{}`", agent.item.name));
    text.push_str(body.trim());
    text.push('\n');
    if let ChildCustomization::Agent(child) = &agent.item.child
        && let Some(tools) = &child.tools
    {
        let tools = tools.join(", ");
        text.push_str(&format!("\nUse no other tools than these: {tools}\n"));
    }
}

/// Lists the skills with their paths. The agent reads their files when it needs them.
fn write_skills(view: &SessionView, text: &mut String) {
    let skills = view.enabled_items().filter(|effective| {
        let usable = match &effective.item.child {
            ChildCustomization::Skill(skill) => skill.disable_model_invocation != Some(true),
            _ => false,
        };
        usable && !view.is_native(effective)
    });
    let mut first = true;
    for skill in skills {
        if first {
            push_heading(text, "Skills");
            text.push_str(
                "When a task fits one of these, read its file first and follow it. Paths in it \
                 are relative to its folder.\n\n",
            );
            first = false;
        }
        let file = skill.file_path();
        let what = item_description(skill.item).unwrap_or("no description");
        let (name, file) = (&skill.item.name, file.display());
        text.push_str(&format!("- {name}: {} ({file})\n", to_one_line(what)));
    }
}

fn push_heading(text: &mut String, heading: &str) {
    text.truncate(text.trim_end().len());
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(&format!("# {heading}\n\n"));
}

fn to_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn item_description(item: &ContainerItem) -> Option<&str> {
    match &item.child {
        ChildCustomization::Agent(child) => child.description.as_deref(),
        ChildCustomization::Skill(child) => child.description.as_deref(),
        ChildCustomization::Prompt(child) => child.description.as_deref(),
        ChildCustomization::Rule(child) => child.description.as_deref(),
        ChildCustomization::Hook(_)
        | ChildCustomization::McpServer(_)
        | ChildCustomization::Unknown(_) => None,
    }
}

/// Truncates instructions that are too long and adds a note about it.
fn truncate_instructions(mut text: String) -> String {
    if text.len() > MAX_INSTRUCTION_BYTES {
        let end = (0..=MAX_INSTRUCTION_BYTES)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push_str("\n\n(The rest was left out: it is too long.)\n");
    }
    text
}
