//! Errors and decisions that code must not hide: errors as text, ignored results, `_` arms.

use crate::Workspace;
use crate::ceilings::{Measure, Measurement, check};
use crate::lexer::is_word;
use crate::sources::{Source, closing_brace, leading_word};

/// The `Agent` trait reports errors of any agent, as text for a person.
const AGENT_TRAIT: &str = "crates/agents/src/agent.rs";

/// Crates that decide about protocol enums.
const DECIDING_CRATES: &[&str] = &["core", "server", "versions"];

/// Enums of the protocol that get new variants with a new version.
const PROTOCOL_ENUMS: &[&str] = &[
    "Action",
    "AnnotationsAction",
    "Attachment",
    "AutomationRunAction",
    "AutomationsAction",
    "CanvasAction",
    "ChangesetAction",
    "ChangesetStatus",
    "ChannelKind",
    "ChannelState",
    "ChatAction",
    "ChildCustomization",
    "ClientNotification",
    "ClientRequest",
    "Customization",
    "HostNotification",
    "HostRequest",
    "InputRequest",
    "McpServerState",
    "MessageKind",
    "Outcome",
    "ResourceWatchAction",
    "ResponsePart",
    "RootAction",
    "SessionAction",
    "SessionInputRequest",
    "TerminalAction",
    "TerminalClaim",
    "TerminalPart",
    "ToolCall",
    "ToolCallState",
];

/// Calls whose results `drop(…)` must not hide.
const FALLIBLE_CALLS: &[&str] = &[".send(", ".await", "timeout("];

/// Counts the places where the error of a `Result` is a `String`.
pub(crate) fn string_errors(workspace: &Workspace) -> Measurement {
    let sources = workspace
        .product_sources()
        .filter(|source| source.path != AGENT_TRAIT);
    let places = sources.flat_map(|source| {
        let offsets = source.offsets_of("Result<").into_iter();
        offsets
            .filter(|at| !source.code[..*at].ends_with(is_word))
            .filter(|at| error_type(&source.code[at + "Result<".len()..]) == Some("String"))
            .map(|at| source.place(source.line_at(at)))
    });
    let advice = "return an error enum with a variant for each choice of the caller";
    Measurement::count(places.collect(), advice)
}

/// Counts the statements that end in `.unwrap_or_default();` and use no value.
pub(crate) fn silent_defaults(workspace: &Workspace) -> Measurement {
    let mut places = Vec::new();
    for source in workspace.product_sources() {
        let lines: Vec<_> = source.code.split('\n').collect();
        for line in source.code_lines() {
            let is_end = line.text.trim_end().ends_with(".unwrap_or_default();");
            if is_end && !uses_value(statement_start(&lines, line.number)) {
                places.push(source.place(line.number));
            }
        }
    }
    let advice = "handle the error, or ignore it with a method of `stdx::result` that says why";
    Measurement::count(places, advice)
}

/// Counts the results of sends, waits and timeouts that are dropped.
pub(crate) fn silent_drops(workspace: &Workspace) -> Measurement {
    let mut places = Vec::new();
    for source in workspace.product_sources() {
        for line in source.code_lines() {
            let statement = source.code[line.offset..].split(';').next();
            let statement = statement.unwrap_or_default().trim_start();
            if line.text.trim_start().starts_with("drop(")
                && statement.ends_with(')')
                && FALLIBLE_CALLS.iter().any(|call| statement.contains(call))
            {
                places.push(source.place(line.number));
            }
        }
    }
    let advice = "handle the error, or ignore it with a method of `stdx::result` that says why";
    Measurement::count(places, advice)
}

/// Counts the places that handle a poisoned lock themselves.
pub(crate) fn poison_handlers(workspace: &Workspace) -> Measurement {
    let places = workspace.product_sources().flat_map(|source| {
        let offsets = source.offsets_of("PoisonError::into_inner").into_iter();
        offsets.map(|at| source.place(source.line_at(at)))
    });
    Measurement::count(
        places.collect(),
        "use `stdx::sync`, which has locks without poisoning",
    )
}

/// Counts the arms `_ =>` of matches that name variants of a protocol enum.
pub(crate) fn wildcard_arms(workspace: &Workspace) -> Measurement {
    let sources = workspace
        .product_sources()
        .filter(|source| DECIDING_CRATES.contains(&source.crate_name.as_str()));
    let places = sources.flat_map(|source| {
        let lines = wildcard_lines(source).into_iter();
        lines.map(|line| source.place(line))
    });
    let advice = "name the variants: a new one must break the build where a decision is owed";
    Measurement::count(places.collect(), advice)
}

/// Returns the second argument of a generic type, given the code after `Result<`.
fn error_type(arguments: &str) -> Option<&str> {
    let mut depth = 1;
    let mut begin = 0;
    let mut index = 0;
    let mut previous = b' ';
    for (at, byte) in arguments.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'>' if previous != b'-' => depth -= 1,
            _ => {}
        }
        let is_end = depth == 0 || (depth == 1 && byte == b',');
        if is_end && index == 1 {
            return Some(arguments[begin..at].trim());
        }
        if depth == 0 {
            return None;
        }
        if is_end {
            index += 1;
            begin = at + 1;
        }
        previous = byte;
    }
    None
}

/// Returns the first line of the statement that ends on line `number`.
fn statement_start<'a>(lines: &[&'a str], number: usize) -> &'a str {
    let mut first = number - 1;
    while first > 0 && !lines[first - 1].trim_end().ends_with([';', '{', '}']) {
        first -= 1;
    }
    let mut statement = lines[first..number].iter();
    statement
        .find(|line| !line.trim().is_empty())
        .unwrap_or(&"")
}

/// Returns `true` for statements that bind, assign or return a value.
fn uses_value(statement: &str) -> bool {
    let statement = statement.trim_start();
    if matches!(leading_word(statement), "let" | "return") {
        return true;
    }
    let is_place = |c: char| is_word(c) || ['.', '*', '[', ']'].contains(&c);
    let rest = statement.trim_start_matches(is_place);
    if rest.len() == statement.len() {
        return false;
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix(['+', '|']).unwrap_or(rest);
    rest.starts_with('=') && !rest.starts_with("==")
}

fn wildcard_lines(source: &Source) -> Vec<usize> {
    let code = &source.code;
    let bodies: Vec<_> = code
        .match_indices("match")
        .filter(|(at, word)| {
            let after = &code[at + word.len()..];
            !code[..*at].ends_with(is_word) && !after.starts_with(is_word)
        })
        .filter_map(|(at, _)| {
            let begin = at + code[at..].find(['{', '}', ';'])?;
            let is_body = code[begin..].starts_with('{');
            is_body.then(|| (begin, closing_brace(code, begin)))
        })
        .collect();
    let mut lines = Vec::new();
    for line in source.code_lines() {
        let arm = line.text.trim_start().strip_prefix('_');
        if !arm.is_some_and(|rest| rest.trim_start().starts_with("=>")) {
            continue;
        }
        let around = bodies
            .iter()
            .filter(|(begin, end)| *begin < line.offset && line.offset < *end);
        if let Some((begin, _)) = around.max()
            && names_protocol_variant(&code[begin + 1..line.offset])
        {
            lines.push(line.number);
        }
    }
    lines
}

/// Returns `true` if the arms of a `match` begin with variants of a protocol enum.
fn names_protocol_variant(arms: &str) -> bool {
    let mut depth = 0;
    let mut outermost = String::new();
    for character in arms.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth <= 0 || character == '\n' {
            outermost.push(character);
        }
    }
    outermost.lines().any(|line| {
        let pattern = line.trim_start();
        let pattern = pattern.strip_prefix('|').unwrap_or(pattern).trim_start();
        let name = leading_word(pattern);
        pattern[name.len()..].starts_with("::") && PROTOCOL_ENUMS.contains(&name)
    })
}

#[test]
fn errors_are_enums() {
    check(Measure::StringErrors);
}

#[test]
fn ignored_results_have_a_reason() {
    check(Measure::SilentDefaults);
}

#[test]
fn results_are_not_dropped() {
    check(Measure::SilentDrops);
}

#[test]
fn poisoned_locks_are_handled_in_one_place() {
    check(Measure::PoisonHandlers);
}

#[test]
fn matches_on_protocol_enums_are_exhaustive() {
    check(Measure::WildcardArms);
}

#[test]
fn error_types_and_statements_are_parsed() {
    assert_eq!(error_type("Vec<(u8, u8)>, String> {"), Some("String"));
    assert_eq!(
        error_type("Box<dyn Fn(u8) -> u8>, Refusal>"),
        Some("Refusal")
    );
    assert_eq!(error_type("()>"), None);
    let lines = [
        "{",
        "let x = y",
        "    .z.unwrap_or_default();",
        "",
        "sender",
        "    .send();",
    ];
    assert!(uses_value(statement_start(&lines, 3)));
    assert_eq!(statement_start(&lines, 6), "sender");
    assert!(uses_value("self.count += 1") && !uses_value("a == b") && !uses_value("a.send()"));
    assert!(names_protocol_variant(
        "\n    | ChatAction::Title(_) => {}\n"
    ));
    assert!(!names_protocol_variant(
        "Some(_) => {\n ChatAction::Title\n}\n"
    ));
}
