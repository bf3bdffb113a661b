//! 0.9 ↔ 0.8: from 0.9 on, there are automations, errors as response parts, turns that can be
//! resumed, terminal lifecycles, and origins of annotations.
//!
//! Lost: that a failed turn can be resumed, the origin of a session, the automation kind of a
//! message, the chat of an annotation or of a terminal claim, and the exit of a terminal
//! without an exit code.

pub(crate) mod closed_enums;
mod down;
pub(crate) mod migrate;
mod up;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::rows::StoredRow;
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_8;

impl step::VersionStep for StepV0_8 {
    fn older_release(&self) -> Release {
        Release::V0_8
    }

    fn has_snapshots(&self, kind: ChannelKind) -> bool {
        !matches!(kind, ChannelKind::Automations | ChannelKind::AutomationRun)
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        down::rewrite_action(context, action)
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        down::downgrade_part(name, part);
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        down::downgrade_action(context, envelope)
    }

    fn upgrade_params(
        &self,
        context: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        up::upgrade_params(context, call)?;
        Ok(Vec::new())
    }

    fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        up::upgrade_dispatch(context, dispatch)
    }

    fn migrate_part(&self, row: &StoredRow<'_>, name: &'static str, part: &mut Object) -> PartFate {
        migrate::migrate_part(row, name, part);
        PartFate::Keep
    }
}
