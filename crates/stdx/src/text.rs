//! Shortens text that is shown to a user.

/// Returns the first `max_chars` characters of a text.
pub fn truncate_chars(text: &str, max_chars: usize) -> String {
    text.chars().take(max_chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_characters() {
        assert_eq!(truncate_chars("äöü", 3), "äöü");
        assert_eq!(truncate_chars("äöü", 2), "äö");
        assert_eq!(truncate_chars("", 0), "");
    }
}
