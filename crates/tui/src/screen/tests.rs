//! The screen as a person uses it: keys and messages of a host in, text and messages out.

mod answers;
mod chat;
mod panes;

use agenthost_frontend::{ClientName, Frontend, FrontendEffect, FrontendInput, TimedInput};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use expect_test::Expect;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use serde_json::{Value, json};

use super::{ScreenOptions, ScreenRequest, TerminalScreen};
use crate::paint::theme::ScreenTheme;

const SESSION: &str = "shell:/s1";
/// Default chat of that session. Every client derives it from the URI of the session.
const CHAT: &str = "ahp-chat://default/c2hlbGw6L3Mx";

/// 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;

/// A screen with its frontend, and the host that they talk to.
struct Desk {
    client: Frontend,
    screen: TerminalScreen,
    terminal: Terminal<TestBackend>,
    now: i64,
    /// Messages to the host that the test has not looked at.
    sent: Vec<Value>,
    /// Requests of the screen other than commands.
    requests: Vec<ScreenRequest>,
    seq: u64,
}

impl Desk {
    /// A screen of this size that is connected to a host with one session.
    fn new(width: u16, height: u16) -> Self {
        Desk::with_theme(width, height, ScreenTheme::plain())
    }

    fn with_theme(width: u16, height: u16, theme: ScreenTheme) -> Self {
        let screen = TerminalScreen::new(ScreenOptions {
            theme,
            folder: Some("/home/me/work".to_owned()),
            session: None,
        });
        let mut desk = Desk {
            client: Frontend::new(ClientName("agenthost-tui")),
            screen,
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            now: START_MS,
            sent: Vec::new(),
            requests: Vec::new(),
            seq: 2,
        };
        desk.step(FrontendInput::Open {
            url: String::new(),
            client_id: "tui-0".to_owned(),
            name: "desk".to_owned(),
            saved: None,
        });
        desk.step(FrontendInput::SocketOpened {});
        let root = json!({"resource": "ahp-root://", "fromSeq": 1, "state": {"agents": [
            {"provider": "shell", "displayName": "Shell", "description": "", "models": []},
        ], "config": {"schema": {"type": "object", "properties": {}}, "values": {}}}});
        desk.answer(
            "initialize",
            &json!({
                "protocolVersion": "1.1.0", "serverSeq": 1, "snapshots": [root],
                "serverInfo": {"name": "agenthost", "version": "9.8.7"},
                "defaultDirectory": "file:///home/me",
            }),
        );
        desk
    }

    /// Lists one session of the folder, which the screen opens, with a chat of these turns.
    fn with_turns(mut self, turns: &Value) -> Self {
        self.answer("listSessions", &json!({"items": [summary("One")]}));
        self.settle();
        self.answer_subscriptions(turns);
        self.settle();
        self
    }

    fn answer_subscriptions(&mut self, turns: &Value) {
        let state = json!({
            "provider": "shell", "title": "One", "status": 1, "lifecycle": "ready",
            "activeClients": [], "chats": [], "defaultChat": CHAT,
            "workingDirectories": ["file:///home/me/work"],
        });
        let session = json!({"resource": SESSION, "fromSeq": 2, "state": state});
        self.answer("subscribe", &json!({"snapshot": session}));
        let state = json!({
            "resource": CHAT, "title": "", "status": 1, "modifiedAt": "2026-01-01T00:00:00Z",
            "turns": turns,
        });
        let chat = json!({"resource": CHAT, "fromSeq": 2, "state": state});
        self.answer("subscribe", &json!({"snapshot": chat}));
    }

    fn step(&mut self, input: FrontendInput) {
        let effects = self.client.step(TimedInput {
            now: self.now,
            input,
        });
        self.execute(effects);
    }

    fn execute(&mut self, effects: Vec<FrontendEffect>) {
        for effect in effects {
            match effect {
                FrontendEffect::SendText { text } => {
                    self.sent.push(serde_json::from_str(&text).unwrap());
                }
                FrontendEffect::Done { id, error, value } => {
                    self.screen
                        .handle_done(id, error.as_deref(), value.as_deref());
                }
                FrontendEffect::TerminalOutput {
                    uri,
                    is_reset,
                    data,
                } => self.screen.add_terminal_output(&uri, is_reset, &data),
                _ => {}
            }
        }
    }

    /// Passes changes and requests on until nothing is left.
    fn settle(&mut self) {
        for _ in 0..5 {
            let (changed, effects) = self.client.take_changes();
            self.screen.refresh(&self.client, changed, self.now);
            self.execute(effects);
            self.draw();
            for request in self.screen.take_requests() {
                match request {
                    ScreenRequest::Command { id, command } => {
                        self.step(FrontendInput::Do { id, command });
                    }
                    other => self.requests.push(other),
                }
            }
        }
    }

    fn draw(&mut self) {
        let screen = &mut self.screen;
        self.terminal.draw(|frame| screen.draw(frame)).unwrap();
    }

    /// Returns the text of the screen, without spaces at the ends of lines.
    fn text(&mut self) -> String {
        self.settle();
        let buffer = self.terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        let rows = buffer.content.chunks(width).map(|row| {
            let mut text = String::new();
            let mut skipped = 0;
            for cell in row {
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                text.push_str(cell.symbol());
                skipped = crate::paint::text::width_of(cell.symbol()).saturating_sub(1);
            }
            format!("{}\n", text.trim_end())
        });
        rows.collect()
    }

    fn check(&mut self, expected: Expect) {
        let text = self.text();
        expected.assert_eq(&text);
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        self.terminal
            .resize(ratatui_core::layout::Rect::new(0, 0, width, height))
            .unwrap();
        self.settle();
    }

    /// Removes the next message to the host with this method.
    fn sent(&mut self, method: &str) -> Value {
        let position = self
            .sent
            .iter()
            .position(|message| message["method"] == method);
        let position = position.unwrap_or_else(|| panic!("no {method} in {:?}", self.sent));
        self.sent.remove(position)
    }

    fn sent_action(&mut self, kind: &str) -> Value {
        let mut all = self.sent.iter();
        let position = all.position(|message| message["params"]["action"]["type"] == kind);
        let position = position.unwrap_or_else(|| panic!("no {kind} in {:?}", self.sent));
        self.sent.remove(position)["params"]["action"].clone()
    }

    fn answer(&mut self, method: &str, result: &Value) {
        let request = self.sent(method);
        let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.step(FrontendInput::SocketText {
            text: message.to_string(),
        });
    }

    fn act(&mut self, channel: &str, action: &Value) {
        self.seq += 1;
        let params = json!({"channel": channel, "serverSeq": self.seq, "action": action});
        let message = json!({"jsonrpc": "2.0", "method": "action", "params": params});
        self.step(FrontendInput::SocketText {
            text: message.to_string(),
        });
        self.settle();
    }

    /// Presses keys by their names, such as `ctrl+p`, separated by spaces.
    fn press(&mut self, keys: &str) {
        for key in keys.split(' ') {
            let (modifiers, name) = match key.rsplit_once('+').filter(|_| key.len() > 1) {
                Some(("ctrl", name)) => (KeyModifiers::CONTROL, name),
                Some(("alt", name)) => (KeyModifiers::ALT, name),
                _ => (KeyModifiers::NONE, key),
            };
            let code = match name {
                "enter" => KeyCode::Enter,
                "esc" => KeyCode::Esc,
                "tab" => KeyCode::Tab,
                "up" => KeyCode::Up,
                "down" => KeyCode::Down,
                "left" => KeyCode::Left,
                "right" => KeyCode::Right,
                "pgup" => KeyCode::PageUp,
                "pgdn" => KeyCode::PageDown,
                "space" => KeyCode::Char(' '),
                name => KeyCode::Char(name.chars().next().unwrap()),
            };
            let event = Event::Key(KeyEvent::new(code, modifiers));
            self.screen.handle_event(&event, self.now);
            self.settle();
        }
    }

    fn type_text(&mut self, text: &str) {
        for letter in text.chars() {
            let event = Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
            self.screen.handle_event(&event, self.now);
        }
        self.settle();
    }

    fn paste(&mut self, text: &str) {
        self.screen
            .handle_event(&Event::Paste(text.to_owned()), self.now);
        self.settle();
    }

    fn wait(&mut self, millis: i64) {
        self.now += millis;
        self.screen.handle_time(self.now);
        self.settle();
    }
}

fn summary(title: &str) -> Value {
    json!({
        "resource": SESSION, "provider": "shell", "title": title, "status": 33,
        "createdAt": "2025-12-31T23:00:00Z", "modifiedAt": "2025-12-31T23:58:00Z",
        "workingDirectories": ["file:///home/me/work"],
    })
}

/// A turn that has ended with these parts.
fn turn(id: &str, text: &str, parts: &Value) -> Value {
    json!({
        "id": id, "message": {"text": text, "origin": {"kind": "user"}}, "responseParts": parts,
        "state": "complete", "startedAt": "2026-01-01T10:00:00Z", "duration": 2500,
    })
}

fn markdown(text: &str) -> Value {
    json!({"kind": "markdown", "id": "p", "content": text})
}
