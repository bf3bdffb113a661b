//! URIs of objects in the repositories of the host.
//!
//! The form is `agenthost-git:/<path>?<session>.<object>`. The path is that of the file, so
//! that clients can show and compare it; session and object identify the content. Clients parse
//! and print URIs differently, so the query has only characters that survive this, and reading
//! ignores the path. Legacy URIs in stored data have another form,
//! `agenthost-git:/<session>/<object>/<name>`, and stay readable.

use agenthost_core::SessionKey;
use agenthost_core::resource::uris;
use agenthost_protocol::uri::Uri;
use percent_encoding::percent_decode_str;

use crate::file_uri::escape_path;

/// Prefix of the object id of a submodule.
const COMMIT_PREFIX: &str = "link-";

/// The id of an object, and the session that it is stored for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GitContentUri {
    pub(super) session: SessionKey,
    /// Object id in hex digits.
    pub(super) object: String,
    pub(super) kind: GitObjectKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitObjectKind {
    /// The content of a file.
    Blob,
    /// The commit of a submodule. The host does not have the object.
    Commit,
}

impl GitContentUri {
    /// Returns the URI, with the absolute path of a file.
    pub(super) fn to_uri(&self, path: &[u8]) -> Uri {
        let kind = match self.kind {
            GitObjectKind::Blob => "",
            GitObjectKind::Commit => COMMIT_PREFIX,
        };
        let (scheme, path, session) = (uris::GIT_SCHEME, escape_path(path), self.session.as_str());
        Uri::from(format!("{scheme}:{path}?{session}.{kind}{}", self.object))
    }

    /// Parses a URI. Returns `None` if the host has not created it.
    pub(super) fn parse(uri: &Uri) -> Option<Self> {
        let rest = after_scheme(uri)?;
        let (session, object) = match rest.split_once('?') {
            Some((_, query)) => {
                let (query, _) = query.split_once('#').unwrap_or((query, ""));
                let query = percent_decode_str(query).decode_utf8().ok()?;
                let (session, object) = query.split_once('.')?;
                (session.to_owned(), object.to_owned())
            }
            None => {
                let mut parts = rest.strip_prefix('/')?.splitn(3, '/');
                let (session, object) = (parts.next()?, parts.next()?);
                parts.next()?;
                (session.to_owned(), object.to_owned())
            }
        };
        let (object, kind) = match object.strip_prefix(COMMIT_PREFIX) {
            Some(object) => (object, GitObjectKind::Commit),
            None => (object.as_str(), GitObjectKind::Blob),
        };
        let is_hex = |text: &str| text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        let whole = object.len() == 40 || object.len() == 64;
        (whole && is_hex(object)).then_some(GitContentUri {
            session: SessionKey::parse(&session)?,
            object: object.to_owned(),
            kind,
        })
    }
}

/// Returns the part after the scheme.
fn after_scheme(uri: &Uri) -> Option<&str> {
    let (scheme, rest) = uri.as_str().split_once(':')?;
    let ours = scheme.eq_ignore_ascii_case(uris::GIT_SCHEME) && rest.starts_with('/');
    ours.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(kind: GitObjectKind) -> GitContentUri {
        GitContentUri {
            session: SessionKey::of(&Uri::from("shell:/1")),
            object: "0123456789".repeat(4),
            kind,
        }
    }

    #[test]
    fn an_object_uri_survives_a_round_trip() {
        for kind in [GitObjectKind::Blob, GitObjectKind::Commit] {
            for path in ["/w/a.rs", "/w/ä b+(1)@'#?%.rs", "/"] {
                let address = address(kind);
                let uri = address.to_uri(path.as_bytes());
                assert_eq!(GitContentUri::parse(&uri), Some(address), "{uri}");
            }
        }
    }

    /// The URI after VS Code has parsed and printed it.
    #[test]
    fn an_object_uri_is_parsed_in_every_encoding() {
        let address = address(GitObjectKind::Blob);
        let (key, object) = (address.session.as_str(), &address.object);
        let path = "/w/%C3%A4%20b%2B%281%29.rs";
        assert_eq!(
            address.to_uri("/w/ä b+(1).rs".as_bytes()).as_str(),
            format!("agenthost-git:{path}?{key}.{object}")
        );
        for printed in [
            format!("agenthost-git:{path}?{key}%2E{object}"),
            format!("agenthost-git:/w/ä%20b+(1).rs?{key}.{object}"),
            format!("agenthost-git:/%25FF?{key}.{object}#L1"),
            format!("agenthost-git:/{key}/{object}/src/a%20b.rs"),
            format!("agenthost-git:/{key}/{object}/a.rs"),
        ] {
            let read = GitContentUri::parse(&Uri::from(printed.clone()));
            assert_eq!(read.as_ref(), Some(&address), "{printed}");
        }
    }

    #[test]
    fn malformed_object_uris_are_rejected() {
        let address = address(GitObjectKind::Blob);
        let (key, object) = (address.session.as_str(), &address.object);
        for uri in [
            "agenthost-git:".to_owned(),
            "agenthost-git:/".to_owned(),
            "agenthost-git:/../../x".to_owned(),
            format!("agenthost-git:/{key}"),
            format!("agenthost-git:/a?{key}"),
            format!("agenthost-git:/a?...{object}"),
            format!("agenthost-git:/a?{key}.../x"),
            format!("agenthost-git:/a?{key}.{object}0"),
            format!("agenthost-git:/a?{key}.--{}", object.get(2..).unwrap()),
            format!("agenthost-content:/a?{key}.{object}"),
        ] {
            assert_eq!(GitContentUri::parse(&Uri::from(uri.clone())), None, "{uri}");
        }
    }
}
