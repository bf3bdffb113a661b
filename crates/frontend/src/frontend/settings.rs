//! The settings of the host that clients can change.
//!
//! A change names one setting and is merged by the host. The values of all settings are never
//! replaced: a device that has not seen the newest values would undo changes of other devices,
//! such as a withdrawn approval.

use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use agenthost_view::settings::SettingsForm;

use super::Frontend;
use super::responses::RejectionReport;
use super::slices::SliceCache;
use crate::effect::SlicePatch;
use crate::input::SettingsCommand;

#[derive(Debug, Default)]
pub(super) struct SettingsPanel {
    is_open: bool,
}

impl Frontend {
    pub(super) fn execute_settings(&mut self, id: u64, command: SettingsCommand) {
        match command {
            SettingsCommand::Watch { open } => {
                self.settings.is_open = open;
                self.dirty.panels = true;
                self.done(id);
            }
            SettingsCommand::Set { key, value } => {
                self.change_setting(id, key, |_, _| Ok(Some(value)));
            }
            SettingsCommand::Reset { key } => self.change_setting(id, key, |_, default| {
                let default = default.cloned();
                default.map(Some).ok_or("this setting has no default")
            }),
            SettingsCommand::Add { key, item } => self.change_setting(id, key, |value, _| {
                let mut items = items_of(value)?;
                if items.contains(&item) {
                    return Ok(None);
                }
                items.push(item);
                Ok(Some(Json::Array(items)))
            }),
            SettingsCommand::Remove { key, item } => self.change_setting(id, key, |value, _| {
                let mut items = items_of(value)?;
                let before = items.len();
                items.retain(|other| *other != item);
                Ok((items.len() < before).then_some(Json::Array(items)))
            }),
            SettingsCommand::SetEntry { key, name, value } => {
                self.change_setting(id, key, |current, _| {
                    let mut entries = entries_of(current)?;
                    entries.insert(name, value);
                    Ok(Some(Json::Object(entries)))
                });
            }
            SettingsCommand::RemoveEntry { key, name } => {
                self.change_setting(id, key, |value, _| {
                    let mut entries = entries_of(value)?;
                    Ok(entries.remove(&name).map(|_| Json::Object(entries)))
                });
            }
        }
    }

    /// Changes a setting. `change` gets the newest value and the default, so that an item that
    /// another device has added stays in a list; it returns `None` if nothing changes.
    ///
    /// A change is not retried after a reconnect, because the values may have changed.
    fn change_setting(
        &mut self,
        id: u64,
        key: String,
        change: impl FnOnce(Option<&Json>, Option<&Json>) -> Result<Option<Json>, &'static str>,
    ) {
        if !self.link.is_live() {
            return self.fail(id, "there is no connection to the host".to_owned());
        }
        let config = self.root_state().and_then(|root| root.config.as_ref());
        let found = config.and_then(|config| Some((config, config.schema.properties.get(&key)?)));
        let Some((config, schema)) = found else {
            return self.fail(id, "the host does not have this setting".to_owned());
        };
        let default = schema.default.as_ref();
        let changed = match change(config.values.get(&key).or(default), default) {
            Ok(Some(value)) => value,
            Ok(None) => return self.done(id),
            Err(reason) => return self.fail(id, reason.to_owned()),
        };
        let action = RootAction::ConfigChanged(RootConfigChanged {
            config: [(key, changed)].into_iter().collect(),
            replace: None,
        });
        let root = Uri::from(RootChannel::URI);
        // The form shows a refusal at the field.
        self.dispatch_with(id, &root, action.into(), RejectionReport::CommandOnly);
    }

    pub(super) fn draw_settings(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let config = self.root_state().and_then(|root| root.config.as_ref());
        let config = config.filter(|_| self.settings.is_open);
        let form = config.map(SettingsForm::compute);
        slices.set_value(patches, "settings", &form);
    }
}

fn items_of(value: Option<&Json>) -> Result<Vec<Json>, &'static str> {
    match value {
        Some(Json::Array(items)) => Ok(items.clone()),
        None => Ok(Vec::new()),
        Some(_) => Err("this setting is not a list"),
    }
}

fn entries_of(value: Option<&Json>) -> Result<Object, &'static str> {
    match value {
        Some(Json::Object(entries)) => Ok(entries.clone()),
        None => Ok(Object::new()),
        Some(_) => Err("this setting has no entries"),
    }
}
