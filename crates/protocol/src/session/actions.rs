//! All that can happen to a session.

mod customizations;
mod lifecycle;

use crate::action::actions;

pub use customizations::*;
pub use lifecycle::*;

actions! {
    /// Something that happened to a session.
    pub enum SessionAction on Session {
        /// The agent is up; turns can start.
        Ready(Ready) = "session/ready", Host, V0_1;
        /// The agent could not be started.
        CreationFailed(CreationFailed) = "session/creationFailed", Host, V0_1;
        /// A chat was added, or its entry written anew.
        ChatAdded(ChatAdded) = "session/chatAdded", Host, V0_4;
        /// A chat is gone.
        ChatRemoved(ChatRemoved) = "session/chatRemoved", Host, V0_4;
        /// The entry of a chat changed.
        ChatUpdated(Box<ChatUpdated>) = "session/chatUpdated", Host, V0_4;
        /// The chats stand in another order.
        ChatsReordered(ChatsReordered) = "session/chatsReordered", Host, V1_0;
        /// Another chat is meant when none is named.
        DefaultChatChanged(DefaultChatChanged) = "session/defaultChatChanged", Host, V0_4;
        /// The title changed.
        TitleChanged(SessionTitleChanged) = "session/titleChanged", Client, V0_1;
        /// The tools of the host changed.
        ServerToolsChanged(ServerToolsChanged) = "session/serverToolsChanged", Host, V0_1;
        /// A client takes part, or changed what it brings.
        ActiveClientSet(ActiveClientSet) = "session/activeClientSet", Client, V0_5;
        /// A client no longer takes part.
        ActiveClientRemoved(ActiveClientRemoved) = "session/activeClientRemoved", Client, V0_5;
        /// The session may use one more directory.
        WorkingDirectorySet(SessionWorkingDirectorySet) = "session/workingDirectorySet", Client, V0_7;
        /// The session may use one directory less.
        WorkingDirectoryRemoved(SessionWorkingDirectoryRemoved) = "session/workingDirectoryRemoved", Client, V0_7;
        /// One directory took the place of another.
        WorkingDirectoryReplaced(SessionWorkingDirectoryReplaced) = "session/workingDirectoryReplaced", Client, V0_8;
        /// The session waits for something, or what it waits for changed.
        InputNeededSet(InputNeededSet) = "session/inputNeededSet", Host, V0_5_1;
        /// The session no longer waits for something.
        InputNeededRemoved(InputNeededRemoved) = "session/inputNeededRemoved", Host, V0_5_1;
        /// All customizations changed.
        CustomizationsChanged(CustomizationsChanged) = "session/customizationsChanged", Host, V0_1;
        /// A customization was turned on or off.
        CustomizationToggled(CustomizationToggled) = "session/customizationToggled", Client, V0_1;
        /// One customization changed.
        CustomizationUpdated(CustomizationUpdated) = "session/customizationUpdated", Host, V0_2;
        /// One customization is gone.
        CustomizationRemoved(CustomizationRemoved) = "session/customizationRemoved", Host, V0_2;
        /// An MCP server is in another state.
        McpServerStateChanged(Box<McpServerStateChanged>) = "session/mcpServerStateChanged", Host, V0_3;
        /// Someone wants an MCP server started.
        McpServerStartRequested(McpServerStartRequested) = "session/mcpServerStartRequested", Client, V0_5_2;
        /// Someone wants an MCP server stopped.
        McpServerStopRequested(McpServerStopRequested) = "session/mcpServerStopRequested", Client, V0_5_2;
        /// Someone does not want to wait for an MCP server.
        McpServerBackgroundRequested(McpServerBackgroundRequested) = "session/mcpServerBackgroundRequested", Client, V1_0;
        /// The session was read, or has something new.
        IsReadChanged(SessionIsReadChanged) = "session/isReadChanged", Client, V0_1;
        /// The session was put away, or taken out again.
        IsArchivedChanged(SessionIsArchivedChanged) = "session/isArchivedChanged", Client, V0_1;
        /// What the session is doing changed.
        ActivityChanged(SessionActivityChanged) = "session/activityChanged", Host, V0_1;
        /// The views of file changes changed.
        ChangesetsChanged(SessionChangesetsChanged) = "session/changesetsChanged", Host, V0_2;
        /// Configuration values changed.
        ConfigChanged(SessionConfigChanged) = "session/configChanged", Client, V0_1;
        /// The free data changed.
        MetaChanged(MetaChanged) = "session/metaChanged", Host, V0_1;
    }
}
