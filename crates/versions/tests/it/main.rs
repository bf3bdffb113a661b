//! The steps between versions, one file for each.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod round_trips;
mod specification_facts;
mod test_client;
mod two_chat_session;
mod v0_1;
mod v0_2;
mod v0_3;
mod v0_4;
mod v0_4_selections;
mod v0_5_0;
mod v0_5_1;
mod v0_5_2;
mod v0_6;
mod v0_7;
mod v0_8;
mod v0_9;
