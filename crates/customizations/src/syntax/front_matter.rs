//! Splits the front matter of a Markdown file, between two lines of dashes, from its body.
//!
//! Front matter should be YAML but is often not quite valid: one editor writes
//! `globs: *.ts`, and users write `description: Use it when: …`. A value that is not valid
//! YAML by itself is taken for plain text.

mod budget;

pub(crate) use budget::ParseBudget;

use serde_json::{Map, Value};

use budget::YamlError;

/// Maximum size of front matter in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;

/// A Markdown file, split into front matter and body.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FrontMatter<'a> {
    /// The values of the front matter.
    pub(crate) values: Map<String, Value>,
    /// The text after the front matter.
    pub(crate) body: &'a str,
    /// The problem with the front matter, as text.
    pub(crate) problem: Option<String>,
}

/// Splits a file and parses its front matter. The work is charged to the budget of its
/// container.
pub(crate) fn split_front_matter<'a>(text: &'a str, budget: &mut ParseBudget) -> FrontMatter<'a> {
    let Some((top, body)) = find_front_matter(text) else {
        let problem =
            starts_front_matter(text).then(|| "its front matter has no closing `---`".to_owned());
        return FrontMatter {
            values: Map::new(),
            body: text,
            problem,
        };
    };
    let (values, problem) = match parse_values(top, budget) {
        Ok(values) => (values, None),
        Err(YamlError::BudgetExhausted) => (
            Map::new(),
            Some(
                "its front matter was not parsed: the container exceeds the limit for front matter"
                    .to_owned(),
            ),
        ),
        Err(YamlError::TooLarge(problem) | YamlError::Invalid(problem)) => (
            Map::new(),
            Some(format!("its front matter cannot be parsed: {problem}")),
        ),
    };
    FrontMatter {
        values,
        body,
        problem,
    }
}

fn starts_front_matter(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.trim_end() == "---")
        && text.lines().nth(1).is_some_and(|line| line.contains(':'))
}

/// Returns the front matter and the body, or `None` without front matter.
fn find_front_matter(text: &str) -> Option<(&str, &str)> {
    let first = text.split_inclusive('\n').next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut end = first.len();
    for line in text.get(end..)?.split_inclusive('\n') {
        let next = end + line.len();
        if line.trim_end() == "---" {
            return Some((text.get(first.len()..end)?, text.get(next..)?.trim_start()));
        }
        end = next;
    }
    None
}

fn parse_values(top: &str, budget: &mut ParseBudget) -> Result<Map<String, Value>, YamlError> {
    if top.len() > MAX_FRONT_MATTER_BYTES {
        let problem = format!("it is longer than {} KiB", MAX_FRONT_MATTER_BYTES / 1024);
        return Err(YamlError::TooLarge(problem));
    }
    let first = match parse_yaml(top, budget) {
        Err(YamlError::Invalid(problem)) => YamlError::Invalid(problem),
        // Quotes would not make it smaller.
        result => return result,
    };
    match parse_yaml(&quote_invalid_values(top, budget), budget) {
        Err(YamlError::Invalid(_)) => Err(first),
        result => result,
    }
}

/// Quotes values that are not valid YAML by themselves.
fn quote_invalid_values(top: &str, budget: &mut ParseBudget) -> String {
    let mut text = String::with_capacity(top.len() + 16);
    for line in top.lines() {
        let value = line.split_once(": ").filter(|(key, value)| {
            let key_is_plain = key
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
            let starts_block = value.starts_with(['|', '>']);
            let repairable = key_is_plain && !starts_block && !is_unclosed(value.trim());
            !key.is_empty() && repairable && parse_yaml(line, budget).is_err()
        });
        match value {
            Some((key, value)) => {
                let quoted = value.trim().replace('\'', "''");
                text.push_str(&format!("{key}: '{quoted}'\n"));
            }
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}

/// Returns `true` if a value opens a bracket or quote and does not close it. That is a
/// mistake and not plain text.
fn is_unclosed(value: &str) -> bool {
    let pairs = [('[', ']'), ('{', '}'), ('"', '"'), ('\'', '\'')];
    pairs.iter().any(|(open, close)| {
        let rest = value.strip_prefix(*open);
        rest.is_some_and(|rest| !rest.contains(*close))
    })
}

fn parse_yaml(text: &str, budget: &mut ParseBudget) -> Result<Map<String, Value>, YamlError> {
    match budget.parse(text)? {
        Value::Object(values) => Ok(values),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(YamlError::Invalid("it is not a mapping".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let found = split_front_matter(text, &mut ParseBudget::default());
        let values = Value::Object(found.values);
        let mut told = format!("{values} | {:?}", found.body);
        if let Some(problem) = found.problem {
            told.push_str(" | ");
            told.push_str(&problem);
        }
        expected.assert_eq(&told);
    }

    #[test]
    fn common_front_matter_is_parsed() {
        check(
            "---\nname: a\ntools: [Read, Write]\n---\n\n# A\n",
            expect![[r##"{"name":"a","tools":["Read","Write"]} | "# A\n""##]],
        );
        check("no top\n", expect![[r#"{} | "no top\n""#]]);
        check(
            "---\r\nname: a\r\n---\r\nb",
            expect![[r#"{"name":"a"} | "b""#]],
        );
        check("---\n---\nb", expect![[r#"{} | "b""#]]);
        check(
            "---\n\nA line after a ruler.\n",
            expect![[r#"{} | "---\n\nA line after a ruler.\n""#]],
        );
        check(
            "---\ndescription: >-\n  two\n  lines\n---\nb",
            expect![[r#"{"description":"two lines"} | "b""#]],
        );
    }

    #[test]
    fn invalid_yaml_values_are_read_as_text() {
        check(
            "---\ndescription: Use it when: it's late\nglobs: *.ts,src/**\nargument-hint: [a] [b]\nalwaysApply: false\n---\nb",
            expect![[
                r#"{"description":"Use it when: it's late","globs":"*.ts,src/**","argument-hint":"[a] [b]","alwaysApply":false} | "b""#
            ]],
        );
    }

    #[test]
    fn broken_front_matter_is_reported() {
        check(
            "---\nname: a\nb",
            expect![[r#"{} | "---\nname: a\nb" | its front matter has no closing `---`"#]],
        );
        check(
            "---\n- a\n- b\n---\nb",
            expect![[r#"{} | "b" | its front matter cannot be parsed: it is not a mapping"#]],
        );
        check(
            "---\nname: a\n  b: [\n---\nb",
            expect![[
                r#"{} | "b" | its front matter cannot be parsed: mapping values are not allowed in this context at line 2, column 4"#
            ]],
        );
        let deep = format!("---\na: {}\n---\nb", "[".repeat(5_000));
        assert!(
            split_front_matter(&deep, &mut ParseBudget::default())
                .problem
                .is_some()
        );
        for open in ["[a, b", "{a: 1", "\"a", "'a"] {
            let text = format!("---\nname: {open}\n---\nb");
            assert!(
                split_front_matter(&text, &mut ParseBudget::default())
                    .problem
                    .is_some(),
                "{open}"
            );
        }
        let deep = format!("---\na:\n{}\n---\nb", "- ".repeat(5_000));
        assert!(
            split_front_matter(&deep, &mut ParseBudget::default())
                .problem
                .is_some()
        );
    }
}
