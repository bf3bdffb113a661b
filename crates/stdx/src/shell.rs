//! Quotes untrusted text so that the user can read it in exactly one way.

/// Quotes a word by the rules of a shell. A word of plain characters is unchanged. Other
/// words are in single quotes, and words with invisible characters are in `$'…'` with these
/// escaped. `=` and `,` are never plain, so that the text between words can use them.
pub fn quote_word(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().all(is_visible) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut text = "$'".to_owned();
    for character in word.chars() {
        match character {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            '\'' | '\\' => text.extend(['\\', character]),
            _ if is_visible(character) => text.push(character),
            _ => match u32::from(character) {
                code @ ..=0xff => text.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => text.push_str(&format!("\\u{code:04x}")),
                code => text.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    text.push('\'');
    text
}

/// Returns `true` if a character needs no quotes.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_-./:@%+".contains(character)
}

/// Returns `true` if a character is displayed as itself. That includes letters and digits
/// of all scripts, except for a few that are blank. Other characters outside of ASCII are
/// escaped: they include unusual spaces and characters that change the direction of text.
fn is_visible(character: char) -> bool {
    const BLANK_LETTERS: &[char] = &['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];
    character == ' '
        || character.is_ascii_graphic()
        || (!character.is_ascii()
            && character.is_alphanumeric()
            && !BLANK_LETTERS.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_unambiguous() {
        for (word, expected) in [
            ("one", "one"),
            ("./scripts/x.sh", "./scripts/x.sh"),
            ("", "''"),
            ("with space", "'with space'"),
            ("it's", r"'it'\''s'"),
            ("--require=./evil.js", "'--require=./evil.js'"),
            ("a,b", "'a,b'"),
            ("${TOKEN}", "'${TOKEN}'"),
            ("größe", "'größe'"),
            ("a\nb", r"$'a\nb'"),
            ("a\u{1b}[2Jb'\\", r"$'a\x1b[2Jb\'\\'"),
            ("\u{202e}gpj.exe", r"$'\u202egpj.exe'"),
            ("a\u{a0}b", r"$'a\xa0b'"),
            ("a\u{3164}b", r"$'a\u3164b'"),
            ("\u{e0041}", r"$'\U000e0041'"),
        ] {
            assert_eq!(quote_word(word), expected);
        }
    }

    #[test]
    fn escapes_differ_from_literal_backslashes() {
        let words = ["\n", "\\n", "'\\n'", "$'\\n'", "\u{202e}", "\\u202e"];
        let quoted: std::collections::BTreeSet<_> =
            words.iter().map(|word| quote_word(word)).collect();
        assert_eq!(quoted.len(), words.len());
    }

    #[test]
    fn a_name_is_one_argument_of_a_shell() {
        for (name, quoted) in [
            ("my-plugin", "my-plugin"),
            ("with space", "'with space'"),
            ("$(touch x)", "'$(touch x)'"),
            ("a;b`c`", "'a;b`c`'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quote_word(name), quoted);
        }
    }
}
