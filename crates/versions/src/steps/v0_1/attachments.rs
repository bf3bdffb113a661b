//! Attachments of 0.1: a file, a directory or a selection, identified by its URI.

use agenthost_protocol::wire::Object;

use crate::edit::{set_field, text_field};
use crate::step::PartFate;

/// Types of 0.1 other than files; in 0.2 these are display hints.
const ATTACHMENT_KINDS: &[&str] = &["directory", "selection"];

/// Downgrades an attachment. An attachment without a URI is dropped.
pub(super) fn downgrade_attachment(attachment: &mut Object) -> PartFate {
    let uri = match text_field(attachment, "type") {
        Some("resource") => text_field(attachment, "uri").map(str::to_owned),
        Some("embeddedResource") => data_uri(attachment),
        _ => None,
    };
    let Some(uri) = uri else {
        return PartFate::Drop;
    };
    let hint = text_field(attachment, "displayKind").unwrap_or_default();
    let kind = ATTACHMENT_KINDS.iter().find(|kind| **kind == hint).copied();
    let selection = attachment.contains_key("selection").then_some("selection");
    let kind = kind.or(selection).unwrap_or("file");
    let label = text_field(attachment, "label").filter(|label| *label != uri);
    let label = label.map(str::to_owned);

    attachment.clear();
    set_field(attachment, "type", kind);
    set_field(attachment, "uri", uri);
    if let Some(label) = label {
        set_field(attachment, "displayName", label);
    }
    PartFate::Keep
}

/// Upgrades an attachment. Without a display name, the label is the URI.
pub(super) fn upgrade_attachment(attachment: &mut Object) {
    let uri = text_field(attachment, "uri").unwrap_or_default().to_owned();
    let label = text_field(attachment, "displayName")
        .unwrap_or(&uri)
        .to_owned();
    let hint = text_field(attachment, "type").filter(|kind| ATTACHMENT_KINDS.contains(kind));
    let hint = hint.map(str::to_owned);

    attachment.clear();
    set_field(attachment, "label", label);
    if let Some(hint) = hint {
        set_field(attachment, "displayKind", hint);
    }
    match uri
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"))
    {
        Some((content_type, data)) => {
            set_field(attachment, "type", "embeddedResource");
            set_field(attachment, "data", data);
            set_field(attachment, "contentType", content_type);
        }
        None => {
            set_field(attachment, "type", "resource");
            set_field(attachment, "uri", uri);
        }
    }
}

/// Returns a data URI for embedded content.
fn data_uri(attachment: &Object) -> Option<String> {
    let content_type = text_field(attachment, "contentType")?;
    let data = text_field(attachment, "data")?;
    Some(format!("data:{content_type};base64,{data}"))
}
