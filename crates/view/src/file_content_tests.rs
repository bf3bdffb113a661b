//! Contents of files: lines, line ends, limits, images.

use super::*;

fn text(content: &str) -> TextContent {
    match FileContent::of_text(content.to_owned()) {
        FileContent::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_text_has_lines_without_their_ends() {
    for (content, lines, ending) in [
        ("", vec![""], FileLineEnding::Lf),
        ("a\nb\n", vec!["a", "b", ""], FileLineEnding::Lf),
        ("a\r\nb", vec!["a", "b"], FileLineEnding::CrLf),
        ("a\r\nb\n", vec!["a", "b", ""], FileLineEnding::Mixed),
        ("a\rb\n", vec!["a\\u{d}b", ""], FileLineEnding::Mixed),
        ("a\n\r", vec!["a", "\\u{d}"], FileLineEnding::Mixed),
    ] {
        let text = text(content);
        assert_eq!(text.lines(0..text.line_count()), lines, "{content:?}");
        assert_eq!(text.line_ending(), ending, "{content:?}");
        assert_eq!(text.text(), content);
    }
}

#[test]
fn an_edited_text_keeps_the_line_ends_of_its_file() {
    for (before, after) in [("a\r\nb\r\n", "a\r\nb\r\n"), ("a\nb", "a\nb")] {
        let edited = before.replace("\r\n", "\n");
        let ending = text(before).line_ending();
        assert_eq!(with_line_ending(&edited, ending), after);
    }
}

#[test]
fn hidden_characters_are_escaped_and_long_lines_truncated() {
    let long = "ü".repeat(MAX_LINE_CHARS + 5);
    let text = text(&format!("if\u{202e} x\n{long}\n\ttab"));
    let lines = text.lines(0..9);
    assert_eq!(lines[0], "if\\u{202e} x");
    assert_eq!(lines[1].chars().count(), MAX_LINE_CHARS + 1);
    assert!(lines[1].ends_with("ü…"));
    assert_eq!(lines[2], "\ttab");
    assert_eq!(text.width(), MAX_LINE_CHARS);
}

#[test]
fn any_range_of_lines_can_be_requested() {
    let text = text("a\nb\nc");
    #[expect(clippy::reversed_empty_ranges, reason = "a page could ask for it")]
    for (range, lines) in [
        (1..2, vec!["b"]),
        (2..usize::MAX, vec!["c"]),
        (3..9, vec![]),
        (9..1, vec![]),
    ] {
        assert_eq!(text.lines(range), lines);
    }
}

#[test]
fn binary_and_large_files_have_no_text() {
    assert_eq!(FileContent::of_text("a\0b".to_owned()), FileContent::Binary);
    let large = "x".repeat(usize::try_from(MAX_VIEW_BYTES).unwrap() + 1);
    assert_eq!(FileContent::of_text(large), FileContent::Large);
    let small = text(&"x".repeat(MAX_EDIT_BYTES));
    assert!(small.is_editable() && !text(&"x".repeat(MAX_EDIT_BYTES + 1)).is_editable());
}

#[test]
fn images_and_large_files_are_recognized_by_metadata() {
    for (name, size, content) in [
        ("a.PNG", Some(10), Some(FileContent::Image)),
        ("a.png", None, Some(FileContent::Image)),
        ("a.png", Some(MAX_IMAGE_BYTES + 1), Some(FileContent::Large)),
        ("a.svg", Some(10), None),
        ("png", Some(10), None),
        ("a.txt", Some(MAX_VIEW_BYTES), None),
        ("a.txt", Some(MAX_VIEW_BYTES + 1), Some(FileContent::Large)),
    ] {
        assert_eq!(FileContent::of_metadata(name, size), content, "{name}");
    }
}
