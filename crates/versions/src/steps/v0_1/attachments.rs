//! Attachments: a file, a directory or a selection, by its address.

use agenthost_protocol::wire::Object;

use crate::edit::{set, text};
use crate::step::Fate;

/// What 0.1 knows besides files; 0.2 has these as hints for display.
const KINDS: &[&str] = &["directory", "selection"];

/// Takes an attachment down. What has no address has no place in 0.1.
pub(super) fn down(attachment: &mut Object) -> Fate {
    let uri = match text(attachment, "type") {
        Some("resource") => text(attachment, "uri").map(str::to_owned),
        Some("embeddedResource") => inline(attachment),
        _ => None,
    };
    let Some(uri) = uri else {
        return Fate::Drop;
    };
    let hint = text(attachment, "displayKind").unwrap_or_default();
    let kind = KINDS.iter().find(|kind| **kind == hint).copied();
    let selection = attachment.contains_key("selection").then_some("selection");
    let kind = kind.or(selection).unwrap_or("file");
    let label = text(attachment, "label").filter(|label| *label != uri);
    let label = label.map(str::to_owned);

    attachment.clear();
    set(attachment, "type", kind);
    set(attachment, "uri", uri);
    if let Some(label) = label {
        set(attachment, "displayName", label);
    }
    Fate::Keep
}

/// Takes an attachment up. One without a name goes by its address.
pub(super) fn up(attachment: &mut Object) {
    let uri = text(attachment, "uri").unwrap_or_default().to_owned();
    let label = text(attachment, "displayName").unwrap_or(&uri).to_owned();
    let hint = text(attachment, "type").filter(|kind| KINDS.contains(kind));
    let hint = hint.map(str::to_owned);

    attachment.clear();
    set(attachment, "label", label);
    if let Some(hint) = hint {
        set(attachment, "displayKind", hint);
    }
    match uri
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"))
    {
        Some((content_type, data)) => {
            set(attachment, "type", "embeddedResource");
            set(attachment, "data", data);
            set(attachment, "contentType", content_type);
        }
        None => {
            set(attachment, "type", "resource");
            set(attachment, "uri", uri);
        }
    }
}

/// The address of something that is in the message itself.
fn inline(attachment: &Object) -> Option<String> {
    let content_type = text(attachment, "contentType")?;
    let data = text(attachment, "data")?;
    Some(format!("data:{content_type};base64,{data}"))
}
