//! Labels outside of chats: agents, models, commands, tools, settings,
//! customizations.

use agenthost_protocol::common::{ConfigPropertySchema, SessionConfigSchema, ToolDefinition};
use agenthost_protocol::label::{clean_label, clean_text};
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{ChildCustomization, Customization, CustomizationBase};

use crate::agent::SlashCommand;
use crate::tools::mcp::driver::McpTool;

/// Cleans the names of agents and their models.
pub(crate) fn clean_agents(agents: &mut [AgentInfo]) {
    for agent in agents {
        clean_label(&mut agent.display_name);
        clean_text(&mut agent.description);
        for model in &mut agent.models {
            clean_label(&mut model.name);
        }
    }
}

/// Cleans the names of slash commands.
pub(crate) fn clean_commands(commands: &mut [SlashCommand]) {
    for command in commands {
        clean_label(&mut command.name);
        clean_label(&mut command.description);
    }
}

/// Cleans the tools of an agent.
pub(crate) fn clean_tools(tools: &mut [ToolDefinition]) {
    for tool in tools {
        clean_label(&mut tool.name);
        tool.title.iter_mut().for_each(clean_label);
        tool.description.iter_mut().for_each(clean_text);
        if let Some(annotations) = &mut tool.annotations {
            annotations.title.iter_mut().for_each(clean_label);
        }
    }
}

/// Cleans the tools of MCP servers. Their names are made by the host.
pub(crate) fn clean_server_tools(tools: &mut [McpTool]) {
    for tool in tools {
        tool.title.iter_mut().for_each(clean_label);
        tool.description.iter_mut().for_each(clean_text);
    }
}

/// Cleans the titles of what can be configured about sessions.
pub(crate) fn clean_schema(schema: &mut SessionConfigSchema) {
    for property in schema.properties.values_mut() {
        clean_property(&mut property.property);
    }
}

/// Cleans the name of a customization, and of all that is in it.
pub(crate) fn clean_customization(customization: &mut Customization) {
    match customization {
        Customization::Plugin(plugin) => clean_base(&mut plugin.container.base),
        Customization::Directory(directory) => clean_base(&mut directory.container.base),
        Customization::McpServer(server) => clean_base(&mut server.base),
        Customization::Unknown(_) => {}
    }
    for child in customization.children_mut().into_iter().flatten() {
        clean_child(child);
    }
}

fn clean_child(child: &mut ChildCustomization) {
    let description = match child {
        ChildCustomization::Agent(agent) => agent.description.as_mut(),
        ChildCustomization::Skill(skill) => skill.description.as_mut(),
        ChildCustomization::Prompt(prompt) => prompt.description.as_mut(),
        ChildCustomization::Rule(rule) => rule.description.as_mut(),
        ChildCustomization::McpServer(server) => return clean_base(&mut server.base),
        ChildCustomization::Hook(_) | ChildCustomization::Unknown(_) => None,
    };
    description.into_iter().for_each(clean_text);
    if let Some(leaf) = child.leaf_mut() {
        clean_base(&mut leaf.base);
    }
}

fn clean_base(base: &mut CustomizationBase) {
    clean_label(&mut base.name);
}

fn clean_property(property: &mut ConfigPropertySchema) {
    clean_label(&mut property.title);
    property.description.iter_mut().for_each(clean_text);
    let labels = property.enum_labels.iter_mut().flatten();
    labels.for_each(clean_label);
    let descriptions = property.enum_descriptions.iter_mut().flatten();
    descriptions.for_each(clean_text);
    let nested = property
        .properties
        .iter_mut()
        .flat_map(|all| all.values_mut());
    nested.for_each(clean_property);
    property
        .items
        .iter_mut()
        .for_each(|items| clean_property(items));
}
