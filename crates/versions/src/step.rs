//! The contract of a step.
//!
//! A step knows two neighbouring releases and nothing else: what it gets to
//! see on its way down is the newer one's, on its way up the older one's, and
//! it leaves the other's behind. It is called in this order:
//!
//! * down: [`Step::reword`] on the typed action (all steps, before anything is
//!   JSON); then for each step [`Step::part`] on every part of the document,
//!   innermost first, then the method for the whole of it (`action`,
//!   `snapshot`, `result`, `notification`, `request`).
//! * up: for each step the method for the whole (`dispatch`, `params`,
//!   `response`), then [`Step::part_up`] on every part, outermost first.
//! * up, for what a host of the release wrote down ([`Row`]):
//!   [`Step::lift_action`], then [`Step::lift`], in the same way.
//!
//! Parts are named by the type that 1.0 gives them (`Turn`, `Message`,
//! `ResponsePart` …; a union goes by the union's name, whatever variant it
//! is), and keep that name in releases that called the field otherwise; see
//! `graph`.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{Call, Dispatch, Envelope};
use crate::rows::Row;
use crate::world::Moment;

/// What becomes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It stays, as it is now.
    Keep,
    /// There is nothing like it: out of its list, its map, its field.
    Drop,
}

/// Why a client can't have what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such thing in what the client speaks.
    #[error("{0}")]
    Unknown(String),
    /// It is not what its version says it should be.
    #[error("{0}")]
    Invalid(String),
}

/// How an older release puts what its newer neighbour means, and back.
pub(crate) trait Step: Sync {
    /// The older of the two.
    fn older(&self) -> Release;

    /// Whether the older one has snapshots of such channels.
    fn knows(&self, _kind: ChannelKind) -> bool {
        true
    }

    /// Whether a client of the older one can subscribe to such channels, be
    /// it that it gets no snapshot and only hears what happens.
    fn follows(&self, kind: ChannelKind) -> bool {
        self.knows(kind)
    }

    /// Says an action with other actions, all of 1.0, which the older release
    /// has words for. What is said must leave an older client where the
    /// action would.
    fn reword(&self, _at: &Moment<'_>, action: Action) -> Vec<Action> {
        vec![action]
    }

    /// Takes one part down.
    fn part(&self, _at: &Moment<'_>, _name: &'static str, _part: &mut Object) -> Fate {
        Fate::Keep
    }

    /// Takes an action down, whose parts are down already; to none or several
    /// if need be.
    fn action(&self, _at: &Moment<'_>, envelope: Envelope) -> Vec<Envelope> {
        vec![envelope]
    }

    /// Takes the state of a channel down, whose parts are down already.
    fn snapshot(
        &self,
        _at: &Moment<'_>,
        _kind: ChannelKind,
        _resource: &mut String,
        _state: &mut Object,
    ) {
    }

    /// Takes the result of a request down. Snapshots in it are down already,
    /// and so are actions.
    fn result(&self, _at: &Moment<'_>, _method: &str, _result: &mut Json) {}

    /// Takes a notification down, but for `action`.
    fn notification(&self, _at: &Moment<'_>, call: Call) -> Vec<Call> {
        vec![call]
    }

    /// Takes a request of the host down.
    fn request(&self, _at: &Moment<'_>, _call: &mut Call) {}

    /// Takes an error down.
    fn error(&self, _code: &mut i64, _data: &mut Option<Json>) {}

    /// Takes one part up.
    fn part_up(&self, _name: &'static str, _part: &mut Object) -> Fate {
        Fate::Keep
    }

    /// Takes a request, or a notification other than `dispatchAction`, up.
    /// What the newer release says with actions instead comes back: it is
    /// dispatched for the client once the request has succeeded.
    fn params(&self, _at: &Moment<'_>, _call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        Ok(Vec::new())
    }

    /// Takes a client's action up. There is always exactly one: a client gets
    /// one echo.
    fn dispatch(&self, _at: &Moment<'_>, _dispatch: &mut Dispatch) -> Result<(), Refused> {
        Ok(())
    }

    /// Takes a client's answer to a request of the host up.
    fn response(&self, _at: &Moment<'_>, _method: &str, _result: &mut Json) {}

    /// Takes one part up of what a host of the older release wrote down. Of most
    /// a host says the same as a client.
    fn lift(&self, _row: &Row<'_>, name: &'static str, part: &mut Object) -> Fate {
        self.part_up(name, part)
    }

    /// Takes an action up that a host of the older release wrote down, before
    /// its parts.
    fn lift_action(&self, _row: &Row<'_>, _action: &mut Object) {}
}
