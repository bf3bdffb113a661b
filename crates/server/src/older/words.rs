//! What clients are told, and for whom the same words will do.

use std::rc::Rc;

use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use axum::extract::ws::Utf8Bytes;

use super::Peer;

/// What is told of one thing, made once for all whom it is the same for.
#[derive(Default)]
pub(crate) struct Told(Vec<(Audience, Rc<Vec<Line>>)>);

impl Told {
    /// What was made about a channel for somebody else of whom the same is
    /// true.
    pub(super) fn to(&self, peer: &Peer, channel: &Uri) -> Option<Rc<Vec<Line>>> {
        let found = self.0.iter().find(|(known, _)| known.has(peer, channel));
        found.map(|(_, lines)| Rc::clone(lines))
    }

    /// Keeps what was made for a client for others, unless it is for that one
    /// alone.
    pub(super) fn share(&mut self, peer: &Peer, channel: &Uri, lines: Vec<Line>) -> Rc<Vec<Line>> {
        let lines = Rc::new(lines);
        if !peer.viewer.is_personal() {
            self.0
                .push((Audience::of(peer, channel), Rc::clone(&lines)));
        }
        lines
    }
}

/// Those to whom the same is told about a channel.
struct Audience {
    release: Release,
    /// Whether they are told second names of sessions.
    aliased: bool,
    /// Whether they are told other addresses of files.
    host_files: bool,
    /// What they see the channel as.
    chat: Option<Uri>,
    session: Option<Uri>,
}

impl Audience {
    fn of(peer: &Peer, channel: &Uri) -> Self {
        Audience {
            release: peer.release(),
            aliased: peer.quirks.provider_schemes,
            host_files: peer.quirks.remote_files,
            chat: peer.viewer.chat_of(channel).cloned(),
            session: peer.viewer.session_of(channel).cloned(),
        }
    }

    fn has(&self, peer: &Peer, channel: &Uri) -> bool {
        self.release == peer.release()
            && self.aliased == peer.quirks.provider_schemes
            && self.host_files == peer.quirks.remote_files
            && self.chat.as_ref() == peer.viewer.chat_of(channel)
            && self.session.as_ref() == peer.viewer.session_of(channel)
    }
}

/// A message on a channel.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) channel: Option<Uri>,
    pub(super) text: Utf8Bytes,
    /// Whether it says who did it.
    pub(super) credited: bool,
}

/// What one client is told, in order.
#[derive(Default)]
pub(crate) struct Words {
    /// Its own action, as it sent it.
    pub(super) echo: Option<Utf8Bytes>,
    pub(super) lines: Rc<Vec<Line>>,
}

impl Words {
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Utf8Bytes> {
        let lines = self.lines.iter().map(|line| &line.text);
        self.echo.iter().chain(lines)
    }
}

impl From<Rc<Vec<Line>>> for Words {
    fn from(lines: Rc<Vec<Line>>) -> Self {
        Words { echo: None, lines }
    }
}

impl FromIterator<Utf8Bytes> for Words {
    fn from_iter<I: IntoIterator<Item = Utf8Bytes>>(texts: I) -> Self {
        let line = |text| Line {
            channel: None,
            text,
            credited: false,
        };
        let lines: Vec<_> = texts.into_iter().map(line).collect();
        Rc::new(lines).into()
    }
}
