//! Inputs that go into the log together.

use agenthost_core::agent::AgentEvent;
use agenthost_core::{Input, TerminalEvent};
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::terminal::TerminalAction;
use tokio::sync::mpsc;

use crate::connection::Event;

/// Most inputs of a batch.
const MOST: usize = 256;

/// Most bytes of a batch, but for its last input. What a batch makes is in
/// memory until it is kept, and then goes to everyone at once.
const BYTES: usize = 512 * 1024;

/// Inputs that go into the log together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    bytes: usize,
}

impl Batch {
    pub(crate) fn push(&mut self, event: Event) {
        self.bytes += weight(&event);
        self.events.push(event);
    }

    /// Takes what clients have said in the meantime.
    pub(crate) fn fill_from_clients(&mut self, events: &mut mpsc::Receiver<Event>) {
        while self.has_room()
            && let Ok(event) = events.try_recv()
        {
            self.push(event);
        }
    }

    /// Takes what agents have said in the meantime.
    pub(crate) fn fill_from_agents(&mut self, inputs: &mut mpsc::Receiver<Input>) {
        while self.has_room()
            && let Ok(input) = inputs.try_recv()
        {
            self.push(Event::Input(input));
        }
    }

    fn has_room(&self) -> bool {
        self.events.len() < MOST && self.bytes < BYTES
    }
}

/// How large an event is, about.
fn weight(event: &Event) -> usize {
    match event {
        Event::Received { bytes, .. } => *bytes,
        Event::Input(Input::Agent { event, .. }) => match event {
            AgentEvent::Terminal { action, .. } => match &**action {
                TerminalAction::Data(data) => data.data.len(),
                _ => 0,
            },
            AgentEvent::Chat { action, .. } => match &**action {
                ChatAction::Delta(delta) => delta.content.len(),
                _ => 0,
            },
            _ => 0,
        },
        Event::Input(Input::Terminal {
            event: TerminalEvent::Output(data),
            ..
        }) => data.data.len(),
        Event::Input(_) | Event::Connected { .. } | Event::Leaving { .. } => 0,
    }
}
