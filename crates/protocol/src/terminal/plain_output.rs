//! Converts terminal output to plain text.

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Converts terminal output to plain text, incrementally: removes escape sequences, and of an
/// overwritten line it retains only the last state. The input can be split at any character.
#[derive(Default)]
pub struct PlainOutput {
    state: EscapeState,
    /// Current line, which can still be overwritten.
    line: String,
    /// `true` after a carriage return: the next character replaces the line.
    is_overwriting: bool,
}

/// The position of the parser relative to escape sequences.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// In a sequence with parameters (CSI), until its final byte.
    Parameters,
    /// In a sequence with a string (OSC and others), until its terminator.
    String,
    /// After an escape character in a string.
    StringEscape,
    /// In a sequence that selects a character set and has one more character.
    Charset,
}

impl PlainOutput {
    /// Appends output, and returns the lines that are complete now.
    pub fn push(&mut self, text: &str) -> String {
        let mut whole = String::new();
        for letter in text.chars() {
            self.push_char(letter, &mut whole);
        }
        whole
    }

    /// Removes and returns the incomplete last line.
    pub fn take_open_line(&mut self) -> String {
        std::mem::take(&mut self.line)
    }

    /// Returns the length of the incomplete last line in bytes.
    pub fn open_line_bytes(&self) -> usize {
        self.line.len()
    }

    /// Returns the incomplete last line.
    pub fn finish(self) -> String {
        self.line
    }

    fn push_char(&mut self, letter: char, whole: &mut String) {
        self.state = match (self.state, letter) {
            (EscapeState::Text, ESCAPE) => EscapeState::Escape,
            (EscapeState::Text, letter) => {
                self.push_text_char(letter, whole);
                EscapeState::Text
            }
            (EscapeState::Escape, '[') => EscapeState::Parameters,
            (EscapeState::Escape, ']' | 'P' | 'X' | '^' | '_') => EscapeState::String,
            (EscapeState::Escape, '(' | ')' | '*' | '+' | '#' | '%' | ' ') => EscapeState::Charset,
            (EscapeState::Escape | EscapeState::Parameters, ESCAPE) => EscapeState::Escape,
            (EscapeState::Escape | EscapeState::Charset, _) => EscapeState::Text,
            (EscapeState::Parameters, '\u{20}'..='\u{3f}') => EscapeState::Parameters,
            // Any other character ends the sequence, also an invalid one.
            (EscapeState::Parameters, _) => EscapeState::Text,
            (EscapeState::String, ESCAPE) => EscapeState::StringEscape,
            (EscapeState::String, BELL) => EscapeState::Text,
            // A newline ends an unterminated string, so that it does not swallow the remaining
            // output.
            (EscapeState::String, '\n') => {
                self.push_text_char('\n', whole);
                EscapeState::Text
            }
            (EscapeState::String, _) => EscapeState::String,
            (EscapeState::StringEscape, '\\') => EscapeState::Text,
            (EscapeState::StringEscape, _) => EscapeState::String,
        };
    }

    fn push_text_char(&mut self, letter: char, whole: &mut String) {
        match letter {
            '\n' => {
                whole.push_str(&self.line);
                whole.push('\n');
                self.line.clear();
                self.is_overwriting = false;
            }
            '\r' => self.is_overwriting = true,
            '\u{8}' => {
                self.line.pop();
            }
            '\t' => self.append_char('\t'),
            letter if letter.is_control() => {}
            letter => self.append_char(letter),
        }
    }

    fn append_char(&mut self, letter: char) {
        if std::mem::take(&mut self.is_overwriting) {
            self.line.clear();
        }
        self.line.push(letter);
    }
}

/// The end of a terminal's output, as plain text.
pub struct OutputTail {
    plain: PlainOutput,
    text: String,
    /// Maximum size of the retained text.
    max_bytes: usize,
    truncated: bool,
}

impl OutputTail {
    /// Creates a tail that retains at most `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Self {
        OutputTail {
            plain: PlainOutput::default(),
            text: String::new(),
            max_bytes,
            truncated: false,
        }
    }

    /// Appends output, and truncates the text at the front.
    pub fn push(&mut self, text: &str) {
        let whole = self.plain.push(text);
        self.text.push_str(&whole);
        self.truncated |= truncate_front(&mut self.text, self.max_bytes);
        // An unterminated line must be bounded, too.
        self.truncated |= truncate_front(&mut self.plain.line, self.max_bytes);
    }

    /// Returns the current tail, and `true` if earlier output was truncated.
    pub fn current(&self) -> (String, bool) {
        let mut text = format!("{}{}", self.text, self.plain.line);
        let cut = truncate_front(&mut text, self.max_bytes);
        (text, self.truncated || cut)
    }

    /// Returns the final tail, and `true` if earlier output was truncated.
    pub fn finish(mut self) -> (String, bool) {
        self.text.push_str(&self.plain.finish());
        self.truncated |= truncate_front(&mut self.text, self.max_bytes);
        (self.text, self.truncated)
    }
}

macro_rules! debug_without_text {
    ($($name:ident),*) => {$(
        /// Omits the text: terminal output must not reach logs.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

debug_without_text!(PlainOutput, OutputTail);

/// Removes excess bytes from the front. Returns `true` if any were removed.
fn truncate_front(text: &mut String, max_bytes: usize) -> bool {
    let excess = text.len().saturating_sub(max_bytes);
    let from = text.ceil_char_boundary(excess);
    text.drain(..from);
    from > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pieces: &[&str]) -> String {
        let mut plain = PlainOutput::default();
        let mut text: String = pieces.iter().map(|piece| plain.push(piece)).collect();
        text.push_str(&plain.finish());
        text
    }

    #[test]
    fn escape_sequences_are_removed() {
        for (written, shown) in [
            ("a\r\nb\r\n", "a\nb\n"),
            ("\u{1b}[1;31mred\u{1b}[0m\u{1b}[K!", "red!"),
            (
                "\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\link",
                "xlink",
            ),
            ("\u{1b}(Bx\u{1b}7y\u{1b}=z\u{1b}M", "xyz"),
            ("\u{1b}P1$q\u{1b}\\dcs", "dcs"),
            ("10%\r50%\r100%\r\ndone", "100%\ndone"),
            ("bold: b\u{8}bo\u{8}o\u{7}", "bold: bo"),
            ("kept\r", "kept"),
            ("tab\there é🦀", "tab\there é🦀"),
            ("\u{1b}]0;never closed\nrest", "\nrest"),
            ("\u{1b}[12", ""),
        ] {
            assert_eq!(plain(&[written]), shown, "{written:?}");
            let letters: Vec<_> = written.split_inclusive(|_| true).collect();
            assert_eq!(plain(&letters), shown, "{written:?} letter by letter");
        }
    }

    #[test]
    fn a_tail_is_bounded() {
        let mut tail = OutputTail::new(10);
        tail.push("0123\r\n4567\r\n");
        tail.push("\u{1b}[1m89");
        assert_eq!(tail.current(), ("23\n4567\n89".to_owned(), true));
        assert_eq!(tail.finish(), ("23\n4567\n89".to_owned(), true));
        let mut tail = OutputTail::new(10);
        tail.push("all\n");
        assert_eq!(tail.finish(), ("all\n".to_owned(), false));
        let mut tail = OutputTail::new(10);
        for _ in 0..1_000 {
            tail.push(&"é".repeat(1_000));
        }
        assert!(tail.plain.line.len() <= 10);
        assert_eq!(tail.finish(), ("é".repeat(5), true));
    }
}
