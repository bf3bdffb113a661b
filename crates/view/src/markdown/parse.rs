//! Parses one piece of Markdown into blocks.

mod tree;

use std::cell::RefCell;
use std::ops::Range;

use agenthost_protocol::sorted::sort_by_key;
use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser};

use self::tree::TreeBuilder;
use super::MarkdownBlock;
use super::link::{LinkDefinitions, is_safe_url, label_key};

/// The result of parsing a piece of a document.
#[derive(Debug, Default)]
pub(super) struct ParsedPiece {
    pub(super) blocks: Vec<MarkdownBlock>,
    /// Keys of the labels that look like references and have no definition.
    pub(super) missing: Vec<String>,
    /// Label keys and addresses of the definitions in the piece. Unsafe addresses are empty: their
    /// references become text.
    pub(super) defined: Vec<(String, String)>,
}

/// Parses a piece. References are resolved by its own definitions first, then by `definitions`.
/// If `is_open`, more text may follow.
pub(super) fn parse_piece(
    source: &str,
    definitions: &LinkDefinitions,
    is_open: bool,
) -> ParsedPiece {
    let missing = RefCell::new(Vec::new());
    let mut resolve = |link: BrokenLink<'_>| {
        let key = label_key(&link.reference);
        let url = definitions.resolve(&key);
        if url.is_none() {
            missing.borrow_mut().push(key);
        }
        url.map(|url| (CowStr::from(url), CowStr::from("")))
    };
    let parser = new_parser(source, options(), Some(&mut resolve));
    let mut defined: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| {
            let url = Some(definition.dest.to_string()).filter(|url| is_safe_url(url));
            let at = definition.span.start;
            (at, label_key(label), url.unwrap_or_default())
        })
        .collect();
    sort_by_key(&mut defined, |(at, _, _)| *at as i128);
    let mut builder = TreeBuilder::default();
    for (event, range) in parser.into_offset_iter() {
        let is_fence_open = is_open && is_open_fence(&event, source, range);
        builder.push(event, is_fence_open);
    }
    ParsedPiece {
        blocks: builder.finish(),
        missing: missing.into_inner(),
        defined: defined
            .into_iter()
            .map(|(_, key, url)| (key, url))
            .collect(),
    }
}

/// Returns the lines of each block of the top level, in order. Between blocks are only blank lines
/// and definitions of links.
pub(super) fn block_spans(source: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in new_parser(source, options(), None).into_offset_iter() {
        let is_block = depth == 0;
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Event::Rule => {}
            _ => continue,
        }
        if is_block {
            let lines = whole_lines(source, range);
            match spans.last_mut() {
                // Lines may also end with a carriage return alone. Such blocks stay together.
                Some(last) if lines.start < last.end => last.end = last.end.max(lines.end),
                _ => spans.push(lines),
            }
        }
    }
    spans
}

/// Resolves a reference without a definition in the piece: its address and title.
pub(crate) type LinkResolver<'s, 'r> =
    &'r mut dyn FnMut(BrokenLink<'s>) -> Option<(CowStr<'s>, CowStr<'s>)>;

/// Creates a parser. It has the same type with and without a resolver, because the code of the
/// parser is compiled for each type.
pub(crate) fn new_parser<'s, 'r>(
    source: &'s str,
    options: Options,
    resolver: Option<LinkResolver<'s, 'r>>,
) -> Parser<'s, LinkResolver<'s, 'r>> {
    Parser::new_with_broken_link_callback(source, options, resolver)
}

/// Extends a range to the start of its first line and the end of its last one.
fn whole_lines(source: &str, range: Range<usize>) -> Range<usize> {
    let before = source.get(..range.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let is_ended = source
        .get(start..range.end)
        .is_some_and(|lines| lines.ends_with('\n'));
    let after = source.get(range.end..).unwrap_or_default();
    let missing = after.find('\n').map_or(after.len(), |at| at + 1);
    let end = range.end + if is_ended { 0 } else { missing };
    start..end
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH
}

/// Returns `true` if a fence starts here and is not closed before the end of the source.
fn is_open_fence(event: &Event<'_>, source: &str, range: Range<usize>) -> bool {
    use pulldown_cmark::{CodeBlockKind, Tag};
    if !matches!(
        event,
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
    ) {
        return false;
    }
    let is_at_end = source
        .get(range.end..)
        .is_none_or(|rest| rest.trim().is_empty());
    let code = source.get(range).unwrap_or_default().trim_start();
    let mark = code.chars().next().unwrap_or('`');
    let width = code.chars().take_while(|c| *c == mark).count();
    let last_line = code.trim_end().rsplit_once('\n').map(|(_, line)| line);
    let is_closed = last_line.is_some_and(|line| {
        let fence = line.trim_start_matches([' ', '\t', '>']);
        fence.chars().count() >= width && fence.chars().all(|c| c == mark)
    });
    is_at_end && !is_closed
}
