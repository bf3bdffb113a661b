//! Assigns names to the tools of MCP servers that are unique in a session.

use std::collections::BTreeSet;

/// Maximum length of an assigned name. Agents add a prefix, and models accept at most 64
/// characters.
const MAX_GATEWAY_NAME_CHARS: usize = 48;

/// The names in use. Client tools keep their names, so they are reserved first.
#[derive(Debug, Default)]
pub(crate) struct ToolNames(BTreeSet<String>);

impl ToolNames {
    /// Reserves a name as it is.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.0.insert(name.to_owned());
    }

    /// Assigns a unique name to a tool of a server, with the characters that all models accept.
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

/// Replaces all characters other than ASCII letters, digits and `-` by `_`. All models accept
/// the result.
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
