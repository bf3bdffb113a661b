//! What a model does, whatever it speaks.
//!
//! ```text
//! say: TEXT      says it, word by word
//! think: TEXT    thinks it, then says that it has thought
//! run: COMMAND   calls the tool that runs commands
//! ask: COMMAND   the same, and wants to be let out of where commands are locked up
//! write: PATH    calls the tool that writes files, or patches them
//! use: NAME {}   calls a tool with these arguments, whatever its agent puts before the name
//! slow: N        counts its ticks up to N, ten of them a second
//! fail: STATUS   fails the call
//! recall: WORD   says whether it was told the word before
//! ```
//!
//! A line that begins so counts if it is the last one of the last message of
//! the user that has one. When a tool has answered since, it says what the tool
//! said. A call that offers no tools is about something else, such as a title.

use serde_json::{Map, Value, json};

/// What is in a file that it writes.
pub const WRITTEN_FILE_TEXT: &str = "written by the model\n";

/// What tools call the path of a file.
const PATH_ARGUMENTS: &[&str] = &["path", "file_path", "filePath", "absolute_path"];

/// What it says when it has thought.
pub const THOUGHT_REPLY: &str = "I have thought about it.";

/// What it is asked: all that was said, and the tools that it may call.
#[derive(Debug, Default)]
pub(super) struct ModelRequest {
    pub(super) messages: Vec<PriorMessage>,
    pub(super) tools: Vec<ModelTool>,
}

/// Something that was said before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PriorMessage {
    /// By the user, or by the agent in the user's name.
    User(String),
    /// By the model.
    Model(String),
    /// By a tool.
    Tool(String),
}

/// A tool that it may call.
#[derive(Debug)]
pub(super) struct ModelTool {
    pub(super) name: String,
    pub(super) parameters: ToolParameters,
}

/// What a tool takes.
#[derive(Debug)]
pub(super) enum ToolParameters {
    /// An object of this schema.
    Object(Value),
    /// Any text.
    Text,
}

/// What it answers.
#[derive(Debug, PartialEq)]
pub(super) enum ModelAnswer {
    /// These, at once.
    Pieces(Vec<AnswerPiece>),
    /// These, one by one.
    Slow(Vec<AnswerPiece>),
    /// With this status.
    Fail(u16),
}

/// A piece of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum AnswerPiece {
    Thought(String),
    Text(String),
    /// A call of a tool, with its arguments.
    Call(String, Value),
    /// A call of a tool that takes text.
    TextCall(String, String),
}

/// Does what it was told.
pub(super) fn answer_request(request: &ModelRequest) -> ModelAnswer {
    if request.tools.is_empty() {
        return ModelAnswer::Pieces(vec![AnswerPiece::Text("A talk".to_owned())]);
    }
    let told = request.messages.iter().enumerate().rev();
    let mut told = told.filter_map(|(position, heard)| match heard {
        PriorMessage::User(text) => Some((position, find_order(text)?)),
        PriorMessage::Model(_) | PriorMessage::Tool(_) => None,
    });
    let Some((place, (verb, rest))) = told.next() else {
        return text_answer("I was told nothing that I know.");
    };
    let since = request.messages.iter().skip(place + 1);
    let mut results = since.filter_map(|heard| match heard {
        PriorMessage::Tool(result) => Some(result),
        PriorMessage::User(_) | PriorMessage::Model(_) => None,
    });
    if let Some(result) = results.next_back() {
        let result: String = result.chars().take(200).collect();
        return text_answer(&format!("The tool said: {result}"));
    }
    match verb {
        "say" => text_answer(rest),
        "think" => ModelAnswer::Pieces(vec![
            AnswerPiece::Thought(rest.to_owned()),
            AnswerPiece::Text(THOUGHT_REPLY.to_owned()),
        ]),
        "run" | "ask" => match shell_call(&request.tools, verb, rest) {
            Some(call) => ModelAnswer::Pieces(vec![call]),
            None => text_answer("I have no tool that runs commands."),
        },
        "write" => match write_file_call(&request.tools, rest) {
            Some(call) => ModelAnswer::Pieces(vec![call]),
            None => text_answer("I have no tool that writes files."),
        },
        "use" => match named_tool_call(request, rest) {
            Some(call) => ModelAnswer::Pieces(vec![call]),
            None => text_answer(&format!("I have no tool for this: {rest}")),
        },
        "slow" => {
            let times: u32 = rest.parse().unwrap_or(10);
            let ticks = (1..=times).map(|n| AnswerPiece::Text(format!("tick {n} ")));
            ModelAnswer::Slow(ticks.collect())
        }
        "fail" => ModelAnswer::Fail(rest.parse().unwrap_or(500)),
        _ => recall_word(&request.messages, rest),
    }
}

/// The last line that is an order.
fn find_order(text: &str) -> Option<(&str, &str)> {
    const VERBS: &[&str] = &[
        "say", "think", "run", "ask", "write", "use", "slow", "fail", "recall",
    ];
    let lines = text.lines().rev();
    let mut orders = lines.filter_map(|line| {
        let (verb, rest) = line.trim().split_once(':')?;
        VERBS.contains(&verb).then_some((verb, rest.trim()))
    });
    orders.next()
}

fn text_answer(text: &str) -> ModelAnswer {
    let words = text.split_inclusive(' ');
    ModelAnswer::Pieces(
        words
            .map(|word| AnswerPiece::Text(word.to_owned()))
            .collect(),
    )
}

/// The order itself does not count as having heard the word.
fn recall_word(messages: &[PriorMessage], word: &str) -> ModelAnswer {
    let texts = messages.iter().map(|heard| match heard {
        PriorMessage::User(text) | PriorMessage::Model(text) | PriorMessage::Tool(text) => text,
    });
    let mut lines = texts.flat_map(|text| text.lines());
    let known = lines.any(|line| !line.contains("recall:") && line.contains(word));
    text_answer(&if known {
        format!("I remember {word}.")
    } else {
        format!("I never heard of {word}.")
    })
}

fn shell_call(tools: &[ModelTool], verb: &str, command: &str) -> Option<AnswerPiece> {
    let names = [
        "exec_command",
        "run_shell_command",
        "shell",
        "bash",
        "execute",
        "terminal",
    ];
    let (name, schema) = find_tool(tools.iter(), &names)?;
    let mut arguments = Map::new();
    for key in ["command", "cmd"] {
        let property = schema.pointer(&format!("/properties/{key}"));
        let value = match property.map(|property| property.get("type")) {
            None => continue,
            Some(Some(kind)) if kind == "array" => json!(["bash", "-lc", command]),
            Some(_) => json!(command),
        };
        arguments.insert(key.to_owned(), value);
    }
    if verb == "ask" {
        arguments.insert("sandbox_permissions".to_owned(), json!("require_escalated"));
        arguments.insert("justification".to_owned(), json!("the user wants it"));
    }
    Some(build_call(name, schema, arguments))
}

fn write_file_call(tools: &[ModelTool], path: &str) -> Option<AnswerPiece> {
    let patch =
        format!("*** Begin Patch\n*** Add File: {path}\n+{WRITTEN_FILE_TEXT}*** End Patch\n");
    let takes_text = |tool: &&ModelTool| {
        matches!(tool.parameters, ToolParameters::Text) && tool.name.contains("patch")
    };
    if let Some(tool) = tools.iter().find(takes_text) {
        return Some(AnswerPiece::TextCall(tool.name.clone(), patch));
    }
    let names = ["write_file", "write", "create", "text_editor", "edit"];
    let to_path = |tool: &&ModelTool| match &tool.parameters {
        ToolParameters::Object(schema) => {
            PATH_ARGUMENTS.iter().any(|key| has_property(schema, key))
        }
        ToolParameters::Text => false,
    };
    let Some((name, schema)) = find_tool(tools.iter().filter(to_path), &names) else {
        // Codex knows this command without a tool of its own.
        return shell_call(tools, "run", &format!("apply_patch <<'END'\n{patch}END\n"));
    };
    let mut arguments = Map::new();
    let fill = [
        (PATH_ARGUMENTS, path),
        (&["content", "file_text", "text"][..], WRITTEN_FILE_TEXT),
        (&["command"][..], "write"),
    ];
    for (keys, value) in fill {
        if let Some(key) = keys.iter().find(|key| has_property(schema, key)) {
            arguments.insert((*key).to_owned(), json!(value));
        }
    }
    Some(build_call(name, schema, arguments))
}

/// A call of the tool whose name ends so. Agents put the server of a tool before
/// its name, and write other signs in it. Some only tell the names of most tools,
/// and have one that calls them.
fn named_tool_call(request: &ModelRequest, wanted: &str) -> Option<AnswerPiece> {
    let (name, arguments) = wanted.split_once(' ').unwrap_or((wanted, "{}"));
    let arguments: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let plain = |name: &str| {
        let signs = |c: char| if c.is_alphanumeric() { c } else { '_' };
        name.chars().map(signs).collect::<String>()
    };
    let wanted = plain(name);
    let objects = request
        .tools
        .iter()
        .filter_map(|tool| match &tool.parameters {
            ToolParameters::Object(schema) => Some((tool.name.as_str(), schema)),
            ToolParameters::Text => None,
        });
    let objects: Vec<_> = objects.collect();
    let fits = |name: &str| plain(name).ends_with(&wanted);
    if let Some((name, schema)) = objects.iter().find(|(name, _)| fits(name)) {
        return Some(build_call(name, schema, arguments));
    }
    let told = request.messages.iter().filter_map(|heard| match heard {
        PriorMessage::User(text) => Some(text),
        PriorMessage::Model(_) | PriorMessage::Tool(_) => None,
    });
    let in_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut words = told.flat_map(|text| text.split(|c| !in_name(c)));
    let deferred = words.find(|word| *word != name && fits(word))?;
    let (caller, schema) = objects.iter().find(|(name, _)| *name == "tool_call")?;
    let wrapped = Map::from_iter([
        ("name".to_owned(), json!(deferred)),
        ("arguments".to_owned(), Value::Object(arguments)),
    ]);
    Some(build_call(caller, schema, wrapped))
}

/// The tool whose name is one of these, or else has one of them in it; those
/// that come first are preferred.
fn find_tool<'a>(
    tools: impl Iterator<Item = &'a ModelTool>,
    names: &[&str],
) -> Option<(&'a str, &'a Value)> {
    let objects: Vec<_> = tools
        .filter_map(|tool| match &tool.parameters {
            ToolParameters::Object(schema) => Some((tool.name.as_str(), schema)),
            ToolParameters::Text => None,
        })
        .collect();
    let objects = || objects.iter().copied();
    let lower = |name: &str| name.to_ascii_lowercase();
    let same = |wanted: &&str| objects().find(|(name, _)| lower(name) == **wanted);
    let within = |wanted: &&str| objects().find(|(name, _)| lower(name).contains(*wanted));
    let exactly = names.iter().find_map(same);
    exactly.or_else(|| names.iter().find_map(within))
}

fn has_property(schema: &Value, key: &str) -> bool {
    schema.pointer(&format!("/properties/{key}")).is_some()
}

/// A call with something for every argument that has to be there.
fn build_call(name: &str, schema: &Value, mut arguments: Map<String, Value>) -> AnswerPiece {
    let required = schema.get("required").and_then(Value::as_array);
    for key in required.into_iter().flatten().filter_map(Value::as_str) {
        let property = schema.pointer(&format!("/properties/{key}"));
        let kind = property.and_then(|property| property.get("type")?.as_str());
        let anything = match kind.unwrap_or("string") {
            "boolean" => json!(false),
            "number" | "integer" => json!(1),
            "array" => json!([]),
            "object" => json!({}),
            _ => json!("as the user said"),
        };
        arguments.entry(key).or_insert(anything);
    }
    AnswerPiece::Call(name.to_owned(), Value::Object(arguments))
}
