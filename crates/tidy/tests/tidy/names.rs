//! Names of types, modules and constants.

use std::collections::BTreeMap;

use crate::ceilings::{Measure, Measurement, check};
use crate::{SPEC_CRATES, Workspace};

/// A constant name may be declared this often.
const MAX_CONSTANT_USES: usize = 4;

/// Words that end like a participle and are nouns.
const NOUNS: &[&str] = &[
    "bed", "binding", "embed", "encoding", "feed", "heading", "king", "logging", "mapping", "need",
    "polling", "red", "ring", "routing", "seed", "setting", "signing", "speed", "string",
    "testing", "thing", "timing", "tracing", "warning",
];

/// Irregular participles, comparatives and pronouns, which name no subject.
const IRREGULAR: &[&str] = &[
    "begun",
    "broken",
    "brought",
    "chosen",
    "done",
    "forbidden",
    "found",
    "given",
    "gone",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "later",
    "left",
    "lost",
    "made",
    "newer",
    "older",
    "said",
    "seen",
    "sent",
    "shown",
    "taken",
    "told",
    "whole",
    "whose",
    "written",
];

/// The declaration of a type.
struct TypeDeclaration<'a> {
    name: &'a str,
    crate_name: &'a str,
    place: String,
}

/// Measures the percentage of type names that have one word, outside of the specification.
pub(crate) fn one_word_types(workspace: &Workspace) -> Measurement {
    let types = own_types(workspace);
    let total = types.len();
    let places = types
        .into_iter()
        .filter(|declaration| word_count(declaration.name) < 2)
        .map(|declaration| format!("{} {}", declaration.place, declaration.name))
        .collect();
    let advice = "give types a name of two words, unless the workspace has one such thing";
    Measurement::share(places, total, 100.0, advice)
}

/// Measures the percentage of types that share their name with another one.
pub(crate) fn shared_type_names(workspace: &Workspace) -> Measurement {
    let types = declared_types(workspace);
    let mut by_name = BTreeMap::<_, Vec<_>>::new();
    for declaration in &types {
        by_name
            .entry(declaration.name)
            .or_default()
            .push(&declaration.place);
    }
    let places = by_name
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .flat_map(|(name, places)| places.iter().map(move |place| format!("{place} {name}")))
        .collect();
    let advice = "name types after the concept of their crate";
    Measurement::share(places, types.len(), 100.0, advice)
}

/// Counts the type names that one crate uses for two types.
pub(crate) fn repeated_type_names(workspace: &Workspace) -> Measurement {
    let mut by_name = BTreeMap::<_, Vec<_>>::new();
    for declaration in own_types(workspace) {
        by_name
            .entry((declaration.crate_name, declaration.name))
            .or_default()
            .push(declaration.place);
    }
    let places = by_name
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|((_, name), places)| format!("{} {name}", places.join(" and ")))
        .collect();
    Measurement::count(places, "give each type of a crate a name of its own")
}

/// Counts the modules with a participle, a comparative or a pronoun as their name.
pub(crate) fn participle_modules(workspace: &Workspace) -> Measurement {
    let mut places = Vec::new();
    for source in workspace.own_sources() {
        let file = source.path.rsplit('/').next().unwrap_or_default();
        if is_participle(file.trim_end_matches(".rs")) {
            places.push(source.path.clone());
        }
        for module in source.inline_modules() {
            if is_participle(module.name) {
                places.push(format!("{} mod {}", source.place(module.line), module.name));
            }
        }
    }
    Measurement::count(places, "name modules after their subject, with a noun")
}

/// Counts the names that more than [`MAX_CONSTANT_USES`] constants have.
pub(crate) fn repeated_constants(workspace: &Workspace) -> Measurement {
    let mut by_name = BTreeMap::<_, Vec<_>>::new();
    for source in workspace.own_sources() {
        for constant in source.constants() {
            by_name
                .entry(constant.name)
                .or_default()
                .push(source.place(constant.line));
        }
    }
    let places = by_name
        .into_iter()
        .filter(|(_, places)| places.len() > MAX_CONSTANT_USES)
        .map(|(name, places)| format!("{} {name}, {} times", places[0], places.len()))
        .collect();
    let advice = "let constants say what they limit, with the unit";
    Measurement::count(places, advice)
}

fn declared_types(workspace: &Workspace) -> Vec<TypeDeclaration<'_>> {
    let mut found = Vec::new();
    for source in workspace.sources() {
        found.extend(source.types().into_iter().map(|item| TypeDeclaration {
            name: item.name,
            crate_name: &source.crate_name,
            place: source.place(item.line),
        }));
    }
    found
}

fn own_types(workspace: &Workspace) -> Vec<TypeDeclaration<'_>> {
    let mut types = declared_types(workspace);
    types.retain(|declaration| !SPEC_CRATES.contains(&declaration.crate_name));
    types
}

/// Counts the words of a name in camel case; an acronym or a number is a word.
fn word_count(name: &str) -> usize {
    let mut count = 0;
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let capitals = rest.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let capital_count = rest.len() - capitals.len();
        if first.is_ascii_uppercase() {
            let lower = capitals.trim_start_matches(|c: char| c.is_ascii_lowercase());
            // The last capital of `HTTPServer` begins the next word.
            let has_acronym = capital_count > 1 && lower.len() < capitals.len();
            count += 1 + usize::from(has_acronym);
            rest = lower;
        } else if first.is_ascii_digit() {
            count += 1;
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    count
}

fn is_participle(module: &str) -> bool {
    let last = module.rsplit('_').next().unwrap_or(module);
    if NOUNS.contains(&last) {
        return false;
    }
    IRREGULAR.contains(&module)
        || (last.len() > 4 && (last.ends_with("ing") || last.ends_with("ed")))
}

#[test]
fn type_names_have_two_words() {
    check(Measure::OneWordTypes);
}

#[test]
fn type_names_are_rarely_shared() {
    check(Measure::SharedTypeNames);
}

#[test]
fn a_crate_uses_a_type_name_once() {
    check(Measure::RepeatedTypeNames);
}

#[test]
fn modules_are_named_by_nouns() {
    check(Measure::ParticipleModules);
}

#[test]
fn constant_names_are_specific() {
    check(Measure::RepeatedConstants);
}

#[test]
fn words_of_names_are_counted() {
    let names = [
        "Host",
        "HostLoop",
        "HTTPServer",
        "McpURL",
        "StepV0_1",
        "HTTP",
    ];
    assert_eq!(names.map(word_count), [1, 2, 2, 2, 4, 1]);
    let modules = [
        "older",
        "older_rows",
        "looking",
        "routing",
        "string",
        "shared_setting",
    ];
    let expected = [true, false, true, false, false, false];
    assert_eq!(modules.map(is_participle), expected);
}
