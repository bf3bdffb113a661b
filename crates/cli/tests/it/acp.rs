//! An agent that stands in the configuration, as a person uses it.

use agenthost_testkit::acp_agent;

use crate::commands::{err, out, run};

/// The process that is the agent; nothing to test.
#[test]
fn the_agent() {
    acp_agent::play();
}

#[test]
fn an_agent_of_the_configuration_is_run() {
    let directory = tempfile::tempdir().unwrap();
    let (program, arguments) = acp_agent::command("acp::the_agent");
    let mut command = vec![program];
    command.extend(arguments);
    let config = directory.path().join("config/agenthost");
    std::fs::create_dir_all(&config).unwrap();
    let agent = format!(
        "auto_agents = false\n[[agents]]\nid = 'scripted'\ncommand = {command:?}\nenv = {{ {} = 'early' }}\n",
        acp_agent::AS_AGENT
    );
    std::fs::write(config.join("config.toml"), agent).unwrap();
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
