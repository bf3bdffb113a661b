//! Creates a git worktree for sessions that request isolation.
//!
//! A client requests it in the configuration of the session. The session exists at once. Its
//! agent is opened when the worktree has been created.

use agenthost_protocol::common::{
    ConfigPropertySchema, ErrorInfo, SessionConfigPropertySchema, SessionConfigSchema,
};
use agenthost_protocol::session::{SessionAction, SessionWorkingDirectoryReplaced};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::changeset::driver::{ChangeTask, CheckpointId, Worktree, WorktreeRequest};
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::RequestFailure;
use crate::host::step::Env;
use crate::terminal::output::CommandLine;

const ISOLATION_KEY: &str = "isolation";
const BASE_BRANCH_KEY: &str = "branch";
const WORKTREE_NAME_KEY: &str = "worktreeName";
const WORKTREE_FILES_KEY: &str = "worktreeFiles";
const WORKTREE_SETUP_KEY: &str = "worktreeSetup";

/// VS Code's name for the list of files to copy.
const WORKTREE_INCLUDE_FILES_KEY: &str = "worktreeIncludeFiles";

/// The value of `isolation` that requests a worktree.
const ISOLATION_WORKTREE: &str = "worktree";

/// Adds the isolation properties to a schema, unless the agent handles isolation itself.
pub(crate) fn add_isolation_schema(schema: &mut SessionConfigSchema) {
    if schema.properties.contains_key(ISOLATION_KEY) {
        return;
    }
    let choice = ConfigPropertySchema {
        default: Some(Json::from("folder")),
        r#enum: Some(vec![Json::from("folder"), Json::from(ISOLATION_WORKTREE)]),
        enum_labels: Some(vec!["Folder".to_owned(), "Worktree".to_owned()]),
        enum_descriptions: Some(vec![
            "Work in the folder itself".to_owned(),
            "Work in a git worktree with its own branch".to_owned(),
        ]),
        ..property_schema("string", "Isolation", "Where the agent works")
    };
    let files = ConfigPropertySchema {
        items: Some(Box::new(property_schema(
            "string",
            "File",
            "Path relative to the folder",
        ))),
        ..property_schema(
            "array",
            "Files to copy",
            "Files that git does not track and the worktree needs, such as .env",
        )
    };
    let offered = [
        (ISOLATION_KEY, choice),
        (
            BASE_BRANCH_KEY,
            property_schema(
                "string",
                "Base branch",
                "The branch that the worktree starts from",
            ),
        ),
        (
            WORKTREE_NAME_KEY,
            property_schema("string", "Worktree name", "Its branch is agenthost/NAME"),
        ),
        (WORKTREE_FILES_KEY, files.clone()),
        (WORKTREE_INCLUDE_FILES_KEY, files),
        (
            WORKTREE_SETUP_KEY,
            property_schema(
                "string",
                "Setup command",
                "Runs in the worktree before the agent starts",
            ),
        ),
    ];
    for (key, property) in offered {
        let known = schema.properties.entry(key.to_owned());
        known.or_insert(SessionConfigPropertySchema {
            property,
            enum_dynamic: None,
            session_mutable: None,
        });
    }
}

fn property_schema(kind: &str, title: &str, description: &str) -> ConfigPropertySchema {
    ConfigPropertySchema {
        description: Some(description.to_owned()),
        ..ConfigPropertySchema::new(kind, title)
    }
}

/// Returns the worktree that a configuration requests.
fn worktree_request(values: &Object) -> Option<WorktreeRequest> {
    if values.get(ISOLATION_KEY).and_then(Json::as_str) != Some(ISOLATION_WORKTREE) {
        return None;
    }
    let text = |key: &str| {
        let text = values.get(key).and_then(Json::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    let files = [WORKTREE_FILES_KEY, WORKTREE_INCLUDE_FILES_KEY].iter();
    let files = files.filter_map(|key| values.get(*key)?.as_array());
    let files = files.flatten().filter_map(Json::as_str);
    Some(WorktreeRequest {
        name: text(WORKTREE_NAME_KEY),
        base: text(BASE_BRANCH_KEY),
        files: files.map(ToOwned::to_owned).collect(),
        setup: text(WORKTREE_SETUP_KEY).map(CommandLine),
    })
}

impl Host {
    /// Opens the agent of a new session: at once, or after its worktree was created.
    pub(crate) fn open_or_isolate(&mut self, session: &Uri, out: &mut Effects) {
        let state = self.session(session);
        // An agent that handles isolation itself has a property with this name.
        let ours = state.is_some_and(|state| {
            let schema = self.config.catalog.schemas.get(&state.metadata.provider);
            schema.is_none_or(|schema| !schema.properties.contains_key(ISOLATION_KEY))
        });
        let config = state
            .and_then(|state| state.config.as_ref())
            .filter(|_| ours);
        match config.and_then(|config| worktree_request(&config.values)) {
            Some(request) => {
                let folders = self.session_folders(session);
                let task = ChangeTask::CreateWorktree(request);
                self.push_change_job(session.clone(), folders, task, out);
            }
            None => {
                self.take_checkpoint(session, CheckpointId::SessionStart, out);
                self.open_agent(session, out);
            }
        }
    }

    /// Handles the result of creating the worktree of a new session.
    pub(crate) fn handle_worktree_created(
        &mut self,
        env: &Env,
        session: &Uri,
        outcome: Result<Worktree, RequestFailure>,
        out: &mut Effects,
    ) {
        let folder = self.session_folders(session).into_iter().next();
        let (true, Some(folder)) = (self.is_creating(session), folder) else {
            return;
        };
        match outcome {
            Ok(worktree) => {
                let replaced = SessionWorkingDirectoryReplaced {
                    directory: folder,
                    replacement: worktree.directory,
                };
                let replaced = SessionAction::WorkingDirectoryReplaced(replaced);
                self.originate(session, replaced, out);
                self.sync_session(session, out);
                self.take_checkpoint(session, CheckpointId::SessionStart, out);
                self.open_agent(session, out);
            }
            Err(failure) => {
                let error = ErrorInfo::new("worktree", failure.to_string());
                self.fail_creation(env, session, error, out);
            }
        }
    }
}
