//! Separates the code of a Rust file from its comments and literals.

/// A comment that begins with `//`.
#[derive(Debug, PartialEq)]
pub(crate) struct Comment {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The parts of a Rust file.
#[derive(Default)]
pub(crate) struct LexedFile {
    /// The code with the same line numbers as the file: a comment is blank, a literal is `""`.
    pub(crate) code: String,
    /// Lines of doc comments, `///` and `//!`.
    pub(crate) docs: Vec<Comment>,
    /// Other comments that begin with `//`.
    pub(crate) comments: Vec<Comment>,
}

/// A piece of source text.
#[derive(Clone, Copy)]
enum Piece {
    Code,
    DocComment,
    LineComment,
    BlockComment,
    Literal,
}

/// Splits a file into code and comments.
pub(crate) fn lex(text: &str) -> LexedFile {
    let mut file = LexedFile::default();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (piece, length) = next_piece(rest);
        let (body, after) = rest.split_at(length);
        let newlines = body.matches('\n').count();
        match piece {
            Piece::Code => file.code.push_str(body),
            Piece::DocComment | Piece::LineComment | Piece::BlockComment => {
                file.code.push_str(&"\n".repeat(newlines));
                if newlines == 0 {
                    file.code.push(' ');
                }
            }
            Piece::Literal => {
                file.code.push_str("\"\"");
                file.code.push_str(&"\n".repeat(newlines));
            }
        }
        let comment = || Comment {
            line,
            text: body.to_owned(),
        };
        match piece {
            Piece::DocComment => file.docs.push(comment()),
            Piece::LineComment => file.comments.push(comment()),
            Piece::BlockComment | Piece::Literal | Piece::Code => {}
        }
        line += newlines;
        rest = after;
    }
    file
}

/// Returns the kind and the length in bytes of the piece at the beginning of `rest`.
fn next_piece(rest: &str) -> (Piece, usize) {
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        let is_doc = (rest.starts_with("///") && !rest.starts_with("////"))
            || (rest.starts_with("//!") && !rest.starts_with("//!/"));
        let piece = if is_doc {
            Piece::DocComment
        } else {
            Piece::LineComment
        };
        return (piece, length);
    }
    if rest.starts_with("/*") {
        return (Piece::BlockComment, block_comment_length(rest));
    }
    if let Some(length) = raw_string_length(rest)
        .or_else(|| string_length(rest))
        .or_else(|| character_length(rest))
    {
        return (Piece::Literal, length);
    }
    // A whole identifier at once: its last letters are no prefix of a literal.
    let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(1, char::len_utf8);
    (Piece::Code, word.max(first))
}

/// Returns `true` for characters of identifiers and numbers.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn raw_string_length(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(prefix.len() + hashes + 1 + length)
}

fn string_length(rest: &str) -> Option<usize> {
    let body = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - body.len();
    if prefix > 1 || !body.starts_with('"') {
        return None;
    }
    let mut is_escaped = false;
    for (at, character) in body.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == '"' {
            return Some(prefix + at + 1);
        }
    }
    Some(rest.len())
}

/// Returns the length of a character or byte literal; a lifetime is none.
fn character_length(rest: &str) -> Option<usize> {
    let prefix = usize::from(rest.starts_with("b'"));
    let body = rest[prefix..].strip_prefix('\'')?;
    let mut characters = body.chars();
    let length = match characters.next()? {
        '\\' => {
            let escape = characters.next()?;
            // The closing quote comes after the escaped character, also after an escaped quote.
            1 + escape.len_utf8() + characters.as_str().find('\'')?
        }
        '\'' | '\n' => return None,
        character => character.len_utf8(),
    };
    body[length..]
        .starts_with('\'')
        .then_some(prefix + length + 2)
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = concat!(
        "//! Module.\n",
        "fn f<'a>(x: &'a str) -> char { /* a /* b */ c */ '\\'' } // why\n",
        "/// Doc.\n",
        "const TEXT: &str = r#\"// \"no\" comment\n\"#;\n",
        "const QUOTE: (char, u8, &str) = ('\"', b'\\\\', \"\\\"//\");\n",
        "//// rule\n",
    );
    let file = lex(text);
    assert_eq!(
        file.code,
        concat!(
            " \n",
            "fn f<'a>(x: &'a str) -> char {   \"\" }  \n",
            " \n",
            "const TEXT: &str = \"\"\n;\n",
            "const QUOTE: (char, u8, &str) = (\"\", \"\", \"\");\n",
            " \n",
        )
    );
    let lines = |comments: &[Comment]| comments.iter().map(|c| c.line).collect::<Vec<_>>();
    assert_eq!(lines(&file.docs), [1, 3]);
    assert_eq!(lines(&file.comments), [2, 7]);
    assert_eq!(file.comments[0].text, "// why");
}
