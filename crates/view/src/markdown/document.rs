//! A document whose text grows: blocks that are complete are parsed once and shared.

use std::ops::Range;
use std::sync::Arc;

use super::link::LinkDefinitions;
use super::parse::{ParsedPiece, block_spans, parse_piece};
use super::plain::PlainScanner;
use super::{MarkdownBlock, MarkdownInline};
use crate::visible_text::visible_order;

/// Blocks are searched for in windows of this size, which doubles until a window has two of them.
const FIRST_WINDOW_BYTES: usize = 16 * 1024;

/// A longer open block is not parsed for each append, but whenever it has grown by a sixteenth or
/// more. This keeps the time of a stream proportional to its length.
const LARGE_TAIL_BYTES: usize = 64 * 1024;

/// Unparsed text is divided into blocks of this size.
const PLAIN_BLOCK_BYTES: usize = 64 * 1024;

/// Markdown text that may grow, and its blocks.
///
/// The blocks depend on the text alone, not on the pieces in which it arrived. Complete blocks keep
/// their [`Arc`] until [`Self::finish`], so that callers can compare them by pointer.
#[derive(Debug, Default)]
pub struct MarkdownDocument {
    text: String,
    complete: Vec<Arc<MarkdownBlock>>,
    /// The blocks of the text after `tail_start`.
    open: Vec<Arc<MarkdownBlock>>,
    tail_start: usize,
    /// The unparsed end of a large tail.
    rest: Option<Arc<MarkdownBlock>>,
    /// The range of the text of which `open` is made.
    open_source: Range<usize>,
    /// The lines between `tail_start` and here have no block that is complete.
    searched_to: usize,
    definitions: LinkDefinitions,
    unresolved: Vec<UnresolvedPiece>,
    scanner: PlainScanner,
    is_finished: bool,
    parsed_bytes: u64,
}

/// A complete piece of the text with references that had no definition yet.
#[derive(Debug)]
struct UnresolvedPiece {
    source: Range<usize>,
    /// Places in [`MarkdownDocument::complete`].
    blocks: Range<usize>,
    labels: Vec<String>,
}

/// Returns a block that does not change any more, without unused memory.
fn to_shared_block(mut block: MarkdownBlock) -> Arc<MarkdownBlock> {
    block.shrink();
    Arc::new(block)
}

/// Parses a text that is complete.
pub fn parse_markdown(text: &str) -> Vec<Arc<MarkdownBlock>> {
    let mut document = MarkdownDocument::default();
    document.update(text, false);
    document.complete
}

impl MarkdownDocument {
    /// Makes `text` the text of the document. If `is_open`, it may grow.
    ///
    /// If it begins with the present text, only the rest of it is read. Another text replaces the
    /// document.
    pub fn update(&mut self, text: &str, is_open: bool) {
        if text != self.text || (self.is_finished && is_open) {
            let added = text.strip_prefix(self.text.as_str());
            match added.filter(|_| !self.is_finished) {
                Some(added) => self.append(added),
                None => {
                    let parsed_bytes = self.parsed_bytes;
                    *self = Self::default();
                    self.parsed_bytes = parsed_bytes;
                    self.append(text);
                }
            }
        }
        if !is_open {
            self.finish();
        }
    }

    /// Adds text at the end. A document that is finished is opened and parsed again.
    pub fn append(&mut self, added: &str) {
        if self.is_finished {
            let text = std::mem::take(&mut self.text);
            *self = Self {
                parsed_bytes: self.parsed_bytes,
                ..Self::default()
            };
            self.append(&text);
        }
        self.text.push_str(added);
        match self.scanner.scan(&self.text) {
            Some(plain_start) => {
                self.complete_tail(plain_start);
                self.add_plain_blocks();
            }
            None => {
                self.complete_blocks();
                self.parse_tail();
            }
        }
    }

    /// Declares the text complete: open blocks become complete, and references to definitions
    /// that came after them become links.
    pub fn finish(&mut self) {
        if self.is_finished {
            return;
        }
        self.is_finished = true;
        if self.scanner.scan(&self.text).is_some() {
            self.complete.append(&mut self.open);
            self.close_last_code();
        } else {
            self.complete_tail(self.text.len());
        }
        self.clear_open();
        for piece in std::mem::take(&mut self.unresolved) {
            self.resolve_piece(&piece);
        }
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Arc<MarkdownBlock>> {
        self.complete.iter().chain(&self.open).chain(&self.rest)
    }

    /// The number of blocks at the start that more text does not change.
    pub fn complete_count(&self) -> usize {
        self.complete.len()
    }

    /// The text of which the blocks are made.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes that were parsed so far, for measurements: the text twice if no block was parsed more
    /// often than necessary, and the open block for each append.
    pub fn parsed_bytes(&self) -> u64 {
        self.parsed_bytes
    }

    /// Completes all blocks that are followed by another one, looking at whole lines only.
    fn complete_blocks(&mut self) {
        let mut window = FIRST_WINDOW_BYTES;
        loop {
            let parse_end = self.parse_end();
            let window_end = parse_end.min(self.tail_start.saturating_add(window));
            let window_end = self.text.floor_char_boundary(window_end);
            let source = self.text.get(self.tail_start..window_end);
            let lines_end = source
                .and_then(|source| source.rfind('\n'))
                .map_or(self.tail_start, |at| self.tail_start + at + 1);
            let mut spans = Vec::new();
            if lines_end > self.searched_to {
                self.searched_to = lines_end;
                spans = self.spans_between(self.tail_start, lines_end);
            }
            if let Some(last) = self.last_certain_block(&spans) {
                let tail_start = spans.get(last).map_or(lines_end, |span| span.start);
                spans.truncate(last);
                self.complete_spans(spans, tail_start);
                window = FIRST_WINDOW_BYTES;
            } else if window_end < parse_end {
                window = window.saturating_mul(2);
            } else {
                break;
            }
        }
    }

    /// Returns the last block whose start stays a start, whatever follows. The first line of a
    /// block may turn out to be the title of a definition right above it.
    fn last_certain_block(&self, spans: &[Range<usize>]) -> Option<usize> {
        let is_certain = |index: &usize| {
            let Some(start) = spans.get(*index).map(|span| span.start) else {
                return false;
            };
            let previous = index.checked_sub(1).and_then(|index| spans.get(index));
            let gap_start = previous.map_or(self.tail_start, |span| span.end);
            let gap = self.text.get(gap_start..start).unwrap_or_default();
            let last_line = gap.strip_suffix('\n').unwrap_or(gap).rsplit('\n').next();
            let is_after_blank = last_line.is_none_or(|line| line.trim().is_empty());
            start > self.tail_start && is_after_blank
        };
        (0..spans.len()).rev().find(is_certain)
    }

    /// Completes all text until `end`.
    fn complete_tail(&mut self, end: usize) {
        if self.tail_start < end {
            let spans = self.spans_between(self.tail_start, end);
            self.complete_spans(spans, end);
        }
    }

    /// Parses the blocks and the definitions between the start of the tail and `end`, in order,
    /// and moves the start of the tail to `end`.
    fn complete_spans(&mut self, spans: Vec<Range<usize>>, end: usize) {
        for source in pieces(self.tail_start, spans, end) {
            let piece = self.parse_source(source.clone(), false);
            for (label, url) in piece.defined {
                self.definitions.insert(label, url);
            }
            let first = self.complete.len();
            self.complete
                .extend(piece.blocks.into_iter().map(to_shared_block));
            if !piece.missing.is_empty() {
                self.unresolved.push(UnresolvedPiece {
                    source,
                    blocks: first..self.complete.len(),
                    labels: piece.missing,
                });
            }
        }
        self.tail_start = end;
        self.searched_to = end;
        self.clear_open();
    }

    /// Returns the lines of the blocks between two places, as places in the text.
    fn spans_between(&mut self, start: usize, end: usize) -> Vec<Range<usize>> {
        let source = self.text.get(start..end).unwrap_or_default();
        self.parsed_bytes += source.len() as u64;
        let spans = block_spans(source).into_iter();
        spans
            .map(|span| start + span.start..start + span.end)
            .collect()
    }

    fn parse_source(&mut self, source: Range<usize>, is_open: bool) -> ParsedPiece {
        let text = self.text.get(source).unwrap_or_default();
        self.parsed_bytes += text.len() as u64;
        parse_piece(text, &self.definitions, is_open)
    }

    /// Returns the end of the text that is parsed now: all of it, unless the tail is large.
    fn parse_end(&self) -> usize {
        let length = self.text.len() - self.tail_start;
        if length < LARGE_TAIL_BYTES {
            return self.text.len();
        }
        let step = (1 << length.ilog2()) / 16;
        let end = self.tail_start + length / step * step;
        self.text.floor_char_boundary(end)
    }

    /// Parses the open end of the text, the result of which may change with the next append.
    fn parse_tail(&mut self) {
        let source = self.tail_start..self.parse_end();
        if source != self.open_source {
            let spans = self.spans_between(source.start, source.end);
            let expansion_left = self.definitions.expansion_left();
            let mut new_labels = Vec::new();
            self.open.clear();
            for piece_source in pieces(source.start, spans, source.end) {
                let is_last = self.is_blank(piece_source.end..source.end);
                let piece = self.parse_source(piece_source, is_last);
                self.open.extend(piece.blocks.into_iter().map(Arc::new));
                for (label, url) in piece.defined {
                    if self.definitions.insert(label.clone(), url) {
                        new_labels.push(label);
                    }
                }
            }
            for label in new_labels {
                self.definitions.remove(&label);
            }
            self.definitions.restore_expansion(expansion_left);
            self.open_source = source.clone();
        }
        let rest = self.text.get(source.end..).unwrap_or_default();
        self.rest = unparsed_block(self.open.last(), rest).map(Arc::new);
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        self.text
            .get(range)
            .is_none_or(|text| text.trim().is_empty())
    }

    /// Parses a piece once more if a reference of it has a definition by now.
    fn resolve_piece(&mut self, piece: &UnresolvedPiece) {
        let is_defined = |label: &String| self.definitions.contains(label);
        if !piece.labels.iter().any(is_defined) {
            return;
        }
        let blocks = self.parse_source(piece.source.clone(), false).blocks;
        let places = self.complete.get_mut(piece.blocks.clone());
        for (place, block) in places.into_iter().flatten().zip(blocks) {
            *place = Arc::new(block);
        }
    }

    /// Divides the text after the start of the tail into blocks without parsing it.
    fn add_plain_blocks(&mut self) {
        loop {
            let cut = self.tail_start.saturating_add(PLAIN_BLOCK_BYTES);
            if cut >= self.text.len() {
                break;
            }
            let cut = self.text.floor_char_boundary(cut);
            let text = self.text.get(self.tail_start..cut).unwrap_or_default();
            self.complete.push(Arc::new(plain_block(text, false)));
            self.tail_start = cut;
        }
        let rest = self.text.get(self.tail_start..).unwrap_or_default();
        self.open = vec![Arc::new(plain_block(rest, true))];
    }

    fn clear_open(&mut self) {
        self.open.clear();
        self.rest = None;
        self.open_source = 0..0;
    }

    fn close_last_code(&mut self) {
        if let Some(last) = self.complete.last_mut()
            && let MarkdownBlock::Code { open, .. } = Arc::make_mut(last)
        {
            *open = false;
        }
    }
}

/// Divides the text between two places into its blocks and the definitions between them.
fn pieces(start: usize, spans: Vec<Range<usize>>, end: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut at = start;
    for span in spans {
        pieces.extend([at..span.start, span.clone()]);
        at = span.end;
    }
    pieces.push(at..end);
    pieces.retain(|piece| piece.start < piece.end);
    pieces
}

fn plain_block(text: &str, is_open: bool) -> MarkdownBlock {
    MarkdownBlock::Code {
        language: None,
        text: visible_order(text),
        open: is_open,
    }
}

/// Shows the end of a large tail, which is not parsed yet, like the block before it.
fn unparsed_block(last: Option<&Arc<MarkdownBlock>>, rest: &str) -> Option<MarkdownBlock> {
    if rest.is_empty() {
        return None;
    }
    let text = visible_order(rest);
    Some(match last.map(Arc::as_ref) {
        Some(MarkdownBlock::Code {
            language,
            open: true,
            ..
        }) => MarkdownBlock::Code {
            language: language.clone(),
            text,
            open: true,
        },
        _ => MarkdownBlock::Paragraph {
            children: vec![MarkdownInline::Text { text }],
        },
    })
}
