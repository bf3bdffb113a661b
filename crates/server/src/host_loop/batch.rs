//! Batches of inputs, bounded in number and bytes, whose writes are appended to the log
//! together.

use agenthost_core::agent::AgentEvent;
use agenthost_core::{Input, TerminalEvent};
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::terminal::TerminalAction;
use tokio::sync::mpsc;

use crate::connection::message::LoopEvent;
use crate::host_loop::drivers::DriverHost;
use crate::runner::link::RunnerEvent;

/// Limit on the inputs of a batch, so that no client waits long for its response.
const MAX_BATCH_INPUTS: usize = 256;

/// Limit on the bytes of a batch; the last input may exceed it. The output of a batch stays in
/// memory until it is stored, and is then sent to all subscribers at once.
const MAX_BATCH_BYTES: usize = 512 * 1024;

/// Inputs whose writes are appended to the log together.
#[derive(Debug, Default)]
pub(crate) struct InputBatch {
    pub(crate) events: Vec<LoopEvent>,
    /// The reason why the runner was lost, after the inputs of the batch.
    pub(crate) lost_runner: Option<String>,
    bytes: usize,
}

impl InputBatch {
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.lost_runner.is_none()
    }

    pub(crate) fn push(&mut self, event: LoopEvent) {
        self.bytes += event_bytes(&event);
        self.events.push(event);
    }

    /// Adds the queued events of clients, up to the limits.
    pub(crate) fn fill_from_clients(&mut self, events: &mut mpsc::Receiver<LoopEvent>) {
        while self.has_capacity()
            && let Ok(event) = events.try_recv()
        {
            self.push(event);
        }
    }

    /// Adds the queued inputs of agents, up to the limits.
    pub(crate) fn fill_from_agents(&mut self, inputs: &mut mpsc::Receiver<Input>) {
        while self.has_capacity()
            && let Ok(input) = inputs.try_recv()
        {
            self.push(LoopEvent::Input(input));
        }
    }

    /// Adds the inputs of the runner that have arrived, up to the limits.
    pub(super) fn fill_from_runner(&mut self, drivers: &mut DriverHost) {
        while self.has_capacity()
            && self.lost_runner.is_none()
            && let Some(event) = drivers.try_next_event()
        {
            self.push_runner_event(event);
        }
    }

    /// Adds an event of the runner.
    pub(super) fn push_runner_event(&mut self, event: RunnerEvent) {
        match event {
            RunnerEvent::Input(number, input) => {
                let input = *input;
                self.push(LoopEvent::RunnerInput { number, input });
            }
            RunnerEvent::Lost(reason) => self.lost_runner = Some(reason),
        }
    }

    fn has_capacity(&self) -> bool {
        self.events.len() < MAX_BATCH_INPUTS && self.bytes < MAX_BATCH_BYTES
    }
}

/// Returns the approximate size of an event. Only received messages and streamed output count.
fn event_bytes(event: &LoopEvent) -> usize {
    match event {
        LoopEvent::MessageReceived { bytes, .. } => *bytes,
        LoopEvent::Input(input) | LoopEvent::RunnerInput { input, .. } => input_bytes(input),
        LoopEvent::Connected { .. }
        | LoopEvent::ReadEnded { .. }
        | LoopEvent::AgentsReplaced(_) => 0,
    }
}

/// Returns the approximate size of an input. Only streamed output counts.
fn input_bytes(input: &Input) -> usize {
    match input {
        Input::Agent { event, .. } => match event {
            AgentEvent::Terminal { action, .. } => {
                if let TerminalAction::Data(data) = &**action {
                    data.data.len()
                } else {
                    0
                }
            }
            AgentEvent::Chat { action, .. } => {
                if let ChatAction::Delta(delta) = &**action {
                    delta.content.len()
                } else {
                    0
                }
            }
            _ => 0,
        },
        Input::Terminal {
            event: TerminalEvent::Output(data),
            ..
        } => data.data.len(),
        _ => 0,
    }
}
