//! The steps, one module for each, named by the older of its two releases.

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

use crate::step::Step;

/// All steps, newest first.
pub(crate) const ALL: &[&dyn Step] = &[
    &v0_9::Step,
    &v0_8::Step,
    &v0_7::Step,
    &v0_6::Step,
    &v0_5_2::Step,
    &v0_5_1::Step,
    &v0_5_0::Step,
    &v0_4::Step,
    &v0_3::Step,
    &v0_2::Step,
    &v0_1::Step,
];
