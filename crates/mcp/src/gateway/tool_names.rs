//! What the agent of a session calls the tools of servers.

use std::collections::BTreeSet;

/// Longest name. Agents put words of their own in front of it, and models
/// take no more than 64 characters.
const MAX_GATEWAY_NAME_CHARS: usize = 48;

/// Names that are taken. Those of clients' tools are first: they are given.
#[derive(Debug, Default)]
pub(crate) struct ToolNames(BTreeSet<String>);

impl ToolNames {
    /// Takes a name as it is.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.0.insert(name.to_owned());
    }

    /// A name for a tool of a server that no other tool has, made of plain
    /// letters.
    pub(crate) fn assign_name(&mut self, server: &str, tool: &str) -> String {
        let whole = format!("{}_{}", sanitize(server), sanitize(tool));
        let mut name: String = whole.chars().take(MAX_GATEWAY_NAME_CHARS).collect();
        let mut number = 2_u32;
        while !self.0.insert(name.clone()) {
            let ending = format!("_{number}");
            let kept = MAX_GATEWAY_NAME_CHARS.saturating_sub(ending.len());
            name = whole.chars().take(kept).chain(ending.chars()).collect();
            number = number.saturating_add(1);
        }
        name
    }
}

/// Only letters, digits, `_` and `-`: what all models take.
fn sanitize(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || c == '-' => c,
            _ => '_',
        })
        .collect();
    let trimmed = plain.trim_matches('_');
    if trimmed.is_empty() {
        "tool".to_owned()
    } else {
        trimmed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_unique() {
        let mut names = ToolNames::default();
        names.reserve("git_status");
        assert_eq!(names.assign_name("git", "status"), "git_status_2");
        assert_eq!(names.assign_name("git", "status"), "git_status_3");
        assert_eq!(
            names.assign_name("my server!", "größe/x"),
            "my_server_gr__e_x"
        );
        assert_eq!(names.assign_name("", "\u{202e}"), "tool_tool");
        let long = "x".repeat(100);
        assert_eq!(names.assign_name(&long, "a").len(), MAX_GATEWAY_NAME_CHARS);
        let second = names.assign_name(&long, "b");
        assert!(second.ends_with("_2") && second.len() == MAX_GATEWAY_NAME_CHARS);
    }
}
