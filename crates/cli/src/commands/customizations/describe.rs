//! Describes the code of a container for the user who has to approve it.
//!
//! The description contains everything that the digest of an approval covers, as it was
//! declared: variables such as `${TOKEN}` are not expanded. All values are untrusted, so
//! each is quoted.

use std::ops::Deref;

use agenthost_customizations::CodeEntry;
use agenthost_customizations::parse::{DeclaredHook, DeclaredServer, DeclaredTransport, HookEvent};

use agenthost_stdx::shell::quote_word;

/// Describes a hook or a server on one line.
pub(super) fn describe_code_entry(runs: &CodeEntry) -> String {
    match runs {
        CodeEntry::Hook { event, hook } => describe_hook(event, hook),
        CodeEntry::Server { declared, .. } => describe_server(declared),
    }
}

fn describe_hook(event: &str, hook: &DeclaredHook) -> String {
    let never = match hook.event {
        HookEvent::Unsupported => " (never run by the host)",
        HookEvent::SessionStart
        | HookEvent::UserPromptSubmit
        | HookEvent::Stop
        | HookEvent::SessionEnd
        | HookEvent::PreToolUse
        | HookEvent::PostToolUse
        | HookEvent::PostToolUseFailure => "",
    };
    let matcher = match &hook.matcher {
        Some(matcher) => format!(", matcher {}", quote_word(matcher)),
        None => String::new(),
    };
    format!(
        "hook {}{never}{matcher}, timeout {:?}: {}sh -c {}{}",
        quote_word(event),
        hook.timeout,
        format_environment(&hook.environment),
        quote_word(&hook.command),
        format_directory(hook.directory.as_deref()),
    )
}

fn describe_server(declared: &DeclaredServer) -> String {
    let name = quote_word(&declared.name);
    match &declared.transport {
        DeclaredTransport::Stdio {
            command,
            arguments,
            environment: variables,
            directory: place,
        } => {
            let words = std::iter::once(command).chain(arguments);
            let words: Vec<_> = words.map(|word| quote_word(word)).collect();
            format!(
                "server {name}: {}{}{}",
                format_environment(variables),
                words.join(" "),
                format_directory(place.as_deref()),
            )
        }
        DeclaredTransport::Http { url, headers } => {
            let headers = headers.iter();
            let headers: String = headers
                .map(|(name, value)| format!(", header {}={}", quote_word(name), quote_word(value)))
                .collect();
            format!("server {name}: {}{headers}", quote_word(url))
        }
    }
}

fn format_environment(pairs: &[(String, impl Deref<Target = str>)]) -> String {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| format!("{}={} ", quote_word(name), quote_word(value)))
        .collect()
}

fn format_directory(directory: Option<&str>) -> String {
    match directory {
        Some(directory) => format!(", in {}", quote_word(directory)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use agenthost_core::tools::mcp::transport::Template;

    use super::*;

    fn program(
        command: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        directory: Option<&str>,
    ) -> DeclaredServer {
        let owned = |text: &&str| (*text).to_owned();
        let environment = environment.iter();
        DeclaredServer {
            name: "s".to_owned(),
            transport: DeclaredTransport::Stdio {
                command: command.into(),
                arguments: arguments.iter().map(|text| (*text).into()).collect(),
                environment: environment.map(|(a, b)| (owned(a), (*b).into())).collect(),
                directory: directory.map(Template::from),
            },
        }
    }

    #[test]
    fn descriptions_distinguish_the_fields() {
        let flat = ["one", "with", "NODE_OPTIONS", "--require=./evil.js", "x"];
        assert_eq!(
            describe_server(&program("mcp.py", &flat, &[], None)),
            "server s: mcp.py one with NODE_OPTIONS '--require=./evil.js' x"
        );
        let environment = [("NODE_OPTIONS", "--require=./evil.js"), ("x", "with")];
        assert_eq!(
            describe_server(&program("mcp.py", &["one"], &environment, Some("a b"))),
            "server s: NODE_OPTIONS='--require=./evil.js' x=with mcp.py one, in 'a b'"
        );
        let http = DeclaredServer {
            name: "w x".to_owned(),
            transport: DeclaredTransport::Http {
                url: "https://x.org/mcp".into(),
                headers: vec![("Authorization".to_owned(), "Bearer ${T}".into())],
            },
        };
        assert_eq!(
            describe_server(&http),
            "server 'w x': https://x.org/mcp, header Authorization='Bearer ${T}'"
        );
        let hook = DeclaredHook {
            event: HookEvent::PreToolUse,
            matcher: Some("Bash|Edit".to_owned()),
            command: "./check \"$1\"\nrm -rf x".to_owned(),
            environment: vec![("A".to_owned(), "b c".to_owned())],
            directory: Some("d".to_owned()),
            timeout: Duration::from_secs(30),
        };
        assert_eq!(
            describe_hook("PreToolUse", &hook),
            "hook PreToolUse, matcher 'Bash|Edit', timeout 30s: A='b c' \
             sh -c $'./check \"$1\"\\nrm -rf x', in d"
        );
    }

    /// Tries all programs that consist of a few words, including words that look like the
    /// text between them.
    #[test]
    fn no_two_programs_are_described_by_the_same_text() {
        const WORDS: &[&str] = &["a", "", ",", "in", "a=b", "'a' b", ", in a"];
        let mut directories = vec![None];
        directories.extend(WORDS.iter().copied().map(Some));
        let mut arguments = vec![Vec::new()];
        let mut environments = vec![Vec::new()];
        for first in WORDS {
            arguments.push(vec![*first]);
            for second in WORDS {
                arguments.push(vec![*first, *second]);
                environments.push(vec![(*first, *second)]);
            }
        }
        let mut seen = BTreeMap::new();
        for command in WORDS {
            for arguments in &arguments {
                for environment in &environments {
                    for directory in &directories {
                        let declared = program(command, arguments, environment, *directory);
                        let text = describe_server(&declared);
                        let other = seen.insert(text.clone(), declared);
                        assert_eq!(other, None, "{text}");
                    }
                }
            }
        }
    }
}
