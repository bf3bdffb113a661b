use std::fmt::Write;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn compute(before: &str, after: &str, context: u32) -> FileDiff {
    FileDiff::compute(before, after, context).unwrap()
}

/// Shows text with the changed words in brackets.
fn marked(text: &str, ending: Option<LineEnding>, words: Option<&[(u32, u32)]>) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut shown = String::new();
    let mut at = 0;
    for (start, end) in words.unwrap_or_default() {
        shown += &String::from_utf16(&units[at..*start as usize]).unwrap();
        write!(
            shown,
            "[{}]",
            String::from_utf16(&units[*start as usize..*end as usize]).unwrap()
        )
        .unwrap();
        at = *end as usize;
    }
    shown += &String::from_utf16(&units[at..]).unwrap();
    match ending {
        None => {}
        Some(LineEnding::Crlf) => shown += " (crlf)",
        Some(LineEnding::None) => shown += " (no newline)",
    }
    shown
}

fn show_hunk(start: &HunkStart) -> String {
    format!("@ {} {} hidden {}", start.before, start.after, start.hidden)
}

fn show_unified(diff: &FileDiff) -> String {
    let mut shown = String::new();
    for row in diff.unified_rows(0..usize::MAX) {
        let line = match row {
            DiffRow::Hunk(start) => show_hunk(&start),
            DiffRow::Line(line) => {
                let number = |number: Option<u32>| number.map_or("-".into(), |n| n.to_string());
                let sign = match line.mark {
                    LineMark::Same => ' ',
                    LineMark::Added => '+',
                    LineMark::Removed => '-',
                };
                let text = marked(&line.text, line.ending, line.words.as_deref());
                format!(
                    "{} {} {sign}{text}",
                    number(line.before),
                    number(line.after)
                )
            }
        };
        shown += line.trim_end();
        shown.push('\n');
    }
    let stats = diff.stats();
    writeln!(
        shown,
        "+{} -{} hidden {}",
        stats.added, stats.removed, stats.hidden
    )
    .unwrap();
    shown
}

fn show_split(diff: &FileDiff) -> String {
    let mut shown = String::new();
    for row in diff.split_rows(0..usize::MAX) {
        let line = match row {
            SplitRow::Hunk(start) => show_hunk(&start),
            SplitRow::Pair { left, right } => {
                let side = |side: Option<SplitSide>| {
                    side.map_or("-".to_owned(), |side| {
                        let text = marked(&side.text, side.ending, side.words.as_deref());
                        format!("{} {:?} {text}", side.number, side.mark)
                    })
                };
                format!("{:<30} | {}", side(left), side(right))
            }
        };
        shown += line.trim_end();
        shown.push('\n');
    }
    shown
}

fn check(before: &str, after: &str, expected: Expect) {
    expected.assert_eq(&show_unified(&compute(before, after, 1)));
}

const BEFORE: &str = "one\ntwo\nthree\nlet a = old_name(1);\nfive\nsix\nseven\neight\nnine\n";
const AFTER: &str = "one\ntwo\nthree\nlet a = new_name(1);\nmore\nfive\nsix\nseven\nnine\n";

#[test]
fn changes_are_grouped_with_context_and_words() {
    check(
        BEFORE,
        AFTER,
        expect![[r#"
        @ 3 3 hidden 2
        3 3  three
        4 - -let a = [old_name](1);
        - 4 +let a = [new_name](1);
        - 5 +more
        5 6  five
        @ 7 8 hidden 1
        7 8  seven
        8 - -eight
        9 9  nine
        +2 -2 hidden 0
    "#]],
    );
}

#[test]
fn split_rows_pair_removed_and_added_lines() {
    let diff = compute(BEFORE, AFTER, 1);
    expect![[r#"
        @ 3 3 hidden 2
        3 Same three                   | 3 Same three
        4 Removed let a = [old_name](1); | 4 Added let a = [new_name](1);
        -                              | 5 Added more
        5 Same five                    | 6 Same five
        @ 7 8 hidden 1
        7 Same seven                   | 8 Same seven
        8 Removed eight                | -
        9 Same nine                    | 9 Same nine
    "#]]
    .assert_eq(&show_split(&diff));
    assert_eq!(diff.split_hunks().len(), 2);
    assert_eq!(diff.unified_hunks().len(), 2);
}

#[test]
fn a_missing_newline_at_the_end_is_shown() {
    check(
        "a\nb\n",
        "a\nb",
        expect![[r#"
        @ 1 1 hidden 0
        1 1  a
        2 - -b
        - 2 +b (no newline)
        +1 -1 hidden 0
    "#]],
    );
}

#[test]
fn changed_line_endings_are_shown() {
    check(
        "a\r\nb\r\n",
        "a\nb\r\n",
        expect![[r#"
        @ 1 1 hidden 0
        1 - -a (crlf)
        - 1 +a
        2 2  b (crlf)
        +1 -1 hidden 0
    "#]],
    );
}

#[test]
fn equal_texts_have_no_rows() {
    check(
        "a\nb\n",
        "a\nb\n",
        expect![[r#"
        +0 -0 hidden 2
    "#]],
    );
}

#[test]
fn new_and_deleted_files_have_rows_of_one_side() {
    check(
        "",
        "a\n\n",
        expect![[r#"
        @ 1 1 hidden 0
        - 1 +a
        - 2 +
        +2 -0 hidden 0
    "#]],
    );
    check(
        "a",
        "",
        expect![[r#"
        @ 1 1 hidden 0
        1 - -a (no newline)
        +0 -1 hidden 0
    "#]],
    );
}

#[test]
fn words_are_ranges_of_utf16_units() {
    let before = "say 😀 hello big world\n";
    let after = "say 😀 hello small world\n";
    let diff = compute(before, after, 0);
    let DiffRow::Line(line) = &diff.unified_rows(1..2)[0] else {
        panic!("no line");
    };
    assert_eq!(line.words, Some(vec![(13, 16)]));
}

#[test]
fn rows_are_serialized_as_flat_objects() {
    let diff = compute("a b c\n", "a b d", 0);
    let rows = serde_json::to_string_pretty(&diff.unified_rows(0..9)).unwrap();
    expect![[r#"
        [
          {
            "kind": "hunk",
            "before": 1,
            "after": 1,
            "hidden": 0
          },
          {
            "kind": "line",
            "before": 1,
            "mark": "removed",
            "text": "a b c",
            "words": [
              [
                4,
                5
              ]
            ]
          },
          {
            "kind": "line",
            "after": 1,
            "mark": "added",
            "text": "a b d",
            "ending": "none",
            "words": [
              [
                4,
                5
              ]
            ]
          }
        ]"#]]
    .assert_eq(&rows);
    let rows = serde_json::to_string(&diff.split_rows(1..9)).unwrap();
    expect![[r#"[{"kind":"pair","left":{"number":1,"mark":"removed","text":"a b c","words":[[4,5]]},"right":{"number":1,"mark":"added","text":"a b d","ending":"none","words":[[4,5]]}}]"#]].assert_eq(&rows);
}

#[test]
fn binary_and_huge_texts_are_refused() {
    let binary = FileDiff::compute("a\0b", "", 3).unwrap_err();
    assert_eq!(binary, DiffRefusal::Binary);
    let many_lines = "\n".repeat(MAX_DIFF_LINES + 1);
    let refused = FileDiff::compute(many_lines, "", 3).unwrap_err();
    let before = MAX_DIFF_LINES + 1;
    assert_eq!(refused, DiffRefusal::TooLarge { before, after: 0 });
}

#[test]
fn windows_of_a_large_diff_are_parts_of_all_rows() {
    let before: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let after: String = (0..20_000)
        .map(|n| format!("line {}\n", n + n % 3))
        .collect();
    let diff = compute(&before, &after, u32::MAX);
    let all = diff.unified_rows(0..usize::MAX);
    assert_eq!(all.len(), diff.stats().unified_rows);
    assert_eq!(diff.unified_rows(17_000..17_100), all[17_000..17_100]);
    assert_eq!(diff.unified_rows(all.len()..all.len() + 5), []);
    #[expect(clippy::reversed_empty_ranges, reason = "clients may send anything")]
    let reversed = diff.unified_rows(9..3);
    assert_eq!(reversed, []);
}

fn ending_text(ending: Option<LineEnding>) -> &'static str {
    match ending {
        None => "\n",
        Some(LineEnding::Crlf) => "\r\n",
        Some(LineEnding::None) => "",
    }
}

/// Makes the new text from the old one and the rows, checking all numbers on the way.
fn apply_unified(diff: &FileDiff, before: &str) -> String {
    let mut old = before.split_inclusive('\n');
    let (mut old_number, mut new_number) = (0, 0);
    let mut result = String::new();
    for row in diff.unified_rows(0..usize::MAX) {
        match row {
            DiffRow::Hunk(start) => {
                for _ in 0..start.hidden {
                    result += old.next().unwrap();
                    (old_number, new_number) = (old_number + 1, new_number + 1);
                }
                assert_eq!(
                    (start.before, start.after),
                    (old_number + 1, new_number + 1)
                );
            }
            DiffRow::Line(line) => {
                let text = line.text + ending_text(line.ending);
                if line.mark != LineMark::Added {
                    old_number += 1;
                    assert_eq!((old.next(), line.before), (Some(&*text), Some(old_number)));
                }
                if line.mark != LineMark::Removed {
                    new_number += 1;
                    assert_eq!(line.after, Some(new_number));
                    result += &text;
                }
            }
        }
    }
    let rest: Vec<_> = old.collect();
    assert_eq!(rest.len(), diff.stats().hidden as usize);
    result + &rest.concat()
}

fn apply_split(diff: &FileDiff, before: &str) -> String {
    let mut old = before.split_inclusive('\n');
    let mut result = String::new();
    for row in diff.split_rows(0..usize::MAX) {
        match row {
            SplitRow::Hunk(start) => {
                result.extend(old.by_ref().take(start.hidden as usize));
            }
            SplitRow::Pair { left, right } => {
                if let Some(left) = left {
                    let text = left.text + ending_text(left.ending);
                    assert_eq!(old.next(), Some(&*text));
                }
                if let Some(right) = right {
                    result += &right.text;
                    result += ending_text(right.ending);
                }
            }
        }
    }
    result.extend(old);
    result
}

fn any_text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a\n",
        "b\n",
        "c c\n",
        "a b c d\n",
        "a x c d\n",
        "\n",
        "a\r\n",
        "\r\n",
        "é😀 b\n",
        "\r",
    ]);
    let end = prop::sample::select(vec!["", "a", "é x", "\r"]);
    (prop::collection::vec(line, 0..40), end).prop_map(|(lines, end)| lines.concat() + end)
}

proptest! {
    #[test]
    fn rows_applied_to_the_old_text_give_the_new_text(
        before in any_text(),
        after in any_text(),
        context in prop::sample::select(vec![0, 1, 3, u32::MAX]),
    ) {
        let diff = compute(&before, &after, context);
        prop_assert_eq!(apply_unified(&diff, &before), after.clone());
        prop_assert_eq!(apply_split(&diff, &before), after);
    }
}
