//! Agents, skills, commands, prompts and rules: Markdown files in folders.

use agenthost_protocol::session::{
    AgentCustomization, ChildCustomization, PromptCustomization, RuleCustomization,
    SkillCustomization,
};

use super::markdown::{Markdown, read};
use super::{Detail, Finding, Item, Kind, LONGEST_NAME, Layout, Place, cut, hooks, servers};

/// All of one kind in a folder.
pub(super) fn folder(found: &mut Finding<'_>, kind: Kind, folder: &str) {
    let paths: Vec<String> = found
        .package
        .below(folder)
        .map(|(path, _)| path.to_owned())
        .collect();
    match kind {
        Kind::Skill => skills(found, folder, &paths),
        Kind::Command => commands(found, folder, &paths),
        Kind::Agent | Kind::Prompt | Kind::Rule => {
            for path in paths {
                if let Some(name) = name_of(kind, inside(folder, &path)) {
                    markdown(found, kind, &path, &name);
                }
            }
        }
        Kind::Hook | Kind::Server => {
            for path in paths.iter().filter(|path| path.ends_with(".json")) {
                match kind {
                    Kind::Hook => hooks::file(found, path),
                    _ => servers::file(found, path),
                }
            }
        }
    }
}

/// Some files, all of one kind.
pub(super) fn files(found: &mut Finding<'_>, kind: Kind) {
    let paths: Vec<String> = found
        .package
        .below("")
        .map(|(path, _)| path.to_owned())
        .collect();
    for path in paths {
        match kind {
            Kind::Hook => hooks::file(found, &path),
            Kind::Server => servers::file(found, &path),
            Kind::Agent | Kind::Skill | Kind::Command | Kind::Prompt | Kind::Rule => {
                // The path tells files such as `AGENTS.md` apart best.
                let name = path.clone();
                markdown(found, kind, &path, &name);
            }
        }
    }
}

/// What a path of a manifest holds: a file or a folder.
pub(super) fn at(found: &mut Finding<'_>, kind: Kind, path: &str) {
    if found.package.file(path).is_none() {
        folder(found, kind, path);
        return;
    }
    let last = path.rsplit('/').next().unwrap_or(path);
    match kind {
        Kind::Skill => skill(found, path, None),
        _ => {
            if let Some(name) = name_of(kind, last) {
                markdown(found, kind, path, &name);
            }
        }
    }
}

/// Both layouts: a folder with `SKILL.md`, and a file by itself.
fn skills(found: &mut Finding<'_>, folder: &str, paths: &[String]) {
    let mut inside_of: Option<String> = None;
    for path in paths.iter().filter(|path| is_main(path)) {
        let home = path.rsplit_once('/').map_or("", |(home, _)| home);
        // What belongs to a skill is no skill of its own.
        let nested = inside_of
            .as_ref()
            .is_some_and(|above| is_below(home, above));
        if nested {
            continue;
        }
        inside_of = Some(home.to_owned()).filter(|home| !home.is_empty());
        skill(found, path, None);
    }
    for path in paths {
        let inside = inside(folder, path);
        if inside.contains('/') || is_main(path) {
            continue;
        }
        if let Some(name) = name_of(Kind::Skill, inside) {
            skill(found, path, Some(name));
        }
    }
}

/// Every file is a command. A folder with `SKILL.md` is a skill here, too:
/// clients save new skills in that layout into every directory of skills.
fn commands(found: &mut Finding<'_>, folder: &str, paths: &[String]) {
    let mut skill_folders: Vec<String> = Vec::new();
    for path in paths.iter().filter(|path| is_main(path)) {
        let Some((home, _)) = path.rsplit_once('/').filter(|(home, _)| *home != folder) else {
            continue;
        };
        if !skill_folders.iter().any(|above| is_below(path, above)) {
            skill_folders.push(home.to_owned());
            skill(found, path, None);
        }
    }
    for path in paths {
        if skill_folders.iter().any(|above| is_below(path, above)) {
            continue;
        }
        if let Some(name) = name_of(Kind::Command, inside(folder, path)) {
            markdown(found, Kind::Command, path, &name);
        }
    }
}

/// Whether a file is the one that makes its folder a skill.
fn is_main(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    last.eq_ignore_ascii_case("skill.md")
}

/// Whether a path is below a folder.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// A skill; its folder's name is its own unless it says otherwise.
pub(super) fn skill(found: &mut Finding<'_>, path: &str, name: Option<String>) {
    let name = name.unwrap_or_else(|| {
        let mut parts = path.rsplit('/').skip(1);
        let whole = found.frame.uri.as_str().trim_end_matches('/');
        let whole = whole.rsplit('/').next().unwrap_or("skill");
        let whole = found.parsed.name.as_deref().unwrap_or(whole);
        parts.next().unwrap_or(whole).to_owned()
    });
    markdown(found, Kind::Skill, path, &name);
}

/// One file.
fn markdown(found: &mut Finding<'_>, kind: Kind, path: &str, fallback: &str) {
    let Some(text) = found.text(path) else {
        return;
    };
    let file = read(found, path, &text);
    let has_name = matches!(kind, Kind::Agent | Kind::Skill | Kind::Rule);
    if file.nameless && has_name {
        let fallback = cut(fallback, 80);
        found.problem(
            path,
            format!("its `name` is empty: it is called `{fallback}`"),
        );
    }
    let name = match (&file.name, kind) {
        // The name of a file is what people type.
        (Some(name), Kind::Agent | Kind::Skill | Kind::Rule) => name.clone(),
        (Some(_) | None, _) => cut(fallback, LONGEST_NAME),
    };
    if !found.claims(kind, &name, path) {
        return;
    }
    let item = item(found, kind, path, &name, file);
    found.parsed.items.push(item);
}

fn item(found: &Finding<'_>, kind: Kind, path: &str, name: &str, file: Markdown) -> Item {
    let leaf = found.leaf(kind, Place::whole(path), name);
    let body = file.body;
    let (child, detail) = match kind {
        Kind::Agent => (
            ChildCustomization::Agent(AgentCustomization {
                leaf,
                description: file.description,
                model: file.model,
                tools: file.tools,
                disable_model_invocation: file.not_by_model,
                disable_user_invocation: file.not_by_user,
            }),
            Detail::Agent(body),
        ),
        Kind::Skill => (
            ChildCustomization::Skill(SkillCustomization {
                leaf,
                description: file.description.or(file.first_line),
                disable_model_invocation: file.not_by_model,
                disable_user_invocation: file.not_by_user,
            }),
            Detail::Skill(body),
        ),
        Kind::Command => (
            ChildCustomization::Skill(SkillCustomization {
                leaf,
                description: file.description.or(file.first_line),
                disable_model_invocation: file.not_by_model,
                disable_user_invocation: file.not_by_user,
            }),
            Detail::Command(body),
        ),
        Kind::Prompt => (
            ChildCustomization::Prompt(PromptCustomization {
                leaf,
                description: file.description,
            }),
            Detail::Prompt(body),
        ),
        Kind::Rule | Kind::Hook | Kind::Server => {
            let globs = file.globs.as_deref().unwrap_or_default();
            let everywhere = globs.iter().any(|glob| means_all(glob));
            // A plain rule counts everywhere; formats that have a switch for
            // it mean what the switch says. Open Plugins is such a format.
            let plain = !path.ends_with(".mdc") && !path.ends_with(".instructions.md");
            let in_plugin = found.frame.layout == Layout::Plugin;
            let by_default = (plain && !in_plugin && file.globs.is_none()) || everywhere;
            // Who wrote it may have meant some files alone.
            let always = match file.unclear {
                true => Some(false),
                false => by_default.then_some(true),
            };
            (
                ChildCustomization::Rule(RuleCustomization {
                    leaf,
                    description: match plain && in_plugin {
                        // Agents decide by it whether to apply the rule.
                        true => file.description.or(file.first_line),
                        false => file.description,
                    },
                    always_apply: file.always.or(always),
                    globs: file.globs,
                }),
                Detail::Rule(body),
            )
        }
    };
    Item {
        child,
        name: name.to_owned(),
        path: path.to_owned(),
        detail,
    }
}

/// Whether a glob means all files.
pub(crate) fn means_all(glob: &str) -> bool {
    glob == "**" || glob == "**/*"
}

/// A path as seen from a folder.
fn inside<'a>(folder: &str, path: &'a str) -> &'a str {
    match folder {
        "" => path,
        _ => path
            .strip_prefix(folder)
            .map_or(path, |rest| rest.trim_start_matches('/')),
    }
}

/// What a file is called; none if it is not of that kind.
fn name_of(kind: Kind, path: &str) -> Option<String> {
    let endings: &[&str] = match kind {
        Kind::Agent => &[".agent.md", ".chatmode.md", ".md"],
        Kind::Skill => &[".md"],
        Kind::Command | Kind::Prompt => &[".prompt.md", ".md"],
        Kind::Rule => &[".instructions.md", ".mdc", ".md"],
        Kind::Hook | Kind::Server => &[".json"],
    };
    let stem = endings
        .iter()
        .find_map(|ending| path.strip_suffix(ending))?;
    let last = stem.rsplit('/').next().unwrap_or(stem);
    if last.is_empty() || last.eq_ignore_ascii_case("readme") {
        return None;
    }
    Some(match kind {
        // Commands in folders are told apart by them.
        Kind::Command | Kind::Prompt => stem.replace('/', ":"),
        Kind::Rule => stem.to_owned(),
        Kind::Agent | Kind::Skill | Kind::Hook | Kind::Server => last.to_owned(),
    })
}
