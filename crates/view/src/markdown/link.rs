//! Addresses of links and the definitions of reference links.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Longer addresses are not shown as links.
const MAX_URL_BYTES: usize = 2048;

/// References to definitions of earlier blocks may copy this many bytes of addresses into one
/// document: a few bytes of source refer to a long address, again and again.
const MAX_EXPANSION_BYTES: usize = 256 * 1024;

/// Prefix of the schemes of the host, such as `agenthost-git:`.
const HOST_SCHEME_PREFIX: &str = "agenthost";

/// Returns `true` if a client may show this address as a link: its scheme is `http`, `https`,
/// `mailto`, `file` or one of the host, and it has no control characters.
///
/// Relative addresses are not safe: they would lead to pages of the client itself.
pub fn is_safe_url(url: &str) -> bool {
    let is_plain = url.len() <= MAX_URL_BYTES && !url.contains(|c: char| c.is_control());
    let Some((scheme, rest)) = url.split_once(':') else {
        return false;
    };
    let scheme = scheme.to_ascii_lowercase();
    let is_host_scheme = scheme
        .strip_prefix(HOST_SCHEME_PREFIX)
        .is_some_and(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'));
    let is_known = matches!(scheme.as_str(), "http" | "https" | "mailto" | "file");
    is_plain && !rest.is_empty() && (is_known || is_host_scheme)
}

/// The definitions of reference links that were read so far.
#[derive(Debug)]
pub(super) struct LinkDefinitions {
    urls: HashMap<String, String>,
    /// Bytes of addresses that references may still copy.
    expansion_left: Cell<usize>,
}

impl Default for LinkDefinitions {
    fn default() -> Self {
        Self {
            urls: HashMap::new(),
            expansion_left: Cell::new(MAX_EXPANSION_BYTES),
        }
    }
}

impl LinkDefinitions {
    /// Adds a definition. The first one of a label stays. Returns `true` if it is new.
    pub(super) fn insert(&mut self, label: String, url: String) -> bool {
        let entry = self.urls.entry(label);
        let is_new = matches!(entry, Entry::Vacant(_));
        entry.or_insert(url);
        is_new
    }

    /// Removes a definition that is not complete.
    pub(super) fn remove(&mut self, label: &str) {
        self.urls.remove(label);
    }

    /// Returns `true` if the label, as returned by [`label_key`], has a definition.
    pub(super) fn contains(&self, label: &str) -> bool {
        self.urls.contains_key(label)
    }

    /// Returns the address of the label, while the limit for copies is not reached.
    pub(super) fn resolve(&self, label: &str) -> Option<String> {
        let url = self.urls.get(label)?;
        let left = self.expansion_left.get().checked_sub(url.len())?;
        self.expansion_left.set(left);
        Some(url.clone())
    }

    /// Bytes of addresses that references may still copy.
    pub(super) fn expansion_left(&self) -> usize {
        self.expansion_left.get()
    }

    /// Restores a value of [`Self::expansion_left`], after a parse whose result is not kept.
    pub(super) fn restore_expansion(&self, left: usize) {
        self.expansion_left.set(left);
    }
}

/// Returns the form of a label in which equal labels are equal: white space and case do not count.
pub(super) fn label_key(label: &str) -> String {
    let mut key = String::with_capacity(label.len());
    for word in label.split_whitespace() {
        if !key.is_empty() {
            key.push(' ');
        }
        key.push_str(&word.to_lowercase());
    }
    key
}
