//! A parser for the JSON grammar (RFC 8259) that produces tokens.

use super::document::{JsonToken, Limits, TokenKind};
use super::error::ParseError;

/// Splits `text` into the tokens of one JSON value.
pub(super) fn tokenize(text: &str, limits: Limits) -> Result<Vec<JsonToken>, ParseError> {
    let allowed = limits.bytes.min(u32::MAX as usize);
    if text.len() > allowed {
        return Err(ParseError::TooLarge {
            bytes: text.len(),
            allowed,
        });
    }
    let mut parser = Parser {
        bytes: text.as_bytes(),
        at: 0,
        tokens: Vec::with_capacity((16 + text.len() / 16).min(limits.values)),
        allowed_depth: limits.depth.min(Limits::MAX_DEPTH),
        allowed_values: limits.values,
    };
    parser.skip_whitespace();
    parser.value(0)?;
    parser.skip_whitespace();
    match parser.peek() {
        None => Ok(parser.tokens),
        Some(_) => Err(parser.syntax_error("expected nothing after the value")),
    }
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    tokens: Vec<JsonToken>,
    allowed_depth: usize,
    allowed_values: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn syntax_error(&self, what: &'static str) -> ParseError {
        ParseError::Syntax {
            offset: self.at,
            what,
        }
    }

    /// Appends a token whose end is not known yet.
    fn open(&mut self, kind: TokenKind, start: usize) -> Result<usize, ParseError> {
        if self.tokens.len() >= self.allowed_values {
            return Err(ParseError::TooMany {
                allowed: self.allowed_values,
            });
        }
        self.tokens.push(JsonToken {
            kind,
            start: to_offset(start),
            end: 0,
            next: 0,
        });
        Ok(self.tokens.len() - 1)
    }

    /// Ends a token; all later tokens are its descendants.
    fn close(&mut self, token: usize, end: usize) {
        let next = to_offset(self.tokens.len());
        if let Some(token) = self.tokens.get_mut(token) {
            token.end = to_offset(end);
            token.next = next;
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), ParseError> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", TokenKind::True),
            Some(b'f') => self.word(b"false", TokenKind::False),
            Some(b'n') => self.word(b"null", TokenKind::Null),
            _ => Err(self.syntax_error("expected a value")),
        }
    }

    fn descend(&self, depth: usize) -> Result<(), ParseError> {
        if depth >= self.allowed_depth {
            return Err(ParseError::TooDeep {
                allowed: self.allowed_depth,
            });
        }
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), ParseError> {
        self.descend(depth)?;
        let token = self.open(TokenKind::Object, self.at)?;
        self.at += 1;
        self.skip_whitespace();
        if self.peek() == Some(b'}') {
            self.at += 1;
            self.close(token, self.at);
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax_error("expected a key in quotes"));
            }
            self.string()?;
            self.skip_whitespace();
            if self.peek() != Some(b':') {
                return Err(self.syntax_error("expected a colon"));
            }
            self.at += 1;
            self.skip_whitespace();
            self.value(depth + 1)?;
            self.skip_whitespace();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.skip_whitespace();
                }
                Some(b'}') => {
                    self.at += 1;
                    self.close(token, self.at);
                    return Ok(());
                }
                _ => return Err(self.syntax_error("expected a comma or `}`")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), ParseError> {
        self.descend(depth)?;
        let token = self.open(TokenKind::Array, self.at)?;
        self.at += 1;
        self.skip_whitespace();
        if self.peek() == Some(b']') {
            self.at += 1;
            self.close(token, self.at);
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.skip_whitespace();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.skip_whitespace();
                }
                Some(b']') => {
                    self.at += 1;
                    self.close(token, self.at);
                    return Ok(());
                }
                _ => return Err(self.syntax_error("expected a comma or `]`")),
            }
        }
    }

    fn word(&mut self, word: &[u8], kind: TokenKind) -> Result<(), ParseError> {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(self.syntax_error("expected a value"));
        }
        let token = self.open(kind, start)?;
        self.at += word.len();
        self.close(token, self.at);
        Ok(())
    }

    fn number(&mut self) -> Result<(), ParseError> {
        let token = self.open(TokenKind::Number, self.at)?;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        self.close(token, self.at);
        self.in_range(token)
    }

    /// Fails for a number outside of the range of a double, because it would become `null` when
    /// it is forwarded. Only a long number or one with an exponent can be out of range.
    fn in_range(&self, token: usize) -> Result<(), ParseError> {
        let source = self
            .tokens
            .get(token)
            .and_then(|token| self.bytes.get(token.start as usize..token.end as usize))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default();
        let suspect = source.len() > 300 || source.contains(['e', 'E']);
        if suspect && source.parse().is_ok_and(f64::is_infinite) {
            return Err(self.syntax_error("expected a number within the range of a double"));
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.syntax_error("expected a digit"));
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        let token = self.open(TokenKind::Plain, self.at)?;
        loop {
            match self.peek() {
                None => return Err(self.syntax_error("expected a closing quote")),
                Some(b'"') => break,
                Some(b'\\') => {
                    if let Some(token) = self.tokens.get_mut(token) {
                        token.kind = TokenKind::Escaped;
                    }
                    self.escape()?;
                }
                Some(0..=0x1f) => {
                    return Err(self.syntax_error("expected control characters to be escaped"));
                }
                Some(_) => self.at += 1,
            }
        }
        self.close(token, self.at);
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                match self.unit()? {
                    0xd800..=0xdbff => self.second_half(),
                    0xdc00..=0xdfff => {
                        Err(self.syntax_error("expected a whole character, found half"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Err(self.syntax_error("expected an escape sequence")),
        }
    }

    /// Parses the low surrogate that must follow a high one.
    fn second_half(&mut self) -> Result<(), ParseError> {
        let half = "expected a whole character, found half";
        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            return Err(self.syntax_error(half));
        }
        self.at += 2;
        match self.unit()? {
            0xdc00..=0xdfff => Ok(()),
            _ => Err(self.syntax_error(half)),
        }
    }

    /// Parses four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, ParseError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self
                .peek()
                .and_then(|byte| char::from(byte).to_digit(16))
                .ok_or_else(|| self.syntax_error("expected four hexadecimal digits"))?;
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }
}

/// Converts an offset or index to 32 bits. It always fits: the length of the text was checked
/// first, and there are never more tokens than bytes.
fn to_offset(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
