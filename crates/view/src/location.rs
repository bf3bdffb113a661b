//! Paths of files and folders, as clients show them.

use agenthost_protocol::uri::Uri;

/// Returns the path of a URI: decoded, without scheme, authority, query and fragment.
///
/// A text without a scheme is returned as it is, so that a path stays a path.
pub fn path_of(uri: &Uri) -> String {
    let text = uri.as_str();
    let Some((scheme, rest)) = text.split_once(':') else {
        return text.to_owned();
    };
    // A single letter is the drive of a Windows path.
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if scheme.len() < 2 || !scheme.bytes().all(in_scheme) {
        return text.to_owned();
    }
    let path = match rest.strip_prefix("//") {
        Some(after) => after.find('/').and_then(|at| after.get(at..)).unwrap_or(""),
        None => rest,
    };
    let end = path.find(['?', '#']).unwrap_or(path.len());
    let path = decode_escapes(path.get(..end).unwrap_or(path));
    match path.strip_prefix('/') {
        Some(inner) if inner.as_bytes().get(1) == Some(&b':') => inner.to_owned(),
        Some(_) | None => path,
    }
}

/// Returns the last segment of a path, or the whole path if it has none.
pub fn name_of(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some(name) if !name.is_empty() => name,
        Some(_) | None => path,
    }
}

/// Maximum length of a file name in bytes, on all common file systems.
const MAX_NAME_BYTES: usize = 255;

/// Returns `true` if a text can be the name of a file: one segment of a path.
pub fn is_file_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= MAX_NAME_BYTES && !name.contains(['/', '\0'])
}

/// Returns the URI of a file in a folder. Everything but letters, digits and `-_.~` is escaped,
/// as hosts do it.
pub fn child_uri(folder: &Uri, name: &str) -> Uri {
    let mut uri = folder.as_str().trim_end_matches('/').to_owned();
    uri.push('/');
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    Uri::from(uri)
}

/// Returns the URI of the folder that contains a file; `None` for the topmost folder.
pub fn parent_uri(uri: &Uri) -> Option<Uri> {
    let text = uri.as_str().trim_end_matches('/');
    let (parent, _) = text.rsplit_once('/')?;
    let is_root = parent.ends_with('/');
    (!is_root || text.len() > parent.len() + 1).then(|| {
        // `file:///a` is in `file:///`.
        let slash = if is_root { "/" } else { "" };
        Uri::from(format!("{parent}{slash}"))
    })
}

/// Decodes percent escapes. Escapes that are malformed or no UTF-8 stay as they are.
fn decode_escapes(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = tail.get(2..).unwrap_or(&[]);
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_and_has_no_scheme() {
        for (uri, path) in [
            ("file:///home/me/a%20b.rs", "/home/me/a b.rs"),
            ("file://host/share/x", "/share/x"),
            ("file:///c:/work/x", "c:/work/x"),
            (
                "agenthost-git:/src/%C3%BC.rs?ahp-session:/s1.ab12",
                "/src/ü.rs",
            ),
            ("file:///100%25/%zz/%ff", "/100%25/%zz/%ff"),
            ("/plain/path", "/plain/path"),
            ("c:/work", "c:/work"),
            ("file:///", "/"),
        ] {
            assert_eq!(path_of(&Uri::from(uri)), path, "{uri}");
        }
    }

    #[test]
    fn names_survive_a_round_trip_to_uris() {
        let folder = Uri::from("file:///a%20b/");
        for name in ["x.rs", "ü #?%", "<b>\u{202e}\n", "-_.~"] {
            let uri = child_uri(&folder, name);
            assert!(uri.as_str().is_ascii() && is_file_name(name), "{uri}");
            assert_eq!(path_of(&uri), format!("/a b/{name}"));
            assert_eq!(parent_uri(&uri), Some(Uri::from("file:///a%20b")));
        }
        assert_eq!(
            parent_uri(&Uri::from("file:///a")),
            Some(Uri::from("file:///"))
        );
        assert_eq!(parent_uri(&Uri::from("file:///")), None);
        for name in ["", ".", "..", "a/b", "a\0", &"x".repeat(256)] {
            assert!(!is_file_name(name), "{name}");
        }
    }

    #[test]
    fn the_name_of_a_folder_is_its_last_segment() {
        for (path, name) in [("/a/b", "b"), ("/a/b/", "b"), ("/", "/"), ("c", "c")] {
            assert_eq!(name_of(path), name, "{path}");
        }
    }
}
