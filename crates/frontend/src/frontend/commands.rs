//! Routes the commands of the user.

use agenthost_protocol::uri::Uri;
use agenthost_view::session_list::{SessionFilter, SessionGrouping};

use super::Frontend;
use super::chat::SendOptions;
use crate::input::{FrontendCommand, GroupMode};

/// The error for a message to a chat that the page has left.
const OTHER_CHAT: &str = "another chat was opened before the message was sent";

impl Frontend {
    pub(super) fn execute(&mut self, id: u64, command: FrontendCommand) {
        match command {
            FrontendCommand::SelectSession { session } => {
                self.select_session(id, Uri::from(session))
            }
            FrontendCommand::SelectChat { chat } => self.select_chat(id, Uri::from(chat)),
            FrontendCommand::Send {
                chat,
                text,
                attachments,
                steer,
                keep_draft,
            } if self.is_selected(chat.as_deref()) => {
                let options = SendOptions::new(steer, keep_draft);
                self.send(id, text, attachments.unwrap_or_default(), options);
            }
            FrontendCommand::Send { .. } => self.fail(id, OTHER_CHAT.to_owned()),
            FrontendCommand::CancelTurn {} => self.cancel_turn(id),
            FrontendCommand::ResumeTurn {} => self.resume_turn(id),
            FrontendCommand::AnswerApproval {
                key,
                option_id,
                approve,
                edited_input,
            } => self.answer_approval(id, &key, option_id, approve, edited_input),
            FrontendCommand::AnswerForm {
                key,
                response,
                answers,
            } => self.answer_form(id, &key, response, &answers),
            FrontendCommand::DraftForm {
                key,
                question_id,
                answer,
            } => self.draft_form(id, &key, &question_id, &answer),
            FrontendCommand::SetDraft { chat, text } => self.share_draft(id, chat, text),
            FrontendCommand::SetModel { model } => self.set_model(id, &model),
            FrontendCommand::QueueEdit { key, text } => self.edit_queued(id, &key, text),
            FrontendCommand::QueueRemove { key } => self.remove_queued(id, &key),
            FrontendCommand::QueueMove { key, index } => self.move_queued(id, &key, index),
            FrontendCommand::SteerNow { key } => self.steer_now(id, &key),
            FrontendCommand::Rename { session, title } => self.rename(id, session, title),
            FrontendCommand::Archive { session, archived } => self.archive(id, session, archived),
            FrontendCommand::Delete { session } => self.delete(id, session),
            FrontendCommand::MarkRead { session } => self.mark_read(id, session),
            FrontendCommand::SetConfig { key, value } => self.set_config(id, key, value),
            FrontendCommand::SelectChangeset { uri } => self.select_changeset(id, Uri::from(uri)),
            FrontendCommand::OpenDiff { file, layout } => self.open_diff(id, &file, layout),
            FrontendCommand::CloseDiff {} => self.close_diff(id),
            FrontendCommand::DiffRows { start, end } => self.read_diff_rows(id, start, end),
            FrontendCommand::EditRows {
                before,
                after,
                start,
            } => self.read_edit(id, [before, after].map(|uri| uri.map(Uri::from)), start),
            FrontendCommand::FindHunk { row, forward } => self.find_hunk(id, row, forward),
            FrontendCommand::Review { file, reviewed } => self.review(id, &file, reviewed),
            FrontendCommand::Operation {
                id: operation,
                file,
            } => self.run_operation(id, &operation, file.as_deref()),
            FrontendCommand::Filter {
                text,
                group,
                archived,
                utc_offset_minutes,
            } => {
                let group = to_grouping(group, utc_offset_minutes);
                self.filter_sessions(
                    id,
                    SessionFilter {
                        text,
                        group,
                        archived,
                    },
                );
            }
            FrontendCommand::OlderTurns {} => self.fetch_older_turns(id),
            FrontendCommand::Completions { text, cursor } => {
                self.complete_message(id, text, cursor)
            }
            FrontendCommand::ReadFile { uri } => self.read_file(id, &uri),
            FrontendCommand::ListFolder { uri } => self.list_folder(id, &uri),
            FrontendCommand::Digests {} => self.report_digests(id),
            FrontendCommand::DismissNote { id: note } => {
                self.notes.retain(|other| other.id != note);
                self.dirty.link = true;
                self.done(id);
            }
            FrontendCommand::Annotation(command) => self.execute_annotation(id, command),
            FrontendCommand::File(command) => self.execute_file(id, command),
            FrontendCommand::Chat(command) => self.execute_chat(id, command),
            FrontendCommand::Session(command) => self.execute_session(id, command),
            FrontendCommand::Settings(command) => self.execute_settings(id, command),
            FrontendCommand::Terminal(command) => self.execute_terminal(id, command),
            FrontendCommand::Customization(command) => self.execute_customization(id, command),
            FrontendCommand::App(command) => self.execute_app(id, command),
        }
    }

    fn share_draft(&mut self, id: u64, chat: Option<String>, text: String) {
        match chat {
            Some(chat) if !self.is_selected(Some(&chat)) => {
                self.keep_draft(id, &Uri::from(chat), text);
            }
            _ => self.set_draft(id, text),
        }
    }

    fn filter_sessions(&mut self, id: u64, filter: SessionFilter) {
        self.filter = filter;
        self.dirty.sessions = true;
        self.done(id);
    }

    /// Returns `true` if a chat is the selected one. Commands without a chat mean that one.
    fn is_selected(&self, chat: Option<&str>) -> bool {
        chat.is_none_or(|chat| self.chat.as_ref().is_some_and(|own| own.as_str() == chat))
    }
}

fn to_grouping(group: GroupMode, utc_offset_minutes: i64) -> SessionGrouping {
    match group {
        GroupMode::Folder => SessionGrouping::Folder,
        GroupMode::Time => SessionGrouping::Day { utc_offset_minutes },
        GroupMode::None => SessionGrouping::None,
    }
}
