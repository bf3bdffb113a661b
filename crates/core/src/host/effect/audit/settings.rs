//! Records changes of the host's settings: folder grants, consent to code, and others.

use agenthost_protocol::root::RootAction;
use agenthost_protocol::wire::{Json, Object};

use super::approvals::{PendingEntries, value_of_setting};
use super::{AuditActor, AuditEntry, AuditKind, MAX_AUDIT_ITEMS, audit_details, audit_text};
use crate::host::Host;
use crate::host::settings::{
    READABLE_FOLDERS_SETTING, TRUSTED_CODE_SETTING, WRITABLE_FOLDERS_SETTING,
};

/// A setting that is a list, with the kinds of its changes.
struct ListSetting {
    key: &'static str,
    /// The field of the details with the element.
    field: &'static str,
    added: AuditKind,
    removed: AuditKind,
    access: Option<&'static str>,
}

const LIST_SETTINGS: [ListSetting; 3] = [
    ListSetting {
        key: READABLE_FOLDERS_SETTING,
        field: "folder",
        added: AuditKind::FolderGranted,
        removed: AuditKind::FolderRevoked,
        access: Some("read"),
    },
    ListSetting {
        key: WRITABLE_FOLDERS_SETTING,
        field: "folder",
        added: AuditKind::FolderGranted,
        removed: AuditKind::FolderRevoked,
        access: Some("write"),
    },
    ListSetting {
        key: TRUSTED_CODE_SETTING,
        field: "code",
        added: AuditKind::CodeAllowed,
        removed: AuditKind::CodeRevoked,
        access: None,
    },
];

impl Host {
    /// Returns the entries for a change of the settings.
    pub(super) fn settings_entries(
        &self,
        action: &RootAction,
        actor: AuditActor,
    ) -> PendingEntries {
        let RootAction::ConfigChanged(changed) = action else {
            return Vec::new();
        };
        let before = self.root().and_then(|root| root.config.as_ref());
        let before = before.map(|config| config.values.clone());
        let before = before.unwrap_or_default();
        let mut after = match changed.replace {
            Some(true) => Object::new(),
            _ => before.clone(),
        };
        after.extend(changed.config.clone());
        let keys = before.keys().chain(after.keys());
        let mut keys: Vec<_> = keys.collect();
        keys.sort();
        keys.dedup();
        let mut entries = Vec::new();
        for key in keys {
            let (old, new) = (before.get(key), after.get(key));
            if old == new {
                continue;
            }
            match LIST_SETTINGS.iter().find(|list| list.key == key) {
                Some(list) => entries.extend(list.entries(old, new, &actor)),
                None => entries.push(AuditEntry {
                    kind: AuditKind::SettingChanged,
                    actor: actor.clone(),
                    session: None,
                    details: audit_details([
                        ("setting", Some(Json::from(audit_text(key)))),
                        ("value", new.map(value_of_setting)),
                    ]),
                }),
            }
        }
        entries
    }
}

impl ListSetting {
    fn entries(
        &self,
        old: Option<&Json>,
        new: Option<&Json>,
        actor: &AuditActor,
    ) -> PendingEntries {
        let (old, new) = (elements(old), elements(new));
        let added = new.iter().filter(|element| !old.contains(element));
        let added = added.map(|element| (self.added, *element));
        let removed = old.iter().filter(|element| !new.contains(element));
        let removed = removed.map(|element| (self.removed, *element));
        let all = added.chain(removed).take(MAX_AUDIT_ITEMS);
        let entries = all.map(|(kind, element)| AuditEntry {
            kind,
            actor: actor.clone(),
            session: None,
            details: audit_details([
                (self.field, Some(Json::from(audit_text(element)))),
                ("access", self.access.map(Json::from)),
            ]),
        });
        entries.collect()
    }
}

fn elements(list: Option<&Json>) -> Vec<&str> {
    let list = list.and_then(Json::as_array).into_iter().flatten();
    list.filter_map(Json::as_str).collect()
}
