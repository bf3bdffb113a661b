//! Documents that grow: pieces give the same blocks as the whole, and blocks are parsed once.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::*;

fn append_all<'a>(pieces: impl IntoIterator<Item = &'a str>) -> MarkdownDocument {
    let mut document = MarkdownDocument::default();
    for piece in pieces {
        document.append(piece);
    }
    document
}

fn blocks(document: &MarkdownDocument) -> Vec<MarkdownBlock> {
    document.blocks().map(|block| (**block).clone()).collect()
}

const SAMPLE: &str = "# Title\n\nSome *text* with [a link][1] and `code`.\n\n- one\n  - two\n\n    \
    more\n- three\n\n```rust\nfn main() {}\n\n# no heading\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\
    > quote\nlazy\n\n[1]: https://x.example\n\nSetext\n===\n\n1. x\n2. y\n\nlast [1] line";

#[test]
fn every_split_of_a_sample_gives_the_same_blocks() {
    let whole = blocks(&append_all([SAMPLE]));
    let mut complete = append_all([SAMPLE]);
    complete.finish();
    for at in 0..=SAMPLE.len() {
        let (first, second) = SAMPLE.split_at(at);
        let mut document = append_all([first, second]);
        assert_eq!(blocks(&document), whole, "split at {at}");
        document.finish();
        assert_eq!(
            blocks(&document),
            blocks(&complete),
            "finished, split at {at}"
        );
    }
    let single = SAMPLE
        .char_indices()
        .map(|(at, c)| &SAMPLE[at..at + c.len_utf8()]);
    assert_eq!(blocks(&append_all(single)), whole);
}

#[test]
fn complete_blocks_are_never_replaced_while_text_streams() {
    let mut document = MarkdownDocument::default();
    let mut seen: Vec<Arc<MarkdownBlock>> = Vec::new();
    for c in SAMPLE.repeat(3).chars() {
        document.append(c.encode_utf8(&mut [0; 4]));
        let complete: Vec<_> = document.blocks().take(document.complete_count()).collect();
        assert!(complete.len() >= seen.len());
        assert!(
            seen.iter()
                .zip(&complete)
                .all(|(old, new)| Arc::ptr_eq(old, new))
        );
        seen = complete.into_iter().cloned().collect();
    }
}

#[test]
fn work_is_proportional_to_the_text() {
    let paragraph = "word *and* word\n\n";
    let count = 2_000;
    let document = append_all(std::iter::repeat_n(paragraph, count));
    let per_byte = document.parsed_bytes() / document.text().len() as u64;
    assert!(per_byte <= 6, "{per_byte}");
}

#[test]
fn work_for_one_large_block_is_bounded() {
    let line = "word and more words in one long paragraph without an end\n";
    let count = 12_000;
    let document = append_all(std::iter::repeat_n(line, count));
    // Each parse reads the block three times: for complete blocks, for open blocks and for
    // the tree. Up to 64 KiB that is done for each append; from there on, 16 times
    // while the block doubles.
    let small: u64 = 3 * (64 * 1024 / line.len() as u64) * 32 * 1024;
    let large = 3 * 32 * document.text().len() as u64;
    assert!(document.parsed_bytes() <= small + large);
    let shown: usize = document.blocks().count();
    assert!(shown <= 2);
}

#[test]
fn an_update_appends_or_replaces() {
    let mut document = MarkdownDocument::default();
    document.update("one\n\ntwo\n", true);
    let first = document.blocks().next().cloned();
    document.update("one\n\ntwo\nthree", true);
    assert!(Arc::ptr_eq(
        &first.unwrap(),
        document.blocks().next().unwrap()
    ));
    document.update("other", false);
    assert_eq!(document.text(), "other");
    assert_eq!(document.blocks().count(), 1);
    document.update("other\n\nmore", true);
    assert_eq!(document.blocks().count(), 2);
    document.update("", false);
    assert_eq!(document.blocks().count(), 0);
}

/// Inputs that are known to be slow in parsers of Markdown.
#[test]
fn hostile_inputs_are_parsed_in_time() {
    let repeated = [
        "[",
        "![",
        "*a ",
        "_a*",
        "`",
        "``` ",
        "<",
        "<!--",
        "|",
        "> ",
        "- ",
        "1. ",
        "\t- ",
        "~~a~",
        "&",
        "\\",
        "[a](",
        "[a]: b\n",
        "a\n",
        "\n",
        "- a\n",
        "> a\n\n",
        "|a|\n|-|\n",
        "#",
        "[x]",
        "-\n\n",
        "\r",
        "**a [b",
        "<a href=",
        "a**b",
        "```\n",
    ];
    for pattern in repeated {
        let text = pattern.repeat(40_000 / pattern.len());
        let mut document = append_all([text.as_str()]);
        document.finish();
        assert!(
            document.parsed_bytes() <= 8 * text.len() as u64,
            "{pattern:?}"
        );
    }
    let wide = format!(
        "{}|\n{}|\n{}",
        "|a".repeat(2_000),
        "|-".repeat(2_000),
        "|\n".repeat(9_000)
    );
    assert!(parse_markdown(&wide).len() <= 4);
    let narrow = format!(
        "{}|\n{}|\n{}",
        "|a".repeat(100),
        "|-".repeat(100),
        "|\n".repeat(3_000)
    );
    let cells = serde_json::to_string(&parse_markdown(&narrow)).unwrap();
    assert!(cells.len() < 20 * narrow.len());
}

#[test]
fn references_to_a_long_address_are_bounded() {
    let address = "x".repeat(2_000);
    let text = format!("[a]: https://{address}\n\n{}", "[a]\n\n".repeat(5_000));
    let size = serde_json::to_string(&parse_markdown(&text)).unwrap().len();
    assert!(size < 2_000_000, "{size}");
}

fn any_markdown() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "a",
        "b c",
        "\n",
        "\n",
        "\n\n",
        "\n\n",
        " ",
        "  ",
        "    ",
        "\t",
        "- ",
        "* ",
        "+ ",
        "1. ",
        "2) ",
        "> ",
        "# ",
        "#",
        "```",
        "~~~",
        "```rs\n",
        "---",
        "===",
        "-",
        "=",
        "|",
        "|a|b|\n",
        "|-|-|\n",
        "[x]",
        "[x]: https://e.example",
        "[x]:",
        "\n[x]: https://x.example \"t",
        "[y][x]",
        "\n'",
        "> [x]: https://q.example\n",
        "(https://u.example)",
        "*",
        "**",
        "_",
        "~~",
        "`",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<b>",
        "\\",
        "é",
        "😀",
        "\r\n",
        "\r",
        "[ ] ",
        "[x] ",
        "![",
        "]",
        "&amp;",
        "<script>",
        "</script>",
        "<?",
        "'",
        "\"",
        "--|--\n",
        "a | b\n",
    ]);
    prop::collection::vec(token, 0..30).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn pieces_give_the_same_blocks_as_the_whole(
        text in any_markdown(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.retain(|at| text.is_char_boundary(*at));
        places.extend([0, text.len()]);
        places.sort();
        let pieces = places.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        let mut streamed = append_all(pieces);
        let mut whole = append_all([text.as_str()]);
        prop_assert_eq!(blocks(&streamed), blocks(&whole));
        streamed.finish();
        whole.finish();
        prop_assert_eq!(blocks(&streamed), blocks(&whole));
    }

    #[test]
    fn divided_documents_equal_those_parsed_at_once(text in any_markdown()) {
        // The parser drops text after a blank line that ends with a carriage return alone.
        let lines = text.split("\r\n").map(|part| part.replace('\r', ""));
        let text = lines.collect::<Vec<_>>().join("\r\n").replace("]:", "]");
        let whole = parse::parse_piece(&text, &Default::default(), false);
        let divided = parse_markdown(&text);
        prop_assert_eq!(
            divided.iter().map(|block| (**block).clone()).collect::<Vec<_>>(),
            whole.blocks
        );
    }
}
