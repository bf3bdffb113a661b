//! Caches downgraded messages, so that equal ones are encoded once for several clients.

use std::rc::Rc;

use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use axum::extract::ws::Utf8Bytes;

use super::LegacyClient;

/// The downgraded messages of one action or notification, for each kind of client.
#[derive(Default)]
pub(crate) struct DowngradeCache(Vec<(DowngradeKey, Rc<Vec<LegacyMessage>>)>);

impl DowngradeCache {
    /// Returns the messages about a channel that were encoded for an equivalent client.
    pub(super) fn get(
        &self,
        client: &LegacyClient,
        channel: &Uri,
    ) -> Option<Rc<Vec<LegacyMessage>>> {
        let found = self
            .0
            .iter()
            .find(|(known, _)| known.matches(client, channel));
        found.map(|(_, lines)| Rc::clone(lines))
    }

    /// Stores the messages of a client for equivalent ones, unless they depend on data of this
    /// client.
    pub(super) fn insert(
        &mut self,
        client: &LegacyClient,
        channel: &Uri,
        messages: Vec<LegacyMessage>,
    ) -> Rc<Vec<LegacyMessage>> {
        let messages = Rc::new(messages);
        if !client.target.take_client_specific() {
            self.0.push((
                DowngradeKey::for_client(client, channel),
                Rc::clone(&messages),
            ));
        }
        messages
    }
}

/// The properties of a client that determine its messages about a channel.
struct DowngradeKey {
    release: Release,
    /// `true` if the client gets aliases of sessions.
    uses_aliases: bool,
    /// `true` if files have `agenthost-file:` URIs for the client.
    uses_host_files: bool,
    /// The default chat of the channel, if the client sees the channel as a session with one
    /// chat; `session` is the reverse mapping.
    chat: Option<Uri>,
    session: Option<Uri>,
}

impl DowngradeKey {
    fn for_client(client: &LegacyClient, channel: &Uri) -> Self {
        DowngradeKey {
            release: client.release(),
            uses_aliases: client.quirks.provider_schemes,
            uses_host_files: client.quirks.remote_files,
            chat: client.target.chat_of(channel).cloned(),
            session: client.target.session_of(channel).cloned(),
        }
    }

    fn matches(&self, client: &LegacyClient, channel: &Uri) -> bool {
        self.release == client.release()
            && self.uses_aliases == client.quirks.provider_schemes
            && self.uses_host_files == client.quirks.remote_files
            && self.chat.as_ref() == client.target.chat_of(channel)
            && self.session.as_ref() == client.target.session_of(channel)
    }
}

/// An encoded message. Only actions have a channel.
#[derive(Clone)]
pub(super) struct LegacyMessage {
    pub(super) channel: Option<Uri>,
    pub(super) text: Utf8Bytes,
    /// `true` if the message names the client that dispatched the action.
    pub(super) has_origin: bool,
}

/// The messages for one client, in order.
#[derive(Default)]
pub(crate) struct LegacyMessages {
    /// The client's own action, in the encoding in which the client sent it.
    pub(super) echo: Option<Utf8Bytes>,
    pub(super) messages: Rc<Vec<LegacyMessage>>,
}

impl LegacyMessages {
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Utf8Bytes> {
        let lines = self.messages.iter().map(|line| &line.text);
        self.echo.iter().chain(lines)
    }
}

impl From<Rc<Vec<LegacyMessage>>> for LegacyMessages {
    fn from(lines: Rc<Vec<LegacyMessage>>) -> Self {
        LegacyMessages {
            echo: None,
            messages: lines,
        }
    }
}

impl FromIterator<Utf8Bytes> for LegacyMessages {
    fn from_iter<I: IntoIterator<Item = Utf8Bytes>>(texts: I) -> Self {
        let line = |text| LegacyMessage {
            channel: None,
            text,
            has_origin: false,
        };
        let lines: Vec<_> = texts.into_iter().map(line).collect();
        Rc::new(lines).into()
    }
}
