//! The values that shells complete: sessions and agents of the running host.

use std::time::Duration;

use agenthost_client::{Client, HostAddress};
use agenthost_server::HOST_FILE;
use clap_complete::engine::CompletionCandidate;

use crate::connect::{HostOptions, check_owner, client_options};
use crate::host_settings;
use crate::output::escape_invisible;
use crate::session_lookup::{list_sessions, session_folder, short_id};

/// Timeout for all values. The user waits for them after pressing Tab.
const COMPLETION_TIMEOUT: Duration = Duration::from_millis(800);

/// Returns the short ids of the sessions, with their titles.
pub(crate) fn session_ids() -> Vec<CompletionCandidate> {
    let list = |mut client: Client| async move {
        let sessions = list_sessions(&mut client).await?;
        let candidates = sessions.iter().map(|summary| {
            let metadata = &summary.metadata;
            let folder = session_folder(metadata).unwrap_or_default();
            let about = format!("{} in {folder}: {}", metadata.provider, metadata.title);
            CompletionCandidate::new(short_id(&summary.resource))
                .help(Some(escape_invisible(&about).into()))
        });
        Ok(candidates.collect())
    };
    ask_host(list)
}

/// Returns the names of the agents.
pub(crate) fn agent_names() -> Vec<CompletionCandidate> {
    let list = |mut client: Client| async move {
        let agents = host_settings::default_agent(&mut client).await?.agents;
        let candidates = agents.iter().map(|agent| {
            CompletionCandidate::new(agent.provider.as_str())
                .help(Some(escape_invisible(&agent.display_name).into()))
        });
        Ok(candidates.collect())
    };
    ask_host(list)
}

/// Asks the running host. Without one, and after an error, nothing is completed: a shell has no
/// place for messages.
fn ask_host<F>(list: impl FnOnce(Client) -> F) -> Vec<CompletionCandidate>
where
    F: Future<Output = anyhow::Result<Vec<CompletionCandidate>>>,
{
    let Ok(runtime) = tokio::runtime::Runtime::new() else {
        return Vec::new();
    };
    let asked = async {
        let directory = HostOptions::default().resolve_settings()?.data_directory;
        check_owner(&directory)?;
        let address = HostAddress::ReadyFile(directory.join(HOST_FILE));
        let client = Client::connect(&address, client_options(Duration::ZERO)?).await?;
        list(client).await
    };
    let asked = runtime.block_on(async { tokio::time::timeout(COMPLETION_TIMEOUT, asked).await });
    runtime.shutdown_background();
    match asked {
        Ok(Ok(candidates)) => candidates,
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}
