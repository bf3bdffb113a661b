//! An agent from the configuration, as a user runs it.

use std::path::Path;

use agenthost_testkit::acp_agent;

use crate::commands::{err, out, run};

/// Runs the scripted agent if this process was started as one; otherwise there is nothing to test.
#[test]
fn the_agent() {
    acp_agent::run_as_agent();
}

/// Writes a configuration with the scripted agent in a mode.
pub(crate) fn configure(path: &Path, how: &str) {
    let (program, arguments) = acp_agent::agent_command("acp::the_agent");
    let mut command = vec![program];
    command.extend(arguments);
    let config = path.join("config/agenthost");
    std::fs::create_dir_all(&config).unwrap();
    let memory = path.join("memory");
    let agent = format!(
        "auto_agents = false\n[[agents]]\nid = 'scripted'\ncommand = {command:?}\nenv = {{ {} = '{how}', {} = {memory:?} }}\n",
        acp_agent::AGENT_MODE_VARIABLE,
        acp_agent::MEMORY_FILE_VARIABLE
    );
    std::fs::write(config.join("config.toml"), agent).unwrap();
}

#[test]
fn a_configured_agent_runs() {
    let directory = tempfile::tempdir().unwrap();
    configure(directory.path(), "early");
    let output = run(
        directory.path(),
        &["run", "--agent", "scripted", "say hello;; say  there"],
        "",
    );
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(out(&output).trim(), "hello there");
    let output = run(
        directory.path(),
        &["run", "--agent", "scripted", "die of boredom"],
        "",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("of boredom"), "{}", err(&output));
}

/// An agent that supports it deletes its own record of a removed session.
#[test]
fn the_agent_deletes_its_record_of_a_removed_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "load list delete");
    let records = || out(&run(path, &["sessions", "--from", "scripted"], ""));
    for keep in [true, false] {
        let output = run(path, &["run", "--agent", "scripted", "say hello"], "");
        assert_eq!(out(&output), "hello\n", "{output:?}");
        let before = records().lines().count();
        let mut arguments = vec!["sessions", "rm", "--yes", "--older-than", "0h"];
        if keep {
            arguments.push("--keep-agent-sessions");
        }
        let output = run(path, &arguments, "");
        assert!(output.status.success(), "{output:?}");
        let removed = usize::from(!keep);
        assert_eq!(records().lines().count(), before - removed, "{output:?}");
    }
}

/// Sessions that an agent has from elsewhere can be listed and imported.
#[test]
fn sessions_of_an_agent_are_imported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    configure(path, "load list");
    let agenthost = |arguments: &[&str]| run(path, arguments, "");
    let output = agenthost(&["run", "--agent", "scripted", "say hello"]);
    assert_eq!(out(&output), "hello\n", "{output:?}");
    let output = agenthost(&["sessions", "--from", "scripted"]);
    let listed = out(&output);
    assert!(listed.contains("say hello"), "{output:?}");
    let id = listed.split_whitespace().nth(1).unwrap();

    // The session that `run` has created is that of the agent already.
    let output = agenthost(&["sessions", "--from", "scripted", "--import", id]);
    let refused = err(&output);
    assert!(refused.contains("is already in session"), "{output:?}");
    let session = refused.rsplit('`').nth(1).unwrap();
    let output = agenthost(&["remove", "--yes", session]);
    assert!(output.status.success(), "{output:?}");

    let output = agenthost(&["sessions", "--from", "scripted", "--import", id]);
    let session = out(&output);
    assert!(session.contains(":/"), "{output:?}");
    let output = agenthost(&["sessions", "--json"]);
    let listed = out(&output);
    let imported = listed.lines().find(|line| line.contains(session.trim()));
    assert!(imported.unwrap().contains("As before"), "{listed}");

    let output = agenthost(&["sessions", "--from", "scripted", "--import", "gone"]);
    assert!(
        err(&output).contains("There is no such session"),
        "{output:?}"
    );
    let output = agenthost(&["sessions", "--json"]);
    assert_eq!(out(&output).lines().count(), 1, "nothing is left of it");
    let output = agenthost(&["sessions", "--from", "nobody"]);
    assert!(
        err(&output).contains("there is no agent `nobody`"),
        "{output:?}"
    );
}
