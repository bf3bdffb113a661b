//! Propagates changed working directories of a session to its chats and its agent.

use agenthost_protocol::chat::{ChatAction, ChatWorkingDirectoryRemoved, ChatWorkingDirectorySet};
use agenthost_protocol::session::SessionAction;
use agenthost_protocol::uri::Uri;

use crate::agent::AgentCommand;
use crate::changeset::driver::CheckpointId;
use crate::host::Host;
use crate::host::effect::Effects;

impl Host {
    /// Removes directories from chats that their session no longer has (DIR-6, DIR-7), and
    /// sends the new list to the agent.
    pub(crate) fn handle_directories_changed(
        &mut self,
        session: &Uri,
        action: &SessionAction,
        out: &mut Effects,
    ) {
        let (gone, instead) = if let SessionAction::WorkingDirectorySet(_) = action {
            (None, None)
        } else if let SessionAction::WorkingDirectoryRemoved(removed) = action {
            (Some(&removed.directory), None)
        } else if let SessionAction::WorkingDirectoryReplaced(replaced) = action {
            (Some(&replaced.directory), Some(&replaced.replacement))
        } else {
            return;
        };
        let Some(state) = self.session(session) else {
            return;
        };
        let directories = state.metadata.working_directories.clone();
        let directories = directories.unwrap_or_default();
        let gone = gone.filter(|gone| !directories.contains(gone));
        let chats = state.chats.items();
        let narrowed: Vec<_> = chats
            .filter(|chat| {
                let own = chat.working_directories.iter().flatten();
                gone.is_some_and(|gone| own.clone().any(|directory| directory == gone))
            })
            .map(|chat| chat.resource.clone())
            .collect();
        for chat in narrowed {
            if let Some(instead) = instead {
                let directory = instead.clone();
                let set = ChatWorkingDirectorySet { directory };
                self.originate(&chat, ChatAction::WorkingDirectorySet(set), out);
            }
            if let Some(gone) = gone {
                let directory = gone.clone();
                let removed = ChatWorkingDirectoryRemoved { directory };
                self.originate(&chat, ChatAction::WorkingDirectoryRemoved(removed), out);
            }
            self.sync_chat(&chat, out);
        }
        self.take_checkpoint(session, CheckpointId::SessionStart, out);
        self.track_directories(session, out);
        if self.sessions.is_agent_open(session) {
            self.send_agent_command(session, AgentCommand::SetDirectories { directories }, out);
        }
    }
}
