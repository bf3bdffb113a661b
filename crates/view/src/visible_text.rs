//! Text of files and peers, made safe to read: nothing in it is invisible or changes its direction.

/// Returns a text with its control, invisible and direction characters escaped as `\u{202e}`.
/// Line breaks and tabs stay.
pub fn visible_text(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            visible.extend(character.escape_unicode());
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Returns a text like [`visible_text`], except that joiners and variation selectors stay: prose
/// has emoji that consist of several characters.
pub fn visible_prose(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => visible.push(character),
            other if is_hidden(other) => visible.extend(other.escape_unicode()),
            other => visible.push(other),
        }
    }
    visible
}

/// Returns a text with the characters escaped that change the order of others: embeddings,
/// overrides and isolates. Everything else stays: right-to-left prose needs its marks, which move
/// only what is beside them.
pub fn visible_order(text: &str) -> String {
    if !text.contains(is_reordering) {
        return text.to_owned();
    }
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        if is_reordering(character) {
            visible.extend(character.escape_unicode());
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Returns a text as a label of at most `max_chars` characters, in one line. The rest of a longer
/// text is replaced by an ellipsis.
pub fn visible_label(text: &str, max_chars: usize) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(max_chars).collect();
    let mut label = visible_text(&start.replace(['\n', '\r', '\t'], " "));
    if characters.next().is_some() {
        label.push('…');
    }
    label
}

fn is_reordering(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `true` for a character that a reader does not see, or that changes how others are shown.
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Soft hyphen, marks of direction, joiners, invisible operators, variation selectors,
        // fillers, interlinear marks and tags.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::{visible_label, visible_order, visible_prose, visible_text};

    #[test]
    fn hidden_characters_are_escaped_and_the_rest_stays() {
        assert_eq!(visible_text("a\n\tb ü 你"), "a\n\tb ü 你");
        assert_eq!(
            visible_text("rm\u{202e}x\u{1b}[1A"),
            "rm\\u{202e}x\\u{1b}[1A"
        );
        assert_eq!(visible_text("a\u{200b}b\r\n"), "a\\u{200b}b\\u{d}\n");
    }

    #[test]
    fn prose_keeps_emoji() {
        assert_eq!(
            visible_prose("\u{2764}\u{fe0f} a\u{202e}b"),
            "\u{2764}\u{fe0f} a\\u{202e}b"
        );
    }

    #[test]
    fn order_is_visible_and_right_to_left_prose_stays() {
        assert_eq!(
            visible_order("photo_\u{202e}gpj.exe \u{2066}x\u{2069}"),
            "photo_\\u{202e}gpj.exe \\u{2066}x\\u{2069}"
        );
        let hebrew = "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{200f}(x)\u{200e} \u{2764}\u{fe0f}";
        assert_eq!(visible_order(hebrew), hebrew);
    }

    #[test]
    fn labels_have_one_line_and_a_bounded_length() {
        assert_eq!(visible_label("a\nb", 10), "a b");
        assert_eq!(visible_label("abcdef", 3), "abc…");
        assert_eq!(visible_label("\u{202e}<b>", 10), "\\u{202e}<b>");
    }
}
