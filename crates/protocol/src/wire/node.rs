//! A value in a document, for inspection and decoding.

use std::borrow::Cow;
use std::fmt;

use super::document::{Document, JsonToken, TokenKind};
use super::error::DecodeError;
use super::{Json, Object};

/// A JSON value in a [`Document`]. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document<'d>,
    index: u32,
}

impl<'d> Node<'d> {
    pub(super) fn new(document: &'d Document<'d>, index: u32) -> Self {
        Node { document, index }
    }

    fn token(self) -> JsonToken {
        token_at(self.document, self.index)
    }

    fn slice(self) -> &'d str {
        let token = self.token();
        self.document
            .text
            .get(token.start as usize..token.end as usize)
            .unwrap_or_default()
    }

    /// Returns `true` if the value is `null`.
    pub fn is_null(self) -> bool {
        self.token().kind == TokenKind::Null
    }

    /// Returns `true` if the value is an object.
    pub fn is_object(self) -> bool {
        self.token().kind == TokenKind::Object
    }

    /// Returns `true` if the value is an array.
    pub fn is_array(self) -> bool {
        self.token().kind == TokenKind::Array
    }

    /// Returns `true` if the value is a string.
    pub fn is_text(self) -> bool {
        matches!(self.token().kind, TokenKind::Plain | TokenKind::Escaped)
    }

    /// Returns the text of a number, with its original digits.
    pub fn number(self) -> Option<&'d str> {
        (self.token().kind == TokenKind::Number).then(|| self.slice())
    }

    /// Returns the value of a boolean.
    pub fn boolean(self) -> Result<bool, DecodeError> {
        match self.token().kind {
            TokenKind::True => Ok(true),
            TokenKind::False => Ok(false),
            TokenKind::Null
            | TokenKind::Number
            | TokenKind::Plain
            | TokenKind::Escaped
            | TokenKind::Array
            | TokenKind::Object => Err(DecodeError::expected("true or false", self)),
        }
    }

    /// Returns the value of a string.
    pub fn text(self) -> Result<Cow<'d, str>, DecodeError> {
        match self.token().kind {
            TokenKind::Plain => Ok(Cow::Borrowed(self.slice())),
            TokenKind::Escaped => Ok(Cow::Owned(unescape(self.slice()))),
            TokenKind::Null
            | TokenKind::True
            | TokenKind::False
            | TokenKind::Number
            | TokenKind::Array
            | TokenKind::Object => Err(DecodeError::expected("a string", self)),
        }
    }

    /// Returns the fields of an object, in document order.
    pub fn entries(self) -> Result<Entries<'d>, DecodeError> {
        let token = self.token();
        if token.kind != TokenKind::Object {
            return Err(DecodeError::expected("an object", self));
        }
        Ok(Entries {
            document: self.document,
            index: self.index + 1,
            end: token.next,
        })
    }

    /// Returns the items of an array.
    pub fn items(self) -> Result<Items<'d>, DecodeError> {
        let token = self.token();
        if token.kind != TokenKind::Array {
            return Err(DecodeError::expected("an array", self));
        }
        Ok(Items {
            document: self.document,
            index: self.index + 1,
            end: token.next,
        })
    }

    /// Returns a field of an object; fails for a duplicate field.
    pub fn get(self, name: &'static str) -> Result<Option<Node<'d>>, DecodeError> {
        let mut found = None;
        for (key, value) in self.entries()? {
            if key == name {
                if found.is_some() {
                    return Err(DecodeError::given_twice().within(name));
                }
                found = Some(value);
            }
        }
        Ok(found)
    }

    /// Returns the string field that identifies the variant of a union.
    pub fn tag(self, name: &'static str) -> Result<Cow<'d, str>, DecodeError> {
        let node = self
            .get(name)?
            .ok_or_else(|| DecodeError::missing().within(name))?;
        node.text().map_err(|error| error.within(name))
    }

    /// Converts the value to untyped JSON. Of duplicate keys, the last one is effective.
    pub fn to_json(self) -> Json {
        match self.token().kind {
            TokenKind::Null => Json::Null,
            TokenKind::True => Json::Bool(true),
            TokenKind::False => Json::Bool(false),
            TokenKind::Number => json_number(self.slice()),
            TokenKind::Plain => Json::String(self.slice().to_owned()),
            TokenKind::Escaped => Json::String(unescape(self.slice())),
            TokenKind::Array => Json::Array(
                self.items()
                    .into_iter()
                    .flatten()
                    .map(Node::to_json)
                    .collect(),
            ),
            TokenKind::Object => Json::Object(self.to_object()),
        }
    }

    /// Converts an object to untyped JSON; returns an empty object for any other value.
    pub fn to_object(self) -> Object {
        self.entries()
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.into_owned(), value.to_json()))
            .collect()
    }

    /// Describes the value for an error message. Never quotes a string, which can be a prompt
    /// or a secret.
    pub(super) fn describe(self) -> Cow<'static, str> {
        match self.token().kind {
            TokenKind::Null => "null".into(),
            TokenKind::True => "true".into(),
            TokenKind::False => "false".into(),
            TokenKind::Number => self.slice().chars().take(40).collect::<String>().into(),
            TokenKind::Plain | TokenKind::Escaped => "a string".into(),
            TokenKind::Array => "an array".into(),
            TokenKind::Object => "an object".into(),
        }
    }
}

/// Prints only the kind of the value, because the content can be confidential.
impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({:?})", self.token().kind)
    }
}

/// Iterator over the fields of an object.
#[derive(Debug, Clone)]
pub struct Entries<'d> {
    document: &'d Document<'d>,
    index: u32,
    end: u32,
}

impl<'d> Iterator for Entries<'d> {
    type Item = (Cow<'d, str>, Node<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.end {
            return None;
        }
        let key = Node::new(self.document, self.index);
        let value = Node::new(self.document, self.index + 1);
        self.index = value.token().next;
        let name = if key.token().kind == TokenKind::Escaped {
            Cow::Owned(unescape(key.slice()))
        } else {
            Cow::Borrowed(key.slice())
        };
        Some((name, value))
    }
}

/// Iterator over the items of an array.
#[derive(Debug, Clone)]
pub struct Items<'d> {
    document: &'d Document<'d>,
    index: u32,
    end: u32,
}

impl<'d> Iterator for Items<'d> {
    type Item = Node<'d>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.index >= self.end {
            return None;
        }
        let item = Node::new(self.document, self.index);
        self.index = item.token().next;
        Some(item)
    }
}

/// Returns a token. Nodes are only created for existing tokens, so the fallback is never used.
fn token_at(document: &Document<'_>, index: u32) -> JsonToken {
    document
        .tokens
        .get(index as usize)
        .copied()
        .unwrap_or(JsonToken {
            kind: TokenKind::Null,
            start: 0,
            end: 0,
            next: u32::MAX,
        })
}

/// Decodes the escape sequences of a string that the parser has validated.
fn unescape(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut letters = escape.chars();
        match letters.next() {
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let (character, length) = unescape_unit(letters.as_str());
                text.push(character);
                letters = letters.as_str().get(length..).unwrap_or_default().chars();
            }
            Some(other) => text.push(other),
            None => {}
        }
        rest = letters.as_str();
    }
    text.push_str(rest);
    text
}

/// Returns the character after `\u` and the number of bytes read: four, or ten for a surrogate
/// pair.
fn unescape_unit(source: &str) -> (char, usize) {
    let unit = |from: usize| {
        source
            .get(from..from + 4)
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
    };
    let units = [unit(0), unit(6)];
    let pair = units.into_iter().flatten();
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (character, 4 + 6 * (character.len_utf16() - 1)),
        _ => (char::REPLACEMENT_CHARACTER, 4),
    }
}

fn json_number(source: &str) -> Json {
    // Minus zero must be a double, because an integer would lose the sign.
    if let Ok(whole) = source.parse::<i64>()
        && (whole != 0 || !source.starts_with('-'))
    {
        return Json::from(whole);
    }
    if let Ok(whole) = source.parse::<u64>() {
        return Json::from(whole);
    }
    source.parse::<f64>().map_or(Json::Null, Json::from)
}
