//! Stable ids of customizations, and URIs of files inside of containers.

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::hex::encode_hex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

/// Bytes that are percent-encoded in the path of a URI.
const ESCAPED_PATH_BYTES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Returns an id made of a kind and a digest of the parts. The parts must identify the
/// customization and stay the same when it is read again.
pub(crate) fn make_id(kind: &str, parts: &[&str]) -> CustomizationId {
    CustomizationId::from(format!("{kind}-{}", short_digest(parts)))
}

/// Returns a short digest of several texts, for ids and names of folders.
pub(crate) fn short_digest(parts: &[&str]) -> String {
    encode_hex(digest(parts).get(..8).unwrap_or_default())
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut all = Sha256::new();
    for part in parts {
        // The length separates neighbouring parts.
        all.update((part.len() as u64).to_be_bytes());
        all.update(part.as_bytes());
    }
    all.finalize().into()
}

/// Returns the URI of a file inside of a folder. A query and a fragment of the folder stay
/// at the end: virtual file systems of clients route by them.
pub(crate) fn uri_inside(folder: &Uri, path: &str) -> Uri {
    let text = folder.as_str();
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let (folder, rest) = text.split_at(end);
    let folder = folder.trim_end_matches('/');
    let path = utf8_percent_encode(path, ESCAPED_PATH_BYTES);
    Uri::from(format!("{folder}/{path}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable() {
        let id = make_id("skill", &["file:///x", "a/SKILL.md"]);
        assert_eq!(id.as_str(), "skill-217e48f8054450bd");
        assert_ne!(id, make_id("skill", &["file:///xa", "/SKILL.md"]));
    }

    /// The forms of URIs at which VS Code publishes plugins.
    #[test]
    fn file_uris_keep_the_form_of_the_client_uri() {
        for (folder, inside) in [
            (
                "vscode-synced-customization:/agent-host-shell-1234",
                "vscode-synced-customization:/agent-host-shell-1234/rules/a%20b.md",
            ),
            (
                "vscode-remote://ssh-remote%2Bbox/home/me/p",
                "vscode-remote://ssh-remote%2Bbox/home/me/p/rules/a%20b.md",
            ),
            (
                "vscode-vfs://github/o/r/p?ref=main#x",
                "vscode-vfs://github/o/r/p/rules/a%20b.md?ref=main#x",
            ),
        ] {
            let found = uri_inside(&Uri::from(folder), "rules/a b.md");
            assert_eq!(found, Uri::from(inside));
        }
    }

    #[test]
    fn uris_in_a_folder_equal_file_uris() {
        let folder = Uri::from("file:///tmp/a%20b/");
        let inside = uri_inside(&folder, "c d/ä.md");
        let path = std::path::Path::new("/tmp/a b/c d/ä.md");
        assert_eq!(Some(inside), agenthost_workspace::uri_of(path));
    }
}
