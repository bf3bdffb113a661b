//! The labels of permission options.
//!
//! An agent chooses the label of an option, and separately its effect (the kind). A user reads
//! only the label, so an option named "Reject" that allows everything forever would be a trap.
//! The host keeps a label if its words agree with the kind. Otherwise, or if the words are
//! unknown, the host appends the kind.

/// Words of labels that allow a tool call.
const ALLOW_WORDS: [&str; 12] = [
    "allow", "approve", "accept", "yes", "ok", "okay", "grant", "permit", "proceed", "run",
    "continue", "confirm",
];

/// Words of labels that reject a tool call.
const REJECT_WORDS: [&str; 16] = [
    "reject", "deny", "decline", "no", "not", "don't", "dont", "never", "cancel", "refuse",
    "block", "disallow", "abort", "stop", "skip", "without",
];

/// Words of labels whose decision also applies to later tool calls.
const LASTING_WORDS: [&str; 8] = [
    "always",
    "forever",
    "never",
    "session",
    "project",
    "workspace",
    "remember",
    "permanently",
];

/// Phrases with the same meaning that contain words of the other lists.
const LASTING_PHRASES: [&str; 3] = ["don't ask again", "do not ask again", "never ask again"];

/// Returns the label that users see for an option with this label and kind.
pub(crate) fn option_label(label: &str, kind: &str) -> String {
    if label.is_empty() {
        return kind_label(kind).to_owned();
    }
    if label_matches_kind(label, kind) {
        label.to_owned()
    } else {
        format!("{label} ({})", kind_label(kind))
    }
}

/// Returns `true` if an option of this kind lets the tool call run. Unknown kinds do not.
pub(crate) fn is_allow_kind(kind: &str) -> bool {
    kind.starts_with("allow")
}

fn kind_label(kind: &str) -> &'static str {
    match kind {
        "allow_once" => "allow once",
        "allow_always" => "allow always",
        "reject_once" => "reject once",
        "reject_always" => "reject always",
        _ if is_allow_kind(kind) => "allow",
        _ => "reject",
    }
}

/// Returns `true` if the words of a label agree with its kind and do not contradict it.
fn label_matches_kind(label: &str, kind: &str) -> bool {
    let mut text = label.to_lowercase().replace('’', "'");
    let mut is_lasting = false;
    for phrase in LASTING_PHRASES {
        is_lasting |= text.contains(phrase);
        text = text.replace(phrase, " ");
    }
    let words: Vec<_> = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .collect();
    let has_word_of = |list: &[&str]| words.iter().any(|word| list.contains(word));
    is_lasting |= has_word_of(&LASTING_WORDS);
    let (says_kind, says_opposite) = if is_allow_kind(kind) {
        (has_word_of(&ALLOW_WORDS), has_word_of(&REJECT_WORDS))
    } else {
        (has_word_of(&REJECT_WORDS), has_word_of(&ALLOW_WORDS))
    };
    let matches_duration = if kind.ends_with("_always") {
        is_lasting && !has_word_of(&["once"])
    } else {
        !is_lasting
    };
    says_kind && !says_opposite && matches_duration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_agrees_with_its_kind_is_unchanged() {
        for (label, kind) in [
            ("Yes", "allow_once"),
            ("Yes, proceed", "allow_once"),
            ("Allow once", "allow_once"),
            ("Always Allow", "allow_always"),
            ("Yes, and don’t ask again for `npm test`", "allow_always"),
            ("Allow for this session", "allow_always"),
            ("No, and tell the agent what to do", "reject_once"),
            ("Reject", "reject_once"),
            ("Never", "reject_always"),
            ("No, and do not ask again", "reject_always"),
        ] {
            assert_eq!(option_label(label, kind), label);
        }
    }

    #[test]
    fn a_label_that_contradicts_its_kind_shows_the_kind() {
        for (label, kind, expected) in [
            ("Reject", "allow_always", "Reject (allow always)"),
            ("No", "allow_once", "No (allow once)"),
            ("Yes", "reject_once", "Yes (reject once)"),
            ("Yes", "allow_always", "Yes (allow always)"),
            ("Allow once", "allow_always", "Allow once (allow always)"),
            ("Always allow", "allow_once", "Always allow (allow once)"),
            (
                "Allow? No, cancel",
                "allow_once",
                "Allow? No, cancel (allow once)",
            ),
            (
                "Reject (reject once)",
                "allow_always",
                "Reject (reject once) (allow always)",
            ),
            ("Don't allow", "allow_once", "Don't allow (allow once)"),
        ] {
            assert_eq!(option_label(label, kind), expected);
        }
    }

    #[test]
    fn an_unrecognized_label_shows_the_kind() {
        for (label, kind, expected) in [
            ("Abbrechen", "allow_once", "Abbrechen (allow once)"),
            ("R\u{435}ject", "allow_once", "R\u{435}ject (allow once)"),
            ("Something new", "ponder", "Something new (reject)"),
            ("", "allow_always", "allow always"),
        ] {
            assert_eq!(option_label(label, kind), expected);
        }
    }
}
