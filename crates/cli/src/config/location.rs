//! Lines and keys of the configuration file, for errors.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The path of a value in the file, such as `agents[1].command`.
#[derive(Debug, Clone)]
pub(super) struct KeyPath(Vec<PathStep>);

#[derive(Debug, Clone)]
enum PathStep {
    Key(&'static str),
    Index(usize),
}

impl KeyPath {
    pub(super) fn of(key: &'static str) -> Self {
        KeyPath(vec![PathStep::Key(key)])
    }

    pub(super) fn key(&self, key: &'static str) -> Self {
        self.step(PathStep::Key(key))
    }

    pub(super) fn index(&self, index: usize) -> Self {
        self.step(PathStep::Index(index))
    }

    fn step(&self, step: PathStep) -> Self {
        let mut path = self.clone();
        path.0.push(step);
        path
    }

    /// Returns the line of the value, or of the last table on its path that exists.
    pub(super) fn line(&self, text: &str) -> Option<usize> {
        let root = DeTable::parse(text).ok()?;
        let mut table = Some(root.get_ref());
        let mut array = None;
        let mut found = None;
        for step in &self.0 {
            let value = match step {
                PathStep::Key(name) => {
                    let entry = table.and_then(|table| table.get_key_value(*name));
                    found = entry.map(|(key, _)| key.span().start).or(found);
                    entry.map(|(_, value)| value)
                }
                PathStep::Index(index) => {
                    let item = array.and_then(|array: &toml::de::DeArray<'_>| array.get(*index));
                    found = item.map(first_position).or(found);
                    item
                }
            };
            table = value.and_then(|value| value.get_ref().as_table());
            array = value.and_then(|value| value.get_ref().as_array());
        }
        Some(line_number(text, found?))
    }
}

/// A problem with a value of the file. Its message names the key.
#[derive(Debug, thiserror::Error)]
#[error("{problem:#}")]
pub(super) struct ValueError {
    pub(super) path: KeyPath,
    problem: anyhow::Error,
}

/// Adds the location in the file to an error.
pub(super) trait AtKey<T> {
    fn at(self, path: KeyPath) -> anyhow::Result<T>;
}

impl<T> AtKey<T> for anyhow::Result<T> {
    fn at(self, path: KeyPath) -> anyhow::Result<T> {
        self.map_err(|problem| match problem.downcast::<ValueError>() {
            // The inner location is more precise.
            Ok(located) => located.into(),
            Err(problem) => ValueError { path, problem }.into(),
        })
    }
}

/// Returns the error of the TOML parser with the line and the key, and without the text of the
/// line, which may contain a secret.
pub(super) fn describe_toml_error(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim();
    let Some(Range { start, .. }) = error.span() else {
        return message.to_owned();
    };
    let line = line_number(text, start);
    let root = DeTable::parse(text).ok();
    match root.and_then(|root| key_before(root.get_ref(), "", start)) {
        Some((_, key)) => format!("line {line}: `{key}`: {message}"),
        None => format!("line {line}: {message}"),
    }
}

/// Returns the line of a byte in the text, beginning with 1.
pub(super) fn line_number(text: &str, position: usize) -> usize {
    let before = text.get(..position).unwrap_or_default();
    before.matches('\n').count() + 1
}

/// Returns the last key that begins before a position, and where it begins.
fn key_before(table: &DeTable<'_>, prefix: &str, position: usize) -> Option<(usize, String)> {
    let mut last: Option<(usize, String)> = None;
    let mut consider = |found: Option<(usize, String)>| {
        if let Some(found) = found.filter(|(start, _)| *start <= position)
            && last.as_ref().is_none_or(|(start, _)| *start <= found.0)
        {
            last = Some(found);
        }
    };
    for (name, value) in table {
        let full = format!("{prefix}{}", name.get_ref());
        consider(Some((name.span().start, full.clone())));
        let inner = format!("{full}.");
        match value.get_ref() {
            DeValue::Table(table) => consider(key_before(table, &inner, position)),
            DeValue::Array(items) => {
                for table in items.iter().filter_map(|item| item.get_ref().as_table()) {
                    consider(key_before(table, &inner, position));
                }
            }
            _ => {}
        }
    }
    last
}

/// Returns where a value begins. A table of an array begins with its first key.
fn first_position(value: &Spanned<DeValue<'_>>) -> usize {
    let keys = value.get_ref().as_table().into_iter().flatten();
    let first = keys.map(|(key, _)| key.span().start).min();
    first.unwrap_or_else(|| value.span().start)
}
