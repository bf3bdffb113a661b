//! An oracle in a separate program, with one request and one response per line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::{ClientAct, OfficialClient, Oracle, OracleReading};

/// Answers requests until the input ends.
pub fn serve(
    oracle: &mut dyn Oracle,
    client: &mut dyn OfficialClient,
    questions: impl BufRead,
    mut answers: impl Write,
) -> std::io::Result<()> {
    for question in questions.lines() {
        let answer = match serde_json::from_str(&question?) {
            Ok(question) => answer_question(oracle, client, &question),
            Err(error) => Err(error.to_string()),
        };
        let answer = answer.unwrap_or_else(|error| json!({ "error": error }));
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

fn answer_question(
    oracle: &mut dyn Oracle,
    client: &mut dyn OfficialClient,
    question: &Value,
) -> Result<Value, String> {
    let text = |field: &str| {
        let text = question.get(field).and_then(Value::as_str);
        text.ok_or(format!("a question without `{field}`"))
    };
    let document = question.get("json").unwrap_or(&Value::Null);
    Ok(match text("op")? {
        "read" => match oracle.read(text("what")?, document)? {
            Some(reading) => reading_json(reading),
            None => json!({}),
        },
        "hold" => {
            oracle.track_channel(text("channel")?, document)?;
            json!({})
        }
        "apply" => json!({ "outcome": oracle.apply(text("channel")?, document)? }),
        "held" => json!({ "back": oracle.tracked_state(text("channel")?)? }),
        "act" => {
            let act: ClientAct =
                serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
            reading_json(client.perform(act)?)
        }
        other => return Err(format!("unknown question `{other}`")),
    })
}

fn reading_json(reading: OracleReading) -> Value {
    json!({ "back": reading.encoded, "unknown": reading.unknown_values })
}

/// An oracle that runs in a separate process.
pub struct RemoteOracle {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl RemoteOracle {
    /// Starts the program of the oracle.
    pub fn start(program: &Path) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || std::io::Error::other("a child without pipes");
        let questions = child.stdin.take().ok_or_else(missing)?;
        let answers = child.stdout.take().ok_or_else(missing)?;
        Ok(RemoteOracle {
            child,
            questions: Some(questions),
            answers: BufReader::new(answers),
        })
    }

    fn ask_program(&mut self, question: &Value) -> Result<Value, String> {
        let questions = self.questions.as_mut().ok_or("the program is gone")?;
        writeln!(questions, "{question}").map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_err(|error| error.to_string())?;
        let mut answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        match answer.get_mut("error") {
            Some(Value::String(error)) => Err(std::mem::take(error)),
            _ => Ok(answer),
        }
    }
}

impl Oracle for RemoteOracle {
    fn read(&mut self, what: &str, json: &Value) -> Result<Option<OracleReading>, String> {
        let answer = self.ask_program(&json!({ "op": "read", "what": what, "json": json }))?;
        Ok(parse_reading(answer))
    }

    fn track_channel(&mut self, channel: &str, snapshot: &Value) -> Result<(), String> {
        self.ask_program(&json!({ "op": "hold", "channel": channel, "json": snapshot }))?;
        Ok(())
    }

    fn apply(&mut self, channel: &str, action: &Value) -> Result<Option<String>, String> {
        let answer =
            self.ask_program(&json!({ "op": "apply", "channel": channel, "json": action }))?;
        let outcome = answer.get("outcome").and_then(Value::as_str);
        Ok(outcome.map(str::to_owned))
    }

    fn tracked_state(&mut self, channel: &str) -> Result<Value, String> {
        let mut answer = self.ask_program(&json!({ "op": "held", "channel": channel }))?;
        let back = answer.get_mut("back").map(Value::take);
        back.ok_or("an answer without a state".to_owned())
    }
}

impl OfficialClient for RemoteOracle {
    fn perform(&mut self, act: ClientAct) -> Result<OracleReading, String> {
        let act = serde_json::to_value(act).map_err(|error| error.to_string())?;
        let answer = self.ask_program(&json!({ "op": "act", "json": act }))?;
        parse_reading(answer).ok_or("an answer without a reading".to_owned())
    }
}

/// Parses the reading of a response, if it has one.
fn parse_reading(mut answer: Value) -> Option<OracleReading> {
    let back = answer.get_mut("back").map(Value::take)?;
    let unknown = answer.get("unknown").and_then(Value::as_array);
    let texts = unknown.into_iter().flatten().filter_map(Value::as_str);
    Some(OracleReading {
        encoded: back,
        unknown_values: texts.map(str::to_owned).collect(),
    })
}

impl Drop for RemoteOracle {
    /// Closes the request pipe, so that the program ends by itself, and waits for it.
    fn drop(&mut self) {
        self.questions = None;
        if self.child.wait().is_err() {
            // The process can't be waited for because it has already ended.
        }
    }
}
