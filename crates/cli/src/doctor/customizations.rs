//! What is wrong with the customizations of the folder.

use std::collections::BTreeMap;
use std::path::Path;

use agenthost_agents::find_program;
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::mcp::McpWay;
use agenthost_customizations::{Code, Looked, Runs};
use agenthost_protocol::session::{ChildCustomization, Customization, LoadState};

use super::Finding;
use crate::customizations::{Here, Trust};
use crate::output;
use crate::place::Place;

const WHAT: &str = "customizations";

/// Looks at what there is for the folder that the command is run in.
pub(super) async fn look(place: &Place) -> Vec<Finding> {
    let mut here = match Here::new(place, None) {
        Ok(here) => here,
        // What is wrong with the configuration is said elsewhere.
        Err(error) => return vec![Finding::good(WHAT, format!("not read: {error:#}"))],
    };
    let mut looked = match here.look().await {
        Ok(looked) => looked,
        Err(error) => {
            let hint = "see whether the folder can be read";
            return vec![Finding::bad(WHAT, format!("{error:#}"), hint)];
        }
    };
    let mut trust = Trust::Known;
    if looked.iter().any(waits) {
        trust = here.learn_trust(place).await;
        // It could be read a moment ago.
        looked = here.look().await.unwrap_or(looked);
    }
    let mut findings = vec![Finding::good(WHAT, counted(&looked))];
    let fetched = never_fetched(&here);
    findings.extend(fetched.iter().map(|source| {
        let name = source.name();
        let hint = format!("agenthost customizations fetch {name}");
        Finding::bad(WHAT, format!("plugin `{name}` was never fetched"), hint)
    }));
    for one in &looked {
        let missing = |source: &PluginSource| one.root == Some(source.folder(&here.data));
        if !fetched.iter().any(missing) {
            findings.extend(broken(one));
        }
        if waits(one) {
            findings.push(waiting(one, &trust));
        } else {
            findings.extend(servers(one, &here.directory));
        }
    }
    findings
}

fn counted(looked: &[Looked]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = |word| *counts.entry(word).or_default() += 1;
    for one in looked {
        match &one.shown {
            Customization::Plugin(_) => count("plugins"),
            Customization::McpServer(_) => count("servers"),
            Customization::Directory(_) | Customization::Unknown(_) => {}
        }
        for child in one.shown.children().unwrap_or_default() {
            count(match child {
                ChildCustomization::Agent(_) => "custom agents",
                ChildCustomization::Skill(_) => "skills",
                ChildCustomization::Prompt(_) => "prompts",
                ChildCustomization::Rule(_) => "rules",
                ChildCustomization::Hook(_) => "hooks",
                ChildCustomization::McpServer(_) => "servers",
                ChildCustomization::Unknown(_) => "others",
            });
        }
    }
    let words = counts.iter().map(|(word, count)| match count {
        1 => format!("1 {}", word.trim_end_matches('s')),
        count => format!("{count} {word}"),
    });
    let words: Vec<_> = words.collect();
    match words.as_slice() {
        [] => {
            "none for this folder; `agenthost customizations` says where they would be".to_owned()
        }
        words => format!("{} for this folder", words.join(", ")),
    }
}

fn never_fetched(here: &Here) -> Vec<PluginSource> {
    let sources = here.settings.plugins.iter().map(|plugin| &plugin.source);
    let never = sources.filter(|source| match source {
        PluginSource::Path(_) => false,
        PluginSource::Git { .. } | PluginSource::Archive(_) => !source.folder(&here.data).exists(),
    });
    never.cloned().collect()
}

/// A container that could not be read, or only in part.
fn broken(looked: &Looked) -> Option<Finding> {
    let (message, hint) = match &looked.load {
        LoadState::Loaded | LoadState::Loading => return None,
        LoadState::Degraded(problem) => {
            (&problem.message, "the rest of it works; correct the file")
        }
        LoadState::Error(problem) => (&problem.message, "nothing of it can be used until then"),
    };
    let found = format!("`{}`: {message}", name(looked));
    Some(Finding::bad(WHAT, output::plain(&found), hint))
}

fn waits(looked: &Looked) -> bool {
    looked.code.as_ref().is_some_and(Code::waits)
}

/// Code that nobody allowed is as it should be, and good to know.
fn waiting(looked: &Looked, trust: &Trust) -> Finding {
    let name = name(looked);
    let found = match trust {
        Trust::Known => format!("`{name}` has hooks or servers that wait to be allowed"),
        Trust::Unknown(problem) => format!(
            "`{name}` has hooks or servers, and it is not known whether they are allowed: {problem}"
        ),
    };
    Finding {
        hint: Some(format!("agenthost customizations allow {name}")),
        ..Finding::good(WHAT, output::plain(&found))
    }
}

/// Servers that could not be started.
fn servers(looked: &Looked, directory: &Path) -> Vec<Finding> {
    let runs = looked.code.iter().flat_map(|code| &code.runs);
    let found = runs.filter_map(|runs| {
        let Runs::Server { declared, reached } = runs else {
            return None;
        };
        let (problem, hint) = match reached {
            Err(not_set) => (
                not_set.to_string(),
                "set it in the environment that the host is started in",
            ),
            Ok(spec) => match &spec.way {
                McpWay::Http { .. } => return None,
                McpWay::Program { command, .. } if is_there(command, directory) => return None,
                McpWay::Program { command, .. } => (
                    format!("there is no program `{command}`"),
                    "install it, or correct `command`",
                ),
            },
        };
        let found = format!("server `{}`: {problem}", declared.name);
        Some(Finding::bad(WHAT, output::plain(&found), hint))
    });
    found.collect()
}

fn is_there(command: &str, directory: &Path) -> bool {
    match command.contains('/') {
        true => directory.join(command).exists(),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            find_program(command, &path).is_some()
        }
    }
}

fn name(looked: &Looked) -> &str {
    looked.shown.base().map_or("", |base| base.name.as_str())
}
