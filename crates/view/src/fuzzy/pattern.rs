//! The words of a query.

/// Letters without their accents, from U+00C0 to U+017F; a dot where there is none.
const BASE_LETTERS: &[u8; 192] =
    b"AAAAAA.CEEEEIIII.NOOOOO.OUUUUY..aaaaaa.ceeeeiiii.nooooo.ouuuuy.y\
    AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi..JjKk.LlLlLl.\
    .LlNnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz.";

/// The first letter of [`BASE_LETTERS`].
const FIRST_ACCENTED: u32 = 0xC0;

/// The relation of a word to the labels that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    /// The characters of the word are in the label, in order.
    Scattered,
    /// The label contains the word.
    Contained,
    /// The label does not contain the word.
    Absent,
}

/// A word of a query.
#[derive(Clone, Debug)]
pub(super) struct QueryWord {
    pub(super) kind: WordKind,
    pub(super) chars: Vec<char>,
    /// `true` if the label must start with the word.
    pub(super) at_start: bool,
    /// `true` if the label must end with the word.
    pub(super) at_end: bool,
    folding: CharFolding,
}

/// The differences between characters that a word ignores.
#[derive(Clone, Copy, Debug)]
struct CharFolding {
    case: bool,
    accents: bool,
}

impl QueryWord {
    /// Splits a query into its words.
    pub(super) fn parse_all(query: &str) -> Vec<QueryWord> {
        query.split_whitespace().filter_map(Self::parse).collect()
    }

    fn parse(word: &str) -> Option<QueryWord> {
        let absent = word.strip_prefix('!');
        let word = absent.unwrap_or(word);
        let start = word.strip_prefix('^');
        let contained = word.strip_prefix('\'');
        let word = start.or(contained).unwrap_or(word);
        let end = word.strip_suffix('$');
        let word = end.unwrap_or(word);
        let is_exact = start.is_some() || contained.is_some() || end.is_some();
        let folding = CharFolding {
            case: !word.chars().any(char::is_uppercase),
            accents: !word.chars().any(|c| base_letter(c) != c),
        };
        let chars: Vec<char> = word.chars().map(|c| folding.fold(c)).collect();
        let kind = match absent {
            Some(_) => WordKind::Absent,
            None if is_exact => WordKind::Contained,
            None => WordKind::Scattered,
        };
        (!chars.is_empty()).then_some(QueryWord {
            kind,
            chars,
            at_start: start.is_some(),
            at_end: end.is_some(),
            folding,
        })
    }

    /// Replaces a label by the characters that the word is compared with.
    pub(super) fn fold_label(&self, label: &[char], folded: &mut Vec<char>) {
        folded.clear();
        folded.extend(label.iter().map(|c| self.folding.fold(*c)));
    }
}

impl CharFolding {
    fn fold(self, c: char) -> char {
        let c = if self.accents { base_letter(c) } else { c };
        // Only the first character, so that each character of a label has one.
        let lower = if self.case {
            c.to_lowercase().next()
        } else {
            None
        };
        lower.unwrap_or(c)
    }
}

fn base_letter(c: char) -> char {
    let index = u32::from(c).checked_sub(FIRST_ACCENTED);
    match index.and_then(|index| BASE_LETTERS.get(index as usize)) {
        Some(b'.') | None => c,
        Some(letter) => char::from(*letter),
    }
}
