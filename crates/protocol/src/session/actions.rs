//! Actions on a session.

mod customizations;
mod lifecycle;

use crate::action::actions;

pub use customizations::*;
pub use lifecycle::*;

actions! {
    /// An action on a session.
    pub enum SessionAction on Session {
        /// Ends the creation: the agent has started and turns can start.
        Ready(Ready) = "session/ready", Host, V0_1;
        /// Ends the creation with an error.
        CreationFailed(CreationFailed) = "session/creationFailed", Host, V0_1;
        /// Adds or replaces an entry of the chat catalogue.
        ChatAdded(ChatAdded) = "session/chatAdded", Host, V0_4;
        /// Removes a chat from the catalogue.
        ChatRemoved(ChatRemoved) = "session/chatRemoved", Host, V0_4;
        /// Changes an entry of the chat catalogue.
        ChatUpdated(Box<ChatUpdated>) = "session/chatUpdated", Host, V0_4;
        /// Changes the order of the chat catalogue.
        ChatsReordered(ChatsReordered) = "session/chatsReordered", Host, V1_0;
        /// Sets or clears the default chat.
        DefaultChatChanged(DefaultChatChanged) = "session/defaultChatChanged", Host, V0_4;
        /// Sets the title of the session.
        TitleChanged(SessionTitleChanged) = "session/titleChanged", Client, V0_1;
        /// Replaces the tools of the host.
        ServerToolsChanged(ServerToolsChanged) = "session/serverToolsChanged", Host, V0_1;
        /// Adds or replaces an active client.
        ActiveClientSet(ActiveClientSet) = "session/activeClientSet", Client, V0_5;
        /// Removes an active client.
        ActiveClientRemoved(ActiveClientRemoved) = "session/activeClientRemoved", Client, V0_5;
        /// Adds a working directory.
        WorkingDirectorySet(SessionWorkingDirectorySet) = "session/workingDirectorySet", Client, V0_7;
        /// Removes a working directory.
        WorkingDirectoryRemoved(SessionWorkingDirectoryRemoved) = "session/workingDirectoryRemoved", Client, V0_7;
        /// Replaces a working directory.
        WorkingDirectoryReplaced(SessionWorkingDirectoryReplaced) = "session/workingDirectoryReplaced", Client, V0_8;
        /// Adds or replaces an entry of `inputNeeded`.
        InputNeededSet(InputNeededSet) = "session/inputNeededSet", Host, V0_5_1;
        /// Removes an entry of `inputNeeded`.
        InputNeededRemoved(InputNeededRemoved) = "session/inputNeededRemoved", Host, V0_5_1;
        /// Replaces the list of customizations.
        CustomizationsChanged(CustomizationsChanged) = "session/customizationsChanged", Host, V0_1;
        /// Sets the enablement of a customization.
        CustomizationToggled(CustomizationToggled) = "session/customizationToggled", Client, V0_1;
        /// Adds or replaces a top-level customization.
        CustomizationUpdated(CustomizationUpdated) = "session/customizationUpdated", Host, V0_2;
        /// Removes a customization and its children.
        CustomizationRemoved(CustomizationRemoved) = "session/customizationRemoved", Host, V0_2;
        /// Sets the state of an MCP server.
        McpServerStateChanged(Box<McpServerStateChanged>) = "session/mcpServerStateChanged", Host, V0_3;
        /// Requests the start of an MCP server.
        McpServerStartRequested(McpServerStartRequested) = "session/mcpServerStartRequested", Client, V0_5_2;
        /// Requests the stop of an MCP server.
        McpServerStopRequested(McpServerStopRequested) = "session/mcpServerStopRequested", Client, V0_5_2;
        /// Requests that messages no longer wait for a starting MCP server.
        McpServerBackgroundRequested(McpServerBackgroundRequested) = "session/mcpServerBackgroundRequested", Client, V1_0;
        /// Sets the read flag of the session.
        IsReadChanged(SessionIsReadChanged) = "session/isReadChanged", Client, V0_1;
        /// Sets the archived flag of the session.
        IsArchivedChanged(SessionIsArchivedChanged) = "session/isArchivedChanged", Client, V0_1;
        /// Sets or clears the activity text.
        ActivityChanged(SessionActivityChanged) = "session/activityChanged", Host, V0_1;
        /// Replaces the changeset catalogue.
        ChangesetsChanged(SessionChangesetsChanged) = "session/changesetsChanged", Host, V0_2;
        /// Changes configuration values of the session.
        ConfigChanged(SessionConfigChanged) = "session/configChanged", Client, V0_1;
        /// Replaces the extension data.
        MetaChanged(MetaChanged) = "session/metaChanged", Host, V0_1;
    }
}
