//! Sessions of the host, by the names that a user types.

use std::path::{Path, PathBuf};

use agenthost_client::Client;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::session::{SessionMetadata, SessionState, SessionSummary};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::location::path_of;
use anyhow::{Context, bail};

use crate::commands::run::resolve_directory;
use crate::output::shorten_home;

/// Characters of an id that commands print. Random ids of 32 bits rarely begin alike.
const SHORT_ID_CHARS: usize = 8;

/// Returns the beginning of the id in the URI of a session. [`find_session`] accepts it.
pub(crate) fn short_id(session: &Uri) -> &str {
    let id = id_of(session);
    let end = id.char_indices().nth(SHORT_ID_CHARS);
    end.map_or(id, |(end, _)| id.get(..end).unwrap_or(id))
}

/// Returns all sessions, the latest first.
pub(crate) async fn list_sessions(client: &mut Client) -> anyhow::Result<Vec<SessionSummary>> {
    let mut sessions = Vec::new();
    let mut cursor = None;
    loop {
        let page = client.request(ListSessionsParams {
            channel: RootChannel,
            limit: None,
            cursor,
            meta: None,
        });
        let page = page.await?;
        sessions.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(sessions);
        }
    }
}

/// Returns `true` if a name is the URI of a session, or the beginning or end of its id.
pub(crate) fn is_named(session: &Uri, named: &str) -> bool {
    session.as_str().ends_with(named) || id_of(session).starts_with(named)
}

/// Finds a session by its URI, or by the beginning or end of its id.
pub(crate) async fn find_session(
    client: &mut Client,
    named: &str,
) -> anyhow::Result<SessionSummary> {
    let mut found = Vec::new();
    for summary in list_sessions(client).await? {
        if summary.resource.as_str() == named {
            return Ok(summary);
        }
        if is_named(&summary.resource, named) {
            found.push(summary);
        }
    }
    if found.len() > 1 {
        let ids = found.iter().map(|summary| id_of(&summary.resource));
        let ids = ids.collect::<Vec<_>>().join(", ");
        bail!("`{named}` matches {} sessions: {ids}", found.len());
    }
    match found.pop() {
        Some(summary) => Ok(summary),
        None => bail!("there is no session `{named}`\nhint: `agenthost sessions` lists them"),
    }
}

/// Returns the session that changed last.
pub(crate) async fn latest_session(client: &mut Client) -> anyhow::Result<SessionSummary> {
    match list_sessions(client).await?.into_iter().next() {
        Some(summary) => Ok(summary),
        None => bail!("there are no sessions yet\nhint: `agenthost attach --new` creates one"),
    }
}

/// Returns the session in a folder that changed last. A session in a worktree belongs to the
/// folder of its project.
pub(crate) async fn latest_session_in(
    client: &mut Client,
    directory: &Path,
) -> anyhow::Result<Option<SessionSummary>> {
    let here = agenthost_workspace::uri_of(directory);
    let here = here.context("the path of the folder is not UTF-8")?;
    let mut sessions = list_sessions(client).await?.into_iter();
    Ok(sessions.find(|summary| is_in_folder(summary, &here)))
}

/// Returns `true` if a session works in a folder, or in a worktree of the project in it.
pub(crate) fn is_in_folder(summary: &SessionSummary, folder: &Uri) -> bool {
    let project = summary.metadata.project.iter().map(|project| &project.uri);
    let folders = summary.metadata.working_directories.iter().flatten();
    project.chain(folders).any(|other| other == folder)
}

/// Returns the named session, or the latest one in the current folder.
pub(crate) async fn named_or_latest_session(
    client: &mut Client,
    named: Option<&str>,
) -> anyhow::Result<SessionSummary> {
    if let Some(named) = named {
        return find_session(client, named).await;
    }
    let directory = resolve_directory(None)?;
    match latest_session_in(client, &directory).await? {
        Some(summary) => Ok(summary),
        None => bail!("there is no session in this folder\nhint: `agenthost sessions` lists all"),
    }
}

/// Describes a session: its agent, folder and title.
pub(crate) fn describe_session(summary: &SessionSummary) -> String {
    describe(&summary.resource, &summary.metadata)
}

/// Describes a session whose channel is subscribed.
pub(crate) fn describe_session_state(session: &Uri, state: &SessionState) -> String {
    describe(session, &state.metadata)
}

fn describe(session: &Uri, metadata: &SessionMetadata) -> String {
    let mut text = metadata.provider.to_string();
    if let Some(folder) = session_folder(metadata) {
        text.push_str(&format!(" in {folder}"));
    }
    match metadata.title.as_str() {
        "" => text.push_str(&format!(" ({})", short_id(session))),
        title => text.push_str(&format!(": \"{title}\" ({})", short_id(session))),
    }
    text
}

/// Returns the path of the folder of a session, with `~` for the home directory. For a session
/// in a worktree it is the folder of its project.
pub(crate) fn session_folder(metadata: &SessionMetadata) -> Option<String> {
    let project = metadata.project.as_ref().map(|project| &project.uri);
    let folders = metadata.working_directories.as_ref();
    let folder = project.or_else(|| folders?.first());
    folder.map(|folder| shorten_home(&path_of(folder)))
}

/// Returns the first folder of a session, if it is on this machine.
pub(crate) fn local_folder(metadata: &SessionMetadata) -> Option<PathBuf> {
    let folder = metadata.working_directories.as_ref()?.first()?;
    let folder = PathBuf::from(path_of(folder));
    folder.is_dir().then_some(folder)
}

fn id_of(session: &Uri) -> &str {
    let id = session.as_str().rsplit(['/', ':']).next();
    id.unwrap_or_default()
}
