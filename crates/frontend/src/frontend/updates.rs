//! Updates of the engine, and the results of commands whose actions the host confirms.

use agenthost_client::ClientUpdate;
use agenthost_protocol::action::Action;
use agenthost_protocol::ids::ClientSeq;
use agenthost_protocol::uri::Uri;

use super::Frontend;
use super::races::{RaceOutcome, RacedAction};
use super::responses::{PendingResult, RejectionReport};
use super::slices::DirtySlices;

/// The error of an action that cannot be sent, and is not kept.
const NO_CONNECTION: &str = "there is no connection to the host";

/// The error of an action that was sent, and may have had an effect.
const UNKNOWN_OUTCOME: &str =
    "the connection was lost before the host confirmed this; it may have had an effect";

impl Frontend {
    pub(super) fn handle_update(&mut self, update: ClientUpdate) {
        match update {
            ClientUpdate::Action(envelope) => {
                self.mark_channel(&envelope.channel);
                self.handle_file_changes(&envelope.channel, &envelope.action);
                self.collect_output(&envelope.channel, &envelope.action);
                if let Some(origin) = &envelope.origin
                    && origin.client_id.as_str() == self.client_id
                {
                    self.finish_action(origin.client_seq, None);
                }
            }
            ClientUpdate::Rejected { origin, reason } => {
                self.dirty = DirtySlices::ALL;
                let own = origin.filter(|origin| origin.client_id.as_str() == self.client_id);
                if let Some(origin) = own {
                    self.finish_action(origin.client_seq, Some(reason));
                }
            }
            ClientUpdate::Notification(notification) => {
                self.handle_notification(*notification);
            }
            // `handle_text` requests the session list whenever the connection becomes live.
            ClientUpdate::Reconnected => self.dirty.link = true,
            ClientUpdate::Disconnected => {
                self.dirty.link = true;
                self.fail_unconfirmed_results();
            }
            ClientUpdate::Resynced {
                channels,
                unconfirmed,
            } => {
                self.dirty = DirtySlices::ALL;
                for (channel, pending) in unconfirmed {
                    self.report_unconfirmed(&channel, pending);
                }
                for channel in channels {
                    self.reset_output(&channel);
                    self.mark_channel(&channel);
                }
            }
        }
    }

    /// Marks the slices that show a channel.
    pub(super) fn mark_channel(&mut self, channel: &Uri) {
        if Self::is_watch(channel) {
            return;
        }
        self.dirty.link = true;
        self.mark_unsaved();
        if Some(channel) == self.chat.as_ref() {
            self.dirty.chat = true;
        } else if self.changes.is_open(channel) {
            self.dirty.changes = true;
            self.refresh_diff();
        } else if self.annotations.is_open(channel) {
            self.dirty.changes = true;
        } else if Self::is_terminal(channel) {
            self.dirty.panels = true;
        } else {
            self.dirty = DirtySlices::ALL;
        }
    }

    /// Dispatches an action for a command. The result of the command is that of the action.
    pub(super) fn dispatch(
        &mut self,
        id: u64,
        channel: &Uri,
        action: Action,
        restored: Option<String>,
    ) {
        self.dispatch_with(id, channel, action, RejectionReport::Note { restored });
    }

    pub(super) fn dispatch_with(
        &mut self,
        id: u64,
        channel: &Uri,
        action: Action,
        report: RejectionReport,
    ) {
        let Some(engine) = &self.engine else {
            return;
        };
        let unmirrored = engine.state(channel).is_none().then(|| channel.clone());
        if unmirrored.is_some() {
            if !self.link.is_live() {
                return self.fail(id, NO_CONNECTION.to_owned());
            }
            // The host confirms actions only to subscribers.
            self.follow(channel);
        }
        let dispatched = self
            .engine
            .as_mut()
            .map(|engine| engine.dispatch(channel, action));
        match dispatched {
            Some(Ok(client_seq)) => self.results.push(PendingResult {
                client_seq,
                command: id,
                report,
                unmirrored,
            }),
            Some(Err(error)) => self.report_undispatched(id, report, error.to_string()),
            None => self.fail(id, NO_CONNECTION.to_owned()),
        }
        self.mark_channel(&channel.clone());
        // The page may be closed before there is a connection.
        if !self.link.is_live() {
            self.save_now();
        }
    }

    /// Reports an action that could not be sent. A command of the frontend itself has no caller
    /// that still has the text of the user, so the text is in a note.
    fn report_undispatched(&mut self, id: u64, report: RejectionReport, reason: String) {
        let restored = match report {
            RejectionReport::Note { restored } => restored,
            RejectionReport::Race(RacedAction::Message(message)) => Some(message.text),
            RejectionReport::Race(RacedAction::Answer(_) | RacedAction::Turn { .. })
            | RejectionReport::CommandOnly => None,
        };
        if id == 0 && restored.is_some() {
            self.add_note(reason, restored);
        } else {
            self.fail(id, reason);
        }
    }

    /// Reports the result of the command behind an action. A rejected action is also shown as a
    /// note, with the text that the user had entered. Returns `false` if no command of this page
    /// has dispatched the action.
    pub(super) fn finish_action(&mut self, client_seq: ClientSeq, reason: Option<String>) -> bool {
        if self.finish_quiet_action(client_seq, reason.as_deref()) {
            return true;
        }
        let mut results = self.results.iter();
        let Some(position) = results.position(|result| result.client_seq == client_seq) else {
            return false;
        };
        let result = self.results.swap_remove(position);
        self.finish_review(client_seq, reason.is_none());
        match reason {
            None => self.done(result.command),
            Some(reason) => self.report_rejection(result.command, result.report, reason),
        }
        // After the report, which needs the state of the channel.
        if let Some(channel) = &result.unmirrored {
            self.leave_channel(channel);
        }
        true
    }

    fn report_rejection(&mut self, command: u64, report: RejectionReport, reason: String) {
        let restored = match report {
            RejectionReport::CommandOnly => return self.fail(command, reason),
            RejectionReport::Note { restored } => restored,
            RejectionReport::Race(raced) => match self.resolve_race(command, raced) {
                RaceOutcome::Settled => return self.done(command),
                RaceOutcome::Lost(text) => return self.fail(command, text),
                RaceOutcome::Retried => return,
                RaceOutcome::Rejected(restored) => restored,
            },
        };
        self.add_note(reason.clone(), restored);
        self.fail(command, reason);
    }

    /// Fails the commands whose actions the engine does not send again after a lost connection.
    fn fail_unconfirmed_results(&mut self) {
        let results = std::mem::take(&mut self.results);
        let (lost, kept) = results
            .into_iter()
            .partition(|result| result.unmirrored.is_some());
        self.results = kept;
        let lost: Vec<PendingResult> = lost;
        for result in lost {
            let restored = match result.report {
                RejectionReport::Note { restored } => Some(restored),
                RejectionReport::Race(RacedAction::Message(message)) => Some(Some(message.text)),
                RejectionReport::Race(RacedAction::Answer(_) | RacedAction::Turn { .. }) => {
                    Some(None)
                }
                RejectionReport::CommandOnly => None,
            };
            if let Some(restored) = restored {
                self.add_note(UNKNOWN_OUTCOME.to_owned(), restored);
            }
            self.fail(result.command, UNKNOWN_OUTCOME.to_owned());
        }
    }

    /// Unsubscribes from a channel that was followed for one action, unless the page shows it.
    fn leave_channel(&mut self, channel: &Uri) {
        let is_shown =
            self.session.as_ref() == Some(channel) || self.chat.as_ref() == Some(channel);
        let is_needed = is_shown || !channel.as_str().starts_with("ahp-chat:");
        if !is_needed {
            self.unfollow(channel);
        }
    }
}
