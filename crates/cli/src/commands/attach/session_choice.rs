//! Chooses the session to attach to.

use agenthost_client::Client;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use anyhow::bail;

use super::AttachArgs;
use crate::dialog;
use crate::dialog::agent_choice::choose_agent;
use crate::dialog::question::ask_yes_no;
use crate::output;
use crate::session_lookup::{
    describe_session, find_session, latest_session, latest_session_in, short_id,
};
use crate::terminal::can_ask;

/// Returns the named session, a new one, or the latest one of this folder. Asks before it uses
/// a session of another folder. Returns `None` if the user does not want it.
pub(super) async fn choose_session(
    client: &mut Client,
    arguments: &AttachArgs,
) -> anyhow::Result<Option<Uri>> {
    if let Some(named) = &arguments.session {
        return Ok(Some(find_session(client, named).await?.resource));
    }
    let directory = arguments.host.resolve_directory(client, None)?;
    if arguments.new {
        let agent = choose_agent(client, arguments.agent.as_deref(), &arguments.host).await?;
        let session = dialog::create_session(client, agent, &directory, None).await?;
        return Ok(Some(session));
    }
    if let Some(summary) = latest_session_in(client, &directory).await? {
        return Ok(Some(summary.resource));
    }
    let latest = latest_session(client).await?;
    if arguments
        .host
        .remote
        .as_ref()
        .is_some_and(|remote| remote.folder.is_none())
    {
        // There is no current folder at another machine.
        return Ok(Some(latest.resource));
    }
    confirm_session(&latest).map(|confirmed| confirmed.then_some(latest.resource))
}

/// Asks if a session of another folder is meant.
fn confirm_session(latest: &SessionSummary) -> anyhow::Result<bool> {
    let id = short_id(&latest.resource);
    let described = describe_session(latest);
    if !can_ask() {
        bail!(
            "there is no session in this folder\n\
             hint: `agenthost attach {id}` joins the latest one, {described}; \
             `agenthost attach --new` creates one here"
        );
    }
    output::print_note("there is no session in this folder; the latest one elsewhere is");
    output::print_note(&format!("  {described}"));
    let agreed = ask_yes_no("attach to it?")?;
    if !agreed {
        output::print_note("`agenthost attach --new` creates a session in this folder");
    }
    Ok(agreed)
}
