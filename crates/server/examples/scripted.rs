//! A host whose agent does what a message says, line by line: to see what a
//! client makes of anything that an agent may do.
//!
//! ```sh
//! cargo run -p agenthost-server --example scripted -- /tmp/scripted &
//! agenthost run --data-dir /tmp/scripted "say hello ;; call c Read ask ;; wait ;; + done c"
//! ```
//!
//! What a line can be, `ScriptedAgent` in the testkit says.

use std::sync::Arc;

use agenthost_server::{ServeError, ServerConfig, serve};
use agenthost_testkit::ScriptedAgent;

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let directory = std::env::args().nth(1).unwrap_or("scripted".to_owned());
    let mut config = ServerConfig::new(directory);
    config.agents = vec![Arc::new(ScriptedAgent::default())];
    let mut server = serve(config).await?;
    if let Some(url) = server.url() {
        #[expect(clippy::print_stdout, reason = "for who started it")]
        {
            println!("{url}?tkn={}", server.token);
        }
    }
    server.wait().await
}
