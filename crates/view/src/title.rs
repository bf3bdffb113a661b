//! Text of the host and of agents: as a title of one line, and as blocks.

use std::sync::Arc;

use agenthost_protocol::text::MaybeMarkdown;
use pulldown_cmark::{Event, Options};

use crate::markdown::parse::new_parser;
use crate::markdown::{MarkdownBlock, MarkdownInline, parse_markdown};
use crate::visible_text::visible_order;

/// Returns the first line of a text, without the marks of Markdown and in visible order.
pub fn plain_title(text: &MaybeMarkdown) -> String {
    match text {
        MaybeMarkdown::Plain(text) => visible_order(first_line(text)),
        MaybeMarkdown::Markdown(text) => visible_order(&first_block(text)),
    }
}

/// Returns a text as blocks. Plain text becomes one paragraph with its lines.
pub fn blocks_of(text: &MaybeMarkdown) -> Vec<Arc<MarkdownBlock>> {
    match text {
        MaybeMarkdown::Markdown(text) => parse_markdown(text),
        MaybeMarkdown::Plain(text) if text.is_empty() => Vec::new(),
        MaybeMarkdown::Plain(text) => {
            let mut children = Vec::new();
            for line in text.lines() {
                if !children.is_empty() {
                    children.push(MarkdownInline::Break);
                }
                children.push(MarkdownInline::Text {
                    text: visible_order(line),
                });
            }
            children.shrink_to_fit();
            vec![Arc::new(MarkdownBlock::Paragraph { children })]
        }
    }
}

/// Returns the first line that is not empty.
pub(crate) fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

fn first_block(markdown: &str) -> String {
    let mut title = String::new();
    for event in new_parser(markdown, Options::empty(), None) {
        match event {
            Event::Text(text) | Event::Code(text) => title.push_str(&text),
            Event::InlineHtml(text) | Event::Html(text) => title.push_str(&text),
            Event::SoftBreak | Event::HardBreak => title.push(' '),
            Event::End(tag) if !title.trim().is_empty() && is_block(tag) => break,
            _ => {}
        }
    }
    first_line(&title).to_owned()
}

fn is_block(tag: pulldown_cmark::TagEnd) -> bool {
    use pulldown_cmark::TagEnd;
    matches!(
        tag,
        TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::Item
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_without_marks() {
        for (text, title) in [
            (
                "Run `cargo test` in **here**\n\n```sh\ncargo test\n```",
                "Run cargo test in here",
            ),
            ("# Plan\n\n- one", "Plan"),
            ("\n\n[link](https://example.com) <b>x</b>", "link <b>x</b>"),
            ("```sh\nls\npwd\n```", "ls"),
            ("", ""),
        ] {
            assert_eq!(
                plain_title(&MaybeMarkdown::Markdown(text.to_owned())),
                title
            );
        }
        assert_eq!(plain_title(&"  \nRun `x`\nmore".into()), "Run `x`");
    }

    #[test]
    fn plain_text_is_never_read_as_markdown() {
        let blocks = blocks_of(&"# no *heading*\nnext".into());
        let text = |text: &str| MarkdownInline::Text { text: text.into() };
        let children = vec![text("# no *heading*"), MarkdownInline::Break, text("next")];
        assert_eq!(blocks, [Arc::new(MarkdownBlock::Paragraph { children })]);
    }
}
