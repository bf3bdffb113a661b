use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const LABELS: &[&str] = &[
    "Fix the login page",
    "crates/view/src/markdown.rs",
    "crates/view/src/fuzzy.rs",
    "Größe der Übersicht",
    "😀 smile for the login",
];

fn check(query: &str, expected: Expect) {
    let mut finder = FuzzyFinder::new(LabelKind::Words);
    let mut text = String::new();
    for found in finder.find(query, LABELS.iter().copied(), 10) {
        let units: Vec<u16> = LABELS[found.index].encode_utf16().collect();
        let mut shown = String::new();
        let mut at = 0;
        for (start, end) in found.ranges {
            shown += &String::from_utf16(&units[at..start as usize]).unwrap();
            shown += "[";
            shown += &String::from_utf16(&units[start as usize..end as usize]).unwrap();
            shown += "]";
            at = end as usize;
        }
        shown += &String::from_utf16(&units[at..]).unwrap();
        text += &shown;
        text.push('\n');
    }
    expected.assert_eq(&text);
}

#[test]
fn characters_match_in_order_and_the_best_comes_first() {
    check(
        "login",
        expect![[r#"
        Fix the [login] page
        😀 smile for the [login]
    "#]],
    );
    check(
        "vfz",
        expect![[r#"
        crates/[v]iew/src/[f]u[z]zy.rs
    "#]],
    );
}

#[test]
fn words_match_in_any_order() {
    check(
        "page fix",
        expect![[r#"
        [Fix] the login [page]
    "#]],
    );
}

#[test]
fn accents_are_optional_in_the_query() {
    check(
        "ubersicht",
        expect![[r#"
        Größe der [Übersicht]
    "#]],
    );
}

#[test]
fn ranges_count_utf16_units() {
    check(
        "smile",
        expect![[r#"
        😀 [smile] for the login
    "#]],
    );
}

#[test]
fn capitals_match_only_capitals() {
    check("LOGIN", expect![[r#""#]]);
}

#[test]
fn anchors_of_a_word_match_the_start_or_end() {
    check(
        "^fix",
        expect![[r#"
        [Fix] the login page
    "#]],
    );
    check(
        "login$",
        expect![[r#"
        😀 smile for the [login]
    "#]],
    );
    check(
        "'view !fuzzy",
        expect![[r#"
        crates/[view]/src/markdown.rs
    "#]],
    );
}

#[test]
fn a_word_with_accents_distinguishes_them() {
    check(
        "größe",
        expect![[r#"
        [Größe] der Übersicht
    "#]],
    );
    check("grösse", expect![[r#""#]]);
}

#[test]
fn word_starts_and_few_gaps_rank_higher() {
    let mut finder = FuzzyFinder::new(LabelKind::Paths);
    let labels = [
        "mainframe/alone",
        "src/fast_main.rs",
        "m/a/i/n",
        "src/main.rs",
    ];
    let found = finder.find("main", labels, 10);
    let order: Vec<_> = found.iter().map(|found| labels[found.index]).collect();
    assert_eq!(
        order,
        [
            "src/main.rs",
            "m/a/i/n",
            "mainframe/alone",
            "src/fast_main.rs"
        ]
    );
}

#[test]
fn an_empty_query_matches_all_in_order() {
    check(
        "",
        expect![[r#"
        Fix the login page
        crates/view/src/markdown.rs
        crates/view/src/fuzzy.rs
        Größe der Übersicht
        😀 smile for the login
    "#]],
    );
}

#[test]
fn results_are_bounded() {
    let mut finder = FuzzyFinder::new(LabelKind::Paths);
    let labels: Vec<String> = (0..5_000).map(|n| format!("src/file{n}.rs")).collect();
    let found = finder.find("file", labels.iter().map(String::as_str), 20);
    assert_eq!(found.len(), 20);
    let long = "a".repeat(1_000_000);
    let found = finder.find(&long, [long.as_str()], 20);
    let last = found[0].ranges.last().unwrap().1;
    assert!(last as usize <= MAX_LABEL_CHARS);
}

proptest! {
    #[test]
    fn any_query_and_label_give_ordered_ranges(query in "\\PC{0,12}", labels in prop::collection::vec("\\PC{0,40}", 0..12)) {
        let mut finder = FuzzyFinder::new(LabelKind::Words);
        let found = finder.find(&query, labels.iter().map(String::as_str), 5);
        prop_assert!(found.len() <= 5);
        prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for one in found {
            let length = labels[one.index].encode_utf16().count() as u32;
            let mut end = 0;
            for (index, range) in one.ranges.iter().enumerate() {
                prop_assert!(range.0 < range.1 && range.1 <= length);
                prop_assert!(index == 0 || range.0 > end);
                end = range.1;
            }
        }
    }
}
