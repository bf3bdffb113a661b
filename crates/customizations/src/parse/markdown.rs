//! Reads the front matter fields of a Markdown file.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, ParseContext, truncate_chars};
use crate::syntax::front_matter;

/// A placeholder for tool names that can't be read. No tool has this name.
const UNREADABLE_TOOLS: &str = "(unreadable)";

/// Maximum number of globs of a rule, and of tools of an agent.
const MAX_LIST_ITEMS: usize = 100;

/// Keys for the globs of a rule, in order of precedence.
const GLOB_KEYS: &[&str] = &["globs", "applyTo", "paths"];

/// The fields and the body of a Markdown file.
#[derive(Default)]
pub(super) struct MarkdownItem {
    pub(super) name: Option<String>,
    /// `true` if the file has a `name` that is empty.
    pub(super) has_empty_name: bool,
    pub(super) description: Option<String>,
    pub(super) model: Option<String>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) disable_model_invocation: Option<bool>,
    pub(super) disable_user_invocation: Option<bool>,
    pub(super) always_apply: Option<bool>,
    pub(super) globs: Option<Vec<String>>,
    /// `true` if the front matter is invalid or its keys about the scope have a wrong type,
    /// so that the scope of a rule is unknown.
    pub(super) is_scope_unclear: bool,
    /// The first line of prose, which replaces a missing description.
    pub(super) first_line: Option<String>,
    pub(super) body: Arc<str>,
}

/// Reads a file and adds its problems to the context.
pub(super) fn read_markdown(
    context: &mut ParseContext<'_>,
    path: &str,
    text: &str,
) -> MarkdownItem {
    let top = front_matter::split_front_matter(text, &mut context.budget);
    if let Some(problem) = &top.problem {
        context.add_problem(path, problem);
    }
    let mut values = FrontMatterReader {
        context,
        path,
        values: &top.values,
        wrong_keys: Vec::new(),
    };
    let name = values
        .text("name")
        .map(|name| truncate_chars(&name, MAX_NAME_CHARS));
    let description = values.text("description");
    let model = values.list("model").and_then(|all| all.into_iter().next());
    let tools = values.list("tools").filter(|tools| !tools.is_empty());
    // If the list of tools can't be read, the agent gets no tools instead of all.
    let unclear_tools = top.problem.is_some() || values.wrong_keys.contains(&"tools");
    let tools = tools.or_else(|| unclear_tools.then(|| vec![UNREADABLE_TOOLS.to_owned()]));
    let globs = GLOB_KEYS.iter().find_map(|key| values.list(key));
    let always = values.flag("alwaysApply");
    let by_user = values.flag("user-invocable");
    let infer = values.flag("infer");
    let not_by_model = values.flag("disable-model-invocation");
    let about_when = |key: &&str| GLOB_KEYS.contains(key) || *key == "alwaysApply";
    let unclear = top.problem.is_some() || values.wrong_keys.iter().any(about_when);
    MarkdownItem {
        has_empty_name: name.is_none() && top.values.contains_key("name"),
        name,
        is_scope_unclear: unclear,
        description: description.map(|text| truncate_chars(&text, MAX_DESCRIPTION_CHARS)),
        model,
        tools,
        disable_model_invocation: infer
            .map(|infer| !infer)
            .or(not_by_model)
            .filter(|off| *off),
        disable_user_invocation: by_user.map(|may| !may).filter(|off| *off),
        always_apply: always,
        globs: globs.filter(|globs| !globs.is_empty()),
        first_line: first_line(top.body),
        body: top.body.into(),
    }
}

fn first_line(body: &str) -> Option<String> {
    body.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(['#', '`', '<', '!', '-', '|']))
        .map(|line| truncate_chars(line, MAX_DESCRIPTION_CHARS))
}

struct FrontMatterReader<'a, 'b> {
    context: &'a mut ParseContext<'b>,
    path: &'a str,
    values: &'a Map<String, Value>,
    /// Keys with values of a wrong type.
    wrong_keys: Vec<&'static str>,
}

impl FrontMatterReader<'_, '_> {
    fn text(&mut self, key: &'static str) -> Option<String> {
        match self.values.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Array(_) | Value::Object(_) => {
                self.report_wrong_type(key, "a string");
                None
            }
        }
    }

    fn flag(&mut self, key: &'static str) -> Option<bool> {
        match self.values.get(key)? {
            Value::Null => None,
            Value::Bool(flag) => Some(*flag),
            Value::String(text) if is_one_of(text, &["true", "yes", "on"]) => Some(true),
            Value::String(text) if is_one_of(text, &["false", "no", "off"]) => Some(false),
            Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.report_wrong_type(key, "true or false");
                None
            }
        }
    }

    /// Reads a list, or a text with commas.
    fn list(&mut self, key: &'static str) -> Option<Vec<String>> {
        let list: Vec<String> = match self.values.get(key)? {
            Value::Null => return None,
            Value::String(text) => split_list(text),
            Value::Array(values) => {
                let texts = values.iter().filter_map(Value::as_str);
                let texts: Vec<String> = texts.map(|text| text.trim().to_owned()).collect();
                if texts.len() < values.len() {
                    self.report_wrong_type(key, "a list of strings");
                }
                texts
            }
            // Some agents declare tools as an object of names and permissions.
            Value::Object(object) if key == "tools" => object
                .iter()
                .filter(|(_, value)| **value != Value::Bool(false))
                .map(|(name, _)| name.clone())
                .collect(),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                self.report_wrong_type(key, "a list of strings");
                return None;
            }
        };
        let list = list.into_iter().filter(|text| !text.is_empty());
        Some(
            list.take(MAX_LIST_ITEMS)
                .map(|text| truncate_chars(&text, MAX_NAME_CHARS))
                .collect(),
        )
    }

    fn report_wrong_type(&mut self, key: &'static str, expected: &str) {
        self.wrong_keys.push(key);
        let problem = format!("`{key}` must be {expected}");
        self.context.add_problem(self.path, problem);
    }
}

fn is_one_of(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Splits a text at commas that are not inside of braces or parentheses.
fn split_list(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let mut parts = vec![String::new()];
    for character in text.chars() {
        match character {
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::split_list;

    #[test]
    fn commas_in_braces_do_not_split() {
        assert_eq!(
            split_list("**/*.{ts,tsx}, src/**"),
            ["**/*.{ts,tsx}", "src/**"]
        );
        assert_eq!(
            split_list("Bash(git:*, ls), Read"),
            ["Bash(git:*, ls)", "Read"]
        );
        assert_eq!(split_list("}}},a"), ["}}}", "a"]);
    }
}
