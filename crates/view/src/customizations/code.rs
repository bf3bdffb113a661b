//! Approval of code: hooks and MCP servers that came with a folder or from a client.

use agenthost_protocol::session::{ChildCustomization, Customization, SessionState};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde::Serialize;

use super::row::{MAX_DESCRIPTION, MAX_NAME};
use crate::location::path_of;
use crate::visible_text::visible_label;

/// Containers of a session whose waiting code is listed.
const MAX_CARDS: usize = 50;

/// The `_meta` key with which the host marks a container whose code waits for approval. Its value
/// is the key to approve.
const CODE_META_KEY: &str = "agenthost.code";

/// The host setting with the keys of approved code.
pub const TRUSTED_CODE_SETTING: &str = "trustedCode";

/// The approval of the code of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeApproval {
    /// State of the approval.
    pub state: CodeState,
    /// Key to approve; empty if the code is approved.
    pub key: String,
    /// Files that declare the code.
    #[serde(skip)]
    pub files: Vec<Uri>,
}

/// A container whose code waits for approval, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeCard {
    /// Id of the container in its session.
    pub container: String,
    pub code: String,
    /// Name of the container.
    pub name: String,
    /// Path of the container, or its address.
    pub place: String,
    /// Number of events that have hooks.
    pub hooks: usize,
    /// Number of MCP servers.
    pub servers: usize,
}

/// The state of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CodeState {
    /// The code does not run before a user approves it.
    Waiting,
    /// A user has approved the code.
    Approved,
}

impl CodeApproval {
    /// Returns the approval of a container; `None` if its code needs none, or it has no code.
    pub fn of_container(container: &Customization, settings: Option<&Object>) -> Option<Self> {
        let (state, key) = match waiting_code(container) {
            Some(key) => (CodeState::Waiting, key.to_owned()),
            None => {
                let approved = approved_keys(settings);
                approved.iter().find(|key| is_key_of(key, container))?;
                (CodeState::Approved, String::new())
            }
        };
        let children = container.children().unwrap_or_default().iter();
        let files: SortedSet<_> = children.filter_map(declaring_file).cloned().collect();
        Some(CodeApproval {
            state,
            key,
            files: files.into_iter().collect(),
        })
    }
}

impl CodeCard {
    /// Returns the containers of a session that are on and whose code waits for approval.
    pub fn of_session(session: &SessionState) -> Vec<Self> {
        let all = session.customizations.iter().flat_map(|all| all.items());
        let waiting = all.filter(|one| one.is_on()).filter_map(|container| {
            let (base, code) = (container.base()?, waiting_code(container)?);
            let children = container.children().unwrap_or_default().iter();
            let hooks = |child: &&ChildCustomization| matches!(child, ChildCustomization::Hook(_));
            Some(CodeCard {
                container: base.id.to_string(),
                code: code.to_owned(),
                name: visible_label(&base.name, MAX_NAME),
                place: visible_label(&path_of(&base.uri), MAX_DESCRIPTION),
                hooks: children.clone().filter(hooks).count(),
                servers: children.filter_map(|child| child.as_mcp_server()).count(),
            })
        });
        waiting.take(MAX_CARDS).collect()
    }
}

/// Returns the key to approve of a container whose code waits for approval.
pub fn waiting_code(container: &Customization) -> Option<&str> {
    let meta = container.base()?.meta.as_ref()?;
    meta.get(CODE_META_KEY)?.as_str()
}

/// Returns `true` if an approved key belongs to a container, in any version of its code.
fn is_key_of(key: &str, container: &Customization) -> bool {
    let uri = container.base().map(|base| base.uri.as_str());
    let rest = uri.and_then(|uri| key.strip_prefix(uri));
    rest.is_some_and(|rest| rest.starts_with('#'))
}

/// Returns the approved keys after the approval of another one.
pub fn allowed_keys(settings: Option<&Object>, key: &str) -> Vec<String> {
    let others = approved_keys(settings).into_iter();
    let others = others.filter(|other| *other != key).map(str::to_owned);
    others.chain([key.to_owned()]).collect()
}

/// Returns the approved keys without those of a container, in any version of its code. Returns
/// `None` if it has none.
pub fn keys_without(settings: Option<&Object>, container: &Customization) -> Option<Vec<String>> {
    let approved = approved_keys(settings);
    let kept = approved.iter().filter(|key| !is_key_of(key, container));
    let kept: Vec<_> = kept.map(|key| (*key).to_owned()).collect();
    (kept.len() < approved.len()).then_some(kept)
}

fn approved_keys(settings: Option<&Object>) -> Vec<&str> {
    let keys = settings.and_then(|settings| settings.get(TRUSTED_CODE_SETTING));
    let keys = keys.and_then(Json::as_array).into_iter().flatten();
    keys.filter_map(Json::as_str).collect()
}

/// Returns the file that declares a hook or an MCP server.
fn declaring_file(child: &ChildCustomization) -> Option<&Uri> {
    match child {
        ChildCustomization::Hook(hook) => Some(&hook.leaf.base.uri),
        ChildCustomization::McpServer(server) => Some(&server.base.uri),
        ChildCustomization::Agent(_)
        | ChildCustomization::Skill(_)
        | ChildCustomization::Prompt(_)
        | ChildCustomization::Rule(_)
        | ChildCustomization::Unknown(_) => None,
    }
}
