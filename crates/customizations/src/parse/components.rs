//! Parses agents, skills, commands, prompts and rules, which are Markdown files in folders.

use agenthost_protocol::session::{
    AgentCustomization, ChildCustomization, PromptCustomization, RuleCustomization,
    SkillCustomization,
};

use super::markdown::{MarkdownItem, read_markdown};
use super::{
    ContainerItem, ContainerLayout, ItemDetail, ItemKind, ItemLocation, MAX_NAME_CHARS,
    ParseContext, hooks, servers, truncate_chars,
};

/// Parses all items of one kind in a folder.
pub(super) fn parse_folder(context: &mut ParseContext<'_>, kind: ItemKind, folder: &str) {
    let paths: Vec<String> = context
        .package
        .files_below(folder)
        .map(|(path, _)| path.to_owned())
        .collect();
    match kind {
        ItemKind::Skill => parse_skills(context, folder, &paths),
        ItemKind::Command => parse_commands(context, folder, &paths),
        ItemKind::Agent | ItemKind::Prompt | ItemKind::Rule => {
            for path in paths {
                if let Some(name) = item_name(kind, relative_path(folder, &path)) {
                    parse_markdown(context, kind, &path, &name);
                }
            }
        }
        ItemKind::Hook | ItemKind::Server => {
            for path in paths.iter().filter(|path| path.ends_with(".json")) {
                match kind {
                    ItemKind::Hook => hooks::parse_hook_file(context, path),
                    _ => servers::parse_server_file(context, path),
                }
            }
        }
    }
}

/// Parses selected files as items of one kind.
pub(super) fn parse_files(context: &mut ParseContext<'_>, kind: ItemKind) {
    let paths: Vec<String> = context
        .package
        .files_below("")
        .map(|(path, _)| path.to_owned())
        .collect();
    for path in paths {
        match kind {
            ItemKind::Hook => hooks::parse_hook_file(context, &path),
            ItemKind::Server => servers::parse_server_file(context, &path),
            ItemKind::Agent
            | ItemKind::Skill
            | ItemKind::Command
            | ItemKind::Prompt
            | ItemKind::Rule => {
                // The path distinguishes files such as `AGENTS.md` best.
                let name = path.clone();
                parse_markdown(context, kind, &path, &name);
            }
        }
    }
}

/// Parses a file or folder that a manifest lists.
pub(super) fn parse_path(context: &mut ParseContext<'_>, kind: ItemKind, path: &str) {
    if context.package.file(path).is_none() {
        parse_folder(context, kind, path);
        return;
    }
    let last = path.rsplit('/').next().unwrap_or(path);
    match kind {
        ItemKind::Skill => parse_skill(context, path, None),
        _ => {
            if let Some(name) = item_name(kind, last) {
                parse_markdown(context, kind, path, &name);
            }
        }
    }
}

/// Parses skills in both layouts: a folder with `SKILL.md`, and a single file.
fn parse_skills(context: &mut ParseContext<'_>, folder: &str, paths: &[String]) {
    let mut inside_of: Option<String> = None;
    for path in paths.iter().filter(|path| is_skill_file(path)) {
        let home = path.rsplit_once('/').map_or("", |(home, _)| home);
        // A `SKILL.md` inside of another skill's folder belongs to that skill.
        let nested = inside_of
            .as_ref()
            .is_some_and(|above| is_below(home, above));
        if nested {
            continue;
        }
        inside_of = Some(home.to_owned()).filter(|home| !home.is_empty());
        parse_skill(context, path, None);
    }
    for path in paths {
        let inside = relative_path(folder, path);
        if inside.contains('/') || is_skill_file(path) {
            continue;
        }
        if let Some(name) = item_name(ItemKind::Skill, inside) {
            parse_skill(context, path, Some(name));
        }
    }
}

/// Parses every file as a command. A folder with `SKILL.md` is a skill here, too: clients
/// save new skills in that layout into every directory of skills.
fn parse_commands(context: &mut ParseContext<'_>, folder: &str, paths: &[String]) {
    let mut skill_folders: Vec<String> = Vec::new();
    for path in paths.iter().filter(|path| is_skill_file(path)) {
        let Some((home, _)) = path.rsplit_once('/').filter(|(home, _)| *home != folder) else {
            continue;
        };
        if !skill_folders.iter().any(|above| is_below(path, above)) {
            skill_folders.push(home.to_owned());
            parse_skill(context, path, None);
        }
    }
    for path in paths {
        if skill_folders.iter().any(|above| is_below(path, above)) {
            continue;
        }
        if let Some(name) = item_name(ItemKind::Command, relative_path(folder, path)) {
            parse_markdown(context, ItemKind::Command, path, &name);
        }
    }
}

/// Returns `true` if a file makes its folder a skill.
fn is_skill_file(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    last.eq_ignore_ascii_case("skill.md")
}

/// Returns `true` if a path is below a folder.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Parses a skill. Without a `name` in its front matter, it has the name of its folder.
pub(super) fn parse_skill(context: &mut ParseContext<'_>, path: &str, name: Option<String>) {
    let name = name.unwrap_or_else(|| {
        let mut parts = path.rsplit('/').skip(1);
        let whole = context.frame.uri.as_str().trim_end_matches('/');
        let whole = whole.rsplit('/').next().unwrap_or("skill");
        let whole = context.parsed.name.as_deref().unwrap_or(whole);
        parts.next().unwrap_or(whole).to_owned()
    });
    parse_markdown(context, ItemKind::Skill, path, &name);
}

/// Parses one Markdown file as an item.
fn parse_markdown(context: &mut ParseContext<'_>, kind: ItemKind, path: &str, fallback: &str) {
    let Some(text) = context.read_text(path) else {
        return;
    };
    let file = read_markdown(context, path, &text);
    let has_name = matches!(kind, ItemKind::Agent | ItemKind::Skill | ItemKind::Rule);
    if file.has_empty_name && has_name {
        let fallback = truncate_chars(fallback, 80);
        context.add_problem(path, format!("its `name` is empty: using `{fallback}`"));
    }
    let name = match (&file.name, kind) {
        // Commands and prompts have the name of their file, because users type it.
        (Some(name), ItemKind::Agent | ItemKind::Skill | ItemKind::Rule) => name.clone(),
        (Some(_) | None, _) => truncate_chars(fallback, MAX_NAME_CHARS),
    };
    if !context.claim_name(kind, &name, path) {
        return;
    }
    let item = build_item(context, kind, path, &name, file);
    context.parsed.items.push(item);
}

fn build_item(
    context: &ParseContext<'_>,
    kind: ItemKind,
    path: &str,
    name: &str,
    file: MarkdownItem,
) -> ContainerItem {
    let leaf = context.leaf_base(kind, ItemLocation::whole_file(path), name);
    let body = file.body;
    let (child, detail) = match kind {
        ItemKind::Agent => (
            ChildCustomization::Agent(AgentCustomization {
                leaf,
                description: file.description,
                model: file.model,
                tools: file.tools,
                disable_model_invocation: file.disable_model_invocation,
                disable_user_invocation: file.disable_user_invocation,
            }),
            ItemDetail::Agent(body),
        ),
        ItemKind::Skill => (
            ChildCustomization::Skill(SkillCustomization {
                leaf,
                description: file.description.or(file.first_line),
                disable_model_invocation: file.disable_model_invocation,
                disable_user_invocation: file.disable_user_invocation,
            }),
            ItemDetail::Skill(body),
        ),
        ItemKind::Command => (
            ChildCustomization::Skill(SkillCustomization {
                leaf,
                description: file.description.or(file.first_line),
                disable_model_invocation: file.disable_model_invocation,
                disable_user_invocation: file.disable_user_invocation,
            }),
            ItemDetail::Command(body),
        ),
        ItemKind::Prompt => (
            ChildCustomization::Prompt(PromptCustomization {
                leaf,
                description: file.description,
            }),
            ItemDetail::Prompt(body),
        ),
        ItemKind::Rule | ItemKind::Hook | ItemKind::Server => {
            let globs = file.globs.as_deref().unwrap_or_default();
            let everywhere = globs.iter().any(|glob| matches_all_files(glob));
            // A plain rule applies everywhere. Formats with a switch for this, such as Open
            // Plugins, apply a rule as the switch says.
            let plain = !path.ends_with(".mdc") && !path.ends_with(".instructions.md");
            let in_plugin = context.frame.layout == ContainerLayout::Plugin;
            let by_default = (plain && !in_plugin && file.globs.is_none()) || everywhere;
            // The author may have meant certain files only.
            let always = if file.is_scope_unclear {
                Some(false)
            } else {
                by_default.then_some(true)
            };
            (
                ChildCustomization::Rule(RuleCustomization {
                    leaf,
                    description: match plain && in_plugin {
                        // Agents use the description to decide if the rule applies.
                        true => file.description.or(file.first_line),
                        false => file.description,
                    },
                    always_apply: file.always_apply.or(always),
                    globs: file.globs,
                }),
                ItemDetail::Rule(body),
            )
        }
    };
    ContainerItem {
        child,
        name: name.to_owned(),
        path: path.to_owned(),
        detail,
    }
}

/// Returns `true` if a glob matches all files.
pub(crate) fn matches_all_files(glob: &str) -> bool {
    glob == "**" || glob == "**/*"
}

/// Returns a path relative to a folder.
fn relative_path<'a>(folder: &str, path: &'a str) -> &'a str {
    match folder {
        "" => path,
        _ => path
            .strip_prefix(folder)
            .map_or(path, |rest| rest.trim_start_matches('/')),
    }
}

/// Returns the name of an item from its file's path, or `None` if the file is not of this
/// kind.
fn item_name(kind: ItemKind, path: &str) -> Option<String> {
    let endings: &[&str] = match kind {
        ItemKind::Agent => &[".agent.md", ".chatmode.md", ".md"],
        ItemKind::Skill => &[".md"],
        ItemKind::Command | ItemKind::Prompt => &[".prompt.md", ".md"],
        ItemKind::Rule => &[".instructions.md", ".mdc", ".md"],
        ItemKind::Hook | ItemKind::Server => &[".json"],
    };
    let stem = endings
        .iter()
        .find_map(|ending| path.strip_suffix(ending))?;
    let last = stem.rsplit('/').next().unwrap_or(stem);
    if last.is_empty() || last.eq_ignore_ascii_case("readme") {
        return None;
    }
    Some(match kind {
        // The folders are a part of the name, so that commands in different folders differ.
        ItemKind::Command | ItemKind::Prompt => stem.replace('/', ":"),
        ItemKind::Rule => stem.to_owned(),
        ItemKind::Agent | ItemKind::Skill | ItemKind::Hook | ItemKind::Server => last.to_owned(),
    })
}
