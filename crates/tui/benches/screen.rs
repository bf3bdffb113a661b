//! Benchmarks of the screen against its budgets: first frame, keys while text streams, bytes of a
//! frame, memory and resizing with a long chat.
//!
//! `cargo bench -p agenthost-tui` prints the table of `docs/performance.md` and fails if a budget is
//! exceeded in three attempts. `-- --smoke` ignores budgets, for builds without optimization.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and may panic"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use agenthost_frontend::{ClientName, Frontend, FrontendEffect, FrontendInput, TimedInput};
use agenthost_tui::{FrameBackend, ScreenOptions, ScreenRequest, ScreenTheme, TerminalScreen};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::terminal::Terminal;
use serde_json::{Value, json};

const SESSION: &str = "shell:/s1";
/// Default chat of that session. Every client derives it from the URI of the session.
const CHAT: &str = "ahp-chat://default/c2hlbGw6L3Mx";

/// Tokens of a second, which the host sends in merged deltas.
const TOKENS_PER_SECOND: usize = 2_000;

/// Time for which the host merges deltas, in milliseconds.
const MERGE_MS: usize = 33;

/// Frames that are measured while text streams.
const STREAM_FRAMES: usize = 600;

/// Turns of a long chat.
const LONG_CHAT_TURNS: usize = 10_000;

/// The option of the process whose memory is measured.
const MEMORY_OPTION: &str = "--memory";

/// A measured value and its upper bound.
struct Budget {
    name: &'static str,
    value: f64,
    limit: f64,
    unit: &'static str,
}

/// A screen with its frontend, and the host that they talk to.
struct Desk {
    client: Frontend,
    screen: TerminalScreen,
    terminal: Terminal<FrameBackend>,
    sent: Vec<Value>,
    now: i64,
    seq: u64,
}

fn terminal(width: u16) -> Terminal<FrameBackend> {
    Terminal::new(FrameBackend::fixed(width, 40)).unwrap()
}

impl Desk {
    fn open(turns: &[Value]) -> Self {
        let mut desk = Desk::open_session();
        desk.open_chat(&Value::from(turns).to_string());
        desk
    }

    /// Opens a session, and waits for its chat.
    fn open_session() -> Self {
        let mut desk = Desk {
            client: Frontend::new(ClientName("agenthost-tui")),
            screen: TerminalScreen::new(ScreenOptions {
                theme: ScreenTheme::colored(),
                folder: Some("/work".to_owned()),
                session: None,
            }),
            terminal: terminal(120),
            sent: Vec::new(),
            now: 1_767_225_600_000,
            seq: 2,
        };
        desk.step(FrontendInput::Open {
            url: String::new(),
            client_id: "tui-0".to_owned(),
            name: "desk".to_owned(),
            saved: None,
        });
        desk.step(FrontendInput::SocketOpened {});
        let root = json!({"resource": "ahp-root://", "fromSeq": 1, "state": {"agents": []}});
        desk.answer(
            "initialize",
            &json!({"protocolVersion": "1.1.0", "serverSeq": 1, "snapshots": [root]}),
        );
        let summary = json!({
            "resource": SESSION, "provider": "shell", "title": "One", "status": 33,
            "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z",
            "workingDirectories": ["file:///work"],
        });
        desk.answer("listSessions", &json!({"items": [summary]}));
        desk.frame();
        let state = json!({
            "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready",
            "activeClients": [], "chats": [], "defaultChat": CHAT,
        });
        let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
        desk.answer("subscribe", &json!({"snapshot": session}));
        desk
    }

    /// Receives the chat with the JSON of its turns, and draws it.
    fn open_chat(&mut self, turns: &str) {
        let request = self.sent("subscribe");
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"snapshot":{{"resource":"{CHAT}","fromSeq":2,"state":{{
            "resource":"{CHAT}","title":"","status":1,"modifiedAt":"2026-01-01T00:00:00Z","turns":{turns}}}}}}}}}"#,
            request["id"]
        );
        self.step(FrontendInput::SocketText { text });
        self.frame();
    }

    fn step(&mut self, input: FrontendInput) {
        let now = self.now;
        for effect in self.client.step(TimedInput { now, input }) {
            match effect {
                FrontendEffect::SendText { text } => {
                    self.sent.push(serde_json::from_str(&text).unwrap());
                }
                FrontendEffect::Done { id, error, value } => {
                    self.screen
                        .handle_done(id, error.as_deref(), value.as_deref());
                }
                _ => {}
            }
        }
    }

    fn sent(&mut self, method: &str) -> Value {
        let position = self.sent.iter().position(|sent| sent["method"] == method);
        self.sent.remove(position.unwrap())
    }

    fn answer(&mut self, method: &str, result: &Value) {
        let request = self.sent(method);
        let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.step(FrontendInput::SocketText {
            text: message.to_string(),
        });
    }

    fn act(&mut self, action: &Value) {
        self.seq += 1;
        let params = json!({"channel": CHAT, "serverSeq": self.seq, "action": action});
        let message = json!({"jsonrpc": "2.0", "method": "action", "params": params});
        self.step(FrontendInput::SocketText {
            text: message.to_string(),
        });
    }

    /// Draws a frame, and returns its bytes.
    fn frame(&mut self) -> usize {
        let (changed, _) = self.client.take_changes();
        self.screen.refresh(&self.client, changed, self.now);
        let screen = &mut self.screen;
        self.terminal.draw(|frame| screen.draw(frame)).unwrap();
        for request in self.screen.take_requests() {
            if let ScreenRequest::Command { id, command } = request {
                self.step(FrontendInput::Do { id, command });
            }
        }
        self.terminal.backend_mut().take_bytes().len()
    }

    fn press(&mut self, code: KeyCode) {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        self.screen.handle_event(&event, self.now);
    }
}

const ANSWER: &str = "Some **text** of an answer, with `code` and a list:\n\n- one\n- two\n\n```rust\nfn main() {}\n```\n";

fn turn(number: usize) -> Value {
    json!({
        "id": format!("t{number}"), "state": "complete",
        "message": {"text": format!("question {number}"), "origin": {"kind": "user"}},
        "responseParts": [{"kind": "markdown", "id": "p", "content": ANSWER}],
    })
}

fn turns(count: usize) -> Vec<Value> {
    (0..count).map(turn).collect()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() * percent / 100).min(values.len() - 1);
    values.get(place).copied().unwrap()
}

fn first_frame() -> Budget {
    let turns = turns(20);
    let started = Instant::now();
    Desk::open(&turns);
    Budget {
        name: "from the start to the first screen with a chat",
        value: millis(started.elapsed()),
        limit: 50.0,
        unit: "ms",
    }
}

/// Streams text and presses a key with each frame.
fn stream() -> Vec<Budget> {
    let mut desk = Desk::open(&turns(20));
    let message = json!({"text": "go", "origin": {"kind": "user"}});
    desk.act(&json!({
        "type": "chat/turnStarted", "turnId": "n", "message": message,
        "startedAt": "2026-01-01T00:00:00Z",
    }));
    let part = json!({"kind": "markdown", "id": "p", "content": ""});
    desk.act(&json!({"type": "chat/responsePart", "turnId": "n", "part": part}));
    desk.frame();
    let tokens = TOKENS_PER_SECOND * MERGE_MS / 1_000;
    let mut keys = Vec::new();
    let mut bytes = Vec::new();
    let mut busy = Duration::ZERO;
    for number in 0..STREAM_FRAMES {
        let end = if number % 4 == 3 { "\n\n" } else { "" };
        let content = format!("{}{end}", "word ".repeat(tokens));
        desk.now += i64::try_from(MERGE_MS).unwrap();
        let started = Instant::now();
        desk.act(&json!({"type": "chat/delta", "turnId": "n", "partId": "p", "content": content}));
        bytes.push(desk.frame() as f64);
        busy += started.elapsed();
        let started = Instant::now();
        desk.press(KeyCode::Char('x'));
        desk.frame();
        keys.push(millis(started.elapsed()));
        if number % 40 == 39 {
            desk.screen.set_composer_text(String::new(), desk.now);
        }
    }
    let streamed = (STREAM_FRAMES * MERGE_MS) as f64;
    vec![
        Budget {
            name: "key to frame at 2,000 tokens/s, p99",
            value: percentile(&mut keys, 99),
            limit: 16.0,
            unit: "ms",
        },
        Budget {
            name: "of a core at 2,000 tokens/s",
            value: 100.0 * millis(busy) / streamed,
            limit: 10.0,
            unit: "%",
        },
        Budget {
            name: "written for a frame, median",
            value: percentile(&mut bytes, 50),
            limit: 2_048.0,
            unit: "bytes",
        },
    ]
}

/// Measures a chat whose turns are all loaded. The host sends the latest 20 at first.
fn long_chat() -> Vec<Budget> {
    let mut desk = Desk::open(&turns(LONG_CHAT_TURNS));
    let mut resizes = Vec::new();
    for width in [80, 120, 60, 160, 100] {
        desk.terminal = terminal(width);
        let started = Instant::now();
        desk.frame();
        resizes.push(millis(started.elapsed()));
    }
    vec![Budget {
        name: "resize with 10,000 loaded turns, slowest of five",
        value: percentile(&mut resizes, 100),
        limit: 16.0,
        unit: "ms",
    }]
}

/// Measures the memory of a process that shows the chat, and has scrolled to its start.
fn memory() -> Budget {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).arg(MEMORY_OPTION).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    Budget {
        name: "memory with 10,000 loaded turns",
        value: text.trim().parse::<f64>().unwrap() / 1_024.0,
        limit: 40.0,
        unit: "MB",
    }
}

/// Shows a long chat, and prints the memory of this process in kB.
fn print_memory() {
    let mut desk = Desk::open_session();
    let mut text = String::from("[");
    for number in 0..LONG_CHAT_TURNS {
        let end = if number + 1 < LONG_CHAT_TURNS {
            ','
        } else {
            ']'
        };
        text.push_str(&format!("{}{end}", turn(number)));
    }
    desk.open_chat(&text);
    drop(text);
    desk.press(KeyCode::Esc);
    for _ in 0..LONG_CHAT_TURNS {
        desk.press(KeyCode::PageUp);
        desk.frame();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    println!("{}", line.unwrap().trim().trim_end_matches(" kB"));
}

fn main() {
    if std::env::args().any(|argument| argument == MEMORY_OPTION) {
        return print_memory();
    }
    let is_smoke = std::env::args().any(|argument| argument == "--smoke");
    for attempt in 1..=3 {
        let mut budgets = vec![first_frame()];
        budgets.extend(stream());
        budgets.extend(long_chat());
        budgets.push(memory());
        println!("| | value | budget |\n|---|--:|--:|");
        for budget in &budgets {
            println!(
                "| {} | {:.1} {unit} | {} {unit} |",
                budget.name,
                budget.value,
                budget.limit,
                unit = budget.unit
            );
        }
        let missed = budgets.iter().any(|budget| budget.value > budget.limit);
        if !missed || is_smoke {
            return;
        }
        println!("attempt {attempt} missed a budget\n");
    }
    std::process::exit(1);
}
