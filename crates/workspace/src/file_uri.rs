//! Converts between `file:` URIs and paths.

use std::path::{Path, PathBuf};

use agenthost_protocol::uri::Uri;
use percent_encoding::{
    AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode, utf8_percent_encode,
};

/// Bytes that are percent-encoded in the path of a URI.
const ESCAPED_PATH_BYTES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Returns the path of a local `file:` URI.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let path = uri.as_str().strip_prefix("file://")?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(path.as_ref()))
}

/// Returns the URI of a path, also if that is not UTF-8.
pub(crate) fn uri_of_raw(path: &Path) -> Uri {
    let escaped = escape_path(path.as_os_str().as_encoded_bytes());
    Uri::from(format!("file://{escaped}"))
}

/// Percent-encodes a path for a URI.
pub(crate) fn escape_path(path: &[u8]) -> String {
    percent_encode(path, ESCAPED_PATH_BYTES).to_string()
}

/// Returns the URI of a path, or `None` if that is not absolute or not UTF-8.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_str().filter(|_| path.is_absolute())?;
    let escaped = utf8_percent_encode(text, ESCAPED_PATH_BYTES);
    Some(Uri::from(format!("file://{escaped}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_a_round_trip() {
        for path in ["/", "/tmp/a b", "/tmp/ä#?%20", "/a-b_c.d~e"] {
            let uri = uri_of(Path::new(path)).unwrap();
            assert_eq!(path_of(&uri), Some(PathBuf::from(path)), "{uri}");
        }
        let uri = uri_of(Path::new("/tmp/a b%")).unwrap();
        assert_eq!(uri, Uri::from("file:///tmp/a%20b%25"));
    }

    #[test]
    fn other_uris_and_relative_paths_are_rejected() {
        for uri in [
            "file://host/tmp",
            "https://example/tmp",
            "file:/tmp",
            "file:///%ff",
            "",
        ] {
            assert_eq!(path_of(&Uri::from(uri)), None, "{uri}");
        }
        assert_eq!(uri_of(Path::new("tmp")), None);
    }
}
