//! What the loop waits for, as futures that also exist without a source.

use std::time::{SystemTime, UNIX_EPOCH};

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until};

use super::editor::EditorRun;
use super::{HostStartError, HostStartFuture};

/// Waits for an event of the terminal, if the interface has the keyboard.
pub(super) async fn next_key(keys: &mut Option<EventStream>) -> Option<std::io::Result<Event>> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of the user's editor.
pub(super) async fn next_result(editor: &mut Option<EditorRun>) -> std::io::Result<Option<String>> {
    match editor {
        Some(editor) => editor.wait().await,
        None => std::future::pending().await,
    }
}

/// Waits until a host was started.
pub(super) async fn next_start(
    start: &mut Option<HostStartFuture>,
) -> Result<String, HostStartError> {
    match start {
        Some(start) => start.await,
        None => std::future::pending().await,
    }
}

/// Waits until a time; without one, for ever.
pub(super) async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Returns the time in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
