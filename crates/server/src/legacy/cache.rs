//! What clients are told, and for whom the same words will do.

use std::rc::Rc;

use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use axum::extract::ws::Utf8Bytes;

use super::LegacyClient;

/// What is told of one thing, made once for all whom it is the same for.
#[derive(Default)]
pub(crate) struct DowngradeCache(Vec<(DowngradeKey, Rc<Vec<LegacyMessage>>)>);

impl DowngradeCache {
    /// What was made about a channel for somebody else of whom the same is
    /// true.
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

    /// Keeps what was made for a client for others, unless it is for that one
    /// alone.
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

/// Those to whom the same is told about a channel.
struct DowngradeKey {
    release: Release,
    /// Whether they are told second names of sessions.
    uses_aliases: bool,
    /// Whether they are told other addresses of files.
    uses_host_files: bool,
    /// What they see the channel as.
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

/// A message on a channel.
#[derive(Clone)]
pub(super) struct LegacyMessage {
    pub(super) channel: Option<Uri>,
    pub(super) text: Utf8Bytes,
    /// Whether it says who did it.
    pub(super) has_origin: bool,
}

/// What one client is told, in order.
#[derive(Default)]
pub(crate) struct LegacyMessages {
    /// Its own action, as it sent it.
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
