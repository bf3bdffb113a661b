//! The host that clients talk to.

use std::sync::Arc;

use agenthost_server::{Server, ServerConfig, serve};
use agenthost_testkit::ScriptedAgent;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A host with an agent that does what it is told, on a directory of its own.
pub(super) struct Host {
    directory: TempDir,
    server: Option<Server>,
    pub(super) agent: ScriptedAgent,
    runtime: Runtime,
}

impl Host {
    pub(super) fn start() -> Self {
        let mut host = Host {
            directory: tempfile::tempdir().unwrap(),
            server: None,
            agent: ScriptedAgent::default(),
            runtime: agenthost_oracles::build_runtime().unwrap(),
        };
        host.restart();
        host
    }

    /// Ends it, if it runs, and starts it on the same directory.
    pub(super) fn restart(&mut self) {
        self.stop();
        let mut config = ServerConfig::new(self.directory.path());
        config.agents = vec![Arc::new(self.agent.clone())];
        self.server = Some(self.runtime.block_on(serve(config)).unwrap());
    }

    pub(super) fn url(&self) -> String {
        let server = self.server.as_ref().unwrap();
        format!("{}?tkn={}", server.url().unwrap(), server.token)
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.stop()).unwrap();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}
