//! Which rules a turn has to keep.

use std::path::PathBuf;

use agenthost_protocol::session::{ChildCustomization, RuleCustomization};
use globset::GlobBuilder;

use super::{Effective, View, heading, one_line};
use crate::parse::{Detail, means_all};

/// How much a rule matters to a turn.
enum Weight {
    /// It has to be kept.
    Whole,
    /// It may matter later.
    Mentioned,
    /// It says neither when nor what for.
    Nothing,
}

/// Writes rules that count, and names those that may count later.
pub(super) fn write(view: &View, files: &[PathBuf], text: &mut String) {
    let mut whole = Vec::new();
    let mut mentioned = Vec::new();
    for effective in view.effective() {
        let ChildCustomization::Rule(rule) = &effective.item.child else {
            continue;
        };
        if view.is_native(&effective) {
            continue;
        }
        match weight(view, rule, files) {
            Weight::Whole => whole.push(effective),
            Weight::Mentioned => mentioned.push((effective, rule)),
            Weight::Nothing => {}
        }
    }
    if !whole.is_empty() {
        heading(text, "Rules");
    }
    for effective in whole {
        write_whole(&effective, text);
    }
    if !mentioned.is_empty() {
        heading(text, "Rules for some work");
        text.push_str("Read these files before work that they are about.\n\n");
    }
    for (effective, rule) in mentioned {
        let about = match (&rule.description, &rule.globs) {
            (Some(description), _) => one_line(description),
            (None, Some(globs)) => format!("for {}", globs.join(", ")),
            (None, None) => String::new(),
        };
        let (name, file) = (&effective.item.name, effective.file());
        text.push_str(&format!("- {name}: {about} ({})\n", file.display()));
    }
}

fn write_whole(effective: &Effective<'_>, text: &mut String) {
    if let Detail::Rule(body) = &effective.item.detail {
        let name = &effective.item.name;
        text.push_str(&format!("## {name}\n\n{}\n\n", body.trim()));
    }
}

fn weight(view: &View, rule: &RuleCustomization, files: &[PathBuf]) -> Weight {
    let globs = rule.globs.as_deref().unwrap_or_default();
    // Globs narrow what counts always, unless they mean all files.
    let for_all = globs.is_empty() || globs.iter().any(|glob| means_all(glob));
    if rule.always_apply == Some(true) && for_all {
        return Weight::Whole;
    }
    let directories = &view.directories;
    if globs.iter().any(|glob| concerns(glob, files, directories)) {
        return Weight::Whole;
    }
    match rule.description.is_some() || !globs.is_empty() {
        true => Weight::Mentioned,
        false => Weight::Nothing,
    }
}

/// Whether a glob means one of some files, seen from any folder of the session.
fn concerns(glob: &str, files: &[PathBuf], directories: &[PathBuf]) -> bool {
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    // A name alone means files of that name anywhere.
    let glob = match glob.contains('/') {
        true => glob.to_owned(),
        false => format!("**/{glob}"),
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
    fn globs_are_about_files_of_the_session() {
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
                concerns(glob, &[PathBuf::from(file)], &directories),
                expected,
                "{glob} {file}"
            );
        }
    }
}
