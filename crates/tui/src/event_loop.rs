//! The loop that owns the terminal, the connection and the frontend.
//!
//! One task waits for keys, messages, timers and signals. It draws after a change, at most 60 times
//! a second, and never while nothing changes.

mod editor;
mod frame_backend;
mod host_link;
mod output;
mod terminal_mode;
mod wakeups;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use agenthost_client::HostAddress;
use agenthost_frontend::{ClientName, Frontend, FrontendEffect, FrontendInput, TimedInput};
use agenthost_protocol::common::Meta;
use crossterm::event::{Event, EventStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

pub use frame_backend::FrameBackend;

use crate::screen::{ScreenOptions, ScreenRequest, TerminalScreen};
use editor::EditorRun;
use host_link::{HostLink, LinkEvent};
use output::TerminalOutput;
use terminal_mode::TerminalMode;
use wakeups::{next_key, next_result, next_start, now_ms, until};

/// Minimum time between two frames: 60 a second.
const FRAME_INTERVAL: Duration = Duration::from_micros(16_667);

/// Time for the last messages at the end.
const LAST_SEND_TIMEOUT: Duration = Duration::from_millis(300);

/// Messages that are handled between two looks at the keyboard.
const MAX_BURST: usize = 64;

/// A host that is being started. The result is a note for the user.
pub type HostStartFuture = Pin<Box<dyn Future<Output = Result<String, HostStartError>>>>;

/// Starts a host in the background, if none is running. It must not print: the interface has the
/// terminal.
pub type HostStarter = Box<dyn FnMut() -> HostStartFuture>;

/// The reason for which no host could be started.
pub type HostStartError = Box<dyn std::error::Error + Send + Sync>;

/// The settings of the interface.
pub struct TuiOptions {
    pub address: HostAddress,
    pub client_id: String,
    /// Name of this device, for its comments.
    pub device_name: String,
    /// Command line of the user's editor.
    pub editor: String,
    pub screen: ScreenOptions,
    /// Extension data of new sessions, such as the environment of the terminal.
    pub session_meta: Option<Meta>,
    pub start_host: HostStarter,
}

/// Errors that end the interface.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    #[error("use the terminal: {0}")]
    Terminal(#[from] std::io::Error),
    #[error("the host did not receive the last changes")]
    Unsent,
}

/// Runs the interface until the user leaves it. The terminal is restored in any case.
///
/// # Errors
///
/// Returns [`TuiError`] if the terminal cannot be used.
pub async fn run(options: TuiOptions) -> Result<(), TuiError> {
    let mode = TerminalMode::enter()?;
    let mut events = EventLoop::new(options, mode)?;
    let result = events.run().await;
    let last = events.send_last().await;
    events.mode.leave()?;
    result.and(last)
}

struct EventLoop {
    mode: TerminalMode,
    output: TerminalOutput,
    link: HostLink,
    client: Frontend,
    screen: TerminalScreen,
    /// `None` while another program has the keyboard.
    keys: Option<EventStream>,
    editor: Option<EditorRun>,
    editor_command: String,
    start_host: HostStarter,
    host_start: Option<HostStartFuture>,
    signals: QuitSignals,
    wake_at: Option<Instant>,
    drawn_at: Option<Instant>,
    /// The frontend has changes for the screen.
    wants_refresh: bool,
    wants_draw: bool,
    /// The terminal has told that it has, or does not have, the focus.
    has_focus: Option<bool>,
    quits: bool,
}

/// The signals that end or continue the program.
struct QuitSignals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
    resume: Signal,
}

/// A signal that arrived.
enum SignalEvent {
    Quit,
    Continued,
}

impl QuitSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(QuitSignals {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            resume: signal(SignalKind::from_raw(nix::libc::SIGCONT))?,
        })
    }

    async fn next(&mut self) -> SignalEvent {
        tokio::select! {
            _ = self.terminate.recv() => SignalEvent::Quit,
            _ = self.hangup.recv() => SignalEvent::Quit,
            _ = self.interrupt.recv() => SignalEvent::Quit,
            _ = self.resume.recv() => SignalEvent::Continued,
        }
    }
}

impl EventLoop {
    fn new(options: TuiOptions, mode: TerminalMode) -> Result<Self, TuiError> {
        let mut events = EventLoop {
            mode,
            output: TerminalOutput::new()?,
            link: HostLink::new(options.address),
            client: Frontend::new(ClientName("agenthost-tui")),
            screen: TerminalScreen::new(options.screen),
            keys: Some(EventStream::new()),
            editor: None,
            editor_command: options.editor,
            start_host: options.start_host,
            host_start: None,
            signals: QuitSignals::listen()?,
            wake_at: None,
            drawn_at: None,
            wants_refresh: false,
            wants_draw: true,
            has_focus: None,
            quits: false,
        };
        events.client.set_session_meta(options.session_meta);
        events.step(FrontendInput::Open {
            url: String::new(),
            client_id: options.client_id,
            name: options.device_name,
            saved: None,
        });
        Ok(events)
    }

    async fn run(&mut self) -> Result<(), TuiError> {
        while !self.quits {
            if self.is_frame_due() {
                self.draw()?;
                continue;
            }
            let frame_at = self.next_frame();
            let time_at = self.screen_deadline();
            tokio::select! {
                biased;
                signal = self.signals.next() => self.handle_signal(&signal)?,
                event = next_key(&mut self.keys) => self.handle_terminal_event(event)?,
                () = until(frame_at) => {}
                text = next_result(&mut self.editor) => self.finish_editor(text)?,
                started = next_start(&mut self.host_start) => self.finish_start(started),
                event = self.link.next() => self.handle_link(event),
                () = until(self.wake_at) => {
                    self.wake_at = None;
                    self.step(FrontendInput::Timer {});
                }
                () = until(time_at) => {
                    self.wants_draw |= self.screen.handle_time(now_ms());
                    self.run_requests()?;
                }
            }
        }
        Ok(())
    }

    /// Sends a draft that was not stored yet.
    async fn send_last(&mut self) -> Result<(), TuiError> {
        self.screen.leave();
        self.run_requests()?;
        if self.link.flush(LAST_SEND_TIMEOUT).await {
            Ok(())
        } else {
            Err(TuiError::Unsent)
        }
    }

    fn handle_link(&mut self, event: LinkEvent) {
        let mut next = Some(event);
        let mut handled = 0;
        // Messages that have arrived already are handled before the next frame.
        while let Some(event) = next.take() {
            self.step(match event {
                LinkEvent::Opened => FrontendInput::SocketOpened {},
                LinkEvent::Message(text) => FrontendInput::SocketText { text },
                LinkEvent::Closed(reason) => FrontendInput::SocketClosed { reason },
            });
            handled += 1;
            if handled < MAX_BURST {
                next = self.link.try_next();
            }
        }
    }

    fn handle_signal(&mut self, signal: &SignalEvent) -> Result<(), TuiError> {
        match signal {
            SignalEvent::Quit => self.quits = true,
            SignalEvent::Continued if self.editor.is_none() => self.reenter()?,
            SignalEvent::Continued => {}
        }
        Ok(())
    }

    fn handle_terminal_event(
        &mut self,
        event: Option<std::io::Result<Event>>,
    ) -> Result<(), TuiError> {
        let Some(event) = event else {
            // The terminal is gone.
            self.quits = true;
            return Ok(());
        };
        let event = event?;
        match event {
            Event::FocusGained => {
                self.has_focus = Some(true);
                self.step(FrontendInput::Online {});
            }
            Event::FocusLost => self.has_focus = Some(false),
            Event::Key(_) | Event::Mouse(_) | Event::Paste(_) | Event::Resize(..) => {}
        }
        self.wants_draw |= self.screen.handle_event(&event, now_ms());
        self.run_requests()
    }

    /// Passes an input to the frontend, and executes its effects.
    fn step(&mut self, input: FrontendInput) {
        let effects = self.client.step(TimedInput {
            now: now_ms(),
            input,
        });
        self.execute(effects);
    }

    fn execute(&mut self, effects: Vec<FrontendEffect>) {
        for effect in effects {
            match effect {
                FrontendEffect::Connect { .. } => self.link.connect(),
                FrontendEffect::SendText { text } => self.link.send(text),
                FrontendEffect::Disconnect => self.link.close(),
                FrontendEffect::Wake { after_ms } => {
                    self.wake_at =
                        after_ms.map(|millis| Instant::now() + Duration::from_millis(millis));
                }
                FrontendEffect::WantFrame => self.wants_refresh = true,
                FrontendEffect::TerminalOutput {
                    uri,
                    is_reset,
                    data,
                } => {
                    self.screen.add_terminal_output(&uri, is_reset, &data);
                    self.wants_draw = true;
                }
                FrontendEffect::Done { id, error, value } => {
                    self.screen
                        .handle_done(id, error.as_deref(), value.as_deref());
                    self.wants_draw = true;
                }
                // The host has the state, and a new process connects within milliseconds. Patches
                // are for pages.
                FrontendEffect::Save { .. } | FrontendEffect::Patch { .. } => {}
            }
        }
    }

    /// Executes the requests of the screen.
    fn run_requests(&mut self) -> Result<(), TuiError> {
        for request in self.screen.take_requests() {
            match request {
                ScreenRequest::Command { id, command } => {
                    self.step(FrontendInput::Do { id, command });
                }
                ScreenRequest::EditText(text) => self.start_editor(&text)?,
                ScreenRequest::Copy(text) => self.output.copy(&text)?,
                ScreenRequest::Mouse(is_on) => self.mode.set_mouse(is_on)?,
                ScreenRequest::Redraw => self.reenter()?,
                ScreenRequest::Suspend => self.suspend()?,
                ScreenRequest::StartHost => {
                    if self.host_start.is_none() {
                        self.host_start = Some((self.start_host)());
                    }
                }
                ScreenRequest::Quit => self.quits = true,
            }
        }
        Ok(())
    }

    fn is_frame_due(&self) -> bool {
        self.next_frame().is_some_and(|at| at <= Instant::now())
    }

    /// Returns the time of the next frame; `None` if nothing has changed.
    fn next_frame(&self) -> Option<Instant> {
        let is_dirty = (self.wants_draw || self.wants_refresh) && self.editor.is_none();
        let earliest = self
            .drawn_at
            .map_or_else(Instant::now, |at| at + FRAME_INTERVAL);
        is_dirty.then_some(earliest)
    }

    fn screen_deadline(&self) -> Option<Instant> {
        let left = self.screen.deadline()?.saturating_sub(now_ms());
        let left = u64::try_from(left).unwrap_or(0);
        Some(Instant::now() + Duration::from_millis(left))
    }

    fn draw(&mut self) -> Result<(), TuiError> {
        self.drawn_at = Some(Instant::now());
        if std::mem::take(&mut self.wants_refresh) {
            let (changed, effects) = self.client.take_changes();
            self.screen.refresh(&self.client, changed, now_ms());
            self.execute(effects);
        }
        self.wants_draw = false;
        let title = self.screen.title();
        let screen = &mut self.screen;
        self.output.draw(&title, |frame| screen.draw(frame))?;
        if let Some(text) = self.screen.take_attention()
            && self.has_focus != Some(true)
        {
            self.output.notify(&text)?;
        }
        // Drawing requests contents that it needs.
        self.run_requests()
    }

    fn start_editor(&mut self, text: &str) -> Result<(), TuiError> {
        self.keys = None;
        self.mode.leave()?;
        match EditorRun::start(&self.editor_command, text) {
            Ok(run) => self.editor = Some(run),
            Err(error) => {
                self.screen.show_error(format!("start the editor: {error}"));
                self.reenter()?;
            }
        }
        Ok(())
    }

    fn finish_editor(&mut self, text: std::io::Result<Option<String>>) -> Result<(), TuiError> {
        self.editor = None;
        match text {
            Ok(Some(text)) => self.screen.set_composer_text(text, now_ms()),
            Ok(None) => {}
            Err(error) => self
                .screen
                .show_error(format!("read the edited text: {error}")),
        }
        self.reenter()
    }

    fn finish_start(&mut self, started: Result<String, HostStartError>) {
        self.host_start = None;
        self.wants_draw = true;
        match started {
            Ok(note) => {
                self.screen.show_message(note);
                self.step(FrontendInput::Online {});
            }
            Err(error) => self.screen.show_error(format!("start a host: {error}")),
        }
    }

    /// Stops the process as the shell's ctrl+z does, and continues later.
    fn suspend(&mut self) -> Result<(), TuiError> {
        self.keys = None;
        self.mode.leave()?;
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP).map_err(std::io::Error::from)?;
        self.reenter()
    }

    /// Takes the terminal again, and draws everything.
    fn reenter(&mut self) -> Result<(), TuiError> {
        self.mode.reenter()?;
        self.output.reset()?;
        if self.keys.is_none() {
            self.keys = Some(EventStream::new());
        }
        self.wants_draw = true;
        Ok(())
    }
}
