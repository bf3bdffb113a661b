//! Fuzz target for the output of terminal programs.

use agenthost_core::TerminalEvent;
use agenthost_protocol::terminal::{OutputTail, PlainOutput};

use super::osc::OscParser;

/// Nonce of the shell marks in the fuzz input.
const MARK_NONCE: &str = "n";

/// Maximum size of the `OutputTail` in this target.
const MAX_TAIL_BYTES: usize = 64;

/// Parses output whole, in two pieces and in small pieces. The events must be the same, no text
/// may be lost, and no event may end in the middle of a character or of a sequence with a
/// title, a directory or a mark.
///
/// The first byte sets the size of the pieces.
pub fn terminal_output(data: &[u8]) {
    let Some((&size, data)) = data.split_first() else {
        return;
    };
    let whole = read(&[data]);
    let (first, second) = data.split_at(data.len().min(usize::from(size)));
    assert_eq!(read(&[first, second]), whole, "in two pieces");
    let size = usize::from(size % 16).saturating_add(1);
    let pieces: Vec<_> = data.chunks(size).collect();
    assert_eq!(read(&pieces), whole, "in pieces of {size}");
    let text: String = whole.iter().map(text_of).collect();
    check_plain(&text, size);
}

/// Returns all events of output in pieces, with adjacent output events joined.
fn read(pieces: &[&[u8]]) -> Vec<TerminalEvent> {
    let mut sequences = OscParser::new(Some(MARK_NONCE.to_owned()));
    let mut written = Vec::new();
    let mut all = Vec::new();
    for piece in pieces {
        written.extend_from_slice(piece);
        let events = sequences.push(piece);
        // A pending sequence begins with an escape, which terminates the text before it.
        if let Some(last) = events.last().filter(|_| sequences.pending.is_empty()) {
            check_is_whole(text_of(last), &written);
        }
        all.extend(events);
    }
    all.extend(sequences.finish());
    all.dedup_by(|next, before| match (next, before) {
        (TerminalEvent::Output(next), TerminalEvent::Output(before)) => {
            before.data.push_str(&next.data);
            true
        }
        _ => false,
    });
    all
}

fn text_of(event: &TerminalEvent) -> &str {
    match event {
        TerminalEvent::Output(output) => &output.data,
        _ => "",
    }
}

/// Checks that output does not end in a sequence that may continue.
fn check_is_whole(text: &str, written: &[u8]) {
    // An escape before an incomplete character is text.
    let is_escape = text.ends_with('\u{1b}') && written.ends_with(b"\x1b");
    assert!(!is_escape, "ends with an escape");
    let Some(start) = text.rfind("\u{1b}]") else {
        return;
    };
    let sequence = text.get(start..).unwrap_or_default();
    let body = sequence.trim_start_matches("\u{1b}]");
    let is_open = !body.contains(['\u{7}', '\u{1b}']);
    // A sequence that a mark interrupted is text and can't continue.
    let can_go_on = String::from_utf8_lossy(written).ends_with(sequence);
    assert!(!(is_open && can_go_on), "ends in the middle of a sequence");
}

/// Checks that plain text does not depend on the pieces, and that the tail is its end.
fn check_plain(text: &str, size: usize) {
    let mut whole = PlainOutput::default();
    let mut expected = whole.push(text);
    let mut pieces = PlainOutput::default();
    let mut found = String::new();
    let mut tail = OutputTail::new(MAX_TAIL_BYTES);
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.ceil_char_boundary(size.min(rest.len()));
        let (piece, after) = rest.split_at(end);
        found.push_str(&pieces.push(piece));
        tail.push(piece);
        rest = after;
    }
    expected.push_str(&whole.finish());
    found.push_str(&pieces.finish());
    assert_eq!(found, expected, "plain text in pieces of {size}");
    assert!(!found.contains('\u{1b}'), "an escape is no plain text");
    let (kept, truncated) = tail.finish();
    assert!(kept.len() <= MAX_TAIL_BYTES, "the tail is bounded");
    if !truncated {
        assert_eq!(kept, expected, "a tail that is not cut is everything");
    }
}
