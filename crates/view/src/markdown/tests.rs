mod stream;

use std::fmt::Write;

use expect_test::{Expect, expect};

use super::*;

/// Shows blocks as an indented outline.
fn outline(blocks: &[MarkdownBlock], depth: usize) -> String {
    let mut shown = String::new();
    for block in blocks {
        let mut line = |text: String| writeln!(shown, "{}{text}", "  ".repeat(depth)).unwrap();
        match block {
            MarkdownBlock::Paragraph { children } => line(format!("p {}", inlines(children))),
            MarkdownBlock::Heading { level, children } => {
                line(format!("h{level} {}", inlines(children)));
            }
            MarkdownBlock::Code {
                language,
                text,
                open,
            } => line(format!("code {language:?} {text:?} open={open}")),
            MarkdownBlock::List { start, items, .. } => {
                line(format!("list {start:?}"));
                for item in items {
                    writeln!(shown, "{}- {:?}", "  ".repeat(depth + 1), item.checked).unwrap();
                    shown += &outline(&item.blocks, depth + 2);
                }
            }
            MarkdownBlock::Quote { blocks } => {
                line("quote".to_owned());
                shown += &outline(blocks, depth + 1);
            }
            MarkdownBlock::Rule => line("rule".to_owned()),
            MarkdownBlock::Table { align, head, rows } => {
                line(format!("table {align:?}"));
                for row in [head].into_iter().chain(rows) {
                    let cells: Vec<_> = row.iter().map(|cell| inlines(cell)).collect();
                    line(format!("  {}", cells.join(" | ")));
                }
            }
        }
    }
    shown
}

fn inlines(children: &[MarkdownInline]) -> String {
    let shown = children.iter().map(|inline| match inline {
        MarkdownInline::Text { text } => format!("{text:?}"),
        MarkdownInline::Code { text } => format!("code({text:?})"),
        MarkdownInline::Strong { children } => format!("strong({})", inlines(children)),
        MarkdownInline::Emphasis { children } => format!("em({})", inlines(children)),
        MarkdownInline::Strikethrough { children } => format!("del({})", inlines(children)),
        MarkdownInline::Link { url, children } => format!("link({url} {})", inlines(children)),
        MarkdownInline::Image { url, alt } => format!("image({url} {alt:?})"),
        MarkdownInline::Break => "break".to_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn show(document: &MarkdownDocument) -> String {
    let blocks: Vec<_> = document.blocks().map(|block| (**block).clone()).collect();
    outline(&blocks, 0)
}

fn parse(text: &str) -> Vec<MarkdownBlock> {
    let blocks = parse_markdown(text);
    blocks.iter().map(|block| (**block).clone()).collect()
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&outline(&parse(text), 0));
}

#[test]
fn paragraphs_have_formats() {
    check(
        "# A *b*\n\none **two** ~~three~~ `four`\nfive  \nsix ![pic](https://x.y/z.png)",
        expect![[r#"
            h1 "A " em("b")
            p "one " strong("two") " " del("three") " " code("four") "\nfive" break "six " image(https://x.y/z.png "pic")
        "#]],
    );
}

#[test]
fn lists_nest_and_have_tasks() {
    check(
        "1. one\n   - [ ] open\n   - [x] done\n\n     more\n2. two\n\n---\n> quote\n> - a\n",
        expect![[r#"
            list Some(1)
              - None
                p "one"
                list None
                  - Some(false)
                    p "open"
                  - Some(true)
                    p "done"
                    p "more"
              - None
                p "two"
            rule
            quote
              p "quote"
              list None
                - None
                  p "a"
        "#]],
    );
}

#[test]
fn code_has_a_language_and_no_last_newline() {
    check(
        "```rust,ignore\nfn a() {}\n\n```\n\n    indented\n\n~~~\n```\n~~~\n",
        expect![[r#"
            code Some("rust") "fn a() {}\n" open=false
            code None "indented" open=false
            code None "```" open=false
        "#]],
    );
}

#[test]
fn tables_have_alignment_and_short_rows() {
    check(
        "|a|b|c|\n|-|:-:|-:|\n|1|*2*|3|\n|only|\n",
        expect![[r#"
            table [None, Center, Right]
              "a" | "b" | "c"
              "1" | em("2") | "3"
              "only"
        "#]],
    );
}

#[test]
fn raw_html_becomes_text() {
    check(
        "a <b onclick=\"x\">bold</b>\n\n<script>\nalert(1)\n</script>\n\n<!-- c -->\n",
        expect![[r#"
            p "a <b onclick=\"x\">bold</b>"
            p "<script>\nalert(1)\n</script>"
            p "<!-- c -->"
        "#]],
    );
}

#[test]
fn unsafe_addresses_become_text() {
    check(
        "[a](javascript:alert(1)) [b](https://ok.example) [c](JaVaScRiPt:x) [d](data:text/html,x)
[e](src/main.rs) ![f](javascript:x) <a@b.c> <https://auto.example> [g](agenthost-git:/x)
[h](vbscript:x) [i](&#106;avascript:x) [j](<java\tscript:x>) [k](//host/path) [l](#anchor)\n",
        expect![[r#"
            p "a " link(https://ok.example "b") " c d\ne f " link(mailto:a@b.c "a@b.c") " " link(https://auto.example "https://auto.example") " " link(agenthost-git:/x "g") "\nh i j k l"
        "#]],
    );
}

#[test]
fn blocks_are_serialized_as_the_page_expects() {
    let blocks = parse("1. [x] a\n\n```\nx\n```\n\n|a|\n|-|\n");
    let json = serde_json::to_string(&blocks).unwrap();
    expect![[r#"[{"kind":"list","ordered":true,"start":1,"items":[{"checked":true,"blocks":[{"kind":"paragraph","children":[{"kind":"text","text":"a"}]}]}]},{"kind":"code","text":"x","open":false},{"kind":"table","align":["none"],"head":[[{"kind":"text","text":"a"}]],"rows":[]}]"#]].assert_eq(&json);
}

#[test]
fn a_definition_applies_to_later_blocks_while_text_streams() {
    let mut document = MarkdownDocument::default();
    document.append(
        "[early]\n\n[x]\n\n[x]: https://x.example\n\n[X]\n\n[early]: https://e.example\n\nend\n",
    );
    expect![[r#"
        p "[early]"
        p "[x]"
        p link(https://x.example "X")
        p "end"
    "#]]
    .assert_eq(&show(&document));
}

#[test]
fn finishing_resolves_references_to_later_definitions() {
    check(
        "see [early] and [other]\n\nnext\n\n[early]: https://e.example\n",
        expect![[r#"
            p "see " link(https://e.example "early") " and [other]"
            p "next"
        "#]],
    );
}

#[test]
fn an_open_fence_is_marked_until_it_is_closed() {
    let mut document = MarkdownDocument::default();
    let mut shown = String::new();
    for piece in ["```py", "thon\nprint", "(1)\n", "``", "`", "\nafter"] {
        document.append(piece);
        writeln!(shown, "{}", show(&document).trim_end()).unwrap();
    }
    expect![[r#"
        code Some("py") "" open=true
        code Some("python") "print" open=true
        code Some("python") "print(1)" open=true
        code Some("python") "print(1)\n``" open=true
        code Some("python") "print(1)" open=false
        code Some("python") "print(1)" open=false
        p "after"
    "#]]
    .assert_eq(&shown);
    let mut document = MarkdownDocument::default();
    document.update("- a\n\n  ```\n  x\n", true);
    assert!(show(&document).contains("open=true"));
    document.update("- a\n\n  ```\n  x\n", false);
    assert!(!show(&document).contains("open=true"));
}

/// The depth of blocks, by their outline.
fn depth(text: &str) -> usize {
    let shown = outline(&parse(text), 0);
    let depths = shown
        .lines()
        .map(|line| line.len() - line.trim_start().len());
    depths.max().unwrap_or(0) / 2
}

#[test]
fn deep_nesting_is_bounded_and_keeps_its_text() {
    let mut nested = String::new();
    for level in 0..200 {
        writeln!(nested, "{}- level{level}", "  ".repeat(level)).unwrap();
    }
    assert!(depth(&nested) <= MAX_BLOCK_DEPTH + 1);
    let shown = outline(&parse(&nested), 0);
    assert!((0..200).all(|level| shown.contains(&format!("level{level}"))));
    let emphasis = format!("{}x{}", "*a **b ".repeat(500), "** *".repeat(500));
    assert!(outline(&parse(&emphasis), 0).contains('x'));
}

#[test]
fn a_line_with_hostile_nesting_is_shown_unparsed() {
    let text = format!("*fine*\n\n{}x\nrest *here*\n", "> ".repeat(100_000));
    let blocks = parse(&text);
    assert!(matches!(blocks[0], MarkdownBlock::Paragraph { .. }));
    let plain = blocks[1..].iter().map(|block| match block {
        MarkdownBlock::Code { text, open, .. } if !open => text.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(plain.collect::<String>(), text["*fine*\n\n".len()..]);
}
