//! Checks the customizations of the current folder.

use std::collections::BTreeMap;
use std::path::Path;

use agenthost_acp::find_program;
use agenthost_core::tools::mcp::transport::McpTransport;
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{CodeEntry, ContainerCode, InspectedContainer};
use agenthost_protocol::session::{ChildCustomization, Customization, LoadState};

use super::DoctorCheck;
use crate::commands::customizations::{LocalCustomizations, TrustSource};
use crate::connect::HostOptions;
use crate::output;

const CUSTOMIZATIONS_CHECK: &str = "customizations";

/// Checks the customizations that a session in the current folder would have.
pub(super) async fn diagnose_customizations(options: &HostOptions) -> Vec<DoctorCheck> {
    let mut local = match LocalCustomizations::new(options, None) {
        Ok(here) => here,
        // `diagnose_configuration` reports errors of the configuration.
        Err(error) => {
            return vec![DoctorCheck::passed(
                CUSTOMIZATIONS_CHECK,
                format!("not read: {error:#}"),
            )];
        }
    };
    let mut looked = match local.inspect().await {
        Ok(looked) => looked,
        Err(error) => {
            let hint = "check that the folder is readable";
            return vec![DoctorCheck::failed(
                CUSTOMIZATIONS_CHECK,
                format!("{error:#}"),
                hint,
            )];
        }
    };
    let mut trust = TrustSource::Known;
    if looked.iter().any(awaits_approval) {
        trust = local.fetch_trust(options).await;
        // If reading fails now, the result of the first inspection is used.
        looked = local.inspect().await.unwrap_or(looked);
    }
    let mut findings = vec![DoctorCheck::passed(
        CUSTOMIZATIONS_CHECK,
        describe_counts(&looked),
    )];
    let fetched = find_unfetched_plugins(&local);
    findings.extend(fetched.iter().map(|source| {
        let name = source.name();
        let hint = format!("agenthost customizations fetch {name}");
        DoctorCheck::failed(
            CUSTOMIZATIONS_CHECK,
            format!("plugin `{name}` has not been fetched"),
            hint,
        )
    }));
    for one in &looked {
        let missing =
            |source: &PluginSource| one.root == Some(source.folder(&local.package_directory));
        if !fetched.iter().any(missing) {
            findings.extend(diagnose_load_state(one));
        }
        if awaits_approval(one) {
            findings.push(unapproved_code_check(one, &trust));
        } else {
            findings.extend(diagnose_servers(one, &local.directory));
        }
    }
    findings
}

fn describe_counts(looked: &[InspectedContainer]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = |word| *counts.entry(word).or_default() += 1;
    for one in looked {
        match &one.customization {
            Customization::Plugin(_) => count("plugins"),
            Customization::McpServer(_) => count("servers"),
            Customization::Directory(_) | Customization::Unknown(_) => {}
        }
        for child in one.customization.children().unwrap_or_default() {
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
            "none for this folder; `agenthost customizations` prints where to put them".to_owned()
        }
        words => format!("{} for this folder", words.join(", ")),
    }
}

fn find_unfetched_plugins(local: &LocalCustomizations) -> Vec<PluginSource> {
    let sources = local.settings.plugins.iter().map(|plugin| &plugin.source);
    let never = sources.filter(|source| match source {
        PluginSource::Path(_) => false,
        PluginSource::Git { .. } | PluginSource::Archive(_) => {
            !source.folder(&local.package_directory).exists()
        }
    });
    never.cloned().collect()
}

/// Reports a container that could not be loaded completely.
fn diagnose_load_state(looked: &InspectedContainer) -> Option<DoctorCheck> {
    let (message, hint) = match &looked.load {
        LoadState::Loaded | LoadState::Loading => return None,
        LoadState::Degraded(problem) => (&problem.message, "correct the file; the rest is loaded"),
        LoadState::Error(problem) => (
            &problem.message,
            "fix the problem; until then, the host loads nothing from it",
        ),
    };
    let found = format!("`{}`: {message}", container_name(looked));
    Some(DoctorCheck::failed(
        CUSTOMIZATIONS_CHECK,
        output::escape_invisible(&found),
        hint,
    ))
}

fn awaits_approval(looked: &InspectedContainer) -> bool {
    looked
        .code
        .as_ref()
        .is_some_and(ContainerCode::needs_approval)
}

/// Reports code without approval. The check passes, because not approving code is a valid
/// choice.
fn unapproved_code_check(looked: &InspectedContainer, trust: &TrustSource) -> DoctorCheck {
    let name = container_name(looked);
    let found = match trust {
        TrustSource::Known => format!("`{name}` has hooks or servers that need approval"),
        TrustSource::Unknown(problem) => format!(
            "`{name}` has hooks or servers, and the host could not report if they are allowed: {problem}"
        ),
    };
    DoctorCheck {
        hint: Some(format!("agenthost customizations allow {name}")),
        ..DoctorCheck::passed(CUSTOMIZATIONS_CHECK, output::escape_invisible(&found))
    }
}

/// Reports MCP servers that cannot start: a program or an environment variable is missing.
fn diagnose_servers(looked: &InspectedContainer, directory: &Path) -> Vec<DoctorCheck> {
    let runs = looked.code.iter().flat_map(|code| &code.entries);
    let found = runs.filter_map(|runs| {
        let CodeEntry::Server {
            declared,
            spec: reached,
        } = runs
        else {
            return None;
        };
        let (problem, hint) = match reached {
            Err(not_set) => (not_set.to_string(), "set it in the environment of the host"),
            Ok(spec) => match &spec.transport {
                McpTransport::Http { .. } => return None,
                McpTransport::Stdio { command, .. } if is_program_available(command, directory) => {
                    return None;
                }
                McpTransport::Stdio { command, .. } => (
                    format!("program `{command}` was not found"),
                    "install it, or correct `command`",
                ),
            },
        };
        let found = format!("server `{}`: {problem}", declared.name);
        Some(DoctorCheck::failed(
            CUSTOMIZATIONS_CHECK,
            output::escape_invisible(&found),
            hint,
        ))
    });
    found.collect()
}

fn is_program_available(command: &str, directory: &Path) -> bool {
    if command.contains('/') {
        directory.join(command).exists()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        find_program(command, &path).is_some()
    }
}

fn container_name(looked: &InspectedContainer) -> &str {
    looked
        .customization
        .base()
        .map_or("", |base| base.name.as_str())
}
