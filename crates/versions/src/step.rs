//! The contract of a version step.
//!
//! A step translates between two neighbouring releases. In a downgrade its input is encoded in
//! the later release, in an upgrade in the earlier one; its output is in the other encoding.
//! The methods are called in this order:
//!
//! * down: [`VersionStep::rewrite`] on the typed action (all steps, before the action is
//!   converted to JSON); then for each step [`VersionStep::downgrade_part`] on every part of
//!   the document, innermost first, then the method for the whole document (`action`,
//!   `snapshot`, `result`, `notification`, `request`).
//! * up: for each step the method for the whole document (`dispatch`, `params`, `response`),
//!   then [`VersionStep::upgrade_part`] on every part, outermost first.
//! * up, for stored rows of a host of the release ([`StoredRow`]):
//!   [`VersionStep::migrate_action`], then [`VersionStep::migrate_part`], in the same order.
//!
//! Parts are identified by their type name in 1.0 (`Turn`, `Message`, `ResponsePart` …; a union
//! by the name of the union, independent of the variant). They have that name also in releases
//! with another field name; see `graph`.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::rows::StoredRow;
use crate::state_source::TranslationContext;

/// The fate of a part after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartFate {
    /// The part stays, with its changes.
    Keep,
    /// The part is removed from its list, map or field, because the release has no equivalent.
    Drop,
}

/// The reason why a client message can't be upgraded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeRefusal {
    /// The client's version does not define it.
    #[error("{0}")]
    Unknown(String),
    /// It does not conform to the client's version.
    #[error("{0}")]
    Invalid(String),
}

/// The translation between a release and its later neighbour.
pub(crate) trait VersionStep: Sync {
    /// Returns the earlier one of the two releases.
    fn older_release(&self) -> Release;

    /// Returns `true` if the earlier release has snapshots of this kind of channel.
    fn has_snapshots(&self, _kind: ChannelKind) -> bool {
        true
    }

    /// Returns `true` if a client of the earlier release can subscribe to this kind of channel,
    /// possibly without a snapshot.
    fn can_subscribe(&self, kind: ChannelKind) -> bool {
        self.has_snapshots(kind)
    }

    /// Replaces an action by other 1.0 actions that the earlier release can express. They must
    /// have the same effect on the state of a legacy client as the original action.
    fn rewrite(&self, _at: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        vec![action]
    }

    /// Downgrades one part of a document.
    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        _name: &'static str,
        _part: &mut Object,
    ) -> PartFate {
        PartFate::Keep
    }

    /// Downgrades an action whose parts are already downgraded; the result can be empty or
    /// several actions.
    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        vec![envelope]
    }

    /// Downgrades the state of a channel whose parts are already downgraded.
    fn downgrade_state(
        &self,
        _at: &TranslationContext<'_>,
        _kind: ChannelKind,
        _resource: &mut String,
        _state: &mut Object,
    ) {
    }

    /// Downgrades the result of a request. Snapshots and actions in it are already downgraded.
    fn downgrade_result(&self, _at: &TranslationContext<'_>, _method: &str, _result: &mut Json) {}

    /// Downgrades a notification other than `action`.
    fn downgrade_notification(
        &self,
        _at: &TranslationContext<'_>,
        call: JsonCall,
    ) -> Vec<JsonCall> {
        vec![call]
    }

    /// Downgrades a request of the host to a client.
    fn downgrade_request(&self, _at: &TranslationContext<'_>, _call: &mut JsonCall) {}

    /// Downgrades the code and data of an error response.
    fn downgrade_error(&self, _code: &mut i64, _data: &mut Option<Json>) {}

    /// Upgrades one part of a document.
    fn upgrade_part(&self, _name: &'static str, _part: &mut Object) -> PartFate {
        PartFate::Keep
    }

    /// Upgrades a request, or a notification other than `dispatchAction`. Returns actions that
    /// replace parts of the request in the later release: the host dispatches them on behalf of
    /// the client after the request has succeeded.
    fn upgrade_params(
        &self,
        _at: &TranslationContext<'_>,
        _call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        Ok(Vec::new())
    }

    /// Upgrades an action dispatched by a client. The result is exactly one action, because the
    /// client expects one echo.
    fn upgrade_dispatch(
        &self,
        _at: &TranslationContext<'_>,
        _dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        Ok(())
    }

    /// Upgrades the response of a client to a request of the host.
    fn upgrade_response(&self, _at: &TranslationContext<'_>, _method: &str, _result: &mut Json) {}

    /// Upgrades one part of a stored row of the earlier release. Most parts have the same
    /// encoding as in client messages.
    fn migrate_part(
        &self,
        _row: &StoredRow<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        self.upgrade_part(name, part)
    }

    /// Upgrades a stored action of the earlier release, before its parts.
    fn migrate_action(&self, _row: &StoredRow<'_>, _action: &mut Object) {}
}
