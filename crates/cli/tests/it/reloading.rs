//! Agents that are installed or configured while the host runs.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use agenthost_client::{Client, ClientOptions, HostAddress};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_testkit::acp_agent;

use crate::agents::Machine;

/// A host on a machine, and its log.
struct RunningHost {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl RunningHost {
    fn start(machine: &Machine) -> Self {
        let mut command = machine.command(&["serve"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut host = RunningHost { child, log };
        host.wait_for_log("Ctrl-C stops the host");
        host
    }

    /// Returns the next line of the log with a text.
    fn wait_for_log(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.log.read_line(&mut line).unwrap() > 0, "no `{text}`");
        }
        line
    }
}

impl Drop for RunningHost {
    fn drop(&mut self) {
        crate::commands::end_host(&mut self.child);
    }
}

async fn connect(machine: &Machine) -> Client {
    let address = HostAddress::ReadyFile(machine.path("data/agenthost/host.json"));
    let options = ClientOptions {
        client_id: "tester".into(),
        info: agenthost_protocol::connection::Implementation {
            name: "test".to_owned(),
            version: None,
            title: None,
        },
        subscriptions: vec![Uri::from(RootChannel)],
        reconnect_timeout: Duration::ZERO,
    };
    Client::connect(&address, options).await.unwrap()
}

/// Waits until the host offers exactly these agents.
async fn wait_for_agents(client: &mut Client, expected: &[&str]) {
    loop {
        let Some(ChannelState::Root(root)) = client.state(&RootChannel.into()) else {
            panic!("no root state");
        };
        let offered: Vec<_> = root
            .agents
            .iter()
            .map(|agent| agent.provider.as_str())
            .collect();
        if offered == expected {
            return;
        }
        client.next_update().await.unwrap();
    }
}

/// ROOT-3: clients hear of an agent when it is installed, configured or removed. A file with an
/// error changes nothing.
#[tokio::test]
async fn agents_are_picked_up_without_a_restart() {
    let machine = Machine::new();
    let mut host = RunningHost::start(&machine);
    let mut client = connect(&machine).await;
    wait_for_agents(&mut client, &["shell"]).await;
    machine.install("opencode", "");
    wait_for_agents(&mut client, &["shell", "opencode"]).await;
    let (program, _) = acp_agent::agent_command("acp::the_agent");
    let mine =
        format!("default_agent = 'mine'\n[[agents]]\nid = 'mine'\ncommand = ['{program}']\n");
    machine.configure(&mine);
    wait_for_agents(&mut client, &["mine", "shell", "opencode"]).await;
    machine.configure("[limits]\nrate = 0\n");
    let line = host.wait_for_log("rejected the configuration");
    assert!(
        line.contains("config.toml`: line 2: `limits.rate` must be"),
        "{line}"
    );
    // The rejected file does not keep programs from being found.
    std::fs::remove_file(machine.path("bin/opencode")).unwrap();
    wait_for_agents(&mut client, &["mine", "shell"]).await;
    machine.configure("shell = '/bin/sh'\n");
    wait_for_agents(&mut client, &["shell"]).await;
    host.wait_for_log("take effect after a restart");
}

/// `serve` does not start with it.
#[test]
fn an_invalid_configuration_names_the_line() {
    let machine = Machine::new();
    machine.configure("listen = '127.0.0.1:0'\n\n[[agents]]\nid = 'a'\ncommand = []\n");
    let output = machine.command(&["serve"]).output().unwrap();
    let text = crate::commands::err(&output);
    assert!(
        text.contains("config.toml`: line 5: agent `a`: `command` is empty"),
        "{text}"
    );
}
