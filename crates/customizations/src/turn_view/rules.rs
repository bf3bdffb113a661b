//! Selects the rules that apply to a turn.

use std::path::PathBuf;

use agenthost_protocol::session::{ChildCustomization, RuleCustomization};
use globset::GlobBuilder;

use super::{EnabledItem, SessionView, push_heading, to_one_line};
use crate::parse::{ItemDetail, matches_all_files};

/// The relevance of a rule for a turn.
enum RuleRelevance {
    /// The text of the rule is added to the prompt.
    Applies,
    /// The rule may apply later, so its path is listed.
    Listed,
    /// The rule has neither globs nor a description.
    Irrelevant,
}

/// Writes the rules that apply, and lists the paths of those that may apply later.
pub(super) fn write_rules(view: &SessionView, files: &[PathBuf], text: &mut String) {
    let mut applying = Vec::new();
    let mut listed = Vec::new();
    for effective in view.enabled_items() {
        let ChildCustomization::Rule(rule) = &effective.item.child else {
            continue;
        };
        if view.is_native(&effective) {
            continue;
        }
        match rule_relevance(view, rule, files) {
            RuleRelevance::Applies => applying.push(effective),
            RuleRelevance::Listed => listed.push((effective, rule)),
            RuleRelevance::Irrelevant => {}
        }
    }
    if !applying.is_empty() {
        push_heading(text, "Rules");
    }
    for effective in applying {
        write_rule(&effective, text);
    }
    if !listed.is_empty() {
        push_heading(text, "Rules for specific tasks");
        text.push_str("Before you start a task that one of these rules covers, read its file.\n\n");
    }
    for (effective, rule) in listed {
        let about = match (&rule.description, &rule.globs) {
            (Some(description), _) => to_one_line(description),
            (None, Some(globs)) => format!("for {}", globs.join(", ")),
            (None, None) => String::new(),
        };
        let (name, file) = (&effective.item.name, effective.file_path());
        text.push_str(&format!("- {name}: {about} ({})\n", file.display()));
    }
}

fn write_rule(effective: &EnabledItem<'_>, text: &mut String) {
    if let ItemDetail::Rule(body) = &effective.item.detail {
        let name = &effective.item.name;
        text.push_str(&format!("## {name}\n\n{}\n\n", body.trim()));
    }
}

fn rule_relevance(
    view: &SessionView,
    rule: &RuleCustomization,
    files: &[PathBuf],
) -> RuleRelevance {
    let globs = rule.globs.as_deref().unwrap_or_default();
    // Globs restrict a rule that always applies, unless they match all files.
    let for_all = globs.is_empty() || globs.iter().any(|glob| matches_all_files(glob));
    if rule.always_apply == Some(true) && for_all {
        return RuleRelevance::Applies;
    }
    let directories = &view.directories;
    if globs
        .iter()
        .any(|glob| matches_any_file(glob, files, directories))
    {
        return RuleRelevance::Applies;
    }
    match rule.description.is_some() || !globs.is_empty() {
        true => RuleRelevance::Listed,
        false => RuleRelevance::Irrelevant,
    }
}

/// Returns `true` if a glob matches one of the files, relative to any folder of the
/// session.
fn matches_any_file(glob: &str, files: &[PathBuf], directories: &[PathBuf]) -> bool {
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    // A glob without a slash matches file names in all folders.
    let glob = if glob.contains('/') {
        glob.to_owned()
    } else {
        format!("**/{glob}")
    };
    let Ok(matcher) = GlobBuilder::new(&glob).literal_separator(true).build() else {
        return false;
    };
    let matcher = matcher.compile_matcher();
    let mut inside = files.iter().flat_map(|file| {
        let seen_from = |directory: &PathBuf| file.strip_prefix(directory).ok();
        directories.iter().filter_map(seen_from)
    });
    inside.any(|path| matcher.is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_only_files_of_the_session() {
        let directories = [PathBuf::from("/w")];
        for (glob, file, expected) in [
            ("*.ts", "/w/a/b.ts", true),
            ("src/*.ts", "/w/src/b.ts", true),
            ("src/*.ts", "/w/src/a/b.ts", false),
            ("src/**/*.{ts,tsx}", "/w/src/a/b.tsx", true),
            ("./src/**", "/w/src/a/b.tsx", true),
            ("**", "/w/x", true),
            ("*.ts", "/elsewhere/b.ts", false),
            ("[", "/w/[", false),
        ] {
            assert_eq!(
                matches_any_file(glob, &[PathBuf::from(file)], &directories),
                expected,
                "{glob} {file}"
            );
        }
    }
}
