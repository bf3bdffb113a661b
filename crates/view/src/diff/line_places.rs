//! Lines of both texts, and the rows that show them.

use agenthost_protocol::sorted::{SortedMap, SortedSet};
use agenthost_protocol::wire::Wire;

use super::layout::{SplitPlace, UnifiedPlace};
use super::{FileDiff, LineTable};

/// One of the two texts of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Wire)]
pub enum TextSide {
    Before,
    After,
}

/// A line of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinePlace {
    /// The text that has the line.
    pub side: TextSide,
    /// Number of the line; the first line is 1.
    pub line: u32,
}

impl FileDiff {
    /// Returns the number of lines of a text.
    pub fn line_count(&self, side: TextSide) -> u32 {
        self.table(side).count()
    }

    /// Returns a line without its ending; `None` if the text does not have it.
    pub fn line_text(&self, place: LinePlace) -> Option<&str> {
        let table = self.table(place.side);
        let index = place.line.checked_sub(1)?;
        (index < table.count()).then(|| table.line(index).0)
    }

    /// Returns the rows of the unified layout that show the given lines. Lines that are left out
    /// have no row.
    pub fn unified_rows_of(&self, wanted: &SortedSet<LinePlace>) -> SortedMap<LinePlace, usize> {
        let rows = self.layout.unified.iter().map(|place| match *place {
            UnifiedPlace::Hunk(_) => (None, None),
            UnifiedPlace::Same { before, after } => (Some(before), Some(after)),
            UnifiedPlace::Removed { before, .. } => (Some(before), None),
            UnifiedPlace::Added { after, .. } => (None, Some(after)),
        });
        find_rows(rows, wanted)
    }

    /// Returns the rows of the split layout that show the given lines. Lines that are left out
    /// have no row.
    pub fn split_rows_of(&self, wanted: &SortedSet<LinePlace>) -> SortedMap<LinePlace, usize> {
        let rows = self.layout.split.iter().map(|place| match *place {
            SplitPlace::Hunk(_) => (None, None),
            SplitPlace::Same { before, after } => (Some(before), Some(after)),
            SplitPlace::Changed { before, after } => (before, after),
        });
        find_rows(rows, wanted)
    }

    fn table(&self, side: TextSide) -> &LineTable {
        match side {
            TextSide::Before => &self.before,
            TextSide::After => &self.after,
        }
    }
}

/// Finds lines in rows, which are given by the indexes of their lines in both texts.
fn find_rows(
    rows: impl Iterator<Item = (Option<u32>, Option<u32>)>,
    wanted: &SortedSet<LinePlace>,
) -> SortedMap<LinePlace, usize> {
    let mut found = SortedMap::new();
    if wanted.is_empty() {
        return found;
    }
    for (row, (before, after)) in rows.enumerate() {
        for (side, index) in [(TextSide::Before, before), (TextSide::After, after)] {
            let place = index.map(|index| LinePlace {
                side,
                line: index + 1,
            });
            if let Some(place) = place
                && wanted.contains(&place)
            {
                found.insert(place, row);
            }
        }
    }
    found
}
