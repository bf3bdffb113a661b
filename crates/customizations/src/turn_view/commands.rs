//! Slash commands: commands, prompts and skills that a message invokes by name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use agenthost_core::customization::driver::TurnPreparation;
use agenthost_protocol::session::ChildCustomization;

use super::{EnabledItem, SessionView};
use crate::parse::{ContainerLayout, ItemDetail};

/// Returns the items that users may invoke, by the name to type. If two items have the same
/// name, the name of its container is the prefix of the second one.
pub(super) fn all_commands(view: &SessionView) -> BTreeMap<String, EnabledItem<'_>> {
    let mut commands = BTreeMap::new();
    for effective in callable_items(view) {
        let name = typed_name(&effective.item.name);
        let longer = format!("{}:{name}", typed_name(&effective.container_name()));
        match commands.entry(name) {
            Entry::Vacant(free) => {
                free.insert(effective);
            }
            Entry::Occupied(_) => {
                commands.entry(longer).or_insert(effective);
            }
        }
    }
    commands
}

/// Returns the text that replaces a message, if the message begins with a known command
/// that the agent does not implement itself.
pub(super) fn expand_command(view: &SessionView, preparation: &TurnPreparation) -> Option<String> {
    let rest = preparation.text.trim_start().strip_prefix('/')?;
    let (name, arguments) = match rest.split_once(char::is_whitespace) {
        Some((name, arguments)) => (name, arguments.trim()),
        None => (rest, ""),
    };
    if preparation.own_commands.iter().any(|own| own == name) {
        return None;
    }
    let (effective, arguments) = match find_command(view, name) {
        Some(effective) => (effective, arguments),
        None => find_two_word_command(view, name, arguments)?,
    };
    Some(match &effective.item.detail {
        ItemDetail::Command(body) | ItemDetail::Prompt(body) => {
            fill_arguments(body.trim(), arguments)
        }
        ItemDetail::Skill(body) => {
            let file = effective.file_path();
            let folder = file.parent().unwrap_or(&file);
            let start = format!(
                "Follow the skill `{}`. Its files are in `{}`.\n\n",
                effective.item.name,
                folder.display()
            );
            start + &fill_arguments(body.trim(), arguments)
        }
        ItemDetail::Agent(_)
        | ItemDetail::Rule(_)
        | ItemDetail::Hooks(_)
        | ItemDetail::Server(_) => return None,
    })
}

/// Returns the items that users may invoke.
fn callable_items(view: &SessionView) -> impl Iterator<Item = EnabledItem<'_>> {
    view.enabled_items()
        .filter(|effective| match &effective.item.child {
            ChildCustomization::Skill(skill) => skill.disable_user_invocation != Some(true),
            ChildCustomization::Prompt(_) => true,
            ChildCustomization::Agent(_)
            | ChildCustomization::Rule(_)
            | ChildCustomization::Hook(_)
            | ChildCustomization::McpServer(_)
            | ChildCustomization::Unknown(_) => false,
        })
}

/// Finds a command by a name of [`all_commands`], or by its name with the plugin's name as
/// prefix, as in Open Plugins.
fn find_command<'a>(view: &'a SessionView, name: &str) -> Option<EnabledItem<'a>> {
    all_commands(view).get(name).copied().or_else(|| {
        let wanted = normalize_name(name);
        callable_items(view)
            .filter(|effective| effective.definition.frame.layout == ContainerLayout::Plugin)
            .find(|effective| {
                let plugin = normalize_name(&effective.container_name());
                let short = normalize_name(&effective.item.name);
                format!("{plugin}:{short}") == wanted
            })
    })
}

/// Finds a command with a name of two words. VS Code completes `git:tag` as `/git tag`: the
/// second word belongs to the name then, and the rest is the arguments.
fn find_two_word_command<'a, 'b>(
    view: &'a SessionView,
    first: &str,
    rest: &'b str,
) -> Option<(EnabledItem<'a>, &'b str)> {
    let (second, arguments) = match rest.split_once(char::is_whitespace) {
        Some((second, arguments)) => (second, arguments.trim()),
        None => (rest, ""),
    };
    if second.is_empty() {
        return None;
    }
    let effective = find_command(view, &format!("{first}:{second}"))?;
    Some((effective, arguments))
}

/// Normalizes a name as VS Code does for plugins and their items: in lower case, with a
/// hyphen for everything that is not a letter, digit, `_`, `.` or `:`.
fn normalize_name(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    for character in name.trim().chars().flat_map(char::to_lowercase) {
        match character {
            'a'..='z' | '0'..='9' | '_' | '.' | ':' => normalized.push(character),
            _ if normalized.ends_with('-') => {}
            _ => normalized.push('-'),
        }
    }
    normalized.trim_matches(['-', ':', '.']).to_owned()
}

/// Returns a name as users type it, without spaces.
fn typed_name(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Inserts arguments at their placeholders: all of them, or one by one. Without
/// placeholders, they are appended.
fn fill_arguments(body: &str, arguments: &str) -> String {
    let single = split_words(arguments);
    let mut text = String::with_capacity(body.len() + arguments.len());
    let mut used = false;
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let digit = after.chars().next().and_then(|c| c.to_digit(10));
        let longer = after.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        if let Some(after) = after.strip_prefix("ARGUMENTS") {
            text.push_str(arguments);
            used = true;
            rest = after;
        } else if let Some(number @ 1..) = digit.filter(|_| !longer) {
            let position = number as usize - 1;
            text.push_str(single.get(position).map_or("", String::as_str));
            used = true;
            rest = after.get(1..).unwrap_or_default();
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    if !used && !arguments.is_empty() {
        text.push_str("\n\nARGUMENTS: ");
        text.push_str(arguments);
    }
    text
}

/// Splits a text into words. Quotes group words with spaces.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_replace_their_placeholders() {
        for (body, arguments, expected) in [
            ("Fix $ARGUMENTS.", "a b", "Fix a b."),
            ("From $1 to $2, $3!", "a 'b c'", "From a to b c, !"),
            ("Costs $10 and $x", "", "Costs $10 and $x"),
            ("Ask ${input:x}", "", "Ask ${input:x}"),
            ("Do it", "now", "Do it\n\nARGUMENTS: now"),
            ("$ARGUMENTS", "$1", "$1"),
            ("$", "", "$"),
            ("$ä $1", "x", "$ä x"),
        ] {
            assert_eq!(fill_arguments(body, arguments), expected, "{body}");
        }
    }

    #[test]
    fn names_are_normalized_as_vs_code_does() {
        for (name, expected) in [
            ("Release Tools", "release-tools"),
            ("a  (b) c!", "a-b-c"),
            ("git:tag", "git:tag"),
            ("ÄB", "b"),
            (".x-", "x"),
        ] {
            assert_eq!(normalize_name(name), expected, "{name}");
        }
    }

    #[test]
    fn quotes_keep_words_together() {
        assert_eq!(split_words(r#"a "b c"d '' "e"#), ["a", "b cd", "", "e"]);
    }
}
