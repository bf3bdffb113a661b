//! Runs the timers of the host.

use std::time::Duration;

use agenthost_core::Input;
use agenthost_protocol::number::Millis;
use tokio::task::JoinSet;

/// Returns inputs after a delay. A timer has no state except its task and can't be cancelled:
/// the host ignores one that it no longer needs.
#[derive(Debug, Default)]
pub(crate) struct TimerWorker;

impl TimerWorker {
    /// Starts a timer that returns `input` after `delay`.
    pub(crate) fn run(&mut self, delay: Millis, input: Input, tasks: &mut JoinSet<Input>) {
        let delay = Duration::from_millis(u64::try_from(delay.0).unwrap_or(0));
        tasks.spawn(async move {
            tokio::time::sleep(delay).await;
            input
        });
    }
}
