//! Removes invisible characters from labels that other programs chose.
//!
//! Agents, MCP servers and packages choose names and titles that every client shows to a user,
//! often next to a decision. Control characters move the cursor of a terminal, and
//! bidirectional controls reorder the following text, so the displayed label could differ from
//! its content. The host removes both before a label enters a state; message text and tool
//! output stay verbatim.

/// Returns `true` if a character is invisible, but changes the display of the text around it:
/// it moves the cursor, reorders or hides text. Joiners (U+200C, U+200D) are permitted, because
/// scripts and emoji need them.
pub fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Removes invisible characters from a single-line label, in place. Line breaks and tabs become
/// one space, so that words stay separated.
pub fn clean_label(label: &mut String) {
    let is_break = |letter: char| is_line_break(letter) || letter == '\t';
    if !label.contains(is_invisible) {
        return;
    }
    let mut clean = String::with_capacity(label.len());
    for letter in label.chars() {
        if is_break(letter) {
            if !clean.ends_with(' ') {
                clean.push(' ');
            }
        } else if !is_invisible(letter) {
            clean.push(letter);
        }
    }
    *label = clean.trim().to_owned();
}

/// Removes invisible characters from multi-line text, in place. Line feeds and tabs stay.
pub fn clean_text(text: &mut String) {
    let is_hidden = |letter: char| is_invisible(letter) && letter != '\n' && letter != '\t';
    if text.contains(is_hidden) {
        text.retain(|letter| !is_hidden(letter));
    }
}

fn is_line_break(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> String {
        let mut text = text.to_owned();
        clean_label(&mut text);
        text
    }

    fn text(text: &str) -> String {
        let mut text = text.to_owned();
        clean_text(&mut text);
        text
    }

    #[test]
    fn controls_and_bidi_characters_are_removed_from_a_label() {
        assert_eq!(label("Run \u{202e}fdp.exe\u{202c}"), "Run fdp.exe");
        assert_eq!(
            label("a\u{2066}b\u{2069}c\u{200e}d\u{200f}e\u{61c}f"),
            "abcdef"
        );
        assert_eq!(label("a\u{1b}[2Jb\u{9b}c\0d\u{7f}"), "a[2Jbcd");
        assert_eq!(label("\u{202d}\u{feff}\u{200b}"), "");
    }

    #[test]
    fn a_label_is_one_line() {
        assert_eq!(label("Allow\r\nReject\tnow"), "Allow Reject now");
        assert_eq!(label("a\u{2028}b\u{85}c\n"), "a b c");
    }

    #[test]
    fn letters_of_every_script_stay() {
        for plain in [
            "grün שלום 日本",
            "👩\u{200d}💻",
            "می\u{200c}خواهم",
            "  spaced  ",
        ] {
            assert_eq!(label(plain), plain);
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn text_keeps_its_lines() {
        assert_eq!(text("a\n\tb\u{202e}c\u{1b}d\r\n"), "a\n\tbcd\n");
    }
}
