//! A message, as an agent gets to see it.

use agenthost_core::agent::Attached;
use agenthost_protocol::chat::{Attachment, EmbeddedResourceAttachment, Message};
use agenthost_protocol::resource::ContentEncoding;
use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::transcript;
use super::wire::schema::{
    BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent,
    ResourceLink, TextContent, TextResourceContents,
};

/// What an agent can take in besides text and links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Senses {
    images: bool,
    embedded: bool,
}

impl Senses {
    /// What an agent said when it was asked what it can do.
    pub(crate) fn read(initialized: &Value) -> Self {
        let place = initialized.pointer("/agentCapabilities/promptCapabilities");
        let can = |key: &str| place.and_then(|place| place.get(key)?.as_bool()) == Some(true);
        Senses {
            images: can("image"),
            embedded: can("embeddedContext"),
        }
    }
}

/// What a message refers to, that was read for the agent.
pub(crate) type Resources = Vec<(Uri, Attached)>;

/// The blocks of a prompt: a text, and then what is attached to the message.
pub(crate) fn blocks(
    says: &str,
    message: &Message,
    read: &Resources,
    senses: Senses,
) -> Vec<ContentBlock> {
    let mut blocks = vec![text(says)];
    for attachment in message.attachments.iter().flatten() {
        let resource = |uri: &Uri| read.iter().find(|(of, _)| of == uri);
        let resource = |uri: &Uri| resource(uri).map(|(_, content)| content);
        match attachment {
            Attachment::Simple(simple) => {
                blocks.extend(simple.model_representation.as_deref().map(text));
            }
            Attachment::EmbeddedResource(embedded) => blocks.push(data(embedded, senses)),
            Attachment::Resource(linked) => {
                let (label, uri) = (&linked.base.label, &linked.content.uri);
                let mime = linked.content.content_type.as_deref();
                blocks.push(match resource(uri) {
                    Some(content) => attached(label, uri, content, mime, senses),
                    None => {
                        let link = ResourceLink::new(label.as_str(), uri.as_str());
                        ContentBlock::ResourceLink(link.mime_type(mime.map(str::to_owned)))
                    }
                });
            }
            Attachment::Annotations(notes) => {
                let (label, uri) = (&notes.base.label, &notes.resource);
                let content = resource(uri);
                blocks.extend(content.map(|content| attached(label, uri, content, None, senses)));
            }
            Attachment::Chat(chat) => {
                let (label, uri) = (&chat.base.label, &chat.resource);
                let content = resource(uri);
                blocks.extend(content.map(|content| attached(label, uri, content, None, senses)));
            }
            // Nobody here knows what it would be.
            Attachment::Unknown(_) => {}
        }
    }
    blocks
}

/// What was said before, for an agent that was not there. Some agents write an
/// address in its place, and what follows right behind that, as one word: so
/// there is something between.
pub(crate) fn recollection(chat: &Uri, told: &str, senses: Senses) -> Vec<ContentBlock> {
    let told = format!(
        "{told}\n\n(This is what was said before, for you to know. The message that follows goes on from there.)"
    );
    let kind = Some("text/markdown");
    let recalled = words("What was said before", chat.as_str(), &told, kind, senses);
    let between = matches!(recalled, ContentBlock::Resource(_)).then(|| text("\n\n"));
    std::iter::once(recalled).chain(between).collect()
}

/// Some words.
pub(crate) fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn data(embedded: &EmbeddedResourceAttachment, senses: Senses) -> ContentBlock {
    let kind = Some(embedded.content_type.as_str());
    bytes(
        &embedded.base.label,
        "attachment:",
        &embedded.data,
        kind,
        senses,
    )
}

/// Something that was read for the agent.
fn attached(
    label: &str,
    uri: &Uri,
    content: &Attached,
    mime: Option<&str>,
    senses: Senses,
) -> ContentBlock {
    match content {
        Attached::Content(read) => {
            let mime = read.content_type.as_deref().or(mime);
            match read.encoding {
                ContentEncoding::Utf8 => words(label, uri.as_str(), &read.data, mime, senses),
                ContentEncoding::Base64 => bytes(label, uri.as_str(), &read.data, mime, senses),
            }
        }
        Attached::Turns(turns) => {
            let told = transcript::of(turns);
            words(label, uri.as_str(), &told, Some("text/markdown"), senses)
        }
        Attached::Annotations(notes) => {
            let told = notes.items().map(|note| {
                let said = note.entries.iter().map(|entry| entry.text.as_str());
                let said = said.collect::<Vec<_>>().join("\n");
                let line = note.range.map(|range| format!(":{}", range.start.line + 1));
                format!("{}{}: {said}", note.resource, line.unwrap_or_default())
            });
            let told = told.collect::<Vec<_>>().join("\n");
            words(label, uri.as_str(), &told, None, senses)
        }
        Attached::Unreadable(reason) => text(&format!("({label} can't be read: {reason})")),
    }
}

/// Text beside the message: marked as what it is if the agent can tell, else
/// told.
fn words(label: &str, uri: &str, words: &str, mime: Option<&str>, senses: Senses) -> ContentBlock {
    if !senses.embedded {
        return text(&format!("{label}:\n\n{words}"));
    }
    let contents = TextResourceContents::new(words, uri).mime_type(mime.map(str::to_owned));
    let contents = EmbeddedResourceResource::TextResourceContents(contents);
    ContentBlock::Resource(EmbeddedResource::new(contents))
}

fn bytes(label: &str, uri: &str, data: &str, mime: Option<&str>, senses: Senses) -> ContentBlock {
    let kind = mime.unwrap_or("application/octet-stream");
    if senses.images && kind.starts_with("image/") {
        return ContentBlock::Image(ImageContent::new(data, kind));
    }
    let decoded = STANDARD.decode(data).ok().map(String::from_utf8);
    if let Some(Ok(decoded)) = decoded {
        return words(label, uri, &decoded, mime, senses);
    }
    if !senses.embedded {
        return text(&format!(
            "({label} is attached, but this agent can't see {kind})"
        ));
    }
    let contents = BlobResourceContents::new(data, uri).mime_type(kind.to_owned());
    let contents = EmbeddedResourceResource::BlobResourceContents(contents);
    ContentBlock::Resource(EmbeddedResource::new(contents))
}
