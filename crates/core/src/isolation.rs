//! Sessions that work in a worktree of their own.
//!
//! A client asks for it when it configures the session. The session is there
//! at once; its agent opens when the worktree is.

use agenthost_protocol::common::{
    ConfigPropertySchema, ErrorInfo, SessionConfigPropertySchema, SessionConfigSchema,
};
use agenthost_protocol::session::{SessionAction, SessionWorkingDirectoryReplaced};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::changes::{ChangeTask, Mark, Worktree, WorktreeWish};
use crate::effect::Effects;
use crate::env::Env;
use crate::host::Host;
use crate::refusal::Failure;
use crate::terminal_output::CommandLine;

const ISOLATION: &str = "isolation";
const BRANCH: &str = "branch";
const NAME: &str = "worktreeName";
const FILES: &str = "worktreeFiles";
const SETUP: &str = "worktreeSetup";

/// What VS Code calls the files to copy.
const INCLUDE_FILES: &str = "worktreeIncludeFiles";

/// The value that asks for a worktree.
const WORKTREE: &str = "worktree";

/// Adds what can be configured about where a session works, unless its agent
/// sees to that itself.
pub(crate) fn offer(schema: &mut SessionConfigSchema) {
    if schema.properties.contains_key(ISOLATION) {
        return;
    }
    let choice = ConfigPropertySchema {
        default: Some(Json::from("folder")),
        r#enum: Some(vec![Json::from("folder"), Json::from(WORKTREE)]),
        enum_labels: Some(vec!["Folder".to_owned(), "Worktree".to_owned()]),
        enum_descriptions: Some(vec![
            "Work in the folder itself".to_owned(),
            "Work in a git worktree with a branch of its own".to_owned(),
        ]),
        ..described("string", "Isolation", "Where the agent works")
    };
    let files = ConfigPropertySchema {
        items: Some(Box::new(described(
            "string",
            "File",
            "Named from the folder",
        ))),
        ..described(
            "array",
            "Files to copy",
            "Files that git does not track and the worktree needs, such as .env",
        )
    };
    let offered = [
        (ISOLATION, choice),
        (
            BRANCH,
            described(
                "string",
                "Base branch",
                "The branch that the worktree starts from",
            ),
        ),
        (
            NAME,
            described("string", "Worktree name", "Its branch is agenthost/NAME"),
        ),
        (FILES, files.clone()),
        (INCLUDE_FILES, files),
        (
            SETUP,
            described(
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

fn described(kind: &str, title: &str, description: &str) -> ConfigPropertySchema {
    ConfigPropertySchema {
        description: Some(description.to_owned()),
        ..ConfigPropertySchema::new(kind, title)
    }
}

/// The worktree that a configuration asks for.
fn wish(values: &Object) -> Option<WorktreeWish> {
    if values.get(ISOLATION).and_then(Json::as_str) != Some(WORKTREE) {
        return None;
    }
    let text = |key: &str| {
        let text = values.get(key).and_then(Json::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    let files = [FILES, INCLUDE_FILES].iter();
    let files = files.filter_map(|key| values.get(*key)?.as_array());
    let files = files.flatten().filter_map(Json::as_str);
    Some(WorktreeWish {
        name: text(NAME),
        base: text(BRANCH),
        files: files.map(ToOwned::to_owned).collect(),
        setup: text(SETUP).map(CommandLine),
    })
}

impl Host {
    /// Has the agent of a new session opened: at once, or when its worktree is
    /// there.
    pub(crate) fn settle_in(&mut self, session: &Uri, out: &mut Effects) {
        let state = self.session(session);
        // An agent that sees to it itself has an option of that name.
        let ours = state.is_some_and(|state| {
            let schema = self.config.schemas.get(&state.metadata.provider);
            schema.is_none_or(|schema| !schema.properties.contains_key(ISOLATION))
        });
        let config = state
            .and_then(|state| state.config.as_ref())
            .filter(|_| ours);
        match config.and_then(|config| wish(&config.values)) {
            Some(wish) => {
                let folders = self.folders(session);
                let task = ChangeTask::MakeWorktree(wish);
                self.look(session.clone(), folders, task, out);
            }
            None => {
                self.mark(session, Mark::Start, out);
                self.open_agent(session, out);
            }
        }
    }

    /// The worktree of a new session is there, or could not be made.
    pub(crate) fn settled(
        &mut self,
        env: &Env,
        session: &Uri,
        outcome: Result<Worktree, Failure>,
        out: &mut Effects,
    ) {
        let folder = self.folders(session).into_iter().next();
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
                self.mark(session, Mark::Start, out);
                self.open_agent(session, out);
            }
            Err(failure) => {
                let error = ErrorInfo::new("worktree", failure.to_string());
                self.creation_failed(env, session, error, out);
            }
        }
    }
}
