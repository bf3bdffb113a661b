//! The rows of a diff without their text: a few numbers for each.

use imara_diff::Hunk;

use super::HunkStart;

/// The rows of both layouts. Lines are counted from 0 here.
#[derive(Default)]
pub(super) struct RowLayout {
    pub(super) unified: Vec<UnifiedPlace>,
    pub(super) split: Vec<SplitPlace>,
    pub(super) added: u32,
    pub(super) removed: u32,
    /// Unchanged lines after the last row.
    pub(super) hidden: u32,
}

/// A row of the unified layout. A partner is the line on the other side that replaces this one.
#[derive(Clone, Copy)]
pub(super) enum UnifiedPlace {
    Hunk(HunkStart),
    Same { before: u32, after: u32 },
    Removed { before: u32, partner: Option<u32> },
    Added { after: u32, partner: Option<u32> },
}

/// A row of the split layout.
#[derive(Clone, Copy)]
pub(super) enum SplitPlace {
    Hunk(HunkStart),
    Same {
        before: u32,
        after: u32,
    },
    Changed {
        before: Option<u32>,
        after: Option<u32>,
    },
}

impl RowLayout {
    /// Lays out changes in order. Changes whose context touches are in one group.
    pub(super) fn new(
        changes: impl Iterator<Item = Hunk>,
        before_lines: u32,
        after_lines: u32,
        context: u32,
    ) -> Self {
        let mut layout = Self::default();
        // The lines of both texts that have been laid out or left out.
        let (mut before, mut after) = (0, 0);
        let mut is_first = true;
        for change in changes {
            let unchanged = change.before.start.saturating_sub(before);
            let trailing = if is_first { 0 } else { context.min(unchanged) };
            let leading = context.min(unchanged - trailing);
            let hidden = unchanged - trailing - leading;
            layout.push_same(before, after, trailing);
            let (group_before, group_after) =
                (before + trailing + hidden, after + trailing + hidden);
            if is_first || hidden > 0 {
                let start = HunkStart {
                    before: group_before + 1,
                    after: group_after + 1,
                    hidden,
                };
                layout.unified.push(UnifiedPlace::Hunk(start));
                layout.split.push(SplitPlace::Hunk(start));
            }
            layout.push_same(group_before, group_after, leading);
            layout.push_change(&change);
            (before, after) = (change.before.end, change.after.end);
            is_first = false;
        }
        let unchanged = before_lines
            .saturating_sub(before)
            .min(after_lines.saturating_sub(after));
        let trailing = if is_first { 0 } else { context.min(unchanged) };
        layout.push_same(before, after, trailing);
        layout.hidden = unchanged - trailing;
        layout
    }

    fn push_same(&mut self, before: u32, after: u32, count: u32) {
        for (before, after) in (before..before + count).zip(after..after + count) {
            self.unified.push(UnifiedPlace::Same { before, after });
            self.split.push(SplitPlace::Same { before, after });
        }
    }

    fn push_change(&mut self, change: &Hunk) {
        let (removed, added) = (change.before.len() as u32, change.after.len() as u32);
        self.removed += removed;
        self.added += added;
        let before_at = |at: u32| (at < removed).then(|| change.before.start + at);
        let after_at = |at: u32| (at < added).then(|| change.after.start + at);
        for (at, before) in (0..).zip(change.before.clone()) {
            let partner = after_at(at);
            self.unified.push(UnifiedPlace::Removed { before, partner });
        }
        for (at, after) in (0..).zip(change.after.clone()) {
            let partner = before_at(at);
            self.unified.push(UnifiedPlace::Added { after, partner });
        }
        let pairs = (0..removed.max(added)).map(|at| SplitPlace::Changed {
            before: before_at(at),
            after: after_at(at),
        });
        self.split.extend(pairs);
    }
}
