//! Parses the escape sequences in terminal output that carry titles, directories and shell
//! marks (OSC).

use agenthost_core::TerminalEvent;
use agenthost_protocol::terminal::TerminalData;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::text::truncate_chars;

use super::shell_marks::ShellMarkParser;
use crate::utf8::drain_valid_utf8;

/// Maximum length of a sequence; a longer one is treated as text.
const MAX_OSC_BYTES: usize = 64 * 1024;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Parses the output of a terminal. A character or a sequence is never split between two
/// events, however the bytes arrive.
#[derive(Debug, Default)]
pub(super) struct OscParser {
    /// Text that was not sent yet.
    text: Vec<u8>,
    /// A possible beginning of a sequence.
    pub(super) pending: Vec<u8>,
    /// Number of pending bytes that were already searched for the end.
    scanned: usize,
    mark_parser: ShellMarkParser,
}

impl OscParser {
    /// Creates a parser. With a nonce, the marks of the shell are recognized.
    pub(super) fn new(nonce: Option<String>) -> Self {
        OscParser {
            mark_parser: ShellMarkParser::new(nonce),
            ..OscParser::default()
        }
    }

    /// Parses the next bytes and returns the complete events.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<TerminalEvent> {
        self.pending.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.pending);
        let mut seen = std::mem::take(&mut self.scanned);
        let mut events = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let start = rest.iter().position(|byte| *byte == ESCAPE);
            let (text, sequence) = rest.split_at(start.unwrap_or(rest.len()));
            self.text.extend_from_slice(text);
            match find_osc_end(sequence, std::mem::take(&mut seen)) {
                OscEnd::Complete(length) => {
                    let (whole, after) = sequence.split_at(length);
                    self.handle_sequence(whole, &mut events);
                    rest = after;
                }
                OscEnd::Incomplete if sequence.len() < MAX_OSC_BYTES => {
                    self.pending = sequence.to_vec();
                    // The last byte may be the first half of the terminator.
                    self.scanned = sequence.len().saturating_sub(1);
                    break;
                }
                OscEnd::Incomplete | OscEnd::NotOsc => {
                    let (escape, after) = sequence.split_at(sequence.len().min(1));
                    self.text.extend_from_slice(escape);
                    rest = after;
                }
            }
        }
        if self.is_command_pending() && self.text.len() < MAX_OSC_BYTES {
            return events;
        }
        events.extend(self.release_held());
        events
    }

    /// Returns `true` if output is held back until the line of its command is known.
    pub(super) fn is_command_pending(&self) -> bool {
        self.mark_parser.is_command_pending()
    }

    /// Releases the output that was held back, because the command line has not arrived in
    /// time.
    pub(super) fn release_held(&mut self) -> Vec<TerminalEvent> {
        let mut events: Vec<_> = self
            .mark_parser
            .take_pending_command()
            .into_iter()
            .collect();
        let data = drain_valid_utf8(&mut self.text);
        if !data.is_empty() {
            events.push(TerminalEvent::Output(TerminalData { data }));
        }
        events
    }

    /// Returns the rest of the output as events.
    pub(super) fn finish(&mut self) -> Vec<TerminalEvent> {
        let mut events: Vec<_> = self
            .mark_parser
            .take_pending_command()
            .into_iter()
            .collect();
        self.text.append(&mut self.pending);
        self.scanned = 0;
        self.flush_text(&mut events);
        events
    }

    /// Handles a complete sequence. Titles and directories are part of the output as well;
    /// marks of shells are not (TER-6).
    fn handle_sequence(&mut self, sequence: &[u8], events: &mut Vec<TerminalEvent>) {
        let inner = String::from_utf8_lossy(sequence);
        let inner = inner.trim_start_matches("\u{1b}]");
        let inner = inner.trim_end_matches('\u{7}').trim_end_matches("\u{1b}\\");
        let (kind, value) = inner.split_once(';').unwrap_or((inner, ""));
        match kind {
            "633" | "133" => {}
            _ => self.text.extend_from_slice(sequence),
        }
        let waited = self.is_command_pending();
        let told = match kind {
            "0" | "2" => vec![TerminalEvent::TitleChanged(truncate_chars(value, 200))],
            "7" => directory_uri(value)
                .map(TerminalEvent::DirectoryChanged)
                .into_iter()
                .collect(),
            "633" => self.mark_parser.parse(value),
            _ => Vec::new(),
        };
        let mut told = told.into_iter();
        // The output that was held back belongs to the command whose line has arrived.
        if waited && !self.is_command_pending() {
            events.extend(told.next());
        }
        if told.len() > 0 || self.is_command_pending() != waited {
            self.flush_text(events);
        }
        events.extend(told);
    }

    /// Sends the text so far as an output event.
    fn flush_text(&mut self, events: &mut Vec<TerminalEvent>) {
        if !self.text.is_empty() {
            events.push(output_event(&std::mem::take(&mut self.text)));
        }
    }
}

enum OscEnd {
    /// A sequence of this length.
    Complete(usize),
    /// The beginning of a sequence.
    Incomplete,
    /// Another escape sequence, or text.
    NotOsc,
}

/// Finds the end of an OSC sequence. The first `seen` bytes are known not to contain it.
fn find_osc_end(bytes: &[u8], seen: usize) -> OscEnd {
    match bytes {
        [] | [_] => OscEnd::Incomplete,
        [_, b']', rest @ ..] => {
            let from = seen.saturating_sub(2);
            for (index, byte) in rest.iter().enumerate().skip(from) {
                match (byte, rest.get(index + 1)) {
                    (&BELL, _) => return OscEnd::Complete(index + 3),
                    (&ESCAPE, Some(b'\\')) => return OscEnd::Complete(index + 4),
                    (&ESCAPE, Some(_)) => return OscEnd::NotOsc,
                    _ => {}
                }
            }
            OscEnd::Incomplete
        }
        _ => OscEnd::NotOsc,
    }
}

/// Returns an output event. Invalid UTF-8 is replaced.
fn output_event(bytes: &[u8]) -> TerminalEvent {
    let data = String::from_utf8_lossy(bytes).into_owned();
    TerminalEvent::Output(TerminalData { data })
}

/// Returns the local URI of a `file:` URI, whose host part is ignored.
fn directory_uri(value: &str) -> Option<Uri> {
    let rest = value.strip_prefix("file://")?;
    let path = rest.find('/').and_then(|slash| rest.get(slash..))?;
    Some(Uri::from(format!("file://{path}")))
}

#[cfg(test)]
mod tests {
    use agenthost_core::CommandLine;

    use super::*;

    fn read(pieces: &[&[u8]]) -> (String, Vec<TerminalEvent>) {
        let mut sequences = OscParser::default();
        let mut events: Vec<_> = pieces
            .iter()
            .flat_map(|piece| sequences.push(piece))
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
    fn titles_and_directories_are_reported() {
        let output = b"a\x1b]0;my title\x07b\x1b]7;file://box/tmp/x\x1b\\c\x1b]633;A\x07\x1b[1md";
        let (text, events) = read(&[output]);
        assert_eq!(
            text,
            "a\u{1b}]0;my title\u{7}b\u{1b}]7;file://box/tmp/x\u{1b}\\c\u{1b}[1md"
        );
        let place = Uri::from("file:///tmp/x");
        let title = "my title".to_owned();
        let expected = vec![
            TerminalEvent::TitleChanged(title),
            TerminalEvent::DirectoryChanged(place),
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn split_input_gives_the_same_events() {
        let output = "é🦀\u{1b}]2;t\u{7}x\u{1b}[0m\u{1b}]133;C\u{7}end".as_bytes();
        let whole = read(&[output]);
        for split in 0..output.len() {
            let (first, second) = output.split_at(split);
            assert_eq!(read(&[first, second]), whole, "split at {split}");
        }
        let bytes: Vec<_> = output.chunks(1).collect();
        assert_eq!(read(&bytes), whole);
    }

    /// TER-6, TER-8: command events are sent at their place in the output.
    #[test]
    fn command_events_are_in_order_with_the_output() {
        let mark = |mark: &str| format!("\u{1b}]633;{mark}\u{7}");
        let output = [
            "$ make",
            &mark("C;n;make%0A"),
            "out",
            &mark("C;forged;x"),
            "put",
            &mark("D;n;2"),
            &mark("P;n;/a b"),
            "$ ",
        ];
        let output = output.concat();
        for size in [1, 2, 7, 1_000] {
            let mut sequences = OscParser::new(Some("n".to_owned()));
            let pieces = output.as_bytes().chunks(size);
            let mut events = pieces
                .flat_map(|piece| sequences.push(piece))
                .collect::<Vec<_>>();
            // The output between two marks is one event, however the bytes arrive.
            events.dedup_by(|next, before| match (next, before) {
                (TerminalEvent::Output(next), TerminalEvent::Output(before)) => {
                    before.data.push_str(&next.data);
                    true
                }
                _ => false,
            });
            let text = |text: &str| output_of(text);
            let expected = [
                text("$ make"),
                TerminalEvent::CommandExecuted(CommandLine("make\n".to_owned())),
                text("output"),
                TerminalEvent::CommandFinished(Some(2)),
                TerminalEvent::DirectoryChanged(Uri::from("file:///a%20b")),
                text("$ "),
            ];
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    /// Output that arrives before the line of a command belongs to that command.
    #[test]
    fn output_waits_for_the_line_of_its_command() {
        let mark = |mark: &str| format!("\u{1b}]633;{mark}\u{7}");
        let line = |text: &str| TerminalEvent::CommandExecuted(CommandLine(text.to_owned()));
        let mut sequences = OscParser::new(Some("n".to_owned()));
        let began = format!("$ x{}early", mark("U;n"));
        assert_eq!(sequences.push(began.as_bytes()), [output_of("$ x")]);
        assert!(sequences.is_command_pending());
        let named = format!("{}late", mark("E;n;x"));
        let events = sequences.push(named.as_bytes());
        let text = |event: &TerminalEvent| match event {
            TerminalEvent::Output(output) => Some(output.data.clone()),
            _ => None,
        };
        assert_eq!(events.first(), Some(&line("x")));
        assert_eq!(
            events.iter().filter_map(text).collect::<String>(),
            "earlylate"
        );
        // The command line never arrives.
        sequences.push(format!("{}early", mark("U;n")).as_bytes());
        assert_eq!(sequences.release_held(), [line(""), output_of("early")]);
        assert!(!sequences.is_command_pending());
    }

    fn output_of(text: &str) -> TerminalEvent {
        super::output_event(text.as_bytes())
    }

    #[test]
    fn an_unterminated_sequence_is_text() {
        let mut long = b"\x1b]0;".to_vec();
        long.extend(std::iter::repeat_n(b'x', 100_000));
        let (text, events) = read(&[&long]);
        assert_eq!((text.len(), events.len()), (long.len(), 0));
        let (text, events) = read(&[b"\xff\xfe ok \xf0\x9f"]);
        assert_eq!(
            (text.as_str(), events.len()),
            ("\u{fffd}\u{fffd} ok \u{fffd}", 0)
        );
    }
}
