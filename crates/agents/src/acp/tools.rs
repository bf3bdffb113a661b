//! Tool calls of a turn.
//!
//! Agents tell of a call in any order: the question before the call, updates
//! of a call that was never begun, the same call again, more after its end. So
//! all of it is put together by the call's name, and only steps that are next
//! are told.

mod display;
mod hosted;

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::chat::{
    ToolCallQuestion, ToolCallResult, ToolResultContent, ToolResultText,
};
use agenthost_protocol::common::{FileEditCollection, Meta};
use agenthost_protocol::ids::ToolCallId;
use agenthost_protocol::wire::Object;
use serde_json::{Value, json};

use super::asking::{Asked, PermissionOption};
use super::content;
use super::offered::{self, HostTool, Offered};
use super::screens::{Remarks, Scene};
use super::told::Teller;
use super::wire::schema::{
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use crate::mapper::{ToolContent, ToolReady, ToolSeen, TurnEvent};
use display::Stage;

/// The calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    calls: BTreeMap<ToolCallId, Call>,
    /// The tools that the host offers.
    offered: Arc<Offered>,
    /// Calls of tools of clients that the agent has not told of.
    untold: Vec<hosted::Untold>,
}

/// A call, as far as it is known.
#[derive(Debug, Default)]
struct Call {
    step: Step,
    title: Option<String>,
    name: Option<String>,
    kind: Option<ToolKind>,
    content: Vec<ToolCallContent>,
    locations: Vec<ToolCallLocation>,
    input: Option<Value>,
    output: Option<Value>,
    meta: Option<Object>,
    /// What was told of its arguments while they came.
    told_input: String,
    told_title: Option<String>,
    /// What the last question about it came with.
    asked: Asked,
    /// The tool of the host that it is of.
    tool: Option<HostTool>,
    /// How far clients know it to be.
    told_stage: Option<Stage>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Step {
    #[default]
    New,
    /// Its arguments are coming.
    Coming,
    /// Somebody has to decide.
    Asking,
    Running,
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    Badly,
}

impl Tools {
    /// Whether there was such a call in this turn.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(&ToolCallId::from(id))
    }

    /// Their names.
    pub(crate) fn into_names(self) -> impl Iterator<Item = ToolCallId> {
        self.calls.into_keys()
    }

    /// Something about a call: that it is there, or more about it.
    pub(crate) fn update(
        &mut self,
        mut update: ToolCallUpdate,
        scene: &mut Scene,
        teller: &mut Teller<'_>,
    ) {
        let id = ToolCallId::from(update.tool_call_id.to_string());
        let call = self.calls.entry(id.clone()).or_default();
        if call.step == Step::Over {
            return;
        }
        let status = update.fields.status;
        let first = call.step == Step::New;
        let remarks = Remarks::take(&mut update);
        let alive = remarks.show_life();
        let produced = call.merge(update);
        call.recognize(&self.offered);
        if first {
            if call.was_called(&mut self.untold) {
                return;
            }
            call.see(&id, teller);
        }
        if call.is_clients() {
            return call.follow(&id, status, scene, teller);
        }
        let changed = scene.show(&id, &call.title(), remarks, teller) || produced;
        let ended = match status {
            Some(ToolCallStatus::Completed) => Some(Ended::Well),
            Some(ToolCallStatus::Failed) => Some(Ended::Badly),
            _ => None,
        };
        let begins = match status {
            Some(ToolCallStatus::Pending) => false,
            // Some agents never say how far a call is.
            None => (first && call.input.is_some()) || changed || alive,
            Some(_) => true,
        };
        let waited = call.step == Step::Coming && begins && !call.content.is_empty();
        if call.step == Step::Coming && begins {
            call.run(&id, teller);
        } else if call.step == Step::Coming {
            call.tell_input(&id, teller);
        }
        if let Some(ended) = ended {
            call.end(&id, ended, scene, teller);
        } else if call.step == Step::Running && (changed || waited) {
            call.tell_content(&id, scene, teller);
        }
    }

    /// A question about a call; says whether it can be asked.
    pub(crate) fn ask(
        &mut self,
        mut update: ToolCallUpdate,
        options: &[PermissionOption],
        scene: &mut Scene,
        teller: &mut Teller<'_>,
    ) -> bool {
        let id = ToolCallId::from(update.tool_call_id.to_string());
        let call = self.calls.entry(id.clone()).or_default();
        if call.step == Step::Over {
            return false;
        }
        let first = call.step == Step::New;
        let remarks = Remarks::take(&mut update);
        call.asked = Asked::take(&mut update);
        call.merge(update);
        call.recognize(&self.offered);
        if first {
            if call.was_called(&mut self.untold) {
                return false;
            }
            call.see(&id, teller);
        }
        scene.show(&id, &call.title(), remarks, teller);
        call.step = Step::Asking;
        // VS Code has one button of its own for a question with edits, which means
        // this once. If the agent has no such option, the message has to do.
        let edits = match options.iter().any(|option| option.kind == "allow_once") {
            true => content::edits(&call.content, &scene.folder, teller),
            false => Vec::new(),
        };
        let question = ToolCallQuestion {
            confirmation_title: Some(call.title().into()),
            risk_assessment: None,
            edits: (!edits.is_empty()).then_some(FileEditCollection { items: edits }),
            // There is no way to tell the agent.
            editable: Some(false),
            options: Some(options.iter().map(PermissionOption::told).collect()),
        };
        call.told_stage = Some(Stage::Asks);
        let mut meta = call.meta(Stage::Asks);
        let kinds = options
            .iter()
            .map(|option| (option.id.clone(), json!(option.kind)));
        meta.insert("permissionKinds".to_owned(), Value::Object(kinds.collect()));
        teller.turn(TurnEvent::ToolReady(Box::new(ToolReady {
            id,
            message: call.asked_message(scene),
            intention: call.intention(),
            input: call.input_text(),
            question: Some(question),
            contributor: call.contributor(),
            meta: Some(Meta::new(meta)),
        })));
        true
    }

    /// Somebody agreed to a call. What it had produced before it asked is told
    /// again: the question took it away.
    pub(crate) fn approved(&mut self, id: &ToolCallId, scene: &Scene, teller: &mut Teller<'_>) {
        if let Some(call) = self.calls.get_mut(id)
            && call.step == Step::Asking
        {
            call.step = Step::Running;
            let is_silent = call.content.is_empty() && !call.is_command();
            if !is_silent && !call.is_clients() {
                call.tell_content(id, scene, teller);
            }
        }
    }

    /// Somebody did not agree: that is the end of the call.
    pub(crate) fn refused(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.step = Step::Over;
        }
    }
}

impl Call {
    /// Takes in what is new; says whether it has produced something.
    fn merge(&mut self, update: ToolCallUpdate) -> bool {
        fn set<T>(place: &mut Option<T>, value: Option<T>) {
            if value.is_some() {
                *place = value;
            }
        }
        let fields = update.fields;
        set(
            &mut self.title,
            fields.title.filter(|title| !title.is_empty()),
        );
        set(&mut self.name, fields.name);
        set(&mut self.kind, fields.kind);
        set(
            &mut self.input,
            fields.raw_input.filter(|input| !input.is_null()),
        );
        set(
            &mut self.output,
            fields.raw_output.filter(|output| !output.is_null()),
        );
        if let Some(meta) = update.meta {
            self.meta.get_or_insert_default().extend(meta);
        }
        if let Some(locations) = fields.locations {
            self.locations = locations;
        }
        match fields.content {
            Some(content) if content != self.content => {
                self.content = content;
                true
            }
            _ => false,
        }
    }

    fn title(&self) -> String {
        if let Some(tool) = &self.tool {
            return tool.title().to_owned();
        }
        self.title.clone().unwrap_or_else(|| self.tool_name())
    }

    /// The tool, for programs: some agents put it where only they know.
    fn tool_name(&self) -> String {
        if let Some(tool) = &self.tool {
            return tool.own_name().to_owned();
        }
        let own = || self.meta.as_ref().and_then(|meta| named_in(meta, 3));
        let kind = || Some(json!(self.kind?).as_str()?.to_owned());
        let name = self.name.clone().or_else(own);
        let name = name.or_else(kind).unwrap_or_else(|| "other".to_owned());
        match name.as_str() {
            // VS Code takes this one for a worker with a chat of its own, and
            // shows nothing of a call without one.
            "task" => "Task".to_owned(),
            _ => name,
        }
    }

    fn see(&mut self, id: &ToolCallId, teller: &mut Teller<'_>) {
        self.step = Step::Coming;
        let meta = Some(self.meta(Stage::Seen)).filter(|meta| !meta.is_empty());
        teller.turn(TurnEvent::ToolSeen(Box::new(ToolSeen {
            id: id.clone(),
            name: self.tool_name(),
            display_name: self.title(),
            intention: self.intention(),
            contributor: self.contributor(),
            meta: meta.map(Meta::new),
        })));
    }

    /// Agents send the arguments again and again, each time more of them; told
    /// is what was added. When all are there they are told once more.
    fn tell_input(&mut self, id: &ToolCallId, teller: &mut Teller<'_>) {
        let text = match self.arguments() {
            None => None,
            Some(Value::Object(fields)) if fields.is_empty() => None,
            Some(_) => self.input_text(),
        };
        let text = text.unwrap_or_default();
        let so_far = text.trim_end_matches(['}', ']', '"']);
        let more = so_far.strip_prefix(self.told_input.as_str());
        let more = more.filter(|more| !more.is_empty()).map(str::to_owned);
        if more.is_none() && self.told_title == self.title {
            return;
        }
        self.told_input.extend(more.as_deref());
        self.told_title.clone_from(&self.title);
        teller.turn(TurnEvent::ToolInput {
            id: id.clone(),
            more,
            message: self.title().into(),
        });
    }

    fn run(&mut self, id: &ToolCallId, teller: &mut Teller<'_>) {
        self.step = Step::Running;
        self.told_stage = Some(Stage::Runs);
        let meta = Some(self.meta(Stage::Runs)).filter(|meta| !meta.is_empty());
        teller.turn(TurnEvent::ToolReady(Box::new(ToolReady {
            id: id.clone(),
            message: self.title().into(),
            intention: self.intention(),
            input: self.input_text(),
            question: None,
            contributor: self.contributor(),
            meta: meta.map(Meta::new),
        })));
    }

    /// Tells what a running call has produced. One that was asked about is shown
    /// as a command only now.
    fn tell_content(&mut self, id: &ToolCallId, scene: &Scene, teller: &mut Teller<'_>) {
        let mut content = content::results(id, &self.content, scene, teller);
        content.iter_mut().for_each(content::cut_back);
        let asked = self.told_stage.replace(Stage::Runs) == Some(Stage::Asks);
        let is_new = asked && self.is_command();
        teller.turn(TurnEvent::ToolContent(ToolContent {
            id: id.clone(),
            content,
            meta: is_new.then(|| Meta::new(self.meta(Stage::Runs))),
        }));
    }

    fn end(&mut self, id: &ToolCallId, ended: Ended, scene: &mut Scene, teller: &mut Teller<'_>) {
        self.step = Step::Over;
        if ended == Ended::Well {
            self.asked.carry_out(&mut self.content);
        }
        let success = ended == Ended::Well;
        let output = self.output.as_ref().and_then(output_text);
        let code = |output: &Value| output.get("exit_code")?.as_i64();
        let code = self.output.as_ref().and_then(code);
        scene.call_ended(id, output.as_deref(), code, teller);
        let mut results = content::results(id, &self.content, scene, teller);
        if let (true, Some(text)) = (results.is_empty(), &output) {
            let text = text.clone();
            results.push(ToolResultContent::Text(ToolResultText { text }));
        }
        let error = (!success).then(|| {
            let said = content::text(&results).or(output);
            let said = said.unwrap_or_else(|| "it failed".to_owned());
            json!({ "message": said.chars().take(500).collect::<String>() })
        });
        let structured = match &self.output {
            Some(Value::Object(output)) => Some(output.clone()),
            _ => None,
        };
        let result = ToolCallResult {
            success,
            past_tense_message: self.title().into(),
            content: (!results.is_empty()).then_some(results),
            structured_content: structured,
            error,
        };
        teller.turn(TurnEvent::ToolDone(id.clone(), Box::new(result)));
    }
}

/// The name of a tool in an agent's own data, so many levels down.
fn named_in(meta: &Object, depth: u32) -> Option<String> {
    let here = meta.get("toolName").and_then(Value::as_str);
    let below = || {
        let depth = depth.checked_sub(1)?;
        let mut below = meta.values().filter_map(Value::as_object);
        below.find_map(|object| named_in(object, depth))
    };
    here.map(str::to_owned).or_else(below)
}

/// What of raw output is for people to read.
fn output_text(output: &Value) -> Option<String> {
    let keys = [
        "formatted_output",
        "aggregated_output",
        "output",
        "stdout",
        "text",
    ];
    let text = output.as_str();
    let text = text.or_else(|| keys.iter().find_map(|key| output.get(key)?.as_str()));
    let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
    text.or_else(|| hosted::result_text(output))
}
