//! The behaviour of the fake model, for all APIs.
//!
//! ```text
//! say: TEXT      says the text, word by word
//! think: TEXT    sends the text as reasoning, then says that it has thought
//! run: COMMAND   calls the tool that runs commands
//! ask: COMMAND   the same, and requests to leave the sandbox
//! write: PATH    calls the tool that writes or patches files
//! use: NAME {}   calls a tool with these arguments, with any prefix of its name
//! slow: N        counts ticks up to N, ten per second
//! fail: STATUS   fails the request
//! recall: WORD   says if the word occurred before
//! ```
//!
//! The last such line of the last user message that contains one decides the response. If a
//! tool result has followed it, the model says the result. A request without tools is about
//! something else, such as a title.

use serde_json::{Map, Value, json};

/// The contents of a file that the model writes.
pub const WRITTEN_FILE_TEXT: &str = "written by the model\n";

/// Names of tool arguments for the path of a file.
const PATH_ARGUMENTS: &[&str] = &["path", "file_path", "filePath", "absolute_path"];

/// The text after a piece of reasoning.
pub const THOUGHT_REPLY: &str = "I have thought about it.";

/// A request to the model: the conversation and the available tools.
#[derive(Debug, Default)]
pub(super) struct ModelRequest {
    pub(super) messages: Vec<PriorMessage>,
    pub(super) tools: Vec<ModelTool>,
}

/// A message of the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PriorMessage {
    /// A message of the user, or of the agent on the user's behalf.
    User(String),
    /// A message of the model.
    Model(String),
    /// The result of a tool.
    Tool(String),
}

/// A tool that the model may call.
#[derive(Debug)]
pub(super) struct ModelTool {
    pub(super) name: String,
    pub(super) parameters: ToolParameters,
}

/// The parameters of a tool.
#[derive(Debug)]
pub(super) enum ToolParameters {
    /// An object with this schema.
    Object(Value),
    /// A single free text.
    Text,
}

/// The response of the model.
#[derive(Debug, PartialEq)]
pub(super) enum ModelAnswer {
    /// All pieces without a delay.
    Pieces(Vec<AnswerPiece>),
    /// All pieces with a delay before each.
    Slow(Vec<AnswerPiece>),
    /// An error with this status.
    Fail(u16),
}

/// A piece of a response.
#[derive(Debug, PartialEq)]
pub(super) enum AnswerPiece {
    Thought(String),
    Text(String),
    /// A tool call with its arguments.
    Call(String, Value),
    /// A call of a tool that takes a text.
    TextCall(String, String),
}

/// Returns the response to a request.
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

/// Returns the last line of a text that is a command.
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

/// Looks for a word in the conversation. The `recall:` command itself does not count.
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
        // Codex implements this command without a separate tool.
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

/// Returns a call of the tool with this suffix. Agents add the server's name as a prefix
/// and replace special characters. Some only list the names of most tools, and have one
/// tool that calls them.
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

/// Returns the tool with one of these names, or else with one of them as a part of its
/// name. Earlier names take precedence.
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

/// Builds a call, with a value for every required argument.
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
