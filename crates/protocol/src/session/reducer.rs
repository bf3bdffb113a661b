//! Reducer of the session channel.

mod customizations;

use std::sync::Arc;

use indexmap::IndexMap;

use super::actions::{
    ActiveClientRemoved, ActiveClientSet, ChatRemoved, ChatUpdated, ChatsReordered,
    InputNeededRemoved, InputNeededSet, SessionAction, SessionWorkingDirectoryReplaced,
};
use super::state::{SessionLifecycle, SessionState};
use crate::chat::{ChatSummary, PartialChatSummary};
use crate::common::{SessionStatus, add_directory, change_config, remove_directory};
use crate::list::List;
use crate::outcome::Outcome;

impl SessionState {
    /// Applies an action to the session.
    pub fn reduce(&mut self, action: &SessionAction) -> Outcome {
        match action {
            SessionAction::Ready(_) => {
                self.lifecycle = SessionLifecycle::Ready;
                Outcome::Applied
            }
            SessionAction::CreationFailed(action) => {
                self.lifecycle = SessionLifecycle::Failed;
                self.creation_error = Some(action.error.clone());
                Outcome::Applied
            }
            SessionAction::ChatAdded(action) => {
                let resource = &action.summary.resource;
                self.chats.upsert(Arc::clone(&action.summary), |chat| {
                    chat.resource == *resource
                });
                Outcome::Applied
            }
            SessionAction::ChatRemoved(action) => self.remove_chat(action),
            SessionAction::ChatUpdated(action) => self.update_chat(action),
            SessionAction::ChatsReordered(action) => self.reorder_chats(action),
            SessionAction::DefaultChatChanged(action) => {
                self.default_chat.clone_from(&action.default_chat);
                Outcome::Applied
            }
            SessionAction::TitleChanged(action) => {
                self.metadata.title.clone_from(&action.title);
                Outcome::Applied
            }
            SessionAction::ServerToolsChanged(action) => {
                self.server_tools = Some(action.tools.clone());
                Outcome::Applied
            }
            SessionAction::ActiveClientSet(action) => self.set_active_client(action),
            SessionAction::ActiveClientRemoved(action) => self.remove_active_client(action),
            SessionAction::WorkingDirectorySet(action) => {
                add_directory(&mut self.metadata.working_directories, &action.directory)
            }
            SessionAction::WorkingDirectoryRemoved(action) => {
                remove_directory(&mut self.metadata.working_directories, &action.directory)
            }
            SessionAction::WorkingDirectoryReplaced(action) => self.replace_directory(action),
            SessionAction::InputNeededSet(action) => self.set_input_needed(action),
            SessionAction::InputNeededRemoved(action) => self.remove_input_needed(action),
            SessionAction::CustomizationsChanged(action) => {
                self.customizations = Some(action.customizations.clone());
                Outcome::Applied
            }
            SessionAction::CustomizationToggled(action) => self.toggle_customization(action),
            SessionAction::CustomizationUpdated(action) => self.update_customization(action),
            SessionAction::CustomizationRemoved(action) => self.remove_customization(action),
            SessionAction::McpServerStateChanged(action) => self.set_mcp_state(action),
            SessionAction::McpServerStartRequested(action) => self.start_mcp_server(action),
            SessionAction::McpServerStopRequested(action) => self.stop_mcp_server(action),
            SessionAction::McpServerBackgroundRequested(action) => {
                self.background_mcp_server(action)
            }
            SessionAction::IsReadChanged(action) => {
                self.flag(SessionStatus::IS_READ, action.is_read)
            }
            SessionAction::IsArchivedChanged(action) => {
                self.flag(SessionStatus::IS_ARCHIVED, action.is_archived)
            }
            SessionAction::ActivityChanged(action) => {
                self.metadata.activity.clone_from(&action.activity);
                Outcome::Applied
            }
            SessionAction::ChangesetsChanged(action) => {
                self.changesets.clone_from(&action.changesets);
                Outcome::Applied
            }
            SessionAction::ConfigChanged(action) => {
                let values = self.config.as_mut().map(|config| &mut config.values);
                change_config(values, &action.config, action.replace)
            }
            SessionAction::MetaChanged(action) => {
                self.meta.clone_from(&action.meta);
                Outcome::Applied
            }
        }
    }

    fn flag(&mut self, flag: SessionStatus, set: bool) -> Outcome {
        self.metadata.status = self.metadata.status.flagged(flag, set);
        Outcome::Applied
    }

    fn remove_chat(&mut self, action: &ChatRemoved) -> Outcome {
        let Some(index) = self.chats.find(|chat| chat.resource == action.chat) else {
            return Outcome::NoOp;
        };
        self.chats.remove(index);
        self.default_chat.take_if(|chat| *chat == action.chat);
        Outcome::Applied
    }

    fn update_chat(&mut self, action: &ChatUpdated) -> Outcome {
        let index = self.chats.find(|chat| chat.resource == action.chat);
        let Some(chat) = index.and_then(|index| self.chats.item_mut(index)) else {
            return Outcome::NoOp;
        };
        chat.merge(&action.changes);
        Outcome::Applied
    }

    fn reorder_chats(&mut self, action: &ChatsReordered) -> Outcome {
        let mut by_resource: IndexMap<_, _> = self
            .chats
            .iter()
            .map(|chat| (chat.resource.clone(), chat))
            .collect();
        // Each entry is removed from the map, so a chat that is listed twice makes the action a
        // no-op.
        let reordered: Option<List<ChatSummary>> = action
            .chats
            .iter()
            .map(|resource| by_resource.swap_remove(resource).cloned())
            .collect();
        match reordered {
            Some(reordered) if reordered.len() == self.chats.len() && reordered != self.chats => {
                self.chats = reordered;
                Outcome::Applied
            }
            _ => Outcome::NoOp,
        }
    }

    fn set_active_client(&mut self, action: &ActiveClientSet) -> Outcome {
        let client = &action.active_client;
        let mut clients = self.active_clients.iter_mut();
        match clients.find(|entry| entry.client_id == client.client_id) {
            Some(entry) => entry.clone_from(client),
            None => self.active_clients.push(client.clone()),
        }
        Outcome::Applied
    }

    fn remove_active_client(&mut self, action: &ActiveClientRemoved) -> Outcome {
        let mut clients = self.active_clients.iter();
        let Some(index) = clients.position(|entry| entry.client_id == action.client_id) else {
            return Outcome::NoOp;
        };
        self.active_clients.remove(index);
        Outcome::Applied
    }

    /// Replaces a directory. If the replacement occurs later in the list, it moves to the
    /// position of the directory; if it occurs earlier, it stays there (DIR-5).
    fn replace_directory(&mut self, action: &SessionWorkingDirectoryReplaced) -> Outcome {
        let Some(list) = &mut self.metadata.working_directories else {
            return Outcome::NoOp;
        };
        let Some(index) = list.iter().position(|entry| *entry == action.directory) else {
            return Outcome::NoOp;
        };
        if list
            .iter()
            .take(index)
            .any(|entry| *entry == action.replacement)
        {
            list.remove(index);
            return Outcome::Applied;
        }
        let mut position = 0;
        list.retain(|entry| {
            position += 1;
            position == index + 1 || *entry != action.replacement
        });
        if let Some(entry) = list.get_mut(index) {
            *entry = action.replacement.clone();
        }
        Outcome::Applied
    }

    fn set_input_needed(&mut self, action: &InputNeededSet) -> Outcome {
        let Some(key) = action.request.key() else {
            return Outcome::NoOp;
        };
        self.input_needed
            .get_or_insert_default()
            .upsert(Arc::clone(&action.request), |entry| {
                entry.key() == Some(key)
            });
        self.refresh_input_needed();
        Outcome::Applied
    }

    fn remove_input_needed(&mut self, action: &InputNeededRemoved) -> Outcome {
        let Some(list) = &mut self.input_needed else {
            return Outcome::NoOp;
        };
        let Some(index) = list.find(|entry| entry.key() == Some(action.id.as_str())) else {
            return Outcome::NoOp;
        };
        list.remove(index);
        self.input_needed.take_if(|list| list.is_empty());
        self.refresh_input_needed();
        Outcome::Applied
    }

    /// Sets the status to input needed while any entry waits for the user. When the last one is
    /// removed, the status is in progress, even if no turn is running (AGG-6).
    fn refresh_input_needed(&mut self) {
        let waits = self
            .input_needed
            .as_ref()
            .is_some_and(|list| list.items().any(|entry| entry.awaits_user()));
        let status = self.metadata.status;
        self.metadata.status = if waits {
            status.with_activity(SessionStatus::INPUT_NEEDED)
        } else {
            let waiting = SessionStatus::INPUT_NEEDED.without(SessionStatus::IN_PROGRESS);
            status.without(waiting)
        };
    }
}

impl ChatSummary {
    /// Copies every present field except `resource` (CRT-1).
    fn merge(&mut self, changes: &PartialChatSummary) {
        let changes = changes.clone();
        self.title = changes
            .title
            .unwrap_or_else(|| std::mem::take(&mut self.title));
        self.status = changes.status.unwrap_or(self.status);
        self.activity = changes.activity.or_else(|| self.activity.take());
        if let Some(modified_at) = changes.modified_at {
            self.modified_at = modified_at;
        }
        self.changes = changes.changes.or_else(|| self.changes.take());
        self.origin = changes.origin.or_else(|| self.origin.take());
        self.movable = changes.movable.or(self.movable);
        self.interactivity = changes.interactivity.or(self.interactivity);
        self.working_directories = changes
            .working_directories
            .or_else(|| self.working_directories.take());
    }
}
