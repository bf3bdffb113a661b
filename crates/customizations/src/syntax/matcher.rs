//! Matchers of hooks, which select tools or events by name.
//!
//! A matcher is a name, several names separated by `|`, or a regular expression that has to
//! match a whole name. Names are short, and a regular expression takes time in proportion
//! to the name, so matching time is bounded.

use regex_automata::meta::{BuildError, Config, Regex};

/// Maximum length of a matcher in bytes.
const MAX_MATCHER_BYTES: usize = 1_000;

/// Maximum memory of a compiled regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 256 * 1024;

/// Checks that a matcher is valid, otherwise returns the problem.
pub(crate) fn check_matcher(matcher: &str) -> Result<(), &'static str> {
    if matcher.len() > MAX_MATCHER_BYTES {
        return Err("is too long");
    }
    match is_name_list(matcher) || matcher == "*" || build_regex(matcher).is_ok() {
        true => Ok(()),
        false => Err("is not a supported regular expression"),
    }
}

/// Returns `true` if a matcher selects one of the names.
pub(crate) fn matches(matcher: &str, names: &[String]) -> bool {
    if is_name_list(matcher) {
        let mut words = matcher.split('|').map(str::trim);
        return words.any(|word| names.iter().any(|name| name == word));
    }
    // An invalid matcher was reported by the parser and matches nothing.
    build_regex(matcher)
        .is_ok_and(|expression| names.iter().any(|name| expression.is_match(name.as_str())))
}

/// Returns `true` if a matcher consists of names only.
fn is_name_list(matcher: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '|' | '/' | ':');
    matcher.chars().all(plain)
}

fn build_regex(matcher: &str) -> Result<Regex, Box<BuildError>> {
    let bounds = Config::new()
        .nfa_size_limit(Some(MAX_REGEX_BYTES))
        .onepass_size_limit(Some(MAX_REGEX_BYTES))
        .hybrid_cache_capacity(MAX_REGEX_BYTES);
    let whole = format!("^(?:{matcher})$");
    let built = Regex::builder().configure(bounds).build(&whole);
    built.map_err(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(matcher: &str, name: &str) -> bool {
        check_matcher(matcher).is_ok() && matches(matcher, &["other".to_owned(), name.to_owned()])
    }

    #[test]
    fn matchers_match_whole_names() {
        assert!(about("Bash", "Bash"));
        assert!(about("Edit | Write", "Write"));
        assert!(about("mcp__.*__write.*", "mcp__files__write_file"));
        assert!(about("Notebook.*|Edit", "NotebookEdit"));
        assert!(about("other", "Bash"));
        assert!(!about("Bash", "BashOutput"));
        assert!(!about("Edit.", "MultiEdit1"));
        assert!(!about("bash", "Bash"));
    }

    #[test]
    fn an_invalid_matcher_matches_nothing() {
        for wrong in ["(", "a{1000}{1000}{1000}", "[z-a]", &"x".repeat(2_000)] {
            assert!(check_matcher(wrong).is_err(), "{wrong}");
        }
        assert!(!matches("(", &["(".to_owned()]));
        assert_eq!(check_matcher("*"), Ok(()));
    }
}
