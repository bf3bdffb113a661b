//! The official crates of every release, asked by tests.
//!
//! **What it does.** An [`Oracle`] is an official crate of one release: it
//! reads what we say to a client of that release, says what it did not
//! understand, and keeps state with its own reducers, as such a client would.
//! [`official!`] makes one. Three releases of 0.5 can't be linked into one
//! program; two of them are programs of their own (`alone/`), which answer
//! the same questions line by line ([`serve`], [`RemoteOracle`]). [`OfficialClient`] is the
//! client that the crate has, connected to a host; [`live!`] makes one.
//!
//! **What it never does.** Nothing of it is part of the product, and nothing
//! of the product is used here: an oracle knows only what upstream published.
//!
//! **Where to start.** `tests/it`: `releases` for the oracles, `understood`,
//! `squares` and `round_trips` for what they are asked; `live` for clients
//! that talk to a host.

mod live;
mod official;
mod remote;
mod socket;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use live::{
    ClientAct, EVENT_BUFFER, OfficialClient, address_action, build_runtime, decode_params,
};
pub use remote::{RemoteOracle, serve};
pub use socket::TextSocket;
// Programs that use the macros need not depend on it themselves.
pub use tokio;

/// What an official crate made of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OracleReading {
    /// The document as the crate writes it back.
    pub encoded: Value,
    /// What it kept without understanding it, as its `Debug` shows it.
    pub unknown_values: Vec<String>,
}

/// The official crate of a release.
pub trait Oracle: Send {
    /// Reads a document; `None` if the release has no such documents.
    ///
    /// Documents are called `snapshot/Session`, `action`,
    /// `result/subscribe`, `notification/root/sessionAdded` and
    /// `params/resourceRead`, each with what stands behind the slash.
    fn read(&mut self, what: &str, json: &Value) -> Result<Option<OracleReading>, String>;

    /// Starts to follow a channel: its snapshot.
    fn track_channel(&mut self, channel: &str, snapshot: &Value) -> Result<(), String>;

    /// Applies an action to a channel that is followed, and says what came
    /// of it; `None` if the channel is not followed.
    fn apply(&mut self, channel: &str, action: &Value) -> Result<Option<String>, String>;

    /// The state of a channel that is followed.
    fn tracked_state(&mut self, channel: &str) -> Result<Value, String>;
}

/// Reads a document as an official type.
pub fn read_as<T: DeserializeOwned + Serialize + Debug>(
    json: &Value,
) -> Result<OracleReading, String> {
    let value: T = serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
    to_reading(&value)
}

/// What an official value shows.
pub fn to_reading<T: Serialize + Debug>(value: &T) -> Result<OracleReading, String> {
    Ok(OracleReading {
        encoded: serde_json::to_value(value).map_err(|error| error.to_string())?,
        unknown_values: find_unknown(&format!("{value:?}")),
    })
}

/// What an official value shows that can't be written back.
pub fn debug_reading<T: Debug>(value: &T) -> OracleReading {
    let debug = format!("{value:?}");
    OracleReading {
        unknown_values: find_unknown(&debug),
        encoded: Value::from(debug),
    }
}

/// Says why a state is not of a kind, which goes by the constructor of its
/// variant.
pub fn check_state_kind<T: DeserializeOwned, S>(
    _kind: fn(Box<T>) -> S,
    state: &Value,
) -> Result<(), String> {
    let state: Result<T, _> = serde_json::from_value(state.clone());
    state.map(drop).map_err(|error| error.to_string())
}

/// How much of something unknown is shown.
const MAX_UNKNOWN_CHARS: usize = 400;

/// The places in a `Debug` text where something was not understood. Every
/// official union and open enum calls that variant `Unknown`.
fn find_unknown(debug: &str) -> Vec<String> {
    let places = debug.match_indices("Unknown(");
    let rest = places.filter_map(|(place, _)| debug.get(place..));
    rest.map(|rest| rest.chars().take(MAX_UNKNOWN_CHARS).collect())
        .collect()
}
