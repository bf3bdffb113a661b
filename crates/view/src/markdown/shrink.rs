//! Releases the unused capacity of parsed blocks. A long chat has a hundred thousand of them, and
//! their vectors have grown one by one.

use super::{MarkdownBlock, MarkdownInline};

impl MarkdownBlock {
    /// Releases the memory that the block does not use.
    pub(super) fn shrink(&mut self) {
        match self {
            MarkdownBlock::Paragraph { children } | MarkdownBlock::Heading { children, .. } => {
                shrink_inlines(children);
            }
            MarkdownBlock::List { items, .. } => {
                items.shrink_to_fit();
                for item in items {
                    shrink_blocks(&mut item.blocks);
                }
            }
            MarkdownBlock::Quote { blocks } => shrink_blocks(blocks),
            MarkdownBlock::Table { head, rows, .. } => {
                shrink_cells(head);
                rows.shrink_to_fit();
                rows.iter_mut().for_each(shrink_cells);
            }
            MarkdownBlock::Code { text, .. } => text.shrink_to_fit(),
            MarkdownBlock::Rule => {}
        }
    }
}

fn shrink_blocks(blocks: &mut Vec<MarkdownBlock>) {
    blocks.shrink_to_fit();
    blocks.iter_mut().for_each(MarkdownBlock::shrink);
}

fn shrink_cells(cells: &mut Vec<Vec<MarkdownInline>>) {
    cells.shrink_to_fit();
    cells.iter_mut().for_each(shrink_inlines);
}

fn shrink_inlines(inlines: &mut Vec<MarkdownInline>) {
    inlines.shrink_to_fit();
    for inline in inlines {
        match inline {
            MarkdownInline::Strong { children }
            | MarkdownInline::Emphasis { children }
            | MarkdownInline::Strikethrough { children }
            | MarkdownInline::Link { children, .. } => shrink_inlines(children),
            MarkdownInline::Text { text } | MarkdownInline::Code { text } => text.shrink_to_fit(),
            MarkdownInline::Image { .. } | MarkdownInline::Break => {}
        }
    }
}
