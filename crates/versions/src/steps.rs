//! The version steps, one module per step, named by the earlier one of its two releases.

mod v0_1;
mod v0_2;
mod v0_3;
mod v0_4;
mod v0_5_0;
mod v0_5_1;
mod v0_5_2;
mod v0_6;
mod v0_7;
mod v0_8;
mod v0_9;

use crate::step::VersionStep;

/// All version steps, latest release first.
pub(crate) const ALL_STEPS: &[&dyn VersionStep] = &[
    &v0_9::StepV0_9,
    &v0_8::StepV0_8,
    &v0_7::StepV0_7,
    &v0_6::StepV0_6,
    &v0_5_2::StepV0_5_2,
    &v0_5_1::StepV0_5_1,
    &v0_5_0::StepV0_5_0,
    &v0_4::StepV0_4,
    &v0_3::StepV0_3,
    &v0_2::StepV0_2,
    &v0_1::StepV0_1,
];
