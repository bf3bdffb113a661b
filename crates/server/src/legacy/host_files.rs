//! URIs of files for VS Code windows that work on a remote machine.
//!
//! A window in a browser, or connected to a remote machine, takes `file:` in an edit for a file
//! of the machine that shows it. "Restore Checkpoint" would fail there, or write to that
//! machine. With any other scheme, the window reads and writes through the host. So edits have
//! `agenthost-file:` for such a client, and its messages have `file:` again before any other
//! module sees them.

use agenthost_core::resource::uris::HOST_FILE_SCHEME;
use agenthost_protocol::wire::Json;

/// The prefix of file URIs.
const FILE_URI_PREFIX: &str = "file://";

/// Replaces the file URIs in edits and in the changes of a watch.
pub(super) fn to_host_file_uris(message: &mut Json) {
    match message {
        Json::Array(items) => items.iter_mut().for_each(to_host_file_uris),
        Json::Object(fields) => {
            let is_side = fields
                .get("content")
                .is_some_and(|content| content["uri"].is_string());
            let kind = fields.get("type").and_then(Json::as_str);
            let is_change = matches!(kind, Some("added" | "updated" | "deleted"));
            if (is_side || is_change)
                && let Some(Json::String(uri)) = fields.get_mut("uri")
                && let Some(path) = uri.strip_prefix(FILE_URI_PREFIX)
            {
                *uri = format!("{HOST_FILE_SCHEME}:{path}");
            }
            fields
                .iter_mut()
                .for_each(|(_, value)| to_host_file_uris(value));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Returns the `file:` URI for an `agenthost-file:` URI of a client.
pub(super) fn to_file_uri(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let ours = scheme.eq_ignore_ascii_case(HOST_FILE_SCHEME) && path.starts_with('/');
    ours.then(|| format!("{FILE_URI_PREFIX}{path}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edits_and_changes_have_host_file_uris() {
        let mut message = json!({
            "result": {"content": [
                {"type": "fileEdit",
                 "before": {"uri": "file:///w/a%20b.rs", "content": {"uri": "agenthost-content:/w/a%20b.rs?0.1"}},
                 "after": {"uri": "file:///w/a%20b.rs", "content": {"uri": "file:///w/a%20b.rs"}}},
                {"type": "resource", "uri": "file:///w/log"},
            ]},
            "changes": {"items": [{"uri": "file:///w/c", "type": "updated"}]},
            "workingDirectories": ["file:///w"],
        });
        to_host_file_uris(&mut message);
        assert_eq!(
            message,
            json!({
                "result": {"content": [
                    {"type": "fileEdit",
                     "before": {"uri": "agenthost-file:/w/a%20b.rs", "content": {"uri": "agenthost-content:/w/a%20b.rs?0.1"}},
                     "after": {"uri": "agenthost-file:/w/a%20b.rs", "content": {"uri": "file:///w/a%20b.rs"}}},
                    {"type": "resource", "uri": "file:///w/log"},
                ]},
                "changes": {"items": [{"uri": "agenthost-file:/w/c", "type": "updated"}]},
                "workingDirectories": ["file:///w"],
            })
        );
    }

    #[test]
    fn host_file_uris_become_file_uris() {
        let file = Some("file:///w/a%20b.rs".to_owned());
        assert_eq!(to_file_uri("agenthost-file:/w/a%20b.rs"), file);
        assert_eq!(to_file_uri("agenthost-file:///w/a%20b.rs"), file);
        for other in ["file:///w/a", "agenthost-file:w", "agenthost-git:/w/a", "x"] {
            assert_eq!(to_file_uri(other), None, "{other}");
        }
    }
}
