//! One Rust file: its code, its comments, and the items that it declares.

use std::ops::RangeInclusive;

use crate::lexer::{Comment, is_word, lex};

/// A Rust file of the workspace.
pub(crate) struct Source {
    /// The path from the root of the workspace.
    pub(crate) path: String,
    /// The folder of the crate below `crates`.
    pub(crate) crate_name: String,
    pub(crate) text: String,
    /// The text without comments and literals, with the same line numbers.
    pub(crate) code: String,
    pub(crate) docs: Vec<Comment>,
    pub(crate) comments: Vec<Comment>,
    /// `tests.rs`, `test.rs` or `…_tests.rs`.
    pub(crate) is_test_file: bool,
    line_starts: Vec<usize>,
    test_modules: Vec<RangeInclusive<usize>>,
}

/// A line of code outside of test modules.
#[derive(Clone, Copy)]
pub(crate) struct CodeLine<'a> {
    pub(crate) number: usize,
    pub(crate) offset: usize,
    pub(crate) text: &'a str,
}

/// An item with a name.
#[derive(Debug, PartialEq)]
pub(crate) struct NamedItem<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: usize,
}

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct FunctionItem<'a> {
    pub(crate) name: &'a str,
    pub(crate) line: usize,
    pub(crate) line_count: usize,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let file = lex(text);
        let newlines = file.code.match_indices('\n').map(|(at, _)| at + 1);
        let stem = path.rsplit('/').next().unwrap_or(path);
        let stem = stem.strip_suffix(".rs").unwrap_or(stem);
        let mut source = Self {
            path: path.to_owned(),
            crate_name: path.split('/').nth(1).unwrap_or_default().to_owned(),
            text: text.to_owned(),
            line_starts: std::iter::once(0).chain(newlines).collect(),
            test_modules: Vec::new(),
            is_test_file: matches!(stem, "test" | "tests") || stem.ends_with("_tests"),
            code: file.code,
            docs: file.docs,
            comments: file.comments,
        };
        source.test_modules = source.find_test_modules();
        source
    }

    /// Returns `path:line`, as failure messages name a place.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// Returns the line of an offset in the code, from 1.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.test_modules.iter().any(|lines| lines.contains(&line))
    }

    /// Lines of code that are outside of test modules.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = CodeLine<'_>> {
        let lines = self.code.split('\n').zip(&self.line_starts).enumerate();
        lines
            .map(|(index, (text, offset))| CodeLine {
                number: index + 1,
                offset: *offset,
                text,
            })
            .filter(|line| !self.is_test_line(line.number))
    }

    /// Offsets of a string in the code outside of test modules.
    pub(crate) fn offsets_of(&self, string: &str) -> Vec<usize> {
        let found = self.code.match_indices(string).map(|(at, _)| at);
        found
            .filter(|at| !self.is_test_line(self.line_at(*at)))
            .collect()
    }

    /// Structs, enums, traits, unions and type aliases; no associated types.
    pub(crate) fn types(&self) -> Vec<NamedItem<'_>> {
        let mut found = Vec::new();
        for line in self.code_lines() {
            let item = strip_visibility(line.text);
            let item = strip_word(item, "unsafe").unwrap_or(item);
            let is_indented = line.text.starts_with([' ', '\t']);
            let kinds = ["struct", "enum", "trait", "union", "type"];
            let kinds = &kinds[..kinds.len() - usize::from(is_indented)];
            let names = kinds.iter().find_map(|kind| strip_word(item, kind));
            found.extend(names.and_then(|rest| named(rest, line.number)));
        }
        found
    }

    /// Constants and statics.
    pub(crate) fn constants(&self) -> Vec<NamedItem<'_>> {
        let mut found = Vec::new();
        for line in self.code_lines() {
            let item = strip_visibility(line.text);
            let Some(rest) = strip_word(item, "const").or_else(|| strip_word(item, "static"))
            else {
                continue;
            };
            let rest = strip_word(rest, "mut").unwrap_or(rest);
            let item = named(rest, line.number).filter(|item| {
                let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
                item.name.starts_with(|c: char| c.is_ascii_uppercase())
                    && item.name.chars().all(is_capital)
                    && rest[item.name.len()..].trim_start().starts_with(':')
            });
            found.extend(item);
        }
        found
    }

    /// Modules with a body in this file.
    pub(crate) fn inline_modules(&self) -> Vec<NamedItem<'_>> {
        let mut found = Vec::new();
        for line in self.code_lines() {
            let item = strip_word(strip_visibility(line.text), "mod")
                .and_then(|rest| named(rest, line.number).map(|item| (rest, item)));
            if let Some((rest, item)) = item
                && rest[item.name.len()..].trim_start().starts_with('{')
            {
                found.push(item);
            }
        }
        found
    }

    /// Functions with a body, and their length.
    pub(crate) fn functions(&self) -> Vec<FunctionItem<'_>> {
        let mut found = Vec::new();
        for line in self.code_lines() {
            let Some((name, rest)) = function_name(line.text) else {
                continue;
            };
            let name_end = line.offset + line.text.len() - rest.len();
            if let Some(end) = self.body_end(name_end) {
                found.push(FunctionItem {
                    name,
                    line: line.number,
                    line_count: self.line_at(end) - line.number + 1,
                });
            }
        }
        found
    }

    /// Returns the end of the body of the function whose name ends at `offset`.
    fn body_end(&self, offset: usize) -> Option<usize> {
        let mut depth = 0;
        for (at, byte) in self.code.bytes().enumerate().skip(offset) {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b';' if depth == 0 => return None,
                b'{' if depth == 0 => return Some(closing_brace(&self.code, at)),
                _ => {}
            }
        }
        None
    }

    fn find_test_modules(&self) -> Vec<RangeInclusive<usize>> {
        const ATTRIBUTE: &str = "#[cfg(test)]";
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices(ATTRIBUTE) {
            let mut rest = self.code[at + ATTRIBUTE.len()..].trim_start();
            while let Some(attribute) = rest.strip_prefix("#[") {
                let end = attribute.find(']').map_or(attribute.len(), |end| end + 1);
                rest = attribute[end..].trim_start();
            }
            let body = strip_word(rest, "mod").map(|rest| rest.trim_start_matches(is_word));
            if body.is_some_and(|body| body.trim_start().starts_with('{')) {
                let brace = self.code.len() - rest.len() + rest.find('{').unwrap_or_default();
                let end = closing_brace(&self.code, brace);
                found.push(self.line_at(at)..=self.line_at(end));
            }
        }
        found
    }
}

/// Returns the offset of the brace that closes the one at `offset`.
pub(crate) fn closing_brace(code: &str, offset: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(offset) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// Returns a line without its indentation and visibility.
pub(crate) fn strip_visibility(line: &str) -> &str {
    let line = line.trim_start();
    let Some(rest) = line.strip_prefix("pub") else {
        return line;
    };
    let rest = rest
        .strip_prefix('(')
        .and_then(|scope| scope.split_once(')'))
        .map_or(rest, |(_, rest)| rest);
    let item = rest.trim_start();
    if item.len() == rest.len() { line } else { item }
}

/// Returns the identifier at the beginning of the text, which may be empty.
pub(crate) fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    &text[..end]
}

/// Returns the text after a word and the blanks that follow it.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let after = rest.trim_start();
    (after.len() < rest.len()).then_some(after)
}

fn named(text: &str, line: usize) -> Option<NamedItem<'_>> {
    let name = leading_word(text);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then_some(NamedItem { name, line })
}

/// Returns the name of the function that a line declares, and the text after it.
fn function_name(line: &str) -> Option<(&str, &str)> {
    let mut item = strip_visibility(line);
    for word in ["default", "const", "async", "unsafe"] {
        item = strip_word(item, word).unwrap_or(item);
    }
    if let Some(rest) = strip_word(item, "extern") {
        item = rest.trim_start_matches('"').trim_start();
    }
    let item = strip_word(item, "fn")?;
    let name = leading_word(item);
    (!name.is_empty()).then(|| item.split_at(name.len()))
}

#[test]
fn items_are_found_outside_of_test_modules() {
    let source = Source::new(
        "crates/core/src/host.rs",
        concat!(
            "pub(crate) struct Host;\n",
            "type Reply = Result<u8, [u8; 2]>;\n",
            "impl Trait for Host {\n",
            "    type Output = u8;\n",
            "    const MAX_BYTES: usize = 3;\n",
            "    pub async fn run(&self) -> [u8; 2] {\n",
            "        [0; 2]\n",
            "    }\n",
            "    fn declared(&self);\n",
            "}\n",
            "#[cfg(test)]\n",
            "#[expect(dead_code)]\n",
            "mod tests {\n",
            "    struct Hidden;\n",
            "}\n",
            "mod inner {}\n",
        ),
    );
    let names = |items: Vec<NamedItem<'_>>| -> Vec<_> {
        let items = items.into_iter().map(|item| (item.name, item.line));
        items.map(|(name, line)| format!("{name}:{line}")).collect()
    };
    assert_eq!(names(source.types()), ["Host:1", "Reply:2"]);
    assert_eq!(names(source.constants()), ["MAX_BYTES:5"]);
    assert_eq!(names(source.inline_modules()), ["inner:16"]);
    let function = FunctionItem {
        name: "run",
        line: 6,
        line_count: 3,
    };
    assert_eq!(source.functions(), [function]);
}
