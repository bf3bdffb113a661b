//! The contract of a step.
//!
//! A step knows two neighbouring releases and nothing else: what it gets to
//! see on its way down is the newer one's, on its way up the older one's, and
//! it leaves the other's behind. It is called in this order:
//!
//! * down: [`VersionStep::rewrite`] on the typed action (all steps, before anything is
//!   JSON); then for each step [`VersionStep::downgrade_part`] on every part of the document,
//!   innermost first, then the method for the whole of it (`action`,
//!   `snapshot`, `result`, `notification`, `request`).
//! * up: for each step the method for the whole (`dispatch`, `params`,
//!   `response`), then [`VersionStep::upgrade_part`] on every part, outermost first.
//! * up, for what a host of the release wrote down ([`StoredRow`]):
//!   [`VersionStep::migrate_action`], then [`VersionStep::migrate_part`], in the same way.
//!
//! Parts are named by the type that 1.0 gives them (`Turn`, `Message`,
//! `ResponsePart` …; a union goes by the union's name, whatever variant it
//! is), and keep that name in releases that called the field otherwise; see
//! `graph`.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::rows::StoredRow;
use crate::state_source::TranslationContext;

/// What becomes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartFate {
    /// It stays, as it is now.
    Keep,
    /// There is nothing like it: out of its list, its map, its field.
    Drop,
}

/// Why a client can't have what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeRefusal {
    /// There is no such thing in what the client speaks.
    #[error("{0}")]
    Unknown(String),
    /// It is not what its version says it should be.
    #[error("{0}")]
    Invalid(String),
}

/// How an older release puts what its newer neighbour means, and back.
pub(crate) trait VersionStep: Sync {
    /// The older of the two.
    fn older_release(&self) -> Release;

    /// Whether the older one has snapshots of such channels.
    fn has_snapshots(&self, _kind: ChannelKind) -> bool {
        true
    }

    /// Whether a client of the older one can subscribe to such channels, be
    /// it that it gets no snapshot and only hears what happens.
    fn can_subscribe(&self, kind: ChannelKind) -> bool {
        self.has_snapshots(kind)
    }

    /// Says an action with other actions, all of 1.0, which the older release
    /// has words for. What is said must leave an older client where the
    /// action would.
    fn rewrite(&self, _at: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        vec![action]
    }

    /// Takes one part down.
    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        _name: &'static str,
        _part: &mut Object,
    ) -> PartFate {
        PartFate::Keep
    }

    /// Takes an action down, whose parts are down already; to none or several
    /// if need be.
    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        vec![envelope]
    }

    /// Takes the state of a channel down, whose parts are down already.
    fn downgrade_state(
        &self,
        _at: &TranslationContext<'_>,
        _kind: ChannelKind,
        _resource: &mut String,
        _state: &mut Object,
    ) {
    }

    /// Takes the result of a request down. Snapshots in it are down already,
    /// and so are actions.
    fn downgrade_result(&self, _at: &TranslationContext<'_>, _method: &str, _result: &mut Json) {}

    /// Takes a notification down, but for `action`.
    fn downgrade_notification(
        &self,
        _at: &TranslationContext<'_>,
        call: JsonCall,
    ) -> Vec<JsonCall> {
        vec![call]
    }

    /// Takes a request of the host down.
    fn downgrade_request(&self, _at: &TranslationContext<'_>, _call: &mut JsonCall) {}

    /// Takes an error down.
    fn downgrade_error(&self, _code: &mut i64, _data: &mut Option<Json>) {}

    /// Takes one part up.
    fn upgrade_part(&self, _name: &'static str, _part: &mut Object) -> PartFate {
        PartFate::Keep
    }

    /// Takes a request, or a notification other than `dispatchAction`, up.
    /// What the newer release says with actions instead comes back: it is
    /// dispatched for the client once the request has succeeded.
    fn upgrade_params(
        &self,
        _at: &TranslationContext<'_>,
        _call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        Ok(Vec::new())
    }

    /// Takes a client's action up. There is always exactly one: a client gets
    /// one echo.
    fn upgrade_dispatch(
        &self,
        _at: &TranslationContext<'_>,
        _dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        Ok(())
    }

    /// Takes a client's answer to a request of the host up.
    fn upgrade_response(&self, _at: &TranslationContext<'_>, _method: &str, _result: &mut Json) {}

    /// Takes one part up of what a host of the older release wrote down. Of most
    /// a host says the same as a client.
    fn migrate_part(
        &self,
        _row: &StoredRow<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        self.upgrade_part(name, part)
    }

    /// Takes an action up that a host of the older release wrote down, before
    /// its parts.
    fn migrate_action(&self, _row: &StoredRow<'_>, _action: &mut Object) {}
}
