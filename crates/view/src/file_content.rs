//! The content of an open file: text in lines, an image, or bytes that are not shown.

use agenthost_protocol::wire::Wire;
use std::borrow::Cow;
use std::ops::Range;

use crate::visible_text::visible_text;

/// Size of a text file that is shown.
pub const MAX_VIEW_BYTES: u64 = 4 * 1024 * 1024;

/// Size of a text file that can be edited.
pub const MAX_EDIT_BYTES: usize = 512 * 1024;

/// Size of an image that is shown.
const MAX_IMAGE_BYTES: u64 = 8 * 1024 * 1024;

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 10_000;

/// The content of a file, as far as a client shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    Text(TextContent),
    /// An image; the client reads its bytes.
    Image,
    /// Bytes that are no text.
    Binary,
    /// A file that is too large to show.
    Large,
}

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextContent {
    text: String,
    /// Byte ranges of the lines, without their ends.
    lines: Vec<Range<usize>>,
    width: usize,
    line_ending: FileLineEnding,
}

/// The ends of the lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum FileLineEnding {
    Lf,
    CrLf,
    /// Several kinds of line ends, or `\r` alone. An editor writes `\n` instead.
    Mixed,
}

impl FileContent {
    /// Returns the content of a file that is shown without reading it as text. `size` is absent
    /// if the host does not know it.
    pub fn of_metadata(name: &str, size: Option<u64>) -> Option<Self> {
        let size = size.unwrap_or(0);
        if image_type(name).is_some() && size <= MAX_IMAGE_BYTES {
            Some(FileContent::Image)
        } else {
            (size > MAX_VIEW_BYTES).then_some(FileContent::Large)
        }
    }

    /// Returns the content of a file that was read as text.
    pub fn of_text(text: String) -> Self {
        if text.len() as u64 > MAX_VIEW_BYTES {
            FileContent::Large
        } else if text.contains('\0') {
            FileContent::Binary
        } else {
            FileContent::Text(TextContent::new(text))
        }
    }
}

impl TextContent {
    fn new(text: String) -> Self {
        let mut lines = Vec::new();
        let mut width = 0;
        let mut start = 0;
        let (mut plain, mut carriage) = (0, 0);
        let mut ends = text.match_indices('\n').map(|(at, _)| at);
        loop {
            let end = ends.next();
            let line = text.get(start..end.unwrap_or(text.len())).unwrap_or("");
            let shown = match (end, line.strip_suffix('\r')) {
                (Some(_), Some(shown)) => {
                    carriage += 1;
                    shown
                }
                (Some(_), None) => {
                    plain += 1;
                    line
                }
                (None, _) => line,
            };
            lines.push(start..start + shown.len());
            width = width.max(shown.chars().count().min(MAX_LINE_CHARS));
            match end {
                Some(end) => start = end + 1,
                None => break,
            }
        }
        let line_ending = if text.matches('\r').count() > carriage || (plain > 0 && carriage > 0) {
            FileLineEnding::Mixed
        } else if carriage > 0 {
            FileLineEnding::CrLf
        } else {
            FileLineEnding::Lf
        };
        TextContent {
            text,
            lines,
            width,
            line_ending,
        }
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of lines.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the length of the longest line in characters, as far as it is shown.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the kind of line ends.
    pub fn line_ending(&self) -> FileLineEnding {
        self.line_ending
    }

    /// Returns `true` if the text is small enough to be edited.
    pub fn is_editable(&self) -> bool {
        self.text.len() <= MAX_EDIT_BYTES
    }

    /// Returns lines as they are shown: hidden characters are visible, and long lines are cut.
    pub fn lines(&self, range: Range<usize>) -> Vec<String> {
        let end = range.end.min(self.lines.len());
        let lines = self.lines.get(range.start.min(end)..end).unwrap_or(&[]);
        let lines = lines.iter().map(|line| {
            let line = self.text.get(line.clone()).unwrap_or("");
            match line.char_indices().nth(MAX_LINE_CHARS) {
                Some((cut, _)) => format!("{}…", visible_text(line.get(..cut).unwrap_or(line))),
                None => visible_text(line),
            }
        });
        lines.collect()
    }
}

/// Returns a text of an editor, whose lines end with `\n`, with the line ends of its file.
pub fn with_line_ending(text: &str, line_ending: FileLineEnding) -> Cow<'_, str> {
    match line_ending {
        FileLineEnding::CrLf => Cow::Owned(text.replace('\n', "\r\n")),
        FileLineEnding::Lf | FileLineEnding::Mixed => Cow::Borrowed(text),
    }
}

/// Returns the MIME type of an image by the name of its file. Images that are text, such as SVG,
/// are shown as text.
pub fn image_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    let types = [
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("avif", "image/avif"),
        ("bmp", "image/bmp"),
        ("ico", "image/x-icon"),
    ];
    let mut types = types.into_iter();
    let found = types.find(|(known, _)| extension.eq_ignore_ascii_case(known));
    found.map(|(_, mime)| mime)
}

#[cfg(test)]
#[path = "file_content_tests.rs"]
mod tests;
