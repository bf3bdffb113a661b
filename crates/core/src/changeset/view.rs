//! The views of changesets and their URIs.
//!
//! The URIs are those that shipped clients know. They extend the URI of the session or the
//! chat.

use agenthost_protocol::changeset::{Changeset, ChangesetCapabilities};
use agenthost_protocol::ids::TurnId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use percent_encoding::percent_decode_str;

use crate::changeset::driver::{GitStatus, WorkspaceStatus};

const CHANGESET_PATH_MARKER: &str = "/changeset/";

/// The content of a changeset, as its URI names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangesetView {
    /// Changes since the branch diverged from its base.
    Branch,
    /// Changes since the last commit.
    Uncommitted,
    /// Changes since the start of the session.
    Session,
    /// Changes during one turn.
    Turn(TurnId),
    /// Changes from the end of one turn to the end of another.
    BetweenTurns(TurnId, TurnId),
}

/// Kind of channel that a catalogue belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangesetOwner {
    Session,
    Chat,
}

impl ChangesetView {
    /// Parses the URI of a changeset into its owner and view.
    pub(crate) fn parse_changeset_uri(uri: &Uri) -> Option<(Uri, ChangesetView)> {
        let (owner, view) = uri.as_str().rsplit_once(CHANGESET_PATH_MARKER)?;
        let turn = |text: &str| {
            let name = percent_decode_str(text).decode_utf8().ok()?;
            (!name.is_empty()).then(|| TurnId::from(name.into_owned()))
        };
        let mut parts = view.split('/');
        let view = match (parts.next()?, parts.next(), parts.next()) {
            ("branch", None, None) => ChangesetView::Branch,
            ("uncommitted", None, None) => ChangesetView::Uncommitted,
            ("session", None, None) => ChangesetView::Session,
            ("turn", Some(one), None) => ChangesetView::Turn(turn(one)?),
            ("compare", Some(one), Some(other)) => {
                ChangesetView::BetweenTurns(turn(one)?, turn(other)?)
            }
            _ => return None,
        };
        let whole = parts.next().is_none();
        whole.then(|| (Uri::from(owner), view))
    }
}

/// Returns `true` if the URI is that of a changeset of any owner.
pub(crate) fn is_changeset_uri(uri: &Uri) -> bool {
    uri.as_str().contains(CHANGESET_PATH_MARKER)
}

pub(crate) fn is_changeset_of(owner: &Uri, uri: &Uri) -> bool {
    let rest = uri.as_str().strip_prefix(owner.as_str());
    rest.is_some_and(|rest| rest.starts_with(CHANGESET_PATH_MARKER))
}

/// Returns the views that an owner offers (CHS-1, CHS-2).
pub(crate) fn build_catalogue(
    owner: &Uri,
    kind: ChangesetOwner,
    status: &WorkspaceStatus,
) -> Vec<Changeset> {
    let view = |view: &str, kind: &str, label: &str, description: String| Changeset {
        label: label.to_owned(),
        uri_template: format!("{owner}{CHANGESET_PATH_MARKER}{view}"),
        description: Some(description),
        change_kind: kind.to_owned(),
        capabilities: Some(ChangesetCapabilities {
            review: Some(Object::new()),
        }),
    };
    let mut views = Vec::new();
    if let Some(git) = &status.git {
        views.push(view(
            "branch",
            "branch",
            "Branch changes",
            describe_branches(git),
        ));
        views.push(view(
            "uncommitted",
            "uncommitted",
            "Uncommitted changes",
            "Changes that are not committed".to_owned(),
        ));
    }
    if kind == ChangesetOwner::Session {
        views.push(view(
            "session",
            "session",
            "Session changes",
            "Changes since the session began".to_owned(),
        ));
    }
    // Braces in the owner's URI would be read as variables of the template.
    if !owner.as_str().contains(['{', '}']) {
        views.push(view(
            "turn/{turnId}",
            "turn",
            "Turn changes",
            "Changes during a turn".to_owned(),
        ));
        views.push(view(
            "compare/{originalTurnId}/{modifiedTurnId}",
            "compare-turns",
            "Changes between turns",
            "Changes from the end of one turn to the end of another".to_owned(),
        ));
    }
    views
}

/// Returns the catalogue of a session without tracking: one view that stays empty, with the
/// reason.
pub(crate) fn untracked_catalogue(owner: &Uri, reason: &str) -> Vec<Changeset> {
    vec![Changeset {
        label: "Session changes".to_owned(),
        uri_template: format!("{owner}{CHANGESET_PATH_MARKER}session"),
        description: Some(format!("Not available: {reason}")),
        change_kind: "session".to_owned(),
        capabilities: None,
    }]
}

/// Formats the branch and its base for a description.
fn describe_branches(git: &GitStatus) -> String {
    let branch = git.branch.as_deref().unwrap_or("no branch");
    match git.base.as_deref().or(git.upstream.as_deref()) {
        Some(base) => format!("{branch} → {base}"),
        None => branch.to_owned(),
    }
}
