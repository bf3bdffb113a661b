//! Aliases of sessions, for clients that read the provider from the URI.
//!
//! VS Code reads the agent of a session from the scheme of its URI, and computes the URI of the
//! default chat from that of the session. For such a client, a session with another URI or
//! another default chat gets aliases. They are inserted and resolved here, at the edge of the
//! server; no other module sees them.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::Host;
use agenthost_core::resource::uris::{default_chat_uri, is_within};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::host_files;

/// Fields of messages that hold URIs, or lists of them.
const URI_FIELDS: &[&str] = &[
    "channel",
    "chat",
    "chats",
    "defaultChat",
    "destination",
    "initialSubscriptions",
    "missing",
    "parent",
    "primarySession",
    "resource",
    "session",
    "sessions",
    "source",
    "subscriptions",
    "uri",
    "uriTemplate",
];

/// The scheme of session URIs that do not name their agent.
const SESSION_SCHEME: &str = "ahp-session";

/// Limit on the aliases of removed sessions and chats that are carried over, so that the table
/// does not grow without bound.
const MAX_REMOVED_ALIASES: usize = 2_000;

/// Prefix of an id that is a complete URI in base64.
const ENCODED_ID_PREFIX: char = '~';

/// Aliases of sessions and their default chats. An alias also covers the URIs below it
/// (`<session>/changeset/…`).
#[derive(Debug, Default)]
pub(crate) struct SessionAliases {
    /// The version of the session list that these aliases were built from.
    list_version: Option<u64>,
    aliases: BTreeMap<String, String>,
    originals: BTreeMap<String, String>,
    /// The projects of sessions that work outside of them, such as in a worktree, by the alias.
    /// VS Code lists only sessions of the open folder.
    projects: BTreeMap<String, String>,
}

impl SessionAliases {
    /// Builds the aliases of all sessions of a host. Aliases of removed sessions stay for a
    /// while, because clients still get notifications about the removal.
    pub(super) fn build(host: &Host, previous: &Self) -> Self {
        let mut aliases = SessionAliases {
            list_version: Some(host.list_version()),
            ..SessionAliases::default()
        };
        for summary in host.listed_sessions() {
            let provider = &summary.metadata.provider;
            let alias = aliases.alias_for(host, &summary.resource, provider);
            if alias != summary.resource {
                aliases.insert(summary.resource.as_str(), alias.as_str());
            }
            if let Some(project) = project_elsewhere(summary) {
                let project = project.to_string();
                aliases.projects.insert(alias.to_string(), project);
            }
            let computed = default_chat_uri(&alias);
            if let Some(chat) = summary
                .default_chat
                .as_ref()
                .filter(|chat| **chat != computed)
            {
                aliases.insert(chat.as_str(), computed.as_str());
            }
        }
        let gone = previous.aliases.iter().filter(|(name, alias)| {
            !aliases.aliases.contains_key(*name) && !aliases.originals.contains_key(*alias)
        });
        let gone: Vec<_> = gone.take(MAX_REMOVED_ALIASES).collect();
        for (name, alias) in gone {
            aliases.aliases.insert(name.clone(), alias.clone());
        }
        // Sessions that an earlier run of the host removed and that this host has a record of.
        for removed in host.removed_sessions() {
            let alias = aliases.alias_for(host, &removed.session, &removed.provider);
            let name = removed.session.to_string();
            if alias != removed.session && !aliases.originals.contains_key(alias.as_str()) {
                aliases.aliases.entry(name).or_insert(alias.to_string());
            }
        }
        aliases
    }

    /// Returns `true` if the session list has not changed since the build.
    pub(super) fn is_current(&self, host: &Host) -> bool {
        self.list_version == Some(host.list_version())
    }

    /// Returns `true` if a channel, or a URI above it, has an alias.
    pub(super) fn has_alias(&self, channel: &Uri) -> bool {
        replace_prefix(&self.aliases, channel.as_str()).is_some()
    }

    /// Replaces URIs of the host by aliases in a message to a client.
    pub(crate) fn apply(&self, message: &mut Json) {
        if !self.aliases.is_empty() {
            replace_uris(message, &|name| replace_prefix(&self.aliases, name));
        }
        if !self.projects.is_empty() {
            self.add_projects(message);
        }
    }

    /// Adds the projects of sessions to the working directories in session summaries.
    fn add_projects(&self, value: &mut Json) {
        match value {
            Json::Array(items) => items.iter_mut().for_each(|item| self.add_projects(item)),
            Json::Object(fields) => {
                let named = ["resource", "session"].iter().find_map(|field| {
                    let name = fields.get(*field)?.as_str()?;
                    self.projects.get(name)
                });
                if let Some(project) = named {
                    add_folder(fields, project);
                    if let Some(Json::Object(changes)) = fields.get_mut("changes") {
                        add_folder(changes, project);
                    }
                }
                for (_, value) in fields {
                    self.add_projects(value);
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    /// Returns the URI of the host for an alias.
    pub(super) fn resolve(&self, name: &str) -> Option<String> {
        replace_prefix(&self.originals, name)
    }

    fn insert(&mut self, name: &str, alias: &str) {
        self.aliases.insert(name.to_owned(), alias.to_owned());
        self.originals.insert(alias.to_owned(), name.to_owned());
    }

    fn alias_for(&self, host: &Host, session: &Uri, provider: &ProviderId) -> Uri {
        let provider = provider.as_str();
        let (scheme, rest) = session.as_str().split_once(':').unwrap_or_default();
        let id = rest.trim_start_matches('/');
        let is_plain = survives_parsing(id);
        if scheme == provider && is_plain {
            return session.clone();
        }
        let short = Uri::from(format!("{provider}:/{id}"));
        let taken =
            host.session_summary(&short).is_some() || self.originals.contains_key(short.as_str());
        if scheme == SESSION_SCHEME && is_plain && !taken {
            return short;
        }
        let encoded = URL_SAFE_NO_PAD.encode(session.as_str());
        Uri::from(format!("{provider}:/{ENCODED_ID_PREFIX}{encoded}"))
    }
}

/// The mapping from URIs of the host to those of one client.
#[derive(Debug, Clone)]
pub(crate) struct AddressMapping {
    pub(super) aliases: Arc<SessionAliases>,
    /// `true` if files have `agenthost-file:` URIs for the client.
    pub(super) uses_host_files: bool,
}

impl AddressMapping {
    /// Returns `true` if the channel has another URI for the client.
    pub(super) fn renames_channel(&self, channel: &Uri) -> bool {
        self.aliases.has_alias(channel)
    }

    /// Replaces the URIs in a message to the client.
    pub(crate) fn apply(&self, message: &mut Json) {
        self.aliases.apply(message);
        if self.uses_host_files {
            host_files::to_host_file_uris(message);
        }
    }
}

/// Replaces the URIs in a message of a client by those of the host.
pub(super) fn restore_addresses(message: &mut Object, resolve: &impl Fn(&str) -> Option<String>) {
    for (_, value) in message.iter_mut() {
        replace_uris(value, resolve);
    }
}

/// Returns the project of a session if none of its working directories is inside of it.
fn project_elsewhere(summary: &SessionSummary) -> Option<&Uri> {
    let project = &summary.metadata.project.as_ref()?.uri;
    let mut folders = summary.metadata.working_directories.iter().flatten();
    let elsewhere = !folders.any(|folder| is_within(project, folder));
    elsewhere.then_some(project)
}

fn add_folder(fields: &mut Object, folder: &str) {
    if let Some(Json::Array(folders)) = fields.get_mut("workingDirectories")
        && !folders.iter().any(|known| known.as_str() == Some(folder))
    {
        folders.push(Json::from(folder));
    }
}

/// Returns `true` if an id does not change when a client parses and prints its URI.
fn survives_parsing(id: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    !id.is_empty() && !id.starts_with(ENCODED_ID_PREFIX) && id.bytes().all(safe)
}

/// Returns the mapped URI if the URI itself, or the closest one above it, has an entry.
fn replace_prefix(names: &BTreeMap<String, String>, uri: &str) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let ends = uri.rmatch_indices('/').map(|(index, _)| index);
    [uri.len()].into_iter().chain(ends).find_map(|end| {
        let (name, rest) = uri.split_at_checked(end)?;
        let other = names.get(name)?;
        Some(format!("{other}{rest}"))
    })
}

fn replace_uris(value: &mut Json, other: &impl Fn(&str) -> Option<String>) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| replace_uris(item, other)),
        Json::Object(fields) => {
            for (field, value) in fields {
                if URI_FIELDS.contains(&field.as_str()) {
                    replace_uri_values(value, other);
                }
                replace_uris(value, other);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn replace_uri_values(value: &mut Json, other: &impl Fn(&str) -> Option<String>) {
    match value {
        Json::String(uri) => {
            if let Some(name) = other(uri) {
                *uri = name;
            }
        }
        Json::Array(items) => {
            for item in items.iter_mut().filter(|item| item.is_string()) {
                replace_uri_values(item, other);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use agenthost_protocol::action::Action;
    use agenthost_protocol::channel::ChannelState;
    use agenthost_protocol::rpc::{
        ClientNotification, ClientRequest, HostNotification, HostRequest,
    };
    use agenthost_protocol::wire::{Shape, TextKind, Wire};
    use serde_json::json;

    use super::*;

    fn names() -> SessionAliases {
        let mut names = SessionAliases::default();
        names.insert("ahp-session:/1", "shell:/1");
        names
    }

    #[test]
    fn aliases_apply_to_channels_below_a_session() {
        let mut message = json!({
            "channel": "ahp-session:/1/changeset/session",
            "items": [{"resource": "ahp-session:/1"}, {"resource": "ahp-session:/10"}],
            "text": "ahp-session:/1",
        });
        names().apply(&mut message);
        let expected = json!({
            "channel": "shell:/1/changeset/session",
            "items": [{"resource": "shell:/1"}, {"resource": "ahp-session:/10"}],
            "text": "ahp-session:/1",
        });
        assert_eq!(message, expected);
    }

    #[test]
    fn worktree_sessions_are_listed_in_their_project() {
        let mut names = names();
        let project = "file:///project".to_owned();
        names.projects.insert("shell:/1".to_owned(), project);
        let mut message = json!({
            "items": [{"resource": "ahp-session:/1", "workingDirectories": ["file:///tree"]}],
            "session": "ahp-session:/1",
            "changes": {"workingDirectories": ["file:///tree"]},
        });
        names.apply(&mut message);
        let folders = json!(["file:///tree", "file:///project"]);
        assert_eq!(message["items"][0]["workingDirectories"], folders);
        assert_eq!(message["changes"]["workingDirectories"], folders);
    }

    /// Fields with URIs of other things than sessions and chats.
    const OTHERS: &[&str] = &[
        "after",
        "automation",
        "cwd",
        "defaultDirectory",
        "destination",
        "directory",
        "href",
        "logs",
        "metrics",
        "replacement",
        "root",
        "run",
        "src",
        "target",
        "terminal",
        "traces",
        "url",
        "workingDirectories",
        "workingDirectory",
    ];

    /// Collects the names of all fields that hold URIs in a shape and the shapes inside of it.
    fn collect(
        field: &'static str,
        shape: fn() -> Shape,
        known: &mut BTreeSet<&'static str>,
        found: &mut BTreeSet<&'static str>,
    ) {
        match shape() {
            Shape::Text(TextKind::Uri) => {
                found.insert(field);
            }
            Shape::List(inner) | Shape::Map(inner) => collect(field, inner, known, found),
            Shape::Either(shapes) => {
                for shape in shapes {
                    collect(field, shape, known, found);
                }
            }
            Shape::Object { name, fields } if name.is_empty() || known.insert(name) => {
                for field in fields {
                    collect(field.name, field.shape, known, found);
                }
            }
            Shape::Union { name, variants, .. } if known.insert(name) => {
                for (_, shape) in variants {
                    collect(field, shape, known, found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_field_with_a_session_or_chat_uri_is_listed() {
        let (mut known, mut found) = (BTreeSet::new(), BTreeSet::new());
        let messages = [
            ClientRequest::shapes(),
            ClientRequest::result_shapes(),
            ClientNotification::shapes(),
            HostNotification::shapes(),
            HostRequest::shapes(),
        ];
        for (_, shape) in messages.into_iter().flatten() {
            collect("", shape, &mut known, &mut found);
        }
        for shape in [ChannelState::shape, Action::shape] {
            collect("", shape, &mut known, &mut found);
        }
        assert!(found.contains("defaultChat"), "{found:?}");
        let unknown = found
            .iter()
            .filter(|field| !URI_FIELDS.contains(field) && !OTHERS.contains(field));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn aliases_are_resolved_to_session_uris() {
        let names = names();
        for name in ["ahp-session:/1", "ahp-session:/1/annotations"] {
            let mut shown = json!({"resource": name});
            names.apply(&mut shown);
            let shown = shown["resource"].as_str().unwrap_or_default();
            assert_eq!(names.resolve(shown).as_deref(), Some(name));
        }
        assert_eq!(names.resolve("shell:/2"), None);
    }
}
