//! Routes the commands of the user.

use agenthost_protocol::uri::Uri;
use agenthost_view::session_list::{SessionFilter, SessionGrouping};

use super::PageCore;
use crate::input::{GroupMode, PageCommand};

/// The error for a message to a chat that the page has left.
const OTHER_CHAT: &str = "another chat was opened before the message was sent";

impl PageCore {
    pub(super) fn execute(&mut self, id: u64, command: PageCommand) {
        match command {
            PageCommand::SelectSession { session } => self.select_session(id, Uri::from(session)),
            PageCommand::SelectChat { chat } => self.select_chat(id, Uri::from(chat)),
            PageCommand::Send {
                chat,
                text,
                attachments,
                steer,
            } if self.is_selected(chat.as_deref()) => self.send(
                id,
                text,
                attachments.unwrap_or_default(),
                steer == Some(true),
            ),
            PageCommand::Send { .. } => self.fail(id, OTHER_CHAT.to_owned()),
            PageCommand::CancelTurn {} => self.cancel_turn(id),
            PageCommand::ResumeTurn {} => self.resume_turn(id),
            PageCommand::AnswerApproval {
                key,
                option_id,
                approve,
                edited_input,
            } => self.answer_approval(id, &key, option_id, approve, edited_input),
            PageCommand::AnswerForm {
                key,
                response,
                answers,
            } => self.answer_form(id, &key, response, &answers),
            PageCommand::DraftForm {
                key,
                question_id,
                answer,
            } => self.draft_form(id, &key, &question_id, &answer),
            PageCommand::SetDraft { chat, text } => match chat {
                Some(chat) if !self.is_selected(Some(&chat)) => {
                    self.keep_draft(id, &Uri::from(chat), text);
                }
                _ => self.set_draft(id, text),
            },
            PageCommand::SetModel { model } => self.set_model(id, &model),
            PageCommand::QueueEdit { key, text } => self.edit_queued(id, &key, text),
            PageCommand::QueueRemove { key } => self.remove_queued(id, &key),
            PageCommand::QueueMove { key, index } => self.move_queued(id, &key, index),
            PageCommand::SteerNow { key } => self.steer_now(id, &key),
            PageCommand::Rename { session, title } => self.rename(id, session, title),
            PageCommand::Archive { session, archived } => self.archive(id, session, archived),
            PageCommand::Delete { session } => self.delete(id, session),
            PageCommand::MarkRead { session } => self.mark_read(id, session),
            PageCommand::SetConfig { key, value } => self.set_config(id, key, value),
            PageCommand::SelectChangeset { uri } => self.select_changeset(id, Uri::from(uri)),
            PageCommand::OpenDiff { file, layout } => self.open_diff(id, &file, layout),
            PageCommand::CloseDiff {} => self.close_diff(id),
            PageCommand::DiffRows { start, end } => self.read_diff_rows(id, start, end),
            PageCommand::FindHunk { row, forward } => self.find_hunk(id, row, forward),
            PageCommand::Review { file, reviewed } => self.review(id, &file, reviewed),
            PageCommand::Operation {
                id: operation,
                file,
            } => self.run_operation(id, &operation, file.as_deref()),
            PageCommand::Filter {
                text,
                group,
                archived,
                utc_offset_minutes,
            } => {
                self.filter = SessionFilter {
                    text,
                    group: to_grouping(group, utc_offset_minutes),
                    archived,
                };
                self.dirty.sessions = true;
                self.done(id);
            }
            PageCommand::OlderTurns {} => self.fetch_older_turns(id),
            PageCommand::Completions { text, cursor } => self.complete_message(id, text, cursor),
            PageCommand::ReadFile { uri } => self.read_file(id, &uri),
            PageCommand::ListFolder { uri } => self.list_folder(id, &uri),
            PageCommand::Digests {} => self.report_digests(id),
            PageCommand::DismissNote { id: note } => {
                self.notes.retain(|other| other.id != note);
                self.dirty.link = true;
                self.done(id);
            }
            PageCommand::Annotation(command) => self.execute_annotation(id, command),
            PageCommand::File(command) => self.execute_file(id, command),
            PageCommand::Chat(command) => self.execute_chat(id, command),
            PageCommand::Session(command) => self.execute_session(id, command),
            PageCommand::Settings(command) => self.execute_settings(id, command),
            PageCommand::Terminal(command) => self.execute_terminal(id, command),
            PageCommand::Customization(command) => self.execute_customization(id, command),
            PageCommand::App(command) => self.execute_app(id, command),
        }
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
