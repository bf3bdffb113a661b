//! Grants clients read access to files of customizations.
//!
//! The session state names the files of its customizations, so clients can read them (RES-15):
//! VS Code reads the file of a skill before it sends a message that begins with the name of
//! that skill. The folders of sessions are granted anyway. Files elsewhere, such as user skills
//! and plugins, are granted for reading if they are text for agents. Declarations of hooks and
//! of MCP servers, and the programs that they run, are not granted (CUS-19).

use std::collections::BTreeSet;

use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationType, SessionState,
};
use agenthost_protocol::uri::Uri;

use super::all_customizations;
use crate::host::Host;
use crate::resource::uris::is_within;
use crate::resource::{FileAccess, GrantedRoot};

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

impl Host {
    /// Returns the readable files and folders outside of the folders of sessions.
    pub(crate) fn readable_customizations(&self) -> impl Iterator<Item = GrantedRoot> {
        let sessions = self.customizations.sessions();
        let states = sessions.filter_map(|session| self.session(session));
        let uris: BTreeSet<Uri> = states.flat_map(readable_uris).collect();
        uris.into_iter().map(|uri| GrantedRoot {
            uri,
            access: FileAccess::Read,
        })
    }
}

fn readable_uris(session: &SessionState) -> Vec<Uri> {
    let folders = session.metadata.working_directories.as_deref();
    let folders = folders.unwrap_or_default();
    let found = all_customizations(session).flat_map(|one| match one {
        // A folder without readable text may be a link to any location, so it is not granted.
        Customization::Directory(directory) => {
            let has_text = one.children().into_iter().flatten().any(is_text);
            let uri = &directory.container.base.uri;
            if has_text && is_text_type(&directory.contents) {
                vec![uri.clone()]
            } else {
                Vec::new()
            }
        }
        Customization::Plugin(plugin) if plugin.container.client_id.is_none() => {
            let root = &plugin.container.base.uri;
            let children = one.children().into_iter().flatten();
            let text = children.filter(|child| is_text(child));
            text.filter_map(|child| listing_folder(root, child))
                .collect()
        }
        Customization::Plugin(_) | Customization::McpServer(_) | Customization::Unknown(_) => {
            Vec::new()
        }
    });
    found
        .filter(|uri| uri.as_str().starts_with("file:///"))
        .filter(|uri| !folders.iter().any(|folder| is_within(folder, uri)))
        .collect()
}

/// Returns the folder of a plugin that lists the child, such as `skills`. If that is the root
/// of the plugin, which can contain declarations, returns the file of the child alone.
fn listing_folder(plugin: &Uri, child: &ChildCustomization) -> Option<Uri> {
    let file = &child.base()?.uri;
    let (folder, name) = file.as_str().rsplit_once('/')?;
    let listed_in = if name.eq_ignore_ascii_case(SKILL_FILE) {
        folder.rsplit_once('/').map(|(above, _)| above)
    } else {
        None
    };
    let candidates = listed_in.into_iter().chain([folder]).map(Uri::from);
    let below = |uri: &Uri| is_within(plugin, uri) && !is_within(uri, plugin);
    let mut candidates = candidates.chain([file.clone()]);
    candidates.find(below)
}

fn is_text(child: &ChildCustomization) -> bool {
    match child {
        ChildCustomization::Agent(_)
        | ChildCustomization::Skill(_)
        | ChildCustomization::Prompt(_)
        | ChildCustomization::Rule(_) => true,
        ChildCustomization::Hook(_)
        | ChildCustomization::McpServer(_)
        | ChildCustomization::Unknown(_) => false,
    }
}

fn is_text_type(contents: &CustomizationType) -> bool {
    match contents {
        CustomizationType::Agent
        | CustomizationType::Skill
        | CustomizationType::Prompt
        | CustomizationType::Rule => true,
        CustomizationType::Plugin
        | CustomizationType::Directory
        | CustomizationType::Hook
        | CustomizationType::McpServer
        | CustomizationType::Unknown(_) => false,
    }
}
