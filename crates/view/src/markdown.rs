//! Markdown as a tree of blocks: text of agents, parsed while it streams.
//!
//! The tree has no HTML: raw HTML of the source becomes text, and a link whose address is not
//! [safe](is_safe_url) becomes its label. [`MarkdownDocument`] accepts the growing text of a stream
//! and parses only its open last block again.
//!
//! # Limits
//!
//! Input may be hostile. Blocks nest at most [`MAX_BLOCK_DEPTH`] levels deep and inlines at most
//! [`MAX_INLINE_DEPTH`]; deeper levels lose their structure and keep their text. Text after
//! [`MAX_MARKDOWN_BYTES`], or after a line that would make parsing slow, is shown unparsed, as
//! blocks of code.
//!
//! # Differences from CommonMark
//!
//! While text streams, a definition of a link (`[label]: address`) applies to the blocks after it.
//! Earlier blocks are complete by then and are not parsed again; [`MarkdownDocument::finish`]
//! parses those that name the label once more. A definition inside of a quote or list also applies
//! to all of that block, and there it precedes an earlier definition of the same label.

mod document;
mod link;
pub(crate) mod parse;
mod plain;
mod shrink;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use document::{MarkdownDocument, parse_markdown};
pub use link::is_safe_url;
pub use plain::MAX_MARKDOWN_BYTES;

/// Maximum nesting depth of quotes, lists and items, so that hostile input cannot exhaust the
/// stack. Each list takes two levels: the list and its item.
pub const MAX_BLOCK_DEPTH: usize = 24;

/// Maximum nesting depth of emphasis, links and other inlines in a paragraph.
pub const MAX_INLINE_DEPTH: usize = 16;

/// A part of a paragraph, heading or table cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum MarkdownInline {
    /// Text without format. A newline in it is a soft line break of the source.
    Text {
        /// The text, without escapes.
        text: String,
    },
    /// A span of code between backticks.
    Code {
        /// The code, without the backticks.
        text: String,
    },
    /// Strong emphasis, mostly shown as bold.
    Strong {
        /// The parts that are emphasized.
        children: Vec<MarkdownInline>,
    },
    /// Emphasis, mostly shown as italics.
    Emphasis {
        /// The parts that are emphasized.
        children: Vec<MarkdownInline>,
    },
    /// Text that is struck through.
    Strikethrough {
        /// The parts that are struck through.
        children: Vec<MarkdownInline>,
    },
    /// A link with a [safe](is_safe_url) address.
    Link {
        /// The address, with its scheme.
        url: String,
        /// The label of the link.
        children: Vec<MarkdownInline>,
    },
    /// An image with a [safe](is_safe_url) address. Clients decide if they load it.
    Image {
        /// The address, with its scheme.
        url: String,
        /// The description, as plain text.
        alt: String,
    },
    /// A hard line break.
    Break,
}

/// A block of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum MarkdownBlock {
    /// Lines of text. Raw HTML is such a paragraph, too.
    Paragraph {
        /// The text and its formats.
        children: Vec<MarkdownInline>,
    },
    /// A heading of level 1 to 6.
    Heading {
        /// 1 is the highest level.
        level: u8,
        /// The text and its formats.
        children: Vec<MarkdownInline>,
    },
    /// Code, fenced or indented.
    Code {
        /// The first word after the opening fence.
        #[serde(skip_serializing_if = "Option::is_none")]
        language: Option<String>,
        /// The lines, without the newline of the last one.
        text: String,
        /// `true` while the text streams and the fence is not closed.
        open: bool,
    },
    /// A list with bullets or numbers.
    List {
        /// `true` if the items have numbers.
        ordered: bool,
        /// The number of the first item of an ordered list.
        #[serde(skip_serializing_if = "Option::is_none")]
        start: Option<u64>,
        /// The items, in order.
        items: Vec<ListItem>,
    },
    /// A block quote.
    Quote { blocks: Vec<MarkdownBlock> },
    /// A horizontal line between blocks.
    Rule,
    /// A table. Rows may have fewer cells than the head: empty cells at their end are left out.
    Table {
        /// The alignment of each column.
        align: Vec<CellAlign>,
        /// The cells of the first row.
        head: Vec<Vec<MarkdownInline>>,
        /// The cells of the other rows.
        rows: Vec<Vec<Vec<MarkdownInline>>>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListItem {
    /// The state of the check box, if the item is a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// The content. A tight item has one paragraph.
    pub blocks: Vec<MarkdownBlock>,
}

/// The alignment of a table column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CellAlign {
    /// The source does not say.
    None,
    /// Aligned to the left.
    Left,
    /// Centered in the column.
    Center,
    /// Aligned to the right.
    Right,
}
