//! Light highlighting of code: comments, strings, numbers and keywords.
//!
//! A lexer per line is enough for a chat. It knows no grammar, so half a file or a diff is
//! highlighted as well as a whole one.

use ratatui_core::style::Style;
use ratatui_core::text::Span;

use super::text::clean;
use super::theme::ScreenTheme;

/// Lines that are longer are not highlighted.
const MAX_LINE_BYTES: usize = 2_000;

/// Keywords of common languages. A word that is one in another language is rarely a name.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "begin",
    "bool",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "crate",
    "def",
    "default",
    "defer",
    "delete",
    "do",
    "done",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "fi",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "int",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "none",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "ref",
    "return",
    "select",
    "self",
    "Self",
    "static",
    "string",
    "struct",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "True",
    "False",
    "try",
    "type",
    "typeof",
    "undefined",
    "union",
    "unsafe",
    "use",
    "using",
    "val",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

/// The comments of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeStyle {
    /// Text without a syntax.
    Plain,
    /// `// comment`
    Slashes,
    /// `# comment`
    Hash,
    /// `-- comment`
    Dashes,
}

impl CodeStyle {
    /// Returns the style of a language or of a file extension.
    pub(crate) fn of_language(language: Option<&str>) -> Self {
        let language = language.unwrap_or_default().to_ascii_lowercase();
        match language.as_str() {
            "rs" | "rust" | "c" | "h" | "cc" | "cpp" | "hpp" | "c++" | "cs" | "csharp" | "go"
            | "golang" | "java" | "js" | "javascript" | "jsx" | "mjs" | "cjs" | "ts"
            | "typescript" | "tsx" | "kt" | "kotlin" | "swift" | "scala" | "php" | "css"
            | "scss" | "json" | "jsonc" | "json5" | "dart" | "zig" | "proto" | "svelte" => {
                CodeStyle::Slashes
            }
            "sh" | "bash" | "zsh" | "fish" | "shell" | "console" | "py" | "python" | "rb"
            | "ruby" | "toml" | "yaml" | "yml" | "pl" | "perl" | "r" | "make" | "makefile"
            | "dockerfile" | "nix" | "ini" | "conf" | "elixir" | "ex" => CodeStyle::Hash,
            "sql" | "lua" | "hs" | "haskell" | "ada" | "vhdl" => CodeStyle::Dashes,
            _ => CodeStyle::Plain,
        }
    }

    fn comment_mark(self) -> Option<&'static str> {
        match self {
            CodeStyle::Plain => None,
            CodeStyle::Slashes => Some("//"),
            CodeStyle::Hash => Some("#"),
            CodeStyle::Dashes => Some("--"),
        }
    }
}

/// Returns a line of code as spans. `base` is the style of its other text.
pub(crate) fn highlight(
    line: &str,
    style: CodeStyle,
    base: Style,
    theme: &ScreenTheme,
) -> Vec<Span<'static>> {
    let line = clean(line);
    let Some(mark) = style
        .comment_mark()
        .filter(|_| line.len() <= MAX_LINE_BYTES)
    else {
        return vec![Span::styled(line, base)];
    };
    let mut spans = Vec::new();
    let mut rest = line.as_str();
    let mut follows_space = true;
    while let Some(first) = rest.chars().next() {
        let (length, span_style) = if rest.starts_with(mark) && (mark != "#" || follows_space) {
            (rest.len(), theme.comment)
        } else if matches!(first, '"' | '\'' | '`') {
            string_length(rest, first)
                .map_or((first.len_utf8(), base), |length| (length, theme.literal))
        } else if first.is_ascii_digit() {
            (word_length(rest), theme.literal)
        } else if is_word(first) {
            let length = word_length(rest);
            let is_keyword = rest
                .get(..length)
                .is_some_and(|word| KEYWORDS.contains(&word));
            (length, if is_keyword { theme.keyword } else { base })
        } else {
            let other =
                rest.find(|c| is_word(c) || matches!(c, '"' | '\'' | '`' | '/' | '#' | '-'));
            let length = other.filter(|length| *length > 0);
            (length.unwrap_or(first.len_utf8()), base)
        };
        let (token, after) = rest.split_at(length.min(rest.len()));
        follows_space = token.ends_with([' ', '\t']) || token.is_empty();
        push(&mut spans, token, span_style);
        rest = after;
    }
    spans
}

fn push(spans: &mut Vec<Span<'static>>, token: &str, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(token),
        _ => spans.push(Span::styled(token.to_owned(), style)),
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word_length(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

/// Returns the length of a string with its quotes; `None` if it does not end in this line.
fn string_length(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == quote {
            return Some(at + character.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(line: &str, language: &str) -> Vec<(String, &'static str)> {
        let theme = ScreenTheme::colored();
        let style = CodeStyle::of_language(Some(language));
        let spans = highlight(line, style, theme.text, &theme);
        let name = |style| match style {
            style if style == theme.comment => "comment",
            style if style == theme.keyword => "keyword",
            style if style == theme.literal => "literal",
            _ => "text",
        };
        let spans = spans.into_iter();
        spans
            .map(|span| (span.content.into_owned(), name(span.style)))
            .collect()
    }

    #[test]
    fn words_strings_numbers_and_comments_are_recognized() {
        assert_eq!(
            tokens("let x = \"a // b\" + 42; // why", "rs"),
            [
                ("let".to_owned(), "keyword"),
                (" x = ".to_owned(), "text"),
                ("\"a // b\"".to_owned(), "literal"),
                (" + ".to_owned(), "text"),
                ("42".to_owned(), "literal"),
                ("; ".to_owned(), "text"),
                ("// why".to_owned(), "comment"),
            ]
        );
        assert_eq!(tokens("echo $# # x", "sh").last().unwrap().1, "comment");
        assert_eq!(tokens("don't", "rs")[0].1, "text");
    }

    #[test]
    fn the_text_is_never_changed() {
        for line in [
            "",
            "a/b-c#d",
            "'",
            "\"unfinished \\\" x",
            "日本 = 'é'",
            "///",
        ] {
            for language in ["rs", "sh", "sql", ""] {
                let text: String = tokens(line, language).into_iter().map(|t| t.0).collect();
                assert_eq!(text, line);
            }
        }
    }
}
