//! Terminals: the list, the output of open terminals, and input.
//!
//! Output of an open terminal goes to the page with the frames, as effects of its own: the whole
//! output once, and then what was added. After a new snapshot the page draws the whole output
//! again, so nothing is lost or doubled.

use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{ClientId, ClientSeq};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::terminal::{
    CreateTerminalParams, DisposeTerminalParams, TerminalAction, TerminalClaim, TerminalClaimed,
    TerminalCleared, TerminalClientClaim, TerminalInfo, TerminalInput, TerminalResized,
    TerminalSessionClaim, TerminalState, TerminalTitleChanged,
};
use agenthost_protocol::uri::Uri;
use agenthost_view::terminals::{TerminalContext, TerminalRow, output_tail, raw_output};
use serde::Serialize;

use super::Frontend;
use super::responses::{PendingResult, RejectionReport, ResponsePurpose, discard};
use super::slices::SliceCache;
use crate::effect::{FrontendEffect, SlicePatch};
use crate::input::TerminalCommand;

/// Maximum size of the live output in the timeline, in bytes.
const TAIL_BYTES: usize = 4_000;

/// Maximum number of buffered output bytes; beyond it, the page redraws the whole output, which
/// the host limits.
const MAX_ADDED_BYTES: usize = 2_000_000;

/// The terminals that the page shows.
#[derive(Debug, Default)]
pub(super) struct TerminalPanel {
    open: SortedMap<Uri, OpenTerminal>,
    /// Number of places in the timeline that show the end of a terminal's output.
    watched: SortedMap<Uri, usize>,
    /// Input and sizes that wait for the confirmation of the host. A refusal is reported to the
    /// page only: each key would make a note otherwise.
    quiet: Vec<PendingResult>,
}

/// A terminal whose output the page shows.
#[derive(Debug, Default)]
struct OpenTerminal {
    /// `true` if the page has the output, except `added`.
    is_drawn: bool,
    /// Output that the page does not have yet.
    added: String,
    /// `true` if the host had the terminal in its list.
    was_listed: bool,
    /// `true` if the host does not have the terminal any more.
    is_gone: bool,
}

impl OpenTerminal {
    /// Lets the next frame draw the whole output.
    fn reset(&mut self) {
        self.is_drawn = false;
        self.added.clear();
    }
}

#[derive(Debug, Serialize)]
struct TerminalsView {
    rows: Vec<TerminalRow>,
    /// Open terminals that the host does not have any more.
    gone: Vec<Uri>,
}

/// A row of slice `tails`.
#[derive(Debug, Serialize)]
struct TailRow {
    text: String,
}

/// The result of a command that starts a terminal.
#[derive(Debug, Serialize)]
struct CreatedTerminal<'a> {
    uri: &'a Uri,
}

impl Frontend {
    pub(super) fn execute_terminal(&mut self, id: u64, command: TerminalCommand) {
        match command {
            TerminalCommand::Create { cols, rows } => self.create_terminal(id, cols, rows),
            TerminalCommand::Open { uri } => {
                let uri = Uri::from(uri);
                self.follow(&uri);
                self.terminals.open.insert(uri, OpenTerminal::default());
                self.dirty.panels = true;
                self.done(id);
            }
            TerminalCommand::Leave { uri } => {
                let uri = Uri::from(uri);
                self.terminals.open.remove(&uri);
                self.leave_terminal(&uri);
                self.done(id);
            }
            TerminalCommand::Close { uri } => {
                let params = DisposeTerminalParams {
                    channel: Uri::from(uri),
                    meta: None,
                };
                self.request_for(id, &params, discard::<DisposeTerminalParams>);
            }
            TerminalCommand::Rename { uri, title } => {
                let action = TerminalAction::TitleChanged(TerminalTitleChanged { title });
                self.dispatch(id, &Uri::from(uri), action.into(), None);
            }
            TerminalCommand::Input { uri, data } => {
                let action = TerminalAction::Input(TerminalInput { data });
                self.dispatch_quietly(id, &Uri::from(uri), action);
            }
            TerminalCommand::Resize { uri, cols, rows } => {
                let action = TerminalAction::Resized(TerminalResized { cols, rows });
                self.dispatch_quietly(id, &Uri::from(uri), action);
            }
            TerminalCommand::Clear { uri } => {
                let action = TerminalAction::Cleared(TerminalCleared {});
                self.dispatch(id, &Uri::from(uri), action.into(), None);
            }
            TerminalCommand::Claim { uri } => {
                let claim = self.own_claim();
                self.claim_terminal(id, uri, claim);
            }
            TerminalCommand::Share { uri } => match self.session_claim() {
                Some(claim) => self.claim_terminal(id, uri, claim),
                None => self.fail(id, "no session is selected".to_owned()),
            },
            TerminalCommand::Detach { uri } => self.detach_terminal(id, uri),
            TerminalCommand::Watch { uri } => {
                let uri = Uri::from(uri);
                self.follow(&uri);
                *self.terminals.watched.or_default(uri) += 1;
                self.dirty.panels = true;
                self.done(id);
            }
            TerminalCommand::Unwatch { uri } => {
                let uri = Uri::from(uri);
                let count = self.terminals.watched.get(&uri).copied().unwrap_or(0);
                if count > 1 {
                    self.terminals.watched.insert(uri, count - 1);
                } else {
                    self.terminals.watched.remove(&uri);
                    self.leave_terminal(&uri);
                }
                self.done(id);
            }
        }
    }

    /// Starts a terminal that belongs to the selected session, so that all devices can use it.
    fn create_terminal(&mut self, id: u64, cols: u64, rows: u64) {
        let name = self.new_id();
        let uri = Uri::from(format!("ahp-terminal:/{name}"));
        let claim = self.session_claim().unwrap_or_else(|| self.own_claim());
        let params = CreateTerminalParams {
            channel: uri.clone(),
            claim,
            name: None,
            cwd: None,
            cols: Some(cols),
            rows: Some(rows),
            meta: None,
        };
        let purpose = ResponsePurpose::CreateTerminal { command: id, uri };
        self.request(&params, purpose);
    }

    /// Reports a terminal that was started.
    pub(super) fn report_terminal(&mut self, id: u64, uri: &Uri) {
        self.reply(id, &CreatedTerminal { uri });
    }

    fn own_claim(&self) -> TerminalClaim {
        TerminalClaim::Client(TerminalClientClaim {
            client_id: ClientId::from(self.client_id.as_str()),
        })
    }

    fn session_claim(&self) -> Option<TerminalClaim> {
        let (session, chat) = (self.session.clone()?, self.chat.clone()?);
        Some(TerminalClaim::Session(TerminalSessionClaim {
            session,
            chat,
            turn_id: None,
            tool_call_id: None,
        }))
    }

    fn claim_terminal(&mut self, id: u64, uri: String, claim: TerminalClaim) {
        let action = TerminalAction::Claimed(TerminalClaimed { claim });
        self.dispatch(id, &Uri::from(uri), action.into(), None);
    }

    fn detach_terminal(&mut self, id: u64, uri: String) {
        let state = self.terminal_state(&Uri::from(uri.as_str()));
        match state.map(|state| &state.claim) {
            Some(TerminalClaim::Session(claim)) => {
                let claim = TerminalClaim::Session(TerminalSessionClaim {
                    turn_id: None,
                    tool_call_id: None,
                    ..claim.clone()
                });
                self.claim_terminal(id, uri, claim);
            }
            Some(TerminalClaim::Client(_)) | None => {
                self.fail(id, "no tool call runs in this terminal".to_owned());
            }
        }
    }

    pub(super) fn listed_terminals(&self) -> impl Iterator<Item = &TerminalInfo> {
        let listed = self.root_state().and_then(|root| root.terminals.as_ref());
        listed.into_iter().flatten()
    }

    pub(super) fn terminal_state(&self, uri: &Uri) -> Option<&TerminalState> {
        self.state(uri).and_then(ChannelState::as_terminal)
    }

    fn leave_terminal(&mut self, uri: &Uri) {
        if !self.terminals.open.contains_key(uri) && !self.terminals.watched.contains_key(uri) {
            self.unfollow(uri);
        }
        self.dirty.panels = true;
    }

    /// Dispatches input or a size. It is not kept for a later connection: what the user typed
    /// into a program that is gone must not reach another one.
    fn dispatch_quietly(&mut self, id: u64, uri: &Uri, action: TerminalAction) {
        if !self.link.is_live() {
            return self.fail(id, "there is no connection to the host".to_owned());
        }
        if self.state(uri).is_none() {
            return self.fail(id, "the terminal is not open".to_owned());
        }
        let Some(engine) = &mut self.engine else {
            return;
        };
        match engine.dispatch(uri, Action::from(action)) {
            Ok(client_seq) => self.terminals.quiet.push(PendingResult {
                client_seq,
                command: id,
                report: RejectionReport::CommandOnly,
                unmirrored: None,
            }),
            Err(error) => self.fail(id, error.to_string()),
        }
        self.dirty.panels = true;
    }

    /// Reports the result of input or of a size. Returns `false` if the action is another one.
    pub(super) fn finish_quiet_action(&mut self, seq: ClientSeq, reason: Option<&str>) -> bool {
        let mut quiet = self.terminals.quiet.iter();
        let Some(position) = quiet.position(|result| result.client_seq == seq) else {
            return false;
        };
        let command = self.terminals.quiet.swap_remove(position).command;
        match reason {
            None => self.done(command),
            Some(reason) => self.fail(command, reason.to_owned()),
        }
        true
    }

    /// Adds an action on an open terminal to the output that the page gets.
    pub(super) fn collect_output(&mut self, uri: &Uri, action: &ReceivedAction) {
        let Some(open) = self.terminals.open.get_mut(uri) else {
            return;
        };
        let ReceivedAction::Valid(Action::Terminal(action)) = action else {
            return;
        };
        match action {
            TerminalAction::Data(data) if open.is_drawn => {
                open.added.push_str(&data.data);
                if open.added.len() > MAX_ADDED_BYTES {
                    open.reset();
                }
            }
            TerminalAction::Cleared(_) => open.reset(),
            TerminalAction::Data(_)
            | TerminalAction::Input(_)
            | TerminalAction::Resized(_)
            | TerminalAction::Claimed(_)
            | TerminalAction::TitleChanged(_)
            | TerminalAction::CwdChanged(_)
            | TerminalAction::Exited(_)
            | TerminalAction::CommandDetectionAvailable(_)
            | TerminalAction::CommandExecuted(_)
            | TerminalAction::CommandFinished(_) => {}
        }
    }

    /// Draws a terminal again that restarts from a snapshot.
    pub(super) fn reset_output(&mut self, uri: &Uri) {
        let is_gone = self.state(uri).is_none();
        if let Some(open) = self.terminals.open.get_mut(uri) {
            open.reset();
            open.is_gone = is_gone;
        }
    }

    /// Returns `true` for a channel that only the terminals show.
    pub(super) fn is_terminal(channel: &Uri) -> bool {
        channel.as_str().starts_with("ahp-terminal:")
    }

    /// Sends the output of the open terminals that the page does not have.
    pub(super) fn draw_output(&mut self) {
        let mut open = std::mem::take(&mut self.terminals.open);
        for (uri, terminal) in open.iter_mut() {
            let is_listed = self.listed_terminals().any(|info| info.resource == *uri);
            terminal.is_gone |= terminal.was_listed && !is_listed;
            terminal.was_listed |= is_listed;
            let Some(state) = self.terminal_state(uri) else {
                terminal.reset();
                continue;
            };
            let is_reset = !terminal.is_drawn;
            let data = if is_reset {
                raw_output(state)
            } else {
                std::mem::take(&mut terminal.added)
            };
            if is_reset || !data.is_empty() {
                terminal.is_drawn = true;
                terminal.added.clear();
                let uri = uri.clone();
                self.effects.push(FrontendEffect::TerminalOutput {
                    uri,
                    is_reset,
                    data,
                });
            }
        }
        self.terminals.open = open;
    }

    pub(super) fn draw_terminals(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let context = TerminalContext {
            client_id: &self.client_id,
            session: self.session.as_ref(),
        };
        let infos = self
            .listed_terminals()
            .map(|info| TerminalRow::of_info(info, self.terminal_state(&info.resource), context));
        let mut rows: Vec<_> = infos.collect();
        let mut gone = Vec::new();
        for (uri, open) in self.terminals.open.iter() {
            if open.is_gone {
                gone.push(uri.clone());
            } else if !rows.iter().any(|row| row.uri == *uri)
                && let Some(state) = self.terminal_state(uri)
            {
                rows.push(TerminalRow::of_state(uri, state, context));
            }
        }
        slices.set_value(patches, "terminals", &TerminalsView { rows, gone });
        let watched = self.terminals.watched.keys();
        let tails = watched.filter_map(|uri| {
            let text = output_tail(self.terminal_state(uri)?, TAIL_BYTES);
            Some((uri.to_string(), TailRow { text }))
        });
        let tails: Vec<_> = tails.collect();
        let keyed = tails.iter().map(|(uri, row)| (uri.clone(), row));
        slices.set_rows(patches, "tails", keyed);
    }
}
