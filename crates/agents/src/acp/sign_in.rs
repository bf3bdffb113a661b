//! Ways to sign in that an agent offers.

use serde_json::Value;

/// Longest that is shown of what an agent calls something.
const NAME: usize = 60;

/// Longest that is shown of what it says about it.
const DESCRIPTION: usize = 200;

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInMethod {
    /// What the agent calls it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What the agent says about it.
    pub description: Option<String>,
    /// How it is done.
    pub way: SignInWay,
}

/// How somebody signs in.
#[derive(Clone, PartialEq, Eq)]
pub enum SignInWay {
    /// The agent does it when it is told to.
    Agent,
    /// A program does it, in a terminal.
    Terminal(TerminalSignIn),
    /// The agent does it, with variables that have to be in its environment.
    Variables(Vec<String>),
}

/// Leaves out what the environment holds: it may be secret.
impl std::fmt::Debug for SignInWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SignInWay::Agent => "Agent",
            SignInWay::Terminal(_) => "Terminal",
            SignInWay::Variables(_) => "Variables",
        })
    }
}

/// The program that somebody signs in with.
#[derive(Clone, PartialEq, Eq)]
pub struct TerminalSignIn {
    /// The program, if it is not the agent itself.
    pub program: Option<String>,
    /// Its arguments; of the agent itself, those after its own.
    pub arguments: Vec<String>,
    /// What it finds in its environment besides what the agent does.
    pub environment: Vec<(String, String)>,
}

/// Reads what an agent says when it starts.
pub(crate) fn read(initialized: &Value) -> Vec<SignInMethod> {
    let methods = initialized.get("authMethods").and_then(Value::as_array);
    let methods = methods.into_iter().flatten();
    methods.filter_map(method).collect()
}

/// The methods in a line, for people.
pub(crate) fn list(methods: &[SignInMethod]) -> String {
    let shown = methods.iter().map(|method| match &method.description {
        Some(description) => format!("{} ({description})", method.name),
        None => method.name.clone(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn method(method: &Value) -> Option<SignInMethod> {
    let text = |key: &str, most: usize| {
        let text = method.get(key)?.as_str()?;
        let plain = text.chars().filter(|letter| !letter.is_control());
        Some(plain.take(most).collect::<String>())
    };
    let id = method.get("id")?.as_str()?.to_owned();
    let way = match method.get("type").and_then(Value::as_str) {
        Some("terminal") => SignInWay::Terminal(terminal(method)),
        Some("env_var") => SignInWay::Variables(variables(method)),
        // Some say it in a way of their own, which is older.
        _ => match method.pointer("/_meta/terminal-auth") {
            Some(older) => SignInWay::Terminal(terminal(older)),
            None => SignInWay::Agent,
        },
    };
    Some(SignInMethod {
        name: text("name", NAME).unwrap_or_else(|| id.chars().take(NAME).collect()),
        description: text("description", DESCRIPTION).filter(|text| !text.is_empty()),
        id,
        way,
    })
}

fn terminal(told: &Value) -> TerminalSignIn {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let arguments = told.get("args").and_then(Value::as_array);
    let environment = told.get("env").and_then(Value::as_object);
    let environment = environment.into_iter().flatten();
    TerminalSignIn {
        program: told.get("command").and_then(text),
        arguments: arguments.into_iter().flatten().filter_map(text).collect(),
        environment: environment
            .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect(),
    }
}

/// The variables that a method wants, in either of the shapes that are used.
fn variables(method: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let several = method.get("vars").and_then(Value::as_array);
    let several = several.into_iter().flatten();
    let names = several.filter_map(|one| one.get("name").and_then(text).or_else(|| text(one)));
    let one = method.get("varName").and_then(text);
    names.chain(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_ways_are_read() {
        let methods = read(&json!({"authMethods": [
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
        let ways: Vec<_> = methods.iter().map(|method| &method.way).collect();
        assert_eq!(ways[0], &SignInWay::Agent);
        let SignInWay::Terminal(tui) = ways[1] else {
            panic!("not in a terminal");
        };
        assert_eq!(
            (tui.program.as_deref(), &*tui.arguments),
            (None, &["--login".to_owned()][..])
        );
        let SignInWay::Terminal(old) = ways[2] else {
            panic!("not in a terminal");
        };
        assert_eq!(old.program.as_deref(), Some("claude"));
        let named = |names: &[&str]| {
            SignInWay::Variables(names.iter().map(|name| (*name).to_owned()).collect())
        };
        assert_eq!(ways[3], &named(&["KEY", "OTHER"]));
        assert_eq!(ways[4], &named(&["KEY2"]));
        let line = list(&methods);
        assert_eq!(line, "Log in (With a browser), Terminal, Older, Key, key2");
    }
}
