//! The turn of `agenthost run`: follows it, asks the user, and passes input to its commands.

use std::io::IsTerminal;

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::action::ActionOrigin;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, Message, TurnCancelled};
use agenthost_protocol::ids::{ClientSeq, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use anyhow::{Context, bail};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::command_keys::{CommandKeys, InterruptReceiver, send_input};
use super::message::StdinUse;
use super::stop_signals::{StopReason, TurnSignals, wait_for_stop};
use crate::connect::random_id;
use crate::dialog;
use crate::dialog::note::NoteLine;
use crate::dialog::printer::{TurnEnding, TurnPrinter};
use crate::dialog::prompter::{LineOutcome, Prompter};
use crate::dialog::stdin::{StdinInput, StdinReader};
use crate::dialog::turn_output::OutputFormat;
use crate::output;
use crate::session_lookup::short_id;
use crate::terminal::palette::Role;
use crate::terminal::spinner::SPINNER_INTERVAL;

/// The control character (Ctrl-D) that signals the end of input in a terminal.
const END_OF_INPUT: &str = "\u{4}";

/// The result of the turn of this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnOutcome {
    pub(super) ending: TurnEnding,
    /// The exit code of the command, if the turn was a command that failed.
    pub(super) exit_code: Option<u8>,
}

/// The turn to run.
pub(super) struct RunningTurn {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    /// `true` if the turn is a command, without an agent that could run others.
    pub(super) is_command: bool,
    pub(super) approves_all: bool,
    pub(super) stdin: StdinUse,
}

/// The turn while it runs, with the prompts for the user.
struct TurnDialog {
    session: Uri,
    chat: Uri,
    id: TurnId,
    start_seq: ClientSeq,
    is_command: bool,
    approval: ApprovalMode,
    prompter: Prompter,
    interrupted: bool,
    /// `true` if the end of input has been sent to the running terminal.
    input_ended: bool,
    /// The sequence number of the last dispatched answer.
    answer_seq: Option<ClientSeq>,
    /// Number of answers that the host has rejected since it accepted one.
    rejections: u32,
}

/// The way in which prompts are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApprovalMode {
    Ask,
    ApproveAll,
}

impl RunningTurn {
    /// Sends the message, and prints the turn until it has ended.
    pub(super) async fn run(
        self,
        client: &mut Client,
        printer: TurnPrinter,
        message: Message,
    ) -> anyhow::Result<TurnOutcome> {
        let id = TurnId::from(random_id()?);
        let started = dialog::turn_started(id.clone(), message);
        let start_seq = client.dispatch(&self.chat, started).await?;
        let stdin = match self.stdin {
            StdinUse::Interactive => StdinReader::new(),
            StdinUse::Message => StdinReader::of_terminal().await,
        };
        let dialog = TurnDialog {
            session: self.session,
            chat: self.chat,
            id,
            start_seq,
            is_command: self.is_command,
            approval: match self.approves_all {
                true => ApprovalMode::ApproveAll,
                false => ApprovalMode::Ask,
            },
            prompter: Prompter::new(),
            interrupted: false,
            input_ended: false,
            answer_seq: None,
            rejections: 0,
        };
        dialog.follow(client, printer, stdin).await
    }
}

impl TurnDialog {
    /// Prints the turn until it has ended.
    async fn follow(
        mut self,
        client: &mut Client,
        mut printer: TurnPrinter,
        mut stdin: StdinReader,
    ) -> anyhow::Result<TurnOutcome> {
        let mut signals = TurnSignals::listen()?;
        let mut resizes = signal(SignalKind::window_change()).context("listen for signals")?;
        let interrupt = match self.is_command {
            true => InterruptReceiver::Command,
            false => InterruptReceiver::Turn,
        };
        let mut keys = CommandKeys::new(&printer, interrupt);
        loop {
            if let Some(ChannelState::Chat(state)) = client.confirmed_state(&self.chat) {
                let scope = dialog::request_scope(client, &self.session, &self.chat);
                self.prompter.update_from_chat(state, scope.as_ref());
            }
            if self.answer_prompt(client).await? {
                continue;
            }
            let terminal = printer.running_terminal(client);
            if let Some(terminal) = terminal.as_ref().filter(|_| printer.shares_terminal()) {
                keys.sync_size(client, terminal).await?;
            }
            keys.set_active(terminal.is_some() && !self.prompter.has_printed_prompt())?;
            printer.print_backlogs()?;
            let is_idle = terminal.is_none() && !self.prompter.has_printed_prompt();
            let shows_progress = is_idle && printer.output.can_show_progress();
            let reads_input = keys.is_active() || self.reads_line(terminal.as_ref());
            let update = tokio::select! {
                update = client.next_update() => update?,
                () = self.prompter.wait_for_prompt() => {
                    keys.set_active(false)?;
                    if !self.prompter.is_repeated() {
                        stdin.discard_typed();
                    }
                    self.prompter.print_prompt(&mut printer)?;
                    continue;
                }
                input = stdin.next_input(keys.input_unit()), if reads_input => {
                    match (input, &terminal) {
                        (StdinInput::Line(line), _) => {
                            self.handle_line(client, terminal.as_ref(), line).await?;
                        }
                        (StdinInput::Bytes(bytes), Some(terminal)) => {
                            self.handle_keys(client, &mut keys, terminal, bytes).await?;
                        }
                        (StdinInput::Bytes(_), None) => {}
                    }
                    continue;
                }
                reason = wait_for_stop(&mut signals, &printer, self.interrupted) => {
                    self.stop(client, &mut keys, reason).await?;
                    continue;
                }
                _ = resizes.recv() => continue,
                () = tokio::time::sleep(SPINNER_INTERVAL), if shows_progress => {
                    printer.output.show_progress();
                    continue;
                }
            };
            match &update {
                ClientUpdate::Rejected { origin, reason } => {
                    self.handle_rejection(client, origin.as_ref(), reason)
                        .await?;
                }
                ClientUpdate::Action(envelope) => self.handle_accepted(envelope.origin.as_ref()),
                _ => {}
            }
            if let Some(ending) = printer.handle_update(client, &update).await? {
                drop(keys);
                let outcome = self.outcome(ending, &printer);
                self.print_end(&mut printer, outcome)?;
                printer.finish()?;
                return Ok(outcome);
            }
        }
    }

    fn outcome(&self, ending: TurnEnding, printer: &TurnPrinter) -> TurnOutcome {
        // An agent goes on after a denial, and says what it did. A command was not run.
        let ending = match ending {
            TurnEnding::Succeeded if self.is_command && printer.was_denied() => TurnEnding::Failed,
            ending => ending,
        };
        let code = printer.exit_code().filter(|_| self.is_command);
        let code = code.and_then(|code| u8::try_from(code).ok());
        TurnOutcome {
            ending,
            exit_code: code.filter(|code| *code != 0),
        }
    }

    /// Prints the object of the JSON format, or how to continue the session.
    fn print_end(&self, printer: &mut TurnPrinter, outcome: TurnOutcome) -> anyhow::Result<()> {
        let id = short_id(&self.session);
        let status = match outcome.ending {
            TurnEnding::Succeeded => "succeeded",
            TurnEnding::Failed => "failed",
            TurnEnding::Cancelled => "cancelled",
        };
        printer.output.print_result(json!({
            "session": self.session,
            "turn": self.id,
            "status": status,
            "exitCode": printer.exit_code().filter(|_| self.is_command),
            "usage": printer.usage(),
        }))?;
        // Scripts know the session from the object, and people from this line.
        if printer.output.format() == OutputFormat::Text && std::io::stderr().is_terminal() {
            let text = format!("session {id}; `agenthost run --continue` goes on with it");
            let note = NoteLine::styled(Role::Faint, text);
            printer.output.print_note_line(&note)?;
        }
        Ok(())
    }

    /// Answers the open prompt without the user. Returns `false` if the user has to.
    async fn answer_prompt(&mut self, client: &mut Client) -> anyhow::Result<bool> {
        let answer = match self.approval {
            ApprovalMode::Ask => None,
            ApprovalMode::ApproveAll if self.rejections == 0 => self.prompter.approve(),
            ApprovalMode::ApproveAll => self.prompter.deny(),
        };
        match answer {
            Some(answer) => {
                self.answer(client, answer).await?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Returns `true` if a line of input can be used: for a prompt or for the running
    /// terminal.
    fn reads_line(&self, terminal: Option<&Uri>) -> bool {
        let is_free = !self.prompter.has_unprinted_prompt();
        self.prompter.has_printed_prompt() || is_free && terminal.is_some() && !self.input_ended
    }

    async fn answer(&mut self, client: &mut Client, answer: ChatAction) -> anyhow::Result<()> {
        self.answer_seq = Some(client.dispatch(&self.chat, answer).await?);
        Ok(())
    }

    /// Passes pressed keys to the command.
    async fn handle_keys(
        &mut self,
        client: &mut Client,
        keys: &mut CommandKeys,
        terminal: &Uri,
        bytes: Option<Vec<u8>>,
    ) -> anyhow::Result<()> {
        let Some(bytes) = bytes else {
            // The terminal is gone.
            return self
                .stop(
                    client,
                    keys,
                    StopReason::Signal(SignalKind::hangup().as_raw_value()),
                )
                .await;
        };
        let pressed = keys.parse(&bytes);
        send_input(client, terminal, pressed.data).await?;
        if pressed.cancels {
            self.stop(client, keys, StopReason::Interrupt).await?;
        }
        Ok(())
    }

    /// Handles a line of input, or the end of input if it is `None`.
    async fn handle_line(
        &mut self,
        client: &mut Client,
        terminal: Option<&Uri>,
        line: Option<String>,
    ) -> anyhow::Result<()> {
        if let (false, Some(terminal)) = (self.prompter.has_printed_prompt(), terminal) {
            self.input_ended = line.is_none();
            let data = line.map(|line| format!("{line}\n"));
            let data = data.unwrap_or_else(|| END_OF_INPUT.to_owned());
            return send_input(client, terminal, data).await;
        }
        let confirmed = match line {
            Some(line) => match self.prompter.handle_line(&line) {
                LineOutcome::Answer(confirmed) => Some(*confirmed),
                LineOutcome::Unclear => None,
            },
            None => {
                output::print_note(
                    "standard input has ended, so the request is denied; `--yes` approves everything",
                );
                self.prompter.deny()
            }
        };
        if let Some(confirmed) = confirmed {
            self.answer(client, confirmed).await?;
        }
        Ok(())
    }

    /// Cancels the turn. The second call exits the process at once, and so does a signal.
    async fn stop(
        &mut self,
        client: &mut Client,
        keys: &mut CommandKeys,
        reason: StopReason,
    ) -> anyhow::Result<()> {
        let code = match reason {
            StopReason::Signal(number) => 128 + number,
            StopReason::Interrupt | StopReason::StdoutClosed => 130,
        };
        if self.interrupted || matches!(reason, StopReason::Signal(_)) {
            // The terminal is restored first. Buffered output is discarded, because the user
            // does not want to wait.
            keys.set_active(false)?;
            self.prompter.end_attention();
            std::process::exit(code);
        }
        self.interrupted = true;
        output::print_note(match reason {
            StopReason::StdoutClosed => "stdout was closed: cancelling",
            _ if keys.is_active() => "cancelling; press Ctrl-\\ again to exit at once",
            _ => "cancelling; press Ctrl-C again to exit at once",
        });
        self.cancel(client).await
    }

    async fn cancel(&self, client: &mut Client) -> anyhow::Result<()> {
        let cancelled = TurnCancelled {
            turn_id: self.id.clone(),
            duration: Millis(0),
            meta: None,
        };
        let cancelled = ChatAction::TurnCancelled(cancelled);
        client.dispatch(&self.chat, cancelled).await?;
        Ok(())
    }

    /// Handles the rejection of an action. A rejected answer never ends the command: the prompt
    /// opens again, unless something else has answered it.
    async fn handle_rejection(
        &mut self,
        client: &mut Client,
        origin: Option<&ActionOrigin>,
        reason: &str,
    ) -> anyhow::Result<()> {
        let refused = origin.map(|origin| origin.client_seq);
        if refused == Some(self.start_seq) {
            bail!("the host refused the message: {reason}");
        }
        // Other rejected actions were for a turn or terminal that had just ended.
        if refused.is_none() || refused != self.answer_seq {
            return Ok(());
        }
        self.prompter.handle_rejection();
        if let Some(ChannelState::Chat(state)) = client.confirmed_state(&self.chat) {
            let scope = dialog::request_scope(client, &self.session, &self.chat);
            self.prompter.update_from_chat(state, scope.as_ref());
        }
        if !self.prompter.has_unprinted_prompt() {
            // A hook or another client was faster, and its reason was printed.
            return Ok(());
        }
        output::print_note(&format!("refused: {reason}"));
        self.rejections += 1;
        if self.approval == ApprovalMode::ApproveAll && self.rejections > 1 {
            output::print_note("the request can be neither approved nor denied: cancelling");
            self.approval = ApprovalMode::Ask;
            self.cancel(client).await?;
        }
        Ok(())
    }

    /// Notes that the host has accepted an action, if it is the last answer.
    fn handle_accepted(&mut self, origin: Option<&ActionOrigin>) {
        let accepted = origin.map(|origin| origin.client_seq);
        if accepted.is_some() && accepted == self.answer_seq {
            self.rejections = 0;
        }
    }
}
