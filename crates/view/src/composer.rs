//! The input of a chat: its draft, models and settings.

use agenthost_protocol::chat::{Attachment, AttachmentBase, ChatInteractivity, ChatState, Message};
use agenthost_protocol::common::{Meta, PolicyState, SessionConfigPropertySchema};
use agenthost_protocol::ids::ModelId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{SessionConfigState, SessionState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use serde::Serialize;

use crate::visible_text::{visible_label, visible_order};

/// The `_meta` key of a draft for its author: an object with `clientId` and `name`.
const AUTHOR_META_KEY: &str = "agenthost.author";

/// Maximum length of the name of a device, in characters.
const MAX_DEVICE_CHARS: usize = 60;

/// The input of a chat.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComposerView {
    /// Text of the draft, shared by all clients.
    pub draft: String,
    /// Name of the device that wrote the draft, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft_from: Option<String>,
    /// `true` if a turn is running.
    pub running: bool,
    /// `true` if a message can be sent to the running turn.
    pub can_steer: bool,
    /// Purpose of the input, for its placeholder text.
    pub placeholder: ComposerPurpose,
    /// Attachments of the draft.
    pub attachments: Vec<AttachmentRow>,
    /// Models that the agent offers.
    pub models: Vec<NamedOption>,
    /// Model of the draft, or else of the latest message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
}

/// The purpose of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ComposerPurpose {
    /// A message starts a turn.
    Message,
    /// A message steers the running turn, or waits for its end.
    Steer,
    /// The user can only read the chat.
    ReadOnly,
}

/// An attachment of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentRow {
    /// Display name of the attachment.
    pub name: String,
    /// Display hint, such as `image` or `document`.
    pub kind: String,
    /// URI of the content, unless the message contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<Uri>,
}

/// A value that the user can choose, with its display name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedOption {
    /// The value that is sent to the host.
    pub id: String,
    /// Display name of the value.
    pub label: String,
}

/// A setting of a session that has a list of values.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigRow {
    /// Key of the property.
    pub key: String,
    /// Label of the property.
    pub label: String,
    /// Current value, or else the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Values to choose from.
    pub options: Vec<NamedOption>,
    /// `true` if the value can be changed now.
    pub mutable: bool,
}

impl ComposerView {
    /// Computes the input of a chat for a client. `agent` is the agent of the session.
    pub fn compute(chat: &ChatState, agent: Option<&AgentInfo>, client_id: &str) -> Self {
        let running = chat.active_turn.is_some();
        let is_writable = match chat.summary.interactivity {
            Some(ChatInteractivity::Full) | None => true,
            Some(ChatInteractivity::ReadOnly | ChatInteractivity::Hidden) => false,
        };
        let placeholder = match (is_writable, running) {
            (false, _) => ComposerPurpose::ReadOnly,
            (true, true) => ComposerPurpose::Steer,
            (true, false) => ComposerPurpose::Message,
        };
        let draft = chat.draft.as_ref();
        let attachments = draft.and_then(|draft| draft.attachments.as_deref());
        ComposerView {
            draft: draft.map_or_else(String::new, |draft| draft.text.clone()),
            draft_from: draft.and_then(|draft| other_author(draft, client_id)),
            running,
            can_steer: running && is_writable,
            placeholder,
            attachments: attachment_rows(attachments),
            models: agent.map_or_else(Vec::new, model_options),
            model: current_model(chat),
        }
    }
}

/// Returns the `_meta` of a draft, which names its author.
pub fn draft_meta(client_id: &str, device_name: &str) -> Meta {
    let author = Object::from_iter([
        ("clientId".to_owned(), Json::from(client_id)),
        ("name".to_owned(), Json::from(device_name)),
    ]);
    Meta::new(Object::from_iter([(
        AUTHOR_META_KEY.to_owned(),
        Json::Object(author),
    )]))
}

/// Returns the name of the device that wrote a draft, unless `client_id` did.
fn other_author(draft: &Message, client_id: &str) -> Option<String> {
    let author = draft.meta.as_ref()?.get(AUTHOR_META_KEY)?;
    let field = |name| author.get(name).and_then(Json::as_str);
    let name = visible_label(field("name")?, MAX_DEVICE_CHARS);
    (field("clientId") != Some(client_id) && !name.is_empty()).then_some(name)
}

/// Returns the models that an agent offers and the policy permits.
pub fn model_options(agent: &AgentInfo) -> Vec<NamedOption> {
    let models = agent.models.iter();
    let permitted = models.filter(|model| model.policy_state != Some(PolicyState::Disabled));
    let options = permitted.map(|model| NamedOption {
        id: model.id.to_string(),
        label: model.name.clone(),
    });
    options.collect()
}

/// Returns the settings of a session that are a choice of texts, such as its mode.
pub fn config_rows(session: &SessionState) -> Vec<ConfigRow> {
    session.config.as_ref().map_or_else(Vec::new, choice_rows)
}

/// Returns the settings in a configuration that are a choice of texts.
pub fn choice_rows(config: &SessionConfigState) -> Vec<ConfigRow> {
    let rows = config.schema.properties.iter().filter_map(|(key, schema)| {
        let value = config.values.get(key).or(schema.property.default.as_ref());
        let options = enum_options(schema);
        (!options.is_empty()).then(|| ConfigRow {
            key: key.clone(),
            label: schema.property.title.clone(),
            value: value.and_then(Json::as_str).map(str::to_owned),
            options,
            mutable: schema.session_mutable == Some(true)
                && schema.property.read_only != Some(true),
        })
    });
    rows.collect()
}

/// Returns the attachments of a message as rows.
pub fn attachment_rows(attachments: Option<&[Attachment]>) -> Vec<AttachmentRow> {
    let rows = attachments.into_iter().flatten().map(|attachment| {
        let row = |base: &AttachmentBase, kind: &str, uri: Option<&Uri>| AttachmentRow {
            name: visible_order(&base.label),
            kind: base.display_kind.clone().unwrap_or_else(|| kind.to_owned()),
            uri: uri.cloned(),
        };
        match attachment {
            Attachment::Simple(simple) => row(&simple.base, "text", None),
            Attachment::EmbeddedResource(embedded) => {
                let is_image = embedded.content_type.starts_with("image/");
                let kind = if is_image { "image" } else { "document" };
                row(&embedded.base, kind, None)
            }
            Attachment::Resource(resource) => {
                row(&resource.base, "document", Some(&resource.content.uri))
            }
            Attachment::Annotations(annotations) => row(
                &annotations.base,
                "annotations",
                Some(&annotations.resource),
            ),
            Attachment::Chat(chat) => row(&chat.base, "chat", Some(&chat.resource)),
            Attachment::Unknown(unknown) => AttachmentRow {
                name: visible_order(unknown.text("label").unwrap_or_default()),
                kind: unknown.text("displayKind").unwrap_or("unknown").to_owned(),
                uri: None,
            },
        }
    });
    rows.collect()
}

fn current_model(chat: &ChatState) -> Option<ModelId> {
    let active = chat.active_turn.as_ref().map(|turn| &turn.message);
    let last = chat.turns.last_item().map(|turn| &turn.message);
    let messages = [chat.draft.as_ref(), active, last];
    let models = messages.into_iter().flatten();
    let mut models = models.filter_map(|message| message.model.as_ref());
    models.next().map(|model| model.id.clone())
}

fn enum_options(schema: &SessionConfigPropertySchema) -> Vec<NamedOption> {
    let labels = schema.property.enum_labels.as_deref().unwrap_or_default();
    let values = schema.property.r#enum.iter().flatten().enumerate();
    let options = values.filter_map(|(index, value)| {
        let id = value.as_str()?.to_owned();
        let label = labels.get(index).unwrap_or(&id).clone();
        Some(NamedOption { id, label })
    });
    options.collect()
}

#[cfg(test)]
#[path = "composer_tests.rs"]
mod tests;
