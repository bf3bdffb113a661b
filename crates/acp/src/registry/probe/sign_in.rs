//! Parses the sign-in methods that an agent offers.

use agenthost_stdx::text::truncate_chars;
use serde_json::Value;

/// The maximum number of characters that are shown of a method's name.
const MAX_METHOD_NAME_CHARS: usize = 60;

/// The maximum number of characters that are shown of a method's description.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// A sign-in method of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInMethod {
    /// The id that the agent gave the method.
    pub id: String,
    /// The name of the method, for users.
    pub name: String,
    /// The agent's description of the method.
    pub description: Option<String>,
    /// The actor and the requirements of the sign-in.
    pub kind: SignInKind,
}

/// The kind of a sign-in method.
#[derive(Clone, PartialEq, Eq)]
pub enum SignInKind {
    /// The agent signs the user in when it receives `authenticate`.
    Agent,
    /// A program in a terminal signs the user in.
    Terminal(TerminalSignIn),
    /// The agent signs the user in with these variables, which must be in its environment.
    Variables(Vec<String>),
}

/// Leaves out the environment, because it may contain secrets.
impl std::fmt::Debug for SignInKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SignInKind::Agent => "Agent",
            SignInKind::Terminal(_) => "Terminal",
            SignInKind::Variables(_) => "Variables",
        })
    }
}

/// The program with which the user signs in.
#[derive(Clone, PartialEq, Eq)]
pub struct TerminalSignIn {
    /// The program, if it is not the agent itself.
    pub program: Option<String>,
    /// The arguments of the program; for the agent itself, they follow the agent's own.
    pub arguments: Vec<String>,
    /// Additional environment variables of the program.
    pub environment: Vec<(String, String)>,
}

/// Reads the methods in the agent's `initialize` response.
pub(crate) fn parse_methods(initialized: &Value) -> Vec<SignInMethod> {
    let methods = initialized.get("authMethods").and_then(Value::as_array);
    let methods = methods.into_iter().flatten();
    methods.filter_map(parse_method).collect()
}

/// Describes the methods in one line, for users.
pub(crate) fn describe_methods(methods: &[SignInMethod]) -> String {
    let descriptions = methods.iter().map(|method| match &method.description {
        Some(description) => format!("{} ({description})", method.name),
        None => method.name.clone(),
    });
    descriptions.collect::<Vec<_>>().join(", ")
}

fn parse_method(method: &Value) -> Option<SignInMethod> {
    let text = |key: &str, max_chars: usize| {
        let text = method.get(key)?.as_str()?;
        let printable = text.chars().filter(|letter| !letter.is_control());
        Some(printable.take(max_chars).collect::<String>())
    };
    let id = method.get("id")?.as_str()?.to_owned();
    let kind = match method.get("type").and_then(Value::as_str) {
        Some("terminal") => SignInKind::Terminal(parse_terminal(method)),
        Some("env_var") => SignInKind::Variables(parse_variables(method)),
        // Some agents use a legacy extension for terminal methods.
        _ => match method.pointer("/_meta/terminal-auth") {
            Some(legacy) => SignInKind::Terminal(parse_terminal(legacy)),
            None => SignInKind::Agent,
        },
    };
    Some(SignInMethod {
        name: text("name", MAX_METHOD_NAME_CHARS)
            .unwrap_or_else(|| truncate_chars(&id, MAX_METHOD_NAME_CHARS)),
        description: text("description", MAX_DESCRIPTION_CHARS).filter(|text| !text.is_empty()),
        id,
        kind,
    })
}

fn parse_terminal(object: &Value) -> TerminalSignIn {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let arguments = object.get("args").and_then(Value::as_array);
    let environment = object.get("env").and_then(Value::as_object);
    let environment = environment.into_iter().flatten();
    TerminalSignIn {
        program: object.get("command").and_then(text),
        arguments: arguments.into_iter().flatten().filter_map(text).collect(),
        environment: environment
            .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect(),
    }
}

/// Returns the variables that a method requires, in either of the encodings that agents use.
fn parse_variables(method: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let variables = method.get("vars").and_then(Value::as_array);
    let variables = variables.into_iter().flatten();
    let names = variables.filter_map(|variable| {
        variable
            .get("name")
            .and_then(text)
            .or_else(|| text(variable))
    });
    let variable = method.get("varName").and_then(text);
    names.chain(variable).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_kinds_of_sign_in_methods_are_parsed() {
        let methods = parse_methods(&json!({"authMethods": [
            {"id": "login", "name": "Log in", "description": "With\u{1b} a browser"},
            {"id": "tui", "name": "Terminal", "type": "terminal", "args": ["--login"], "env": {"A": "b"}},
            {"id": "old", "name": "Older", "_meta": {"terminal-auth": {"command": "claude", "args": ["/login"]}}},
            {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "KEY"}, "OTHER"]},
            {"id": "key2", "type": "env_var", "varName": "KEY2"},
            {"name": "nobody can ask for this"},
            3,
        ]}));
        let ids: Vec<_> = methods.iter().map(|method| method.id.as_str()).collect();
        assert_eq!(ids, ["login", "tui", "old", "key", "key2"]);
        let kinds: Vec<_> = methods.iter().map(|method| &method.kind).collect();
        assert_eq!(kinds[0], &SignInKind::Agent);
        let SignInKind::Terminal(tui) = kinds[1] else {
            panic!("not in a terminal");
        };
        assert_eq!(
            (tui.program.as_deref(), &*tui.arguments),
            (None, &["--login".to_owned()][..])
        );
        let SignInKind::Terminal(old) = kinds[2] else {
            panic!("not in a terminal");
        };
        assert_eq!(old.program.as_deref(), Some("claude"));
        let variables = |names: &[&str]| {
            SignInKind::Variables(names.iter().map(|name| (*name).to_owned()).collect())
        };
        assert_eq!(kinds[3], &variables(&["KEY", "OTHER"]));
        assert_eq!(kinds[4], &variables(&["KEY2"]));
        let description = describe_methods(&methods);
        assert_eq!(
            description,
            "Log in (With a browser), Terminal, Older, Key, key2"
        );
    }
}
