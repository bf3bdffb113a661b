//! What stands at the top of a Markdown file, between two lines of dashes.
//!
//! It should be YAML, and often is not quite: `globs: *.ts` is what one editor
//! writes, and `description: Use it when: …` what people do. A line that is no
//! YAML by itself is taken for plain text.

use serde_json::{Map, Value};

/// Most bytes of front matter.
const LONGEST: usize = 64 * 1024;

/// A Markdown file taken apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FrontMatter<'a> {
    /// What stands at the top.
    pub(crate) values: Map<String, Value>,
    /// The rest.
    pub(crate) body: &'a str,
    /// What is wrong with the top.
    pub(crate) problem: Option<String>,
}

/// Takes a file apart.
pub(crate) fn split(text: &str) -> FrontMatter<'_> {
    let Some((top, body)) = top_of(text) else {
        let problem = opens(text).then(|| "its front matter does not end".to_owned());
        return FrontMatter {
            values: Map::new(),
            body: text,
            problem,
        };
    };
    match values(top) {
        Ok(values) => FrontMatter {
            values,
            body,
            problem: None,
        },
        Err(problem) => FrontMatter {
            values: Map::new(),
            body,
            problem: Some(format!("its front matter can't be read: {problem}")),
        },
    }
}

fn opens(text: &str) -> bool {
    text.lines()
        .next()
        .is_some_and(|line| line.trim_end() == "---")
        && text.lines().nth(1).is_some_and(|line| line.contains(':'))
}

/// The top and the rest; none if there is no top.
fn top_of(text: &str) -> Option<(&str, &str)> {
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

fn values(top: &str) -> Result<Map<String, Value>, String> {
    if top.len() > LONGEST {
        return Err(format!("it is longer than {} KiB", LONGEST / 1024));
    }
    let first = match yaml(top) {
        Ok(values) => return Ok(values),
        Err(problem) => problem,
    };
    yaml(&repaired(top)).map_err(|_| first)
}

/// Puts quotes around values that are no YAML by themselves.
fn repaired(top: &str) -> String {
    let mut text = String::with_capacity(top.len() + 16);
    for line in top.lines() {
        let value = line.split_once(": ").filter(|(key, value)| {
            let key_is_plain = key
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
            let starts_block = value.starts_with(['|', '>']);
            let repairable = key_is_plain && !starts_block && !is_open(value.trim());
            !key.is_empty() && repairable && yaml(line).is_err()
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

/// Whether a value begins something that does not end: that is no text, but a
/// mistake.
fn is_open(value: &str) -> bool {
    let pairs = [('[', ']'), ('{', '}'), ('"', '"'), ('\'', '\'')];
    pairs.iter().any(|(open, close)| {
        let rest = value.strip_prefix(*open);
        rest.is_some_and(|rest| !rest.contains(*close))
    })
}

/// The reader has bounds of its own for depth, size and what aliases come to.
fn yaml(text: &str) -> Result<Map<String, Value>, String> {
    // `description: y` is a text here, whatever YAML once made of it.
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    match serde_saphyr::from_str_with_options(text, options) {
        Ok(Value::Object(values)) => Ok(values),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("it has no names with values".to_owned()),
        Err(error) => Err(short(&error.to_string())),
    }
}

/// The beginning of what a reader complains about.
fn short(problem: &str) -> String {
    let line = problem.lines().next().unwrap_or_default();
    line.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let found = split(text);
        let values = Value::Object(found.values);
        let mut told = format!("{values} | {:?}", found.body);
        if let Some(problem) = found.problem {
            told.push_str(" | ");
            told.push_str(&problem);
        }
        expected.assert_eq(&told);
    }

    #[test]
    fn what_people_write() {
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
    fn what_is_almost_yaml() {
        check(
            "---\ndescription: Use it when: it's late\nglobs: *.ts,src/**\nargument-hint: [a] [b]\nalwaysApply: false\n---\nb",
            expect![[
                r#"{"description":"Use it when: it's late","globs":"*.ts,src/**","argument-hint":"[a] [b]","alwaysApply":false} | "b""#
            ]],
        );
    }

    #[test]
    fn what_is_broken() {
        check(
            "---\nname: a\nb",
            expect![[r#"{} | "---\nname: a\nb" | its front matter does not end"#]],
        );
        check(
            "---\n- a\n- b\n---\nb",
            expect![[r#"{} | "b" | its front matter can't be read: it has no names with values"#]],
        );
        check(
            "---\nname: a\n  b: [\n---\nb",
            expect![[
                r#"{} | "b" | its front matter can't be read: mapping values are not allowed in this context at line 2, column 4"#
            ]],
        );
        let deep = format!("---\na: {}\n---\nb", "[".repeat(5_000));
        assert!(split(&deep).problem.is_some());
        for open in ["[a, b", "{a: 1", "\"a", "'a"] {
            let text = format!("---\nname: {open}\n---\nb");
            assert!(split(&text).problem.is_some(), "{open}");
        }
        let deep = format!("---\na:\n{}\n---\nb", "- ".repeat(5_000));
        assert!(split(&deep).problem.is_some());
    }
}
