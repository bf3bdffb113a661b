//! Parses the commands that an agent requests.

use std::ffi::OsString;

use agenthost_core::CommandLine;
use agenthost_workspace::ExecSpec;
use serde_json::Value;

use super::{ServiceError, text_param};
use crate::transport::JsonParams;

/// Returns the program to run, and its command line for display. A command without arguments
/// may be a whole shell command line, as some agents send it, and runs in a shell.
pub(super) fn parse_command(
    params: &JsonParams,
    mut environment: Vec<(OsString, OsString)>,
) -> Result<(ExecSpec, CommandLine), ServiceError> {
    let command = text_param(params, "command").filter(|command| !command.is_empty());
    let command = command.ok_or_else(|| ServiceError::invalid_parameter("command", "a string"))?;
    let items = |name: &str| {
        let items = params.get(name).and_then(Value::as_array);
        items.into_iter().flatten()
    };
    let arguments: Option<Vec<_>> = items("args").map(Value::as_str).collect();
    let arguments =
        arguments.ok_or_else(|| ServiceError::invalid_parameter("args", "a list of strings"))?;
    for variable in items("env") {
        let field = |name: &str| variable.get(name).and_then(Value::as_str);
        let (Some(name), Some(value)) = (field("name"), field("value")) else {
            return Err(ServiceError::invalid_parameter(
                "env",
                "a list of objects with `name` and `value`",
            ));
        };
        environment.retain(|(other, _)| other != name);
        environment.push((name.into(), value.into()));
    }
    let command_line = std::iter::once(command).chain(arguments.iter().copied());
    let command_line = CommandLine(command_line.collect::<Vec<_>>().join(" "));
    let (program, arguments) = if arguments.is_empty() {
        ("/bin/sh", vec!["-c", command])
    } else {
        (command, arguments)
    };
    let exec = ExecSpec {
        program: program.into(),
        arguments: arguments.into_iter().map(OsString::from).collect(),
        environment,
    };
    Ok((exec, command_line))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(params: Value) -> Result<Vec<String>, String> {
        let environment = vec![("A".into(), "1".into()), ("B".into(), "2".into())];
        let (exec, command_line) = parse_command(params.as_object().unwrap(), environment)
            .map_err(|error| error.to_string())?;
        let words = std::iter::once(exec.program).chain(exec.arguments);
        let variables = exec
            .environment
            .into_iter()
            .map(|(name, value)| OsString::from(format!("{}={}", name.display(), value.display())));
        let parts = words.chain(variables).chain([command_line.title().into()]);
        Ok(parts.map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn a_command_line_runs_in_a_shell_and_arguments_run_directly() {
        let shell = parse(json!({"command": "ls | wc", "args": []})).unwrap();
        assert_eq!(shell, ["/bin/sh", "-c", "ls | wc", "A=1", "B=2", "ls | wc"]);
        let words = json!({"command": "ls", "args": ["a b"], "env": [{"name": "A", "value": "3"}]});
        assert_eq!(parse(words).unwrap(), ["ls", "a b", "B=2", "A=3", "ls a b"]);
    }

    #[test]
    fn malformed_parameters_are_rejected() {
        let error_of = |params: Value| parse(params).unwrap_err();
        assert_eq!(error_of(json!({})), "`command` must be a string");
        assert_eq!(
            error_of(json!({"command": "a", "args": [1]})),
            "`args` must be a list of strings"
        );
        let nameless = json!({"command": "a", "env": [{"value": "x"}]});
        assert_eq!(
            error_of(nameless),
            "`env` must be a list of objects with `name` and `value`"
        );
    }
}
