//! What programs tell a terminal between what they write: titles and places.

use agenthost_core::TerminalEvent;
use agenthost_protocol::terminal::TerminalData;
use agenthost_protocol::uri::Uri;

use crate::text::take_whole;

/// Longest sequence that is looked at; a longer one is text like any other.
const LONGEST: usize = 4 * 1024;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Reads the output of a terminal. What belongs together, a character or a
/// sequence, is never told in two pieces, however it comes.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    /// What may be the beginning of something.
    open: Vec<u8>,
}

impl Sequences {
    /// Reads the next bytes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<TerminalEvent> {
        self.open.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.open);
        let mut events = Events::default();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let start = rest.iter().position(|byte| *byte == ESCAPE);
            let (text, sequence) = rest.split_at(start.unwrap_or(rest.len()));
            events.text(text);
            match end_of(sequence) {
                Found::Whole(length) => {
                    let (whole, after) = sequence.split_at(length);
                    events.sequence(whole);
                    rest = after;
                }
                Found::Open if sequence.len() < LONGEST => {
                    self.open = sequence.to_vec();
                    break;
                }
                Found::Open | Found::Other => {
                    let (escape, after) = sequence.split_at(sequence.len().min(1));
                    events.text(escape);
                    rest = after;
                }
            }
        }
        let (events, unfinished) = events.finish();
        if self.open.is_empty() {
            self.open = unfinished;
        }
        events
    }

    /// There is no more: what was open is all there is.
    pub(super) fn finish(&mut self) -> Vec<TerminalEvent> {
        let open = std::mem::take(&mut self.open);
        if open.is_empty() {
            return Vec::new();
        }
        vec![output(&open)]
    }
}

enum Found {
    /// A sequence of this length.
    Whole(usize),
    /// The beginning of one.
    Open,
    /// Something that is not looked at.
    Other,
}

/// Where a sequence of the kind that carries titles (OSC) ends.
fn end_of(bytes: &[u8]) -> Found {
    match bytes {
        [] | [_] => Found::Open,
        [_, b']', rest @ ..] => {
            for (index, byte) in rest.iter().enumerate() {
                match (byte, rest.get(index + 1)) {
                    (&BELL, _) => return Found::Whole(index + 3),
                    (&ESCAPE, Some(b'\\')) => return Found::Whole(index + 4),
                    (&ESCAPE, Some(_)) => return Found::Other,
                    _ => {}
                }
            }
            Found::Open
        }
        _ => Found::Other,
    }
}

#[derive(Default)]
struct Events {
    events: Vec<TerminalEvent>,
    text: Vec<u8>,
}

impl Events {
    fn text(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    /// Titles and places are part of the output as well. Marks of shells are
    /// not (TER-6).
    fn sequence(&mut self, sequence: &[u8]) {
        let inner = String::from_utf8_lossy(sequence);
        let inner = inner.trim_start_matches("\u{1b}]");
        let inner = inner.trim_end_matches('\u{7}').trim_end_matches("\u{1b}\\");
        let (kind, value) = inner.split_once(';').unwrap_or((inner, ""));
        match kind {
            "633" | "133" => {}
            _ => self.text(sequence),
        }
        let told = match kind {
            "0" | "2" => Some(TerminalEvent::Title(value.chars().take(200).collect())),
            "7" => place(value).map(TerminalEvent::Directory),
            _ => None,
        };
        if let Some(told) = told {
            self.settle();
            self.events.push(told);
        }
    }

    /// Makes output of the text so far.
    fn settle(&mut self) {
        if !self.text.is_empty() {
            self.events.push(output(&std::mem::take(&mut self.text)));
        }
    }

    /// All events, and the bytes of a character that is not whole yet.
    fn finish(mut self) -> (Vec<TerminalEvent>, Vec<u8>) {
        let data = take_whole(&mut self.text);
        if !data.is_empty() {
            let output = TerminalEvent::Output(TerminalData { data });
            self.events.push(output);
        }
        (self.events, self.text)
    }
}

/// Bytes as output. What is not UTF-8 is replaced.
fn output(bytes: &[u8]) -> TerminalEvent {
    let data = String::from_utf8_lossy(bytes).into_owned();
    TerminalEvent::Output(TerminalData { data })
}

/// The folder of a `file:` URI, whatever machine it names: it is this one.
fn place(value: &str) -> Option<Uri> {
    let rest = value.strip_prefix("file://")?;
    let path = rest.find('/').and_then(|slash| rest.get(slash..))?;
    Some(Uri::from(format!("file://{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> (String, Vec<TerminalEvent>) {
        let mut sequences = Sequences::default();
        let mut events: Vec<_> = pieces
            .iter()
            .flat_map(|piece| sequences.read(piece))
            .collect();
        events.extend(sequences.finish());
        let mut text = String::new();
        events.retain(|event| match event {
            TerminalEvent::Output(output) => {
                text.push_str(&output.data);
                false
            }
            _ => true,
        });
        (text, events)
    }

    #[test]
    fn titles_and_places_are_told() {
        let output = b"a\x1b]0;my title\x07b\x1b]7;file://box/tmp/x\x1b\\c\x1b]633;A\x07\x1b[1md";
        let (text, events) = read(&[output]);
        assert_eq!(
            text,
            "a\u{1b}]0;my title\u{7}b\u{1b}]7;file://box/tmp/x\u{1b}\\c\u{1b}[1md"
        );
        let place = Uri::from("file:///tmp/x");
        let title = "my title".to_owned();
        let expected = vec![TerminalEvent::Title(title), TerminalEvent::Directory(place)];
        assert_eq!(events, expected);
    }

    #[test]
    fn pieces_make_no_difference() {
        let output = "é🦀\u{1b}]2;t\u{7}x\u{1b}[0m\u{1b}]133;C\u{7}end".as_bytes();
        let whole = read(&[output]);
        for split in 0..output.len() {
            let (first, second) = output.split_at(split);
            assert_eq!(read(&[first, second]), whole, "split at {split}");
        }
        let bytes: Vec<_> = output.chunks(1).collect();
        assert_eq!(read(&bytes), whole);
    }

    #[test]
    fn what_never_ends_is_text() {
        let mut long = b"\x1b]0;".to_vec();
        long.extend(std::iter::repeat_n(b'x', 10_000));
        let (text, events) = read(&[&long]);
        assert_eq!((text.len(), events.len()), (long.len(), 0));
        let (text, events) = read(&[b"\xff\xfe ok \xf0\x9f"]);
        assert_eq!(
            (text.as_str(), events.len()),
            ("\u{fffd}\u{fffd} ok \u{fffd}", 0)
        );
    }
}
