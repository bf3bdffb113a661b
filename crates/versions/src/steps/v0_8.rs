//! 0.9 ↔ 0.8: automations, errors as parts of a response, turns that go on
//! after one, terminals that say whether they run, annotations that say where
//! they come from.
//!
//! Lost: that a failed turn can go on, what started a session or a turn by
//! itself, the chat of an annotation or of a terminal's claim, that a terminal
//! is over if its process left no number.

mod closed;
mod down;
mod lift;
mod up;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::Object;

use crate::document::{Call, Dispatch, Envelope};
use crate::rows::Row;
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_8
    }

    fn knows(&self, kind: ChannelKind) -> bool {
        !matches!(kind, ChannelKind::Automations | ChannelKind::AutomationRun)
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        down::reword(at, action)
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        down::part(name, part);
        Fate::Keep
    }

    fn action(&self, at: &Moment<'_>, envelope: Envelope) -> Vec<Envelope> {
        down::action(at, envelope)
    }

    fn params(&self, at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        up::params(at, call)?;
        Ok(Vec::new())
    }

    fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        up::dispatch(at, dispatch)
    }

    fn lift(&self, row: &Row<'_>, name: &'static str, part: &mut Object) -> Fate {
        lift::part(row, name, part);
        Fate::Keep
    }
}
