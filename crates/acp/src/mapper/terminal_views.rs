//! Terminals that tool calls show.
//!
//! The host runs some of them for the agent. The agent runs the others itself and sends their
//! output with the tool call (`terminal_info`, `terminal_output`, `terminal_output_delta`,
//! `terminal_exit`): clients can only watch these. A terminal without any such report is not
//! shown.

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

/// The maximum number of terminals of a turn. Further ones are not shown.
const MAX_TERMINALS_PER_TURN: usize = 1_000;

/// The terminals of the tool calls of a chat, and the folder of the session.
#[derive(Debug)]
pub(crate) struct CallTerminals {
    /// The working directory of the agent.
    pub(crate) folder: PathBuf,
    /// The running or last turn, as a part of terminal URIs.
    turn: String,
    views: BTreeMap<String, TerminalView>,
}

#[derive(Debug)]
struct TerminalView {
    uri: Uri,
    title: String,
    runner: TerminalRunner,
    /// The tool call that shows the terminal.
    call: Option<ToolCallId>,
    outcome: Option<TerminalOutcome>,
}

/// The program that runs the process of a terminal.
#[derive(Debug)]
enum TerminalRunner {
    Host,
    /// The agent, with the last output that it has sent.
    Agent(Box<OutputTail>),
}

#[derive(Debug, Clone)]
struct TerminalOutcome {
    result: TerminalCommandResult,
    /// The reference to the complete output.
    full_output: Option<ContentRef>,
}

/// The terminal metadata that an agent sent with a tool call.
#[derive(Debug, Default)]
pub(crate) struct TerminalMeta {
    /// The terminals that the tool call shows.
    shown_ids: Vec<String>,
    /// The terminal that the agent runs for the tool call.
    started_id: Option<String>,
    cwd: Option<String>,
    output: Vec<(String, String)>,
    exits: Vec<(String, Option<i64>)>,
}

impl TerminalMeta {
    /// Removes the terminal metadata from an update, so that the output is not stored a second
    /// time.
    pub(crate) fn take_from(update: &mut ToolCallUpdate) -> Self {
        let mut terminal_meta = TerminalMeta::default();
        for content in update.fields.content.iter().flatten() {
            if let ToolCallContent::Terminal(terminal) = content {
                terminal_meta
                    .shown_ids
                    .push(terminal.terminal_id.to_string());
            }
        }
        let Some(meta) = &mut update.meta else {
            return terminal_meta;
        };
        let call = update.tool_call_id.to_string();
        let terminal_id = |fields: &JsonParams| {
            let terminal_id = fields.get("terminal_id").and_then(Value::as_str);
            terminal_id.unwrap_or(&call).to_owned()
        };
        let mut take = |key: &str| match meta.remove(key) {
            Some(Value::Object(fields)) => Some(fields),
            _ => None,
        };
        if let Some(fields) = take("terminal_info") {
            terminal_meta.started_id = Some(terminal_id(&fields));
            let cwd = fields.get("cwd").and_then(Value::as_str);
            terminal_meta.cwd = cwd.map(str::to_owned);
        }
        for key in ["terminal_output", "terminal_output_delta"] {
            if let Some(fields) = take(key) {
                let data = fields.get("data").and_then(Value::as_str);
                let data = data.unwrap_or_default().to_owned();
                terminal_meta.output.push((terminal_id(&fields), data));
            }
        }
        if let Some(fields) = take("terminal_exit") {
            let code = fields.get("exit_code").and_then(Value::as_i64);
            terminal_meta.exits.push((terminal_id(&fields), code));
        }
        if meta.is_empty() {
            update.meta = None;
        }
        terminal_meta
    }

    /// Returns `true` if the metadata proves that the tool call is running.
    pub(crate) fn shows_activity(&self) -> bool {
        !self.output.is_empty() || !self.exits.is_empty()
    }
}

impl CallTerminals {
    /// Creates an empty table for a chat that works in a folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        CallTerminals {
            folder,
            turn: String::new(),
            views: BTreeMap::new(),
        }
    }

    /// Begins a turn. Removes terminals that have ended, because their results were already
    /// published.
    pub(crate) fn begin_turn(&mut self, chat: &Uri, turn: &TurnId) {
        let (chat, turn) = (
            encode_path_segment(chat.as_str()),
            encode_path_segment(turn.as_str()),
        );
        self.turn = format!("{chat}/{turn}");
        self.views.retain(|_, view| view.outcome.is_none());
    }

    /// Adds a terminal that the host runs for the agent.
    pub(crate) fn add_host_terminal(&mut self, id: String, uri: Uri, title: String) {
        let view = TerminalView {
            uri,
            title,
            runner: TerminalRunner::Host,
            call: None,
            outcome: None,
        };
        if self.views.len() < MAX_TERMINALS_PER_TURN {
            self.views.insert(id, view);
        }
    }

    /// Records the exit of a terminal that the host ran for the agent.
    pub(crate) fn handle_exited(&mut self, uri: &Uri, end: TerminalEnd) {
        let mut views = self.views.values_mut();
        if let Some(view) = views.find(|view| view.uri == *uri) {
            view.outcome = Some(TerminalOutcome {
                result: TerminalCommandResult {
                    exit_code: end.exit_code,
                    preview: end.preview,
                    truncated: Some(end.truncated),
                },
                full_output: end.full_output,
            });
        }
    }

    /// Applies the metadata of a tool call. Returns `true` if it added a terminal.
    pub(crate) fn apply_meta(
        &mut self,
        call: &ToolCallId,
        title: &str,
        meta: TerminalMeta,
        collector: &mut EventCollector<'_>,
    ) -> bool {
        let count_before = self.views.len();
        for id in &meta.shown_ids {
            self.claim_terminal(id, call, collector);
        }
        let cwd = meta.cwd.as_deref().map(Path::new).and_then(uri_of);
        let output_ids = meta.output.iter().map(|(id, _)| id);
        let exit_ids = meta.exits.iter().map(|(id, _)| id);
        for id in meta.started_id.iter().chain(output_ids).chain(exit_ids) {
            self.open_terminal(id, call, title, cwd.as_ref(), collector);
        }
        for (id, data) in meta.output {
            self.write_output(&id, data, collector);
        }
        for (id, code) in meta.exits {
            let view = self.views.get_mut(&id);
            let event = view.and_then(|view| view.mark_exited(code));
            collector.events.extend(event);
        }
        self.views.len() > count_before
    }

    /// Ends the terminals that the agent ran for a tool call. If the agent has sent no output
    /// before, the output of the result is published.
    pub(crate) fn end_call(
        &mut self,
        call: &ToolCallId,
        output: Option<&str>,
        code: Option<i64>,
        collector: &mut EventCollector<'_>,
    ) {
        let ids: Vec<_> = self.terminals_of(call).cloned().collect();
        for id in ids {
            let Some(view) = self.views.get(&id) else {
                continue;
            };
            let TerminalRunner::Agent(tail) = &view.runner else {
                continue;
            };
            if let (None, true, Some(output)) = (&view.outcome, tail.current().0.is_empty(), output)
            {
                self.write_output(&id, output.to_owned(), collector);
            }
            let view = self.views.get_mut(&id);
            let event = view.and_then(|view| view.mark_exited(code));
            collector.events.extend(event);
        }
    }

    /// Ends all terminals that the agent runs itself.
    pub(crate) fn close_agent_terminals(&mut self) -> Vec<MappedEvent> {
        let views = self.views.values_mut();
        views.filter_map(|view| view.mark_exited(None)).collect()
    }

    /// Returns the ids of the terminals that a tool call shows.
    pub(crate) fn terminals_of(&self, call: &ToolCallId) -> impl Iterator<Item = &String> {
        let views = self.views.iter();
        let shown = views.filter(move |(_, view)| view.call.as_ref() == Some(call));
        shown.map(|(id, _)| id)
    }

    /// Returns the results that show a terminal: a reference to it, and after its exit also the
    /// end of its output.
    pub(crate) fn result_blocks(&self, id: &str) -> Vec<ToolResultContent> {
        let Some(view) = self.views.get(id) else {
            return Vec::new();
        };
        let block = ToolResultContent::Terminal(ToolResultTerminal {
            resource: view.uri.clone(),
            title: view.title.clone(),
            is_pty: Some(matches!(view.runner, TerminalRunner::Host)),
            result: view.outcome.as_ref().map(|end| end.result.clone()),
        });
        let Some(TerminalOutcome {
            result,
            full_output,
        }) = view.outcome.clone()
        else {
            return vec![block];
        };
        let text = result.preview.filter(|text| !text.is_empty());
        let text = text.map(|text| ToolResultContent::Text(ToolResultText { text }));
        let full_output = full_output.map(ToolResultContent::Resource);
        [text, Some(block), full_output]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Assigns a terminal to the tool call that shows it.
    fn claim_terminal(&mut self, id: &str, call: &ToolCallId, collector: &mut EventCollector<'_>) {
        if let Some(view) = self.views.get_mut(id)
            && view.call.is_none()
        {
            view.call = Some(call.clone());
            let claimed = TerminalUpdate::Claimed(call.clone());
            let uri = view.uri.clone();
            collector.events.push(MappedEvent::Terminal(uri, claimed));
        }
    }

    /// Opens a terminal that the agent runs for a tool call.
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
        let uri = Uri::from(format!("ahp-terminal:/{}/{name}", self.turn));
        let title = CommandLine(title.to_owned()).title();
        let opened = TerminalUpdate::Opened {
            title: title.clone(),
            cwd: cwd.cloned().or_else(|| uri_of(&self.folder)),
            call: call.clone(),
        };
        collector
            .events
            .push(MappedEvent::Terminal(uri.clone(), opened));
        let view = TerminalView {
            uri,
            title,
            runner: TerminalRunner::Agent(Box::new(OutputTail::new(COMMAND_PREVIEW_BYTES))),
            call: Some(call.clone()),
            outcome: None,
        };
        self.views.insert(id.to_owned(), view);
    }

    fn write_output(&mut self, id: &str, data: String, collector: &mut EventCollector<'_>) {
        // The host publishes the output of its own terminals itself.
        if let Some(TerminalView {
            uri,
            runner: TerminalRunner::Agent(tail),
            outcome: None,
            ..
        }) = self.views.get_mut(id)
            && !data.is_empty()
        {
            tail.push(&data);
            let data = TerminalAction::Data(TerminalData { data });
            let update = TerminalUpdate::Action(Box::new(data));
            collector
                .events
                .push(MappedEvent::Terminal(uri.clone(), update));
        }
    }
}

impl TerminalView {
    /// Records the exit of a terminal that the agent ran. Returns the event for it, only once.
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
        let update = TerminalUpdate::Action(Box::new(exited));
        Some(MappedEvent::Terminal(self.uri.clone(), update))
    }
}
