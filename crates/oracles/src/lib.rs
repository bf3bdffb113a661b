//! Test oracles: the official crates of every AHP release.
//!
//! **What it does.** An [`Oracle`] is the official crate of one release: it decodes
//! messages of the host for a client of that release, reports the values that it does not
//! know, and reduces state with its own reducers, as such a client would. [`official!`]
//! defines one. Three releases of 0.5 can't be linked into one program; two of them are
//! separate programs (`alone/`), which answer the same requests line by line ([`serve`],
//! [`RemoteOracle`]). [`OfficialClient`] is the client of the official crate, connected to
//! a host; [`live!`] defines one.
//!
//! **What it never does.** It is not a part of the product, and uses no code of the
//! product: an oracle only knows the code that upstream published.
//!
//! **Where to start.** `tests/it`: `releases` for the oracles, `understood`, `squares` and
//! `round_trips` for the requests to them; `live` for clients that connect to a host.

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
// Re-exported, so that users of the macros need no dependency on it.
pub use tokio;

/// A document as an official crate has decoded it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OracleReading {
    /// The document as the crate encodes it again.
    pub encoded: Value,
    /// `Debug` texts of values that the crate keeps as unknown.
    pub unknown_values: Vec<String>,
}

/// The official crate of a release.
pub trait Oracle: Send {
    /// Decodes a document; `None` if the release has no such documents.
    ///
    /// Documents have names like `snapshot/Session`, `action`, `result/subscribe`,
    /// `notification/root/sessionAdded` and `params/resourceRead`, with the type or method
    /// after the slash.
    fn read(&mut self, what: &str, json: &Value) -> Result<Option<OracleReading>, String>;

    /// Starts to track a channel from its snapshot.
    fn track_channel(&mut self, channel: &str, snapshot: &Value) -> Result<(), String>;

    /// Applies an action to a tracked channel and returns the outcome; `None` if the
    /// channel is not tracked.
    fn apply(&mut self, channel: &str, action: &Value) -> Result<Option<String>, String>;

    /// Returns the state of a tracked channel.
    fn tracked_state(&mut self, channel: &str) -> Result<Value, String>;
}

/// Decodes a document as an official type.
pub fn read_as<T: DeserializeOwned + Serialize + Debug>(
    json: &Value,
) -> Result<OracleReading, String> {
    let value: T = serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
    to_reading(&value)
}

/// Returns the reading of an official value.
pub fn to_reading<T: Serialize + Debug>(value: &T) -> Result<OracleReading, String> {
    Ok(OracleReading {
        encoded: serde_json::to_value(value).map_err(|error| error.to_string())?,
        unknown_values: find_unknown(&format!("{value:?}")),
    })
}

/// Returns the reading of an official value that can't be encoded again, as its `Debug`
/// text.
pub fn debug_reading<T: Debug>(value: &T) -> OracleReading {
    let debug = format!("{value:?}");
    OracleReading {
        unknown_values: find_unknown(&debug),
        encoded: Value::from(debug),
    }
}

/// Returns the error if a state is not of the kind that the variant constructor takes.
pub fn check_state_kind<T: DeserializeOwned, S>(
    _kind: fn(Box<T>) -> S,
    state: &Value,
) -> Result<(), String> {
    let state: Result<T, _> = serde_json::from_value(state.clone());
    state.map(drop).map_err(|error| error.to_string())
}

/// Maximum length in characters of an unknown value in a reading.
const MAX_UNKNOWN_CHARS: usize = 400;

/// Returns the parts of a `Debug` text with unknown values. Every official union and open
/// enum names that variant `Unknown`.
fn find_unknown(debug: &str) -> Vec<String> {
    let places = debug.match_indices("Unknown(");
    let rest = places.filter_map(|(place, _)| debug.get(place..));
    rest.map(|rest| rest.chars().take(MAX_UNKNOWN_CHARS).collect())
        .collect()
}
