//! Converts messages and attachments to ACP content blocks.

pub(crate) mod tags;

use agenthost_core::agent::AttachmentContent;
use agenthost_protocol::chat::{Attachment, EmbeddedResourceAttachment, Message};
use agenthost_protocol::resource::ContentEncoding;
use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::transcript;
use crate::transport::schema::{
    BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent,
    ResourceLink, TextContent, TextResourceContents,
};

/// The content types that an agent accepts in prompts, besides text and links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PromptFeatures {
    has_images: bool,
    has_embedded: bool,
}

impl PromptFeatures {
    /// Reads the prompt capabilities from the agent's `initialize` response.
    pub(crate) fn parse(initialized: &Value) -> Self {
        let capabilities = initialized.pointer("/agentCapabilities/promptCapabilities");
        let has_capability = |key: &str| {
            capabilities.and_then(|capabilities| capabilities.get(key)?.as_bool()) == Some(true)
        };
        PromptFeatures {
            has_images: has_capability("image"),
            has_embedded: has_capability("embeddedContext"),
        }
    }
}

/// Attachments whose content the host has read for the agent.
pub(crate) type AttachedResources = Vec<(Uri, AttachmentContent)>;

/// Returns the blocks of a prompt: the text, followed by the attachments of the message.
pub(crate) fn prompt_blocks(
    text: &str,
    message: &Message,
    resources: &AttachedResources,
    features: PromptFeatures,
) -> Vec<ContentBlock> {
    let mut blocks = vec![plain_text(text)];
    for attachment in message.attachments.iter().flatten() {
        let resource = |uri: &Uri| {
            resources
                .iter()
                .find(|(resource_uri, _)| resource_uri == uri)
        };
        let resource = |uri: &Uri| resource(uri).map(|(_, content)| content);
        match attachment {
            Attachment::Simple(simple) => {
                blocks.extend(simple.model_representation.as_deref().map(plain_text));
            }
            Attachment::EmbeddedResource(embedded) => {
                blocks.push(embedded_block(embedded, features))
            }
            Attachment::Resource(linked) => {
                let (label, uri) = (&linked.base.label, &linked.content.uri);
                let mime = linked.content.content_type.as_deref();
                blocks.push(match resource(uri) {
                    Some(content) => attachment_block(label, uri, content, mime, features),
                    None => {
                        let link = ResourceLink::new(label.as_str(), uri.as_str());
                        ContentBlock::ResourceLink(link.mime_type(mime.map(str::to_owned)))
                    }
                });
            }
            Attachment::Annotations(annotations) => {
                let (label, uri) = (&annotations.base.label, &annotations.resource);
                let content = resource(uri);
                blocks.extend(
                    content.map(|content| attachment_block(label, uri, content, None, features)),
                );
            }
            Attachment::Chat(chat) => {
                let (label, uri) = (&chat.base.label, &chat.resource);
                let content = resource(uri);
                blocks.extend(
                    content.map(|content| attachment_block(label, uri, content, None, features)),
                );
            }
            // The host can't convert an attachment of an unknown kind.
            Attachment::Unknown(_) => {}
        }
    }
    blocks
}

/// Returns the transcript of earlier turns as content blocks. Some agents replace an embedded
/// resource with its URI and append the next block to it without a space, so a separator
/// follows.
pub(crate) fn history_block(
    chat: &Uri,
    history: &str,
    features: PromptFeatures,
) -> Vec<ContentBlock> {
    let history = format!(
        "{history}\n\n(This is the earlier conversation, for context. The next message continues it.)"
    );
    let mime = Some("text/markdown");
    let block = text_block(
        "Earlier conversation",
        chat.as_str(),
        &history,
        mime,
        features,
    );
    let separator = matches!(block, ContentBlock::Resource(_)).then(|| plain_text("\n\n"));
    std::iter::once(block).chain(separator).collect()
}

/// Returns a text block.
pub(crate) fn plain_text(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn embedded_block(embedded: &EmbeddedResourceAttachment, features: PromptFeatures) -> ContentBlock {
    let mime = Some(embedded.content_type.as_str());
    binary_block(
        &embedded.base.label,
        "attachment:",
        &embedded.data,
        mime,
        features,
    )
}

/// Returns the block for an attachment that the host has read for the agent.
fn attachment_block(
    label: &str,
    uri: &Uri,
    content: &AttachmentContent,
    mime: Option<&str>,
    features: PromptFeatures,
) -> ContentBlock {
    match content {
        AttachmentContent::Resource(resource) => {
            let mime = resource.content_type.as_deref().or(mime);
            match resource.encoding {
                ContentEncoding::Utf8 => {
                    text_block(label, uri.as_str(), &resource.data, mime, features)
                }
                ContentEncoding::Base64 => {
                    binary_block(label, uri.as_str(), &resource.data, mime, features)
                }
            }
        }
        AttachmentContent::Turns(turns) => {
            let text = transcript::render_history(turns);
            text_block(label, uri.as_str(), &text, Some("text/markdown"), features)
        }
        AttachmentContent::Annotations(annotations) => {
            let text = annotations.items().map(|annotation| {
                let entries = annotation.entries.iter().map(|entry| entry.text.as_str());
                let entries = entries.collect::<Vec<_>>().join("\n");
                let line = annotation
                    .range
                    .map(|range| format!(":{}", range.start.line + 1));
                format!(
                    "{}{}: {entries}",
                    annotation.resource,
                    line.unwrap_or_default()
                )
            });
            let text = text.collect::<Vec<_>>().join("\n");
            text_block(label, uri.as_str(), &text, None, features)
        }
        AttachmentContent::Unreadable(reason) => {
            plain_text(&format!("({label} can't be read: {reason})"))
        }
    }
}

/// Returns text that is not part of the message: as an embedded resource if the agent supports
/// that, else as text below a label.
fn text_block(
    label: &str,
    uri: &str,
    text: &str,
    mime: Option<&str>,
    features: PromptFeatures,
) -> ContentBlock {
    if !features.has_embedded {
        return plain_text(&format!("{label}:\n\n{text}"));
    }
    let contents = TextResourceContents::new(text, uri).mime_type(mime.map(str::to_owned));
    let contents = EmbeddedResourceResource::TextResourceContents(contents);
    ContentBlock::Resource(EmbeddedResource::new(contents))
}

fn binary_block(
    label: &str,
    uri: &str,
    data: &str,
    mime: Option<&str>,
    features: PromptFeatures,
) -> ContentBlock {
    let kind = mime.unwrap_or("application/octet-stream");
    if features.has_images && kind.starts_with("image/") {
        return ContentBlock::Image(ImageContent::new(data, kind));
    }
    let decoded = STANDARD.decode(data).ok().map(String::from_utf8);
    if let Some(Ok(decoded)) = decoded {
        return text_block(label, uri, &decoded, mime, features);
    }
    if !features.has_embedded {
        return plain_text(&format!(
            "({label} is attached, but this agent can't see {kind})"
        ));
    }
    let contents = BlobResourceContents::new(data, uri).mime_type(kind.to_owned());
    let contents = EmbeddedResourceResource::BlobResourceContents(contents);
    ContentBlock::Resource(EmbeddedResource::new(contents))
}
