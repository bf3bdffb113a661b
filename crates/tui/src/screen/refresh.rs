//! Takes changes of the frontend: data, drafts, notes, and requests that the user has to see.

use agenthost_frontend::{ChangedViews, Frontend, FrontendCommand, TerminalCommand};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use agenthost_view::inbox::InboxItem;
use agenthost_view::terminals::raw_output;

use super::replies::ReplyPurpose;
use super::{FullView, ScreenFocus, TerminalScreen};
use crate::dialogs::ScreenDialog;
use crate::paint::text::clean;

/// Bytes of the output of a terminal that the timeline may show.
const TAIL_BYTES: usize = 64 * 1024;

impl TerminalScreen {
    /// Takes changes of the frontend.
    pub fn refresh(&mut self, client: &Frontend, changed: ChangedViews, now: i64) {
        self.now = now;
        let before = self.model.session.clone();
        self.model.refresh(client, changed, self.inspector);
        if changed.chat || changed.sessions {
            self.timeline.refresh(client.timeline_source());
            let chat = self.model.chat.as_ref().map(|chat| chat.chat.clone());
            let draft = self
                .model
                .composer
                .as_ref()
                .map(|composer| composer.draft.as_str());
            let unsaved = self.composer.show(chat.as_ref(), draft);
            self.store_draft(unsaved);
            self.watch_terminals();
        }
        if changed.panels || changed.chat {
            self.read_tails(client);
        }
        if changed.link {
            self.take_notes(client);
        }
        if before != self.model.session {
            self.sessions.selected.clone_from(&self.model.session);
        }
        if let Some(FullView::Diff(_)) = &self.full
            && self.model.diff.is_none()
            && changed.changes
        {
            self.full = None;
        }
        if let Some(ScreenDialog::NewSession(dialog)) = &mut self.dialog
            && dialog.add_agents(&self.model.agents)
        {
            self.resolve_settings();
        }
        self.start();
        self.announce();
        self.close_answered_form();
    }

    /// Records requests that the user was not told of yet.
    fn announce(&mut self) {
        let rows = self.model.inbox.rows.iter();
        let open = rows.filter(|row| !matches!(row.item, InboxItem::Finished { .. }));
        let mut keys = SortedSet::new();
        let mut news = None;
        for row in open {
            if !self.announced.contains(&row.key) {
                news = Some(format!("{} waits for you", row.session_title));
            }
            keys.insert(row.key.clone());
        }
        self.announced = keys;
        if news.is_some() {
            self.attention = news.map(|text| clean(&text));
        }
    }

    /// Subscribes to the terminals whose output the timeline shows, and no others.
    pub(super) fn watch_terminals(&mut self) {
        let wanted: SortedSet<Uri> = self.timeline.live_terminals().into_iter().collect();
        let old: Vec<_> = self
            .watched
            .iter()
            .filter(|uri| !wanted.contains(*uri))
            .cloned()
            .collect();
        let new: Vec<_> = wanted
            .iter()
            .filter(|uri| !self.watched.contains(*uri))
            .cloned()
            .collect();
        for uri in old {
            let uri = uri.to_string();
            let command = FrontendCommand::Terminal(TerminalCommand::Unwatch { uri });
            self.command(command, ReplyPurpose::Quiet);
        }
        for uri in new {
            let uri = uri.to_string();
            let command = FrontendCommand::Terminal(TerminalCommand::Watch { uri });
            self.command(command, ReplyPurpose::Quiet);
        }
        self.watched = wanted;
    }

    /// Reads the end of the output of the terminals in the timeline.
    fn read_tails(&mut self, client: &Frontend) {
        if self.watched.is_empty() && self.timeline.tails.is_empty() {
            return;
        }
        let tails = self.watched.iter().filter_map(|uri| {
            let output = raw_output(client.terminal(uri)?);
            let from = output.ceil_char_boundary(output.len().saturating_sub(TAIL_BYTES));
            let tail = output.get(from..).unwrap_or_default().to_owned();
            Some((uri.clone(), tail))
        });
        self.timeline.set_tails(tails.collect());
    }

    /// Shows messages of the frontend, and restores texts that the host refused.
    fn take_notes(&mut self, client: &Frontend) {
        for note in client.notes() {
            let id = note.id.clone();
            if let Some(text) = &note.restored
                && self.composer.input.is_empty()
            {
                self.composer.input.set_text(text.clone());
                self.composer.note_change(self.now);
            }
            self.show_error(note.text.clone());
            self.command(FrontendCommand::DismissNote { id }, ReplyPurpose::Quiet);
        }
    }

    /// Closes the form whose request another client has answered.
    fn close_answered_form(&mut self) {
        let Some(ScreenDialog::Form(dialog)) = &self.dialog else {
            return;
        };
        let mut rows = self.model.inbox.rows.iter();
        let is_open = self
            .model
            .requests
            .iter()
            .any(|card| card.key() == dialog.key())
            || rows.any(|row| match &row.item {
                InboxItem::Request { card } => card.key() == dialog.key(),
                _ => false,
            });
        if !is_open {
            self.dialog = None;
            self.show_message("these questions are answered or gone");
        }
    }

    /// Opens the session that the user asked for, or the latest one of the folder.
    fn start(&mut self) {
        if self.is_started || self.model.sessions.total == 0 {
            return;
        }
        self.is_started = true;
        let folder = self.options.folder.as_deref();
        let rows = self.model.sessions.rows.iter();
        let mut here = rows.filter(|row| folder.is_some() && row.folder.as_deref() == folder);
        let wanted = self.options.session.clone();
        let session = wanted.or_else(|| here.next().map(|row| row.key.clone()));
        if let Some(session) = session {
            self.open_session(session);
            self.focus = ScreenFocus::Composer;
        }
    }
}
