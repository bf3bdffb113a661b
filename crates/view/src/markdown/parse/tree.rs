//! Builds the tree of blocks from the events of the parser, without recursion.

use std::mem;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, LinkType, Tag, TagEnd};

use super::super::link::is_safe_url;
use super::super::{
    CellAlign, ListItem, MAX_BLOCK_DEPTH, MAX_INLINE_DEPTH, MarkdownBlock, MarkdownInline,
};
use crate::visible_text::visible_order;

/// Longer names of languages are cut.
const MAX_LANGUAGE_CHARS: usize = 64;

/// Receives the events of one piece and returns its blocks.
#[derive(Default)]
pub(super) struct TreeBuilder {
    blocks: Vec<MarkdownBlock>,
    /// The open quotes, lists and items, outermost first.
    frames: Vec<BlockFrame>,
    /// Open containers that are too deep to get a frame.
    frames_over: usize,
    leaf: Option<OpenLeaf>,
    /// The inlines of the open leaf or table cell.
    inlines: Vec<MarkdownInline>,
    /// The open spans in the leaf, outermost first.
    spans: Vec<SpanFrame>,
    /// Open spans that are too deep to get a frame.
    spans_over: usize,
}

/// A container of blocks that is not complete.
enum BlockFrame {
    Quote(Vec<MarkdownBlock>),
    List {
        start: Option<u64>,
        items: Vec<ListItem>,
    },
    Item(ListItem),
}

/// A block without child blocks that is not complete.
enum OpenLeaf {
    Paragraph,
    Heading(u8),
    Code {
        language: Option<String>,
        text: String,
        open: bool,
    },
    Table {
        align: Vec<CellAlign>,
        head: Vec<Vec<MarkdownInline>>,
        rows: Vec<Vec<Vec<MarkdownInline>>>,
        row: Vec<Vec<MarkdownInline>>,
    },
}

/// A span of inlines that is not complete.
struct SpanFrame {
    kind: SpanKind,
    children: Vec<MarkdownInline>,
}

enum SpanKind {
    Strong,
    Emphasis,
    Strikethrough,
    Link(String),
    Image(String),
}

impl TreeBuilder {
    /// Adds an event. `is_fence_open` is the state of the fence that starts with it.
    pub(super) fn push(&mut self, event: Event<'_>, is_fence_open: bool) {
        match event {
            Event::Start(tag) => self.start(tag, is_fence_open),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::Code(text) => self.inline(MarkdownInline::Code {
                text: visible_order(&text),
            }),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.inline(MarkdownInline::Break),
            Event::Rule => {
                self.close_leaf();
                self.block(MarkdownBlock::Rule);
            }
            Event::TaskListMarker(is_checked) => {
                if self.frames_over == 0
                    && let Some(BlockFrame::Item(item)) = self.frames.last_mut()
                {
                    item.checked = Some(is_checked);
                }
            }
        }
    }

    /// Closes everything and returns the blocks.
    pub(super) fn finish(mut self) -> Vec<MarkdownBlock> {
        self.close_leaf();
        while !self.frames.is_empty() {
            self.close_frame();
        }
        self.blocks
    }

    fn start(&mut self, tag: Tag<'_>, is_fence_open: bool) {
        match tag {
            Tag::BlockQuote(_) => self.open_frame(BlockFrame::Quote(Vec::new())),
            Tag::List(start) => self.open_frame(BlockFrame::List {
                start,
                items: Vec::new(),
            }),
            Tag::Item => self.open_frame(BlockFrame::Item(ListItem::default())),
            Tag::Paragraph | Tag::HtmlBlock => self.open_leaf(OpenLeaf::Paragraph),
            Tag::Heading { level, .. } => self.open_leaf(OpenLeaf::Heading(level as u8)),
            Tag::CodeBlock(kind) => self.open_leaf(OpenLeaf::Code {
                language: language(&kind),
                text: String::new(),
                open: is_fence_open,
            }),
            Tag::Table(align) => self.open_leaf(OpenLeaf::Table {
                align: align.into_iter().map(CellAlign::from).collect(),
                head: Vec::new(),
                rows: Vec::new(),
                row: Vec::new(),
            }),
            Tag::Strong => self.open_span(SpanKind::Strong),
            Tag::Emphasis => self.open_span(SpanKind::Emphasis),
            Tag::Strikethrough => self.open_span(SpanKind::Strikethrough),
            Tag::Link {
                link_type: LinkType::Email,
                dest_url,
                ..
            } => self.open_span(SpanKind::Link(format!("mailto:{dest_url}"))),
            Tag::Link { dest_url, .. } => self.open_span(SpanKind::Link(dest_url.into_string())),
            Tag::Image { dest_url, .. } => self.open_span(SpanKind::Image(dest_url.into_string())),
            Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.close_leaf();
                if self.frames_over > 0 {
                    self.frames_over -= 1;
                } else {
                    self.close_frame();
                }
            }
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::Table => self.close_leaf(),
            TagEnd::TableCell => {
                let cell = self.take_inlines();
                if let Some(OpenLeaf::Table { row, .. }) = &mut self.leaf {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => {
                if let Some(OpenLeaf::Table { head, row, .. }) = &mut self.leaf {
                    *head = mem::take(row);
                }
            }
            TagEnd::TableRow => {
                if let Some(OpenLeaf::Table { rows, row, .. }) = &mut self.leaf {
                    let mut cells = mem::take(row);
                    while cells.last().is_some_and(Vec::is_empty) {
                        cells.pop();
                    }
                    cells.shrink_to_fit();
                    rows.push(cells);
                }
            }
            TagEnd::Strong
            | TagEnd::Emphasis
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image => {
                if self.spans_over > 0 {
                    self.spans_over -= 1;
                } else {
                    self.close_span();
                }
            }
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn open_frame(&mut self, frame: BlockFrame) {
        self.close_leaf();
        // A list needs a level for its items: an item is never too deep for its list.
        let depth = match frame {
            BlockFrame::List { .. } => self.frames.len() + 2,
            BlockFrame::Quote(_) | BlockFrame::Item(_) => self.frames.len() + 1,
        };
        if self.frames_over > 0 || depth > MAX_BLOCK_DEPTH {
            self.frames_over += 1;
        } else {
            self.frames.push(frame);
        }
    }

    fn close_frame(&mut self) {
        match self.frames.pop() {
            Some(BlockFrame::Quote(blocks)) => self.block(MarkdownBlock::Quote { blocks }),
            Some(BlockFrame::List { start, items }) => self.block(MarkdownBlock::List {
                ordered: start.is_some(),
                start,
                items,
            }),
            Some(BlockFrame::Item(item)) => {
                if let Some(BlockFrame::List { items, .. }) = self.frames.last_mut() {
                    items.push(item);
                }
            }
            None => {}
        }
    }

    fn block(&mut self, block: MarkdownBlock) {
        match self.frames.last_mut() {
            Some(BlockFrame::Quote(blocks)) => blocks.push(block),
            Some(BlockFrame::Item(item)) => item.blocks.push(block),
            Some(BlockFrame::List { items, .. }) => items.push(ListItem {
                checked: None,
                blocks: vec![block],
            }),
            None => self.blocks.push(block),
        }
    }

    fn open_leaf(&mut self, leaf: OpenLeaf) {
        self.close_leaf();
        self.leaf = Some(leaf);
    }

    fn close_leaf(&mut self) {
        let mut children = self.take_inlines();
        match self.leaf.take() {
            None => {}
            Some(OpenLeaf::Paragraph) => {
                trim_end(&mut children);
                if !children.is_empty() {
                    self.block(MarkdownBlock::Paragraph { children });
                }
            }
            Some(OpenLeaf::Heading(level)) => {
                self.block(MarkdownBlock::Heading { level, children });
            }
            Some(OpenLeaf::Code {
                language,
                mut text,
                open,
            }) => {
                if text.ends_with('\n') {
                    text.pop();
                }
                self.block(MarkdownBlock::Code {
                    language,
                    text,
                    open,
                });
            }
            Some(OpenLeaf::Table {
                align, head, rows, ..
            }) => self.block(MarkdownBlock::Table { align, head, rows }),
        }
    }

    fn text(&mut self, text: &str) {
        let text = visible_order(text);
        if let Some(OpenLeaf::Code { text: code, .. }) = &mut self.leaf {
            code.push_str(&text);
        } else {
            self.open_implicit_leaf();
            push_text(self.target(), &text);
        }
    }

    fn inline(&mut self, inline: MarkdownInline) {
        self.open_implicit_leaf();
        self.target().push(inline);
    }

    /// Opens the paragraph of a tight list item, for which the parser has no event.
    fn open_implicit_leaf(&mut self) {
        if self.leaf.is_none() {
            self.leaf = Some(OpenLeaf::Paragraph);
        }
    }

    /// The list to which inlines are added.
    fn target(&mut self) -> &mut Vec<MarkdownInline> {
        match self.spans.last_mut() {
            Some(span) => &mut span.children,
            None => &mut self.inlines,
        }
    }

    fn open_span(&mut self, kind: SpanKind) {
        self.open_implicit_leaf();
        if self.spans_over > 0 || self.spans.len() >= MAX_INLINE_DEPTH {
            self.spans_over += 1;
        } else {
            self.spans.push(SpanFrame {
                kind,
                children: Vec::new(),
            });
        }
    }

    fn close_span(&mut self) {
        let Some(SpanFrame { kind, children }) = self.spans.pop() else {
            return;
        };
        let inline = match kind {
            SpanKind::Strong => MarkdownInline::Strong { children },
            SpanKind::Emphasis => MarkdownInline::Emphasis { children },
            SpanKind::Strikethrough => MarkdownInline::Strikethrough { children },
            SpanKind::Link(url) if is_safe_url(&url) => MarkdownInline::Link { url, children },
            SpanKind::Link(_) => {
                for child in children {
                    push_inline(self.target(), child);
                }
                return;
            }
            SpanKind::Image(url) => {
                let alt = plain_text(&children);
                if !is_safe_url(&url) {
                    push_text(self.target(), &alt);
                    return;
                }
                MarkdownInline::Image { url, alt }
            }
        };
        self.target().push(inline);
    }

    fn take_inlines(&mut self) -> Vec<MarkdownInline> {
        while !self.spans.is_empty() {
            self.close_span();
        }
        self.spans_over = 0;
        mem::take(&mut self.inlines)
    }
}

impl From<Alignment> for CellAlign {
    fn from(alignment: Alignment) -> Self {
        match alignment {
            Alignment::None => CellAlign::None,
            Alignment::Left => CellAlign::Left,
            Alignment::Center => CellAlign::Center,
            Alignment::Right => CellAlign::Right,
        }
    }
}

fn push_inline(target: &mut Vec<MarkdownInline>, inline: MarkdownInline) {
    match inline {
        MarkdownInline::Text { text } => push_text(target, &text),
        other => target.push(other),
    }
}

/// Adds text, to the last inline if that is text, too.
fn push_text(target: &mut Vec<MarkdownInline>, text: &str) {
    if let Some(MarkdownInline::Text { text: last }) = target.last_mut() {
        last.push_str(text);
    } else if !text.is_empty() {
        target.push(MarkdownInline::Text {
            text: text.to_owned(),
        });
    }
}

fn trim_end(children: &mut Vec<MarkdownInline>) {
    if let Some(MarkdownInline::Text { text }) = children.last_mut() {
        text.truncate(text.trim_end().len());
        if text.is_empty() {
            children.pop();
        }
    }
}

/// Returns the text without formats. The depth of inlines is bounded, and so is the recursion.
fn plain_text(inlines: &[MarkdownInline]) -> String {
    let parts = inlines.iter().map(|inline| match inline {
        MarkdownInline::Text { text } | MarkdownInline::Code { text } => text.clone(),
        MarkdownInline::Strong { children }
        | MarkdownInline::Emphasis { children }
        | MarkdownInline::Strikethrough { children }
        | MarkdownInline::Link { children, .. } => plain_text(children),
        MarkdownInline::Image { alt, .. } => alt.clone(),
        MarkdownInline::Break => "\n".to_owned(),
    });
    parts.collect()
}

fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else {
        return None;
    };
    let word = info.split([' ', '\t', ',', '{']).next()?;
    let name: String = word.chars().take(MAX_LANGUAGE_CHARS).collect();
    Some(name).filter(|name| !name.is_empty())
}
