//! Attachments of messages: files, images and the output of other programs.

use std::path::Path;

use agenthost_protocol::chat::{
    Attachment, AttachmentBase, EmbeddedResourceAttachment, ResourceAttachment, SimpleAttachment,
};
use agenthost_protocol::common::ContentRef;
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Maximum size of an attachment that is part of the message, in bytes.
pub(crate) const MAX_ATTACHMENT_BYTES: usize = 1024 * 1024;

/// Endings of images with their MIME types.
const IMAGE_TYPES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Attaches a file: one in the folder of the session as a reference, another one with its
/// content, because the agent may not read it.
pub(crate) fn attach_file(path: &Path, folder: &Path) -> anyhow::Result<Attachment> {
    let path = path
        .canonicalize()
        .with_context(|| format!("attach `{}`", path.display()))?;
    if !path.starts_with(folder) {
        return embed(&path, "text/plain");
    }
    let uri = agenthost_workspace::uri_of(&path).context("the path of the file is not UTF-8")?;
    let name = path.strip_prefix(folder).unwrap_or(&path);
    Ok(Attachment::Resource(ResourceAttachment {
        base: base_of(&name.to_string_lossy()),
        content: ContentRef {
            uri,
            size_hint: None,
            content_type: None,
            nonce: None,
        },
        selection: None,
    }))
}

/// Attaches an image with its content.
pub(crate) fn attach_image(path: &Path) -> anyhow::Result<Attachment> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let ending = ending.to_lowercase();
    let known = IMAGE_TYPES.iter().find(|(known, _)| *known == ending);
    let Some((_, content_type)) = known else {
        let endings = IMAGE_TYPES.map(|(ending, _)| ending).join(", ");
        bail!(
            "attach image `{}`: its name does not end with one of {endings}",
            path.display()
        );
    };
    embed(path, content_type)
}

/// Attaches text that another program has written to stdin.
pub(crate) fn attach_text(text: String) -> Attachment {
    Attachment::Simple(SimpleAttachment {
        base: base_of("standard input"),
        model_representation: Some(text),
    })
}

/// Attaches the files that a message mentions as `@path`, if they are in the folder.
pub(crate) fn attach_mentioned(text: &str, folder: &Path) -> Vec<Attachment> {
    let mentions = text.split_whitespace().filter_map(|word| {
        let path = folder.join(
            word.strip_prefix('@')?
                .trim_end_matches(['.', ',', ';', ':', ')']),
        );
        let path = path.canonicalize().ok()?;
        let is_inside = path.is_file() && path.starts_with(folder.canonicalize().ok()?);
        is_inside
            .then(|| attach_file(&path, &folder.canonicalize().ok()?).ok())
            .flatten()
    });
    mentions.collect()
}

fn embed(path: &Path, content_type: &str) -> anyhow::Result<Attachment> {
    let content = std::fs::read(path).with_context(|| format!("attach `{}`", path.display()))?;
    if content.len() > MAX_ATTACHMENT_BYTES {
        bail!(
            "attach `{}`: it is larger than {} KiB",
            path.display(),
            MAX_ATTACHMENT_BYTES / 1024
        );
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Attachment::EmbeddedResource(EmbeddedResourceAttachment {
        base: base_of(&name.to_string_lossy()),
        data: STANDARD.encode(content),
        content_type: content_type.to_owned(),
        selection: None,
    }))
}

fn base_of(label: &str) -> AttachmentBase {
    AttachmentBase {
        label: label.to_owned(),
        range: None,
        display_kind: None,
        meta: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentioned_files_of_the_folder_are_attached() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("project");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a.rs"), "").unwrap();
        std::fs::write(directory.path().join("secret"), "").unwrap();
        let attached = attach_mentioned("see @a.rs, @missing and @../secret or me@a.rs", &folder);
        let names: Vec<_> = attached
            .iter()
            .map(|attachment| match attachment {
                Attachment::Resource(resource) => resource.base.label.as_str(),
                _ => "?",
            })
            .collect();
        assert_eq!(names, ["a.rs"]);
        let outside = attach_file(&directory.path().join("secret"), &folder).unwrap();
        assert!(matches!(outside, Attachment::EmbeddedResource(_)));
    }
}
