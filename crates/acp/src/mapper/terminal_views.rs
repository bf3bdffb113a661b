//! Terminals that tool calls show.
//!
//! Some the host runs for the agent. Others the agent runs itself, and tells
//! what is written to them along with the call (`terminal_info`,
//! `terminal_output`, `terminal_output_delta`, `terminal_exit`): those can only
//! be watched. One that nothing is told of is not shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agenthost_core::{COMMAND_PREVIEW_BYTES, CommandLine, TerminalEnd};
use agenthost_protocol::chat::{
    TerminalCommandResult, ToolResultContent, ToolResultTerminal, ToolResultText,
};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::terminal::{OutputTail, TerminalAction, TerminalData, TerminalExited};
use agenthost_protocol::uri::{Uri, encode_path_segment};
use agenthost_workspace::uri_of;
use serde_json::Value;

use super::events::{EventCollector, MappedEvent, TerminalUpdate};
use crate::transport::JsonParams;
use crate::transport::schema::{ToolCallContent, ToolCallUpdate};

/// Most terminals of a turn. What is said of more is not shown.
const MAX_TERMINALS_PER_TURN: usize = 1_000;

/// Where the calls of a chat happen, and what they show.
#[derive(Debug)]
pub(crate) struct CallTerminals {
    /// The folder that the agent works in.
    pub(crate) folder: PathBuf,
    /// The turn that runs, or ran last, as a part of addresses.
    turn: String,
    views: BTreeMap<String, TerminalView>,
}

#[derive(Debug)]
struct TerminalView {
    address: Uri,
    title: String,
    runner: TerminalRunner,
    /// The call that shows it.
    call: Option<ToolCallId>,
    outcome: Option<TerminalOutcome>,
}

/// Who runs what is in a terminal.
#[derive(Debug)]
enum TerminalRunner {
    Host,
    /// The agent; this is what it told last.
    Agent(Box<OutputTail>),
}

#[derive(Debug, Clone)]
struct TerminalOutcome {
    result: TerminalCommandResult,
    /// Where all of it is.
    full_output: Option<ContentRef>,
}

/// What an agent told of its terminals along with a call.
#[derive(Debug, Default)]
pub(crate) struct TerminalMeta {
    /// Those that the call shows.
    mentioned: Vec<String>,
    /// The one that the agent runs for it.
    started: Option<String>,
    cwd: Option<String>,
    output: Vec<(String, String)>,
    exits: Vec<(String, Option<i64>)>,
}

impl TerminalMeta {
    /// Takes it from what else is said of a call: what is written to terminals
    /// is not to be kept a second time.
    pub(crate) fn take_from(update: &mut ToolCallUpdate) -> Self {
        let mut meta_updates = TerminalMeta::default();
        for content in update.fields.content.iter().flatten() {
            if let ToolCallContent::Terminal(terminal) = content {
                meta_updates
                    .mentioned
                    .push(terminal.terminal_id.to_string());
            }
        }
        let Some(meta) = &mut update.meta else {
            return meta_updates;
        };
        let call = update.tool_call_id.to_string();
        let name = |told: &JsonParams| {
            let name = told.get("terminal_id").and_then(Value::as_str);
            name.unwrap_or(&call).to_owned()
        };
        let mut take = |key: &str| match meta.remove(key) {
            Some(Value::Object(told)) => Some(told),
            _ => None,
        };
        if let Some(told) = take("terminal_info") {
            meta_updates.started = Some(name(&told));
            let cwd = told.get("cwd").and_then(Value::as_str);
            meta_updates.cwd = cwd.map(str::to_owned);
        }
        for key in ["terminal_output", "terminal_output_delta"] {
            if let Some(told) = take(key) {
                let data = told.get("data").and_then(Value::as_str);
                let data = data.unwrap_or_default().to_owned();
                meta_updates.output.push((name(&told), data));
            }
        }
        if let Some(told) = take("terminal_exit") {
            let code = told.get("exit_code").and_then(Value::as_i64);
            meta_updates.exits.push((name(&told), code));
        }
        if meta.is_empty() {
            update.meta = None;
        }
        meta_updates
    }

    /// Whether they show that the call runs.
    pub(crate) fn shows_activity(&self) -> bool {
        !self.output.is_empty() || !self.exits.is_empty()
    }
}

impl CallTerminals {
    /// A chat that works in a folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        CallTerminals {
            folder,
            turn: String::new(),
            views: BTreeMap::new(),
        }
    }

    /// A turn begins. What ended before is told by now.
    pub(crate) fn begin_turn(&mut self, chat: &Uri, turn: &TurnId) {
        let (chat, turn) = (
            encode_path_segment(chat.as_str()),
            encode_path_segment(turn.as_str()),
        );
        self.turn = format!("{chat}/{turn}");
        self.views.retain(|_, screen| screen.outcome.is_none());
    }

    /// The host runs something for the agent.
    pub(crate) fn add_host_terminal(&mut self, id: String, address: Uri, title: String) {
        let screen = TerminalView {
            address,
            title,
            runner: TerminalRunner::Host,
            call: None,
            outcome: None,
        };
        if self.views.len() < MAX_TERMINALS_PER_TURN {
            self.views.insert(id, screen);
        }
    }

    /// What the host ran for the agent has ended.
    pub(crate) fn handle_exited(&mut self, address: &Uri, end: TerminalEnd) {
        let mut all = self.views.values_mut();
        if let Some(screen) = all.find(|screen| screen.address == *address) {
            screen.outcome = Some(TerminalOutcome {
                result: TerminalCommandResult {
                    exit_code: end.exit_code,
                    preview: end.preview,
                    truncated: Some(end.truncated),
                },
                full_output: end.full_output,
            });
        }
    }

    /// Shows what was told along with a call. Says whether there is a terminal
    /// that was not there before.
    pub(crate) fn apply_meta(
        &mut self,
        call: &ToolCallId,
        title: &str,
        meta: TerminalMeta,
        collector: &mut EventCollector<'_>,
    ) -> bool {
        let before = self.views.len();
        for id in &meta.mentioned {
            self.claim_terminal(id, call, collector);
        }
        let cwd = meta.cwd.as_deref().map(Path::new).and_then(uri_of);
        let written = meta.output.iter().map(|(id, _)| id);
        let ended = meta.exits.iter().map(|(id, _)| id);
        for id in meta.started.iter().chain(written).chain(ended) {
            self.open_terminal(id, call, title, cwd.as_ref(), collector);
        }
        for (id, data) in meta.output {
            self.write_output(&id, data, collector);
        }
        for (id, code) in meta.exits {
            let screen = self.views.get_mut(&id);
            let told = screen.and_then(|screen| screen.mark_exited(code));
            collector.events.extend(told);
        }
        self.views.len() > before
    }

    /// A call is over, and with it what the agent ran for it. What it did not
    /// tell before comes with the result.
    pub(crate) fn end_call(
        &mut self,
        call: &ToolCallId,
        output: Option<&str>,
        code: Option<i64>,
        collector: &mut EventCollector<'_>,
    ) {
        let ids: Vec<_> = self.terminals_of(call).cloned().collect();
        for id in ids {
            let Some(screen) = self.views.get(&id) else {
                continue;
            };
            let TerminalRunner::Agent(tail) = &screen.runner else {
                continue;
            };
            if let (None, true, Some(output)) =
                (&screen.outcome, tail.current().0.is_empty(), output)
            {
                self.write_output(&id, output.to_owned(), collector);
            }
            let screen = self.views.get_mut(&id);
            let told = screen.and_then(|screen| screen.mark_exited(code));
            collector.events.extend(told);
        }
    }

    /// Nothing that the agent runs itself goes on.
    pub(crate) fn close_agent_terminals(&mut self) -> Vec<MappedEvent> {
        let all = self.views.values_mut();
        all.filter_map(|screen| screen.mark_exited(None)).collect()
    }

    /// The terminals that a call shows.
    pub(crate) fn terminals_of(&self, call: &ToolCallId) -> impl Iterator<Item = &String> {
        let all = self.views.iter();
        let own = all.filter(move |(_, screen)| screen.call.as_ref() == Some(call));
        own.map(|(id, _)| id)
    }

    /// What a call shows of a terminal: where to watch it, and when it has
    /// ended also what was written last.
    pub(crate) fn result_blocks(&self, id: &str) -> Vec<ToolResultContent> {
        let Some(screen) = self.views.get(id) else {
            return Vec::new();
        };
        let block = ToolResultContent::Terminal(ToolResultTerminal {
            resource: screen.address.clone(),
            title: screen.title.clone(),
            is_pty: Some(matches!(screen.runner, TerminalRunner::Host)),
            result: screen.outcome.as_ref().map(|end| end.result.clone()),
        });
        let Some(TerminalOutcome {
            result,
            full_output: whole,
        }) = screen.outcome.clone()
        else {
            return vec![block];
        };
        let text = result.preview.filter(|text| !text.is_empty());
        let text = text.map(|text| ToolResultContent::Text(ToolResultText { text }));
        let whole = whole.map(ToolResultContent::Resource);
        [text, Some(block), whole].into_iter().flatten().collect()
    }

    /// A call shows a terminal.
    fn claim_terminal(&mut self, id: &str, call: &ToolCallId, collector: &mut EventCollector<'_>) {
        if let Some(screen) = self.views.get_mut(id)
            && screen.call.is_none()
        {
            screen.call = Some(call.clone());
            let claimed = TerminalUpdate::Claimed(call.clone());
            let address = screen.address.clone();
            collector
                .events
                .push(MappedEvent::Terminal(address, claimed));
        }
    }

    /// The agent runs something for a call.
    fn open_terminal(
        &mut self,
        id: &str,
        call: &ToolCallId,
        title: &str,
        cwd: Option<&Uri>,
        collector: &mut EventCollector<'_>,
    ) {
        if self.views.contains_key(id) || self.views.len() >= MAX_TERMINALS_PER_TURN {
            return;
        }
        let name = encode_path_segment(id);
        let address = Uri::from(format!("ahp-terminal:/{}/{name}", self.turn));
        let title = CommandLine(title.to_owned()).title();
        let opened = TerminalUpdate::Opened {
            title: title.clone(),
            cwd: cwd.cloned().or_else(|| uri_of(&self.folder)),
            call: call.clone(),
        };
        collector
            .events
            .push(MappedEvent::Terminal(address.clone(), opened));
        let screen = TerminalView {
            address,
            title,
            runner: TerminalRunner::Agent(Box::new(OutputTail::new(COMMAND_PREVIEW_BYTES))),
            call: Some(call.clone()),
            outcome: None,
        };
        self.views.insert(id.to_owned(), screen);
    }

    fn write_output(&mut self, id: &str, data: String, collector: &mut EventCollector<'_>) {
        // The host itself tells what is written to its own.
        if let Some(TerminalView {
            address,
            runner: TerminalRunner::Agent(tail),
            outcome: None,
            ..
        }) = self.views.get_mut(id)
            && !data.is_empty()
        {
            tail.push(&data);
            let data = TerminalAction::Data(TerminalData { data });
            let told = TerminalUpdate::Action(Box::new(data));
            collector
                .events
                .push(MappedEvent::Terminal(address.clone(), told));
        }
    }
}

impl TerminalView {
    /// What the agent ran has ended; it says so once.
    fn mark_exited(&mut self, exit_code: Option<i64>) -> Option<MappedEvent> {
        let (TerminalRunner::Agent(tail), None) = (&self.runner, &self.outcome) else {
            return None;
        };
        let (preview, truncated) = tail.current();
        self.outcome = Some(TerminalOutcome {
            result: TerminalCommandResult {
                exit_code,
                preview: Some(preview),
                truncated: Some(truncated),
            },
            full_output: None,
        });
        let exited = TerminalAction::Exited(TerminalExited { exit_code });
        let told = TerminalUpdate::Action(Box::new(exited));
        Some(MappedEvent::Terminal(self.address.clone(), told))
    }
}
