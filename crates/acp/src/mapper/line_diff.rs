//! Computes line-based diffs of two texts.

/// The maximum number of lines between the common beginning and end that are compared line by
/// line. With more lines, the diff replaces all of them.
const MAX_COMPARED_LINES: usize = 400;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// A unified diff for users, without line numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnifiedDiff {
    pub(crate) text: String,
    /// Number of lines that did not fit.
    pub(crate) omitted_lines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineChange {
    Same,
    Removed,
    Added,
}

/// Returns a unified diff of at most `max_bytes` bytes, apart from its header. Lines are whole or
/// left out. `before` is `None` for a new file.
pub(crate) fn unified_diff(
    path: &str,
    before: Option<&str>,
    after: &str,
    max_bytes: usize,
) -> UnifiedDiff {
    let old: Vec<_> = before.unwrap_or_default().lines().collect();
    let new: Vec<_> = after.lines().collect();
    let old_path = if before.is_some() { path } else { "/dev/null" };
    let mut text = format!("--- {old_path}\n+++ {path}\n");
    let lines = diff_lines(&old, &new);
    let is_near = |index: usize| {
        let first = index.saturating_sub(CONTEXT_LINES);
        let context = lines
            .iter()
            .skip(first)
            .take(index - first + CONTEXT_LINES + 1);
        context
            .clone()
            .any(|(change, _)| *change != LineChange::Same)
    };
    let near = (0..lines.len()).filter(|index| is_near(*index));
    let max_bytes = text.len().saturating_add(max_bytes);
    let mut omitted_lines = 0;
    let mut last_index = None;
    for index in near {
        let Some((change, line)) = lines.get(index) else {
            continue;
        };
        // After the first line that does not fit, all others are left out, too.
        if omitted_lines > 0 || text.len() + line.len() + "@@\n-\n".len() > max_bytes {
            omitted_lines += 1;
            continue;
        }
        if last_index.map_or(index, |last_index| index - last_index - 1) > 0 {
            text.push_str("@@\n");
        }
        last_index = Some(index);
        text.push(match change {
            LineChange::Same => ' ',
            LineChange::Removed => '-',
            LineChange::Added => '+',
        });
        text.push_str(line);
        text.push('\n');
    }
    UnifiedDiff {
        text,
        omitted_lines,
    }
}

/// Returns all lines of both texts in order, with their changes.
fn diff_lines<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineChange, &'a str)> {
    let pairs = old.iter().zip(new);
    let head = pairs.take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let pairs = old.iter().rev().zip(new.iter().rev()).take(rest);
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let middle = |lines: &[&'a str]| -> Vec<&'a str> {
        let count = lines.len() - head - tail;
        lines.iter().skip(head).take(count).copied().collect()
    };
    let same = |line: &&'a str| (LineChange::Same, *line);
    let mut lines: Vec<_> = old.iter().take(head).map(same).collect();
    lines.extend(diff_middle(&middle(old), &middle(new)));
    lines.extend(old.iter().skip(old.len() - tail).map(same));
    lines
}

/// Returns the lines between the common beginning and end, with the fewest changes.
fn diff_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineChange, &'a str)> {
    let removed = |line: &&'a str| (LineChange::Removed, *line);
    let added = |line: &&'a str| (LineChange::Added, *line);
    if old.len().max(new.len()) > MAX_COMPARED_LINES {
        let removed = old.iter().map(removed);
        return removed.chain(new.iter().map(added)).collect();
    }
    // The length of the longest common subsequence of the remaining lines, for each pair of
    // positions.
    let mut common: Vec<Vec<u32>> = vec![vec![0; new.len() + 1]];
    for line in old.iter().rev() {
        let below = common.last().cloned().unwrap_or_default();
        let mut row = below.clone();
        for (index, other) in new.iter().enumerate().rev() {
            let cell_at = |row: &[u32], index: usize| row.get(index).copied().unwrap_or_default();
            let length = if line == other {
                cell_at(&below, index + 1) + 1
            } else {
                cell_at(&below, index).max(cell_at(&row, index + 1))
            };
            if let Some(cell) = row.get_mut(index) {
                *cell = length;
            }
        }
        common.push(row);
    }
    common.reverse();
    let common_after =
        |old: usize, new: usize| -> Option<u32> { common.get(old)?.get(new).copied() };
    let (mut old_index, mut new_index) = (0, 0);
    let mut lines = Vec::new();
    loop {
        match (old.get(old_index), new.get(new_index)) {
            (None, None) => return lines,
            (Some(line), Some(other)) if line == other => {
                lines.push((LineChange::Same, *line));
                (old_index, new_index) = (old_index + 1, new_index + 1);
            }
            (Some(line), Some(_))
                if common_after(old_index + 1, new_index)
                    >= common_after(old_index, new_index + 1) =>
            {
                lines.push(removed(line));
                old_index += 1;
            }
            (Some(line), None) => {
                lines.push(removed(line));
                old_index += 1;
            }
            (_, Some(line)) => {
                lines.push(added(line));
                new_index += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(before: Option<&str>, after: &str, expected: &Expect) {
        let diff = unified_diff("a.rs", before, after, usize::MAX);
        assert_eq!(diff.omitted_lines, 0);
        expected.assert_eq(&diff.text);
    }

    #[test]
    fn changes_have_context_lines() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n13\n14\n";
        check(
            Some(before),
            after,
            &expect![[r#"
                --- a.rs
                +++ a.rs
                @@
                 2
                 3
                 4
                -5
                +five
                 6
                 7
                 8
                 9
                 10
                 11
                -12
                 13
                +14
            "#]],
        );
        let before = format!("a\n{}z\n", "same\n".repeat(10));
        let after = format!("b\n{}y\n", "same\n".repeat(10));
        check(
            Some(&before),
            &after,
            &expect![[r#"
                --- a.rs
                +++ a.rs
                -a
                +b
                 same
                 same
                 same
                @@
                 same
                 same
                 same
                -z
                +y
            "#]],
        );
    }

    #[test]
    fn new_and_emptied_files_have_one_sided_diffs() {
        check(
            None,
            "one\ntwo\n",
            &expect![[r#"
                --- /dev/null
                +++ a.rs
                +one
                +two
            "#]],
        );
        check(
            Some("gone\n"),
            "",
            &expect![[r#"
                --- a.rs
                +++ a.rs
                -gone
            "#]],
        );
    }

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let after: String = (0..1_000).map(|line| format!("line {line:03}\n")).collect();
        let diff = unified_diff("a.rs", None, &after, 1_000);
        assert_eq!(diff.text.lines().count(), 2 + 99);
        assert_eq!(diff.omitted_lines, 901);
        assert!(diff.text.ends_with("+line 098\n"), "{}", diff.text);
        // No line is cut, and none follows one that did not fit.
        let diff = unified_diff(
            "a.rs",
            None,
            &format!("{}\nshort\n", "é".repeat(600)),
            1_000,
        );
        assert_eq!(diff.text, "--- /dev/null\n+++ a.rs\n");
        assert_eq!(diff.omitted_lines, 2);
    }
}
