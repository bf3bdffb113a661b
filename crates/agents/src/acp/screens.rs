//! Terminals that tool calls show.
//!
//! Some the host runs for the agent. Others the agent runs itself, and tells
//! what is written to them along with the call (`terminal_info`,
//! `terminal_output`, `terminal_output_delta`, `terminal_exit`): those can only
//! be watched. One that nothing is told of is not shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agenthost_core::{CommandLine, PREVIEW_BYTES, TerminalEnd};
use agenthost_protocol::chat::{
    TerminalCommandResult, ToolResultContent, ToolResultTerminal, ToolResultText,
};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::terminal::{OutputTail, TerminalAction, TerminalData, TerminalExited};
use agenthost_protocol::uri::{Uri, path_segment};
use agenthost_workspace::uri_of;
use serde_json::Value;

use super::told::{Teller, TerminalTold, Told};
use super::wire::Object;
use super::wire::schema::{ToolCallContent, ToolCallUpdate};

/// Most terminals of a turn. What is said of more is not shown.
const MOST: usize = 1_000;

/// Where the calls of a chat happen, and what they show.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The folder that the agent works in.
    pub(crate) folder: PathBuf,
    /// The turn that runs, or ran last, as a part of addresses.
    turn: String,
    screens: BTreeMap<String, Screen>,
}

#[derive(Debug)]
struct Screen {
    address: Uri,
    title: String,
    runner: Runner,
    /// The call that shows it.
    call: Option<ToolCallId>,
    end: Option<Ended>,
}

/// Who runs what is in a terminal.
#[derive(Debug)]
enum Runner {
    Host,
    /// The agent; this is what it told last.
    Agent(Box<OutputTail>),
}

#[derive(Debug, Clone)]
struct Ended {
    result: TerminalCommandResult,
    /// Where all of it is.
    whole: Option<ContentRef>,
}

/// What an agent told of its terminals along with a call.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// Those that the call shows.
    mentioned: Vec<String>,
    /// The one that the agent runs for it.
    begun: Option<String>,
    cwd: Option<String>,
    output: Vec<(String, String)>,
    exits: Vec<(String, Option<i64>)>,
}

impl Remarks {
    /// Takes it from what else is said of a call: what is written to terminals
    /// is not to be kept a second time.
    pub(crate) fn take(update: &mut ToolCallUpdate) -> Self {
        let mut remarks = Remarks::default();
        for content in update.fields.content.iter().flatten() {
            if let ToolCallContent::Terminal(terminal) = content {
                remarks.mentioned.push(terminal.terminal_id.to_string());
            }
        }
        let Some(meta) = &mut update.meta else {
            return remarks;
        };
        let call = update.tool_call_id.to_string();
        let name = |told: &Object| {
            let name = told.get("terminal_id").and_then(Value::as_str);
            name.unwrap_or(&call).to_owned()
        };
        let mut take = |key: &str| match meta.remove(key) {
            Some(Value::Object(told)) => Some(told),
            _ => None,
        };
        if let Some(told) = take("terminal_info") {
            remarks.begun = Some(name(&told));
            let cwd = told.get("cwd").and_then(Value::as_str);
            remarks.cwd = cwd.map(str::to_owned);
        }
        for key in ["terminal_output", "terminal_output_delta"] {
            if let Some(told) = take(key) {
                let data = told.get("data").and_then(Value::as_str);
                let data = data.unwrap_or_default().to_owned();
                remarks.output.push((name(&told), data));
            }
        }
        if let Some(told) = take("terminal_exit") {
            let code = told.get("exit_code").and_then(Value::as_i64);
            remarks.exits.push((name(&told), code));
        }
        if meta.is_empty() {
            update.meta = None;
        }
        remarks
    }

    /// Whether they show that the call runs.
    pub(crate) fn show_life(&self) -> bool {
        !self.output.is_empty() || !self.exits.is_empty()
    }
}

impl Scene {
    /// A chat that works in a folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Scene {
            folder,
            turn: String::new(),
            screens: BTreeMap::new(),
        }
    }

    /// A turn begins. What ended before is told by now.
    pub(crate) fn begin(&mut self, chat: &Uri, turn: &TurnId) {
        let (chat, turn) = (path_segment(chat.as_str()), path_segment(turn.as_str()));
        self.turn = format!("{chat}/{turn}");
        self.screens.retain(|_, screen| screen.end.is_none());
    }

    /// The host runs something for the agent.
    pub(crate) fn add(&mut self, id: String, address: Uri, title: String) {
        let screen = Screen {
            address,
            title,
            runner: Runner::Host,
            call: None,
            end: None,
        };
        if self.screens.len() < MOST {
            self.screens.insert(id, screen);
        }
    }

    /// What the host ran for the agent has ended.
    pub(crate) fn ended(&mut self, address: &Uri, end: TerminalEnd) {
        let mut all = self.screens.values_mut();
        if let Some(screen) = all.find(|screen| screen.address == *address) {
            screen.end = Some(Ended {
                result: TerminalCommandResult {
                    exit_code: end.exit_code,
                    preview: end.preview,
                    truncated: Some(end.truncated),
                },
                whole: end.whole,
            });
        }
    }

    /// Shows what was told along with a call. Says whether there is a terminal
    /// that was not there before.
    pub(crate) fn show(
        &mut self,
        call: &ToolCallId,
        title: &str,
        remarks: Remarks,
        teller: &mut Teller<'_>,
    ) -> bool {
        let before = self.screens.len();
        for id in &remarks.mentioned {
            self.claim(id, call, teller);
        }
        let cwd = remarks.cwd.as_deref().map(Path::new).and_then(uri_of);
        let written = remarks.output.iter().map(|(id, _)| id);
        let ended = remarks.exits.iter().map(|(id, _)| id);
        for id in remarks.begun.iter().chain(written).chain(ended) {
            self.open(id, call, title, cwd.as_ref(), teller);
        }
        for (id, data) in remarks.output {
            self.write(&id, data, teller);
        }
        for (id, code) in remarks.exits {
            let screen = self.screens.get_mut(&id);
            let told = screen.and_then(|screen| screen.exit(code));
            teller.told.extend(told);
        }
        self.screens.len() > before
    }

    /// A call is over, and with it what the agent ran for it. What it did not
    /// tell before comes with the result.
    pub(crate) fn call_ended(
        &mut self,
        call: &ToolCallId,
        output: Option<&str>,
        code: Option<i64>,
        teller: &mut Teller<'_>,
    ) {
        let ids: Vec<_> = self.of_call(call).cloned().collect();
        for id in ids {
            let Some(screen) = self.screens.get(&id) else {
                continue;
            };
            let Runner::Agent(tail) = &screen.runner else {
                continue;
            };
            if let (None, true, Some(output)) = (&screen.end, tail.so_far().0.is_empty(), output) {
                self.write(&id, output.to_owned(), teller);
            }
            let screen = self.screens.get_mut(&id);
            let told = screen.and_then(|screen| screen.exit(code));
            teller.told.extend(told);
        }
    }

    /// Nothing that the agent runs itself goes on.
    pub(crate) fn close(&mut self) -> Vec<Told> {
        let all = self.screens.values_mut();
        all.filter_map(|screen| screen.exit(None)).collect()
    }

    /// The terminals that a call shows.
    pub(crate) fn of_call(&self, call: &ToolCallId) -> impl Iterator<Item = &String> {
        let all = self.screens.iter();
        let own = all.filter(move |(_, screen)| screen.call.as_ref() == Some(call));
        own.map(|(id, _)| id)
    }

    /// What a call shows of a terminal: where to watch it, and when it has
    /// ended also what was written last.
    pub(crate) fn blocks(&self, id: &str) -> Vec<ToolResultContent> {
        let Some(screen) = self.screens.get(id) else {
            return Vec::new();
        };
        let block = ToolResultContent::Terminal(ToolResultTerminal {
            resource: screen.address.clone(),
            title: screen.title.clone(),
            is_pty: Some(matches!(screen.runner, Runner::Host)),
            result: screen.end.as_ref().map(|end| end.result.clone()),
        });
        let Some(Ended { result, whole }) = screen.end.clone() else {
            return vec![block];
        };
        let text = result.preview.filter(|text| !text.is_empty());
        let text = text.map(|text| ToolResultContent::Text(ToolResultText { text }));
        let whole = whole.map(ToolResultContent::Resource);
        [text, Some(block), whole].into_iter().flatten().collect()
    }

    /// A call shows a terminal.
    fn claim(&mut self, id: &str, call: &ToolCallId, teller: &mut Teller<'_>) {
        if let Some(screen) = self.screens.get_mut(id)
            && screen.call.is_none()
        {
            screen.call = Some(call.clone());
            let claimed = TerminalTold::Claimed(call.clone());
            let address = screen.address.clone();
            teller.told.push(Told::Terminal(address, claimed));
        }
    }

    /// The agent runs something for a call.
    fn open(
        &mut self,
        id: &str,
        call: &ToolCallId,
        title: &str,
        cwd: Option<&Uri>,
        teller: &mut Teller<'_>,
    ) {
        if self.screens.contains_key(id) || self.screens.len() >= MOST {
            return;
        }
        let name = path_segment(id);
        let address = Uri::from(format!("ahp-terminal:/{}/{name}", self.turn));
        let title = CommandLine(title.to_owned()).title();
        let opened = TerminalTold::Opened {
            title: title.clone(),
            cwd: cwd.cloned().or_else(|| uri_of(&self.folder)),
            call: call.clone(),
        };
        teller.told.push(Told::Terminal(address.clone(), opened));
        let screen = Screen {
            address,
            title,
            runner: Runner::Agent(Box::new(OutputTail::new(PREVIEW_BYTES))),
            call: Some(call.clone()),
            end: None,
        };
        self.screens.insert(id.to_owned(), screen);
    }

    fn write(&mut self, id: &str, data: String, teller: &mut Teller<'_>) {
        // The host itself tells what is written to its own.
        if let Some(Screen {
            address,
            runner: Runner::Agent(tail),
            end: None,
            ..
        }) = self.screens.get_mut(id)
            && !data.is_empty()
        {
            tail.push(&data);
            let data = TerminalAction::Data(TerminalData { data });
            let told = TerminalTold::Action(Box::new(data));
            teller.told.push(Told::Terminal(address.clone(), told));
        }
    }
}

impl Screen {
    /// What the agent ran has ended; it says so once.
    fn exit(&mut self, exit_code: Option<i64>) -> Option<Told> {
        let (Runner::Agent(tail), None) = (&self.runner, &self.end) else {
            return None;
        };
        let (preview, truncated) = tail.so_far();
        self.end = Some(Ended {
            result: TerminalCommandResult {
                exit_code,
                preview: Some(preview),
                truncated: Some(truncated),
            },
            whole: None,
        });
        let exited = TerminalAction::Exited(TerminalExited { exit_code });
        let told = TerminalTold::Action(Box::new(exited));
        Some(Told::Terminal(self.address.clone(), told))
    }
}
