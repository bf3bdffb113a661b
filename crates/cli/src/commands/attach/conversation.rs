//! A session at the terminal: prints it, and sends what the user enters.

use std::path::PathBuf;

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatAction, PendingMessageKind};
use agenthost_protocol::ids::{ClientSeq, TurnId};
use agenthost_protocol::uri::Uri;
use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use super::AttachArgs;
use super::input::{self, CHAT_COMMANDS, LineAction, LineTiming, SWITCH_COMMAND};
use crate::background::log_files::LogFiles;
use crate::dialog;
use crate::dialog::agent_choice::SHELL_AGENT;
use crate::dialog::line_editor::completion::CompletionSource;
use crate::dialog::line_editor::{EditorEvent, LineEditor};
use crate::dialog::note::NoteLine;
use crate::dialog::printer::{HistoryExtent, PrinterMode, TurnPrinter};
use crate::dialog::prompter::Prompter;
use crate::dialog::stdin::StdinReader;
use crate::dialog::turn_output::{OutputFormat, TurnOutput};
use crate::dialog::user_input::UserInput;
use crate::output;
use crate::session_lookup::{describe_session_state, list_sessions, local_folder, short_id};
use crate::terminal::can_edit_lines;
use crate::terminal::palette::{Palette, Role};
use crate::terminal::spinner::{START_DELAY, show_while};

/// Name of the file with the messages of earlier conversations.
const HISTORY_FILE: &str = "attach-history";

/// The end of a conversation.
pub(super) enum ConversationEnd {
    /// The user has left; the session goes on.
    Quit,
    /// The user names another session.
    Switch(String),
    /// A signal with this number ends the process.
    Signal(u8),
}

/// The part of a user in a session.
pub(super) struct Conversation {
    session: Uri,
    chat: Uri,
    /// The folder of files that messages mention; `None` for the shell agent.
    folder: Option<PathBuf>,
    prompter: Prompter,
    printer: TurnPrinter,
    /// Declared after the printer, so that the editor lets the last output pass.
    input: UserInput,
    /// The text that the next edited line begins with.
    draft: String,
    /// The entered message that the host has neither confirmed nor rejected.
    unconfirmed: Option<SentMessage>,
    /// `true` after the last turn was cancelled.
    was_cancelled: bool,
}

/// A message that was sent to the host.
struct SentMessage {
    seq: ClientSeq,
    /// The id of its turn, or of the waiting message.
    id: String,
    text: String,
    /// Set for a message that is sent while a turn runs.
    kind: Option<PendingMessageKind>,
}

impl Conversation {
    /// Subscribes to a session, waits until it is ready and prints its last turns.
    pub(super) async fn open(
        client: &mut Client,
        session: &Uri,
        arguments: &AttachArgs,
    ) -> anyhow::Result<Self> {
        client.subscribe(session).await?;
        let label = dialog::start_label(client, session);
        let ready = dialog::wait_until_ready(client, session, |_| Ok(()));
        let chat = show_while(&label, START_DELAY, ready).await?;
        client.subscribe(&chat).await?;
        // The terminal is in its mode before it invites the user to type.
        let (input, output) = open_input(client, session, arguments).await?;
        let described = match client.state(session) {
            Some(ChannelState::Session(state)) => describe_session_state(session, state),
            _ => short_id(session).to_owned(),
        };
        let greeting =
            NoteLine::styled(Role::Strong, described).text("  (/help lists the commands)");
        output::print_rendered_note(&greeting.render(Palette::of_stderr()));
        let mut printer = TurnPrinter::new(output, PrinterMode::Session);
        printer.set_chat(chat.clone());
        let extent = match arguments.all {
            true => HistoryExtent::All,
            false => HistoryExtent::Recent,
        };
        printer.print_history(client, extent).await?;
        Ok(Conversation {
            session: session.clone(),
            chat,
            folder: mention_folder(client, session),
            prompter: Prompter::new(),
            printer,
            input,
            draft: String::new(),
            unconfirmed: None,
            was_cancelled: false,
        })
    }

    /// Takes part in the session until the user leaves.
    pub(super) async fn run(mut self, client: &mut Client) -> anyhow::Result<ConversationEnd> {
        let listen = |kind| signal(kind).context("listen for signals");
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        let mut hangup = listen(SignalKind::hangup())?;
        let end = loop {
            if let Some(ChannelState::Chat(state)) = client.confirmed_state(&self.chat) {
                let scope = dialog::request_scope(client, &self.session, &self.chat);
                self.prompter.update_from_chat(state, scope.as_ref());
            }
            if self.prompter.take_withdrawn() {
                self.printer.print_note("answered by another client")?;
            }
            let accepts_line = self.accepts_line(client);
            tokio::select! {
                update = client.next_update() => self.handle_update(client, &update?).await?,
                () = self.prompter.wait_for_prompt() => {
                    self.prompter.print_prompt(&mut self.printer)?;
                }
                event = self.input.next_event(&mut self.draft), if accepts_line => {
                    if let Some(end) = self.handle_event(client, event).await? {
                        break end;
                    }
                }
                _ = interrupt.recv() => {
                    if let Some(end) = self.interrupt(client).await? {
                        break end;
                    }
                }
                _ = terminate.recv() => break end_of_signal(SignalKind::terminate()),
                _ = hangup.recv() => break end_of_signal(SignalKind::hangup()),
            }
        };
        self.leave(client)?;
        Ok(end)
    }

    /// Returns `true` if the user can enter a line: not while the host has to confirm the last
    /// one, unless the connection is lost, and not before an open prompt was printed.
    fn accepts_line(&self, client: &Client) -> bool {
        // After a gap in the actions, the client knows what the host has confirmed. A request may
        // have received the confirmation or the rejection already. It has to be handled first, or
        // the next line would take the place of the message that it is for.
        let is_confirmed = client.unconfirmed_count() == 0 && !client.has_updates();
        let is_sent = self.unconfirmed.is_none() || is_confirmed;
        let is_pending = !is_sent || self.prompter.is_answer_pending();
        let is_free = !is_pending || client.is_disconnected();
        is_free && !self.prompter.has_unprinted_prompt()
    }

    async fn handle_update(
        &mut self,
        client: &mut Client,
        update: &ClientUpdate,
    ) -> anyhow::Result<()> {
        let mut confirmed = None;
        match update {
            ClientUpdate::Rejected { origin, reason } => {
                self.prompter.handle_rejection();
                self.printer.print_note(&format!("refused: {reason}"))?;
                let seq = origin.as_ref().map(|origin| origin.client_seq);
                self.give_back(seq)?;
            }
            ClientUpdate::Action(envelope) => {
                if let ReceivedAction::Valid(Action::Chat(action)) = &envelope.action {
                    if let Some(id) = input::message_id(action) {
                        confirmed = self.unconfirmed.take_if(|sent| sent.id == id);
                    }
                    self.note_dropped(action, envelope.origin.is_some())?;
                }
            }
            _ => {}
        }
        self.printer.handle_update(client, update).await?;
        if let Some(sent) = confirmed
            && let Some(kind) = sent.kind
        {
            self.print_outcome(client, kind, &sent.id).await?;
        }
        Ok(())
    }

    /// Prints what has become of a message for a running turn: the turn may have ended, or its
    /// agent may take no messages.
    async fn print_outcome(
        &mut self,
        client: &mut Client,
        kind: PendingMessageKind,
        id: &str,
    ) -> anyhow::Result<()> {
        dialog::receive_reactions(client).await?;
        match input::pending_note(client, &self.chat, kind, id) {
            Some(note) => self.printer.print_note(note),
            None => Ok(()),
        }
    }

    /// Prints a note if the host drops a message that was for a cancelled turn.
    fn note_dropped(&mut self, action: &ChatAction, is_of_client: bool) -> anyhow::Result<()> {
        match action {
            // From here on, a message is removed because its turn begins.
            ChatAction::TurnStarted(_) | ChatAction::PendingMessageSet(_) => {
                self.was_cancelled = false;
            }
            ChatAction::TurnCancelled(_) => self.was_cancelled = true,
            ChatAction::PendingMessageRemoved(_) if self.was_cancelled && !is_of_client => {
                let note = "a message for the cancelled turn was dropped";
                return self.printer.print_note(note);
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives the text of a rejected message back to the user.
    fn give_back(&mut self, seq: Option<ClientSeq>) -> anyhow::Result<()> {
        let Some(sent) = self.unconfirmed.take_if(|sent| Some(sent.seq) == seq) else {
            return Ok(());
        };
        if self.input.can_edit() {
            self.draft = sent.text;
            return Ok(());
        }
        self.printer.print_note("this message was not sent:")?;
        for line in sent.text.lines() {
            self.printer.print_note(line)?;
        }
        Ok(())
    }

    /// Handles an entered line. Returns the end of the conversation if it ends it.
    async fn handle_event(
        &mut self,
        client: &mut Client,
        event: EditorEvent,
    ) -> anyhow::Result<Option<ConversationEnd>> {
        let line = match event {
            EditorEvent::Line(line) => line,
            EditorEvent::Interrupted => return self.interrupt(client).await,
            EditorEvent::Ended => return Ok(Some(ConversationEnd::Quit)),
            EditorEvent::Failed(reason) => {
                anyhow::bail!("read the terminal: {reason}");
            }
        };
        let entered = line.trim();
        if !self.prompter.has_printed_prompt() || entered.starts_with('/') {
            self.input.remember(&line);
        }
        let timing = match self.input.can_edit() && self.prompter.is_typed_ahead(entered) {
            true => LineTiming::TypedAhead,
            false => LineTiming::AfterPrompt,
        };
        let folder = self.folder.as_deref();
        let prompter = &mut self.prompter;
        let action = input::parse_line(client, &self.chat, folder, prompter, entered, timing)?;
        match action {
            LineAction::Quit => return Ok(Some(ConversationEnd::Quit)),
            LineAction::Switch(named) => return Ok(Some(ConversationEnd::Switch(named))),
            LineAction::Notes(notes) => {
                for note in notes {
                    self.printer.print_note(&note)?;
                }
            }
            LineAction::Dispatch { actions, note } => {
                for action in actions {
                    client.dispatch(&self.chat, action).await?;
                }
                if let Some(note) = note {
                    self.printer.print_note(&note)?;
                }
            }
            LineAction::Send(action) => {
                self.note_typed(&action);
                let kind = input::pending_kind(&action);
                let id = input::message_id(&action).unwrap_or_default().to_owned();
                let seq = client.dispatch(&self.chat, *action).await?;
                self.unconfirmed = Some(SentMessage {
                    seq,
                    id,
                    text: line,
                    kind,
                });
            }
        }
        Ok(None)
    }

    /// Remembers the turn of a message that the terminal shows already.
    fn note_typed(&mut self, action: &ChatAction) {
        if let ChatAction::TurnStarted(started) = action
            && self.input.echoes()
        {
            let turn: TurnId = started.turn_id.clone();
            self.printer.add_typed_turn(turn);
        }
    }

    /// Cancels the running turn. Without one, the user leaves.
    async fn interrupt(&mut self, client: &mut Client) -> anyhow::Result<Option<ConversationEnd>> {
        match input::cancel_turn(client, &self.chat) {
            Some(action) if !client.is_disconnected() => {
                client.dispatch(&self.chat, action).await?;
                Ok(None)
            }
            _ => Ok(Some(ConversationEnd::Quit)),
        }
    }

    /// Flushes the output and leaves. Prints a note if unconfirmed actions were not sent.
    fn leave(mut self, client: &Client) -> anyhow::Result<()> {
        if client.is_disconnected() && client.unconfirmed_count() > 0 {
            self.printer
                .print_note("disconnected from the host: the last line was not sent")?;
        }
        // The editor lets the remaining output pass when it is dropped.
        drop(self.input);
        self.printer.finish()
    }
}

/// Returns the folder of files that messages mention. The shell would take a mention for a part
/// of the command.
fn mention_folder(client: &Client, session: &Uri) -> Option<PathBuf> {
    match client.state(session) {
        Some(ChannelState::Session(state)) if state.metadata.provider.as_str() != SHELL_AGENT => {
            local_folder(&state.metadata)
        }
        _ => None,
    }
}

fn end_of_signal(kind: SignalKind) -> ConversationEnd {
    ConversationEnd::Signal(u8::try_from(kind.as_raw_value()).unwrap_or_default())
}

/// Opens the line editor on a terminal, and stdin otherwise.
async fn open_input(
    client: &mut Client,
    session: &Uri,
    arguments: &AttachArgs,
) -> anyhow::Result<(UserInput, TurnOutput)> {
    if !can_edit_lines() {
        let output = TurnOutput::to_streams(OutputFormat::Text);
        return Ok((UserInput::Lines(StdinReader::of_typed_lines()), output));
    }
    let sessions = list_sessions(client).await?;
    let sessions = sessions.iter().map(|summary| {
        let id = short_id(&summary.resource).to_owned();
        (id, output::escape_invisible(&summary.metadata.title))
    });
    let folder = match client.state(session) {
        Some(ChannelState::Session(state)) => local_folder(&state.metadata),
        _ => None,
    };
    let completion = CompletionSource {
        commands: CHAT_COMMANDS
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect(),
        folder,
        sessions: sessions.collect(),
        session_command: SWITCH_COMMAND,
    };
    let settings = arguments.host.local.resolve_settings()?;
    let history = LogFiles::of(&settings.data_directory)
        .log_path()
        .with_file_name(HISTORY_FILE);
    let (editor, editor_output) = LineEditor::start(history, completion)?;
    Ok((
        UserInput::Editor(editor),
        TurnOutput::to_editor(editor_output),
    ))
}
