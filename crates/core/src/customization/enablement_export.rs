//! Applies the stored decisions of a host for callers that read customizations without a host.

use agenthost_protocol::session::{
    ChildCustomization, Customization, CustomizationEnablement, Enablement, WorkspaceEnablement,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use super::enablement::{CustomizationKey, ENABLEMENT_SETTING, GLOBAL_SCOPE};

/// Enables or disables a customization and its children by the stored settings of a host, as a
/// new session in `folder` would have them (CUS-13).
pub fn apply_enablement_settings(
    settings: &Object,
    folder: Option<&Uri>,
    customization: &mut Customization,
) {
    let kept = settings.get(ENABLEMENT_SETTING);
    let decided = |key: Option<CustomizationKey>| stored_decisions(kept, folder, key);
    let own = decided(CustomizationKey::of(customization));
    let children = customization.children().into_iter().flatten();
    let children: Vec<_> = children
        .map(|child| decided(CustomizationKey::of_child(customization, child)))
        .collect();
    match customization {
        Customization::Plugin(plugin) => plugin.enablement = non_empty(own),
        Customization::McpServer(server) => server.enablement = non_empty(own),
        Customization::Directory(directory) => {
            directory.enabled = CustomizationEnablement::effective(&own);
        }
        Customization::Unknown(_) => {}
    }
    let shown = customization.children_mut().into_iter().flatten();
    for (child, decided) in shown.zip(children) {
        if let ChildCustomization::McpServer(server) = child {
            server.enablement = non_empty(decided);
        } else if let Some(leaf) = child.leaf_mut()
            && !CustomizationEnablement::effective(&decided)
        {
            leaf.enabled = Some(false);
        }
    }
}

/// Returns the stored decisions about `key`, the nearest scope first (CUS-10).
fn stored_decisions(
    kept: Option<&Json>,
    folder: Option<&Uri>,
    key: Option<CustomizationKey>,
) -> Vec<CustomizationEnablement> {
    let kept = kept.zip(key).and_then(|(kept, key)| kept.get(&key.0));
    let scope = |scope: &str| kept.and_then(|kept| kept.get(scope)?.as_bool());
    let here = folder.and_then(|folder| {
        let (uri, enabled) = (folder.clone(), scope(folder.as_str())?);
        let decision = WorkspaceEnablement { uri, enabled };
        Some(CustomizationEnablement::Workspace(decision))
    });
    let everywhere =
        scope(GLOBAL_SCOPE).map(|enabled| CustomizationEnablement::Global(Enablement { enabled }));
    here.into_iter().chain(everywhere).collect()
}

fn non_empty(list: Vec<CustomizationEnablement>) -> Option<Vec<CustomizationEnablement>> {
    (!list.is_empty()).then_some(list)
}
