//! Words that 0.8 takes no others for. One that it doesn't know costs a client
//! the whole document, where 0.9 shows what it can.

use agenthost_protocol::wire::Object;

use crate::edit::{list_mut, set, text};

/// A field whose words are all known: where it is, the words, and what is
/// nearest to one that is not among them.
struct Closed {
    parts: &'static [&'static str],
    field: &'static str,
    known: &'static [&'static str],
    instead: &'static str,
}

const CLOSED: &[Closed] = &[
    Closed {
        parts: &["SessionState"],
        field: "lifecycle",
        known: &["creating", "ready", "creationFailed"],
        instead: "ready",
    },
    Closed {
        parts: &["MessageOrigin"],
        field: "kind",
        known: &["user", "agent", "tool", "systemNotification"],
        instead: "systemNotification",
    },
    Closed {
        parts: &[
            "ToolCall",
            "ToolCallConfirmation",
            "ToolCallRunning",
            "ToolCallAuthRequired",
            "ToolCallReady",
            "ToolCallConfirmed",
        ],
        field: "confirmed",
        known: &["not-needed", "user-action", "setting"],
        instead: "user-action",
    },
    Closed {
        parts: &["ConfirmationOption"],
        field: "kind",
        known: &["approve", "deny"],
        instead: "deny",
    },
    Closed {
        parts: &["RiskAssessment"],
        field: "kind",
        known: &["judge"],
        instead: "judge",
    },
    Closed {
        parts: &["Customization"],
        field: "contents",
        known: &[
            "plugin",
            "directory",
            "agent",
            "skill",
            "prompt",
            "rule",
            "hook",
            "mcpServer",
        ],
        instead: "rule",
    },
    Closed {
        parts: &["McpServerState", "McpAuthRequirement"],
        field: "reason",
        known: &["required", "expired", "insufficientScope"],
        instead: "required",
    },
    Closed {
        parts: &["AuthRequiredParams"],
        field: "reason",
        known: &["required", "expired"],
        instead: "required",
    },
    Closed {
        parts: &["ChangesetState", "ChangesetStatusChanged"],
        field: "status",
        known: &["computing", "ready", "error"],
        instead: "computing",
    },
    Closed {
        parts: &["ChangesetOperation", "ChangesetOperationStatusChanged"],
        field: "status",
        known: &["idle", "running", "error", "disabled"],
        instead: "disabled",
    },
    Closed {
        parts: &["ResourceResolveResult"],
        field: "type",
        known: &["file", "directory", "symlink"],
        instead: "file",
    },
];

/// What an operation on changes can be about.
const OPERATION_SCOPES: &[&str] = &["changeset", "resource", "range"];

/// For whom a customization can be on or off.
const ENABLEMENT_SCOPES: &[&str] = &["global", "workspace", "session"];

/// Puts a known word for each that is not.
pub(super) fn close(name: &str, part: &mut Object) {
    for closed in CLOSED.iter().filter(|closed| closed.parts.contains(&name)) {
        if text(part, closed.field).is_some_and(|word| !closed.known.contains(&word)) {
            set(part, closed.field, closed.instead);
        }
    }
    match name {
        "ChangesetOperation" => {
            if let Some(scopes) = list_mut(part, "scopes") {
                scopes.retain(|scope| is_one_of(scope.as_str(), OPERATION_SCOPES));
            }
        }
        // A scope that nobody understands turns things off, if it comes first.
        "CustomizationEnablement" if !is_one_of(text(part, "kind"), ENABLEMENT_SCOPES) => {
            part.clear();
            set(part, "kind", "global");
            set(part, "enabled", false);
        }
        _ => {}
    }
}

fn is_one_of(word: Option<&str>, known: &[&str]) -> bool {
    word.is_some_and(|word| known.contains(&word))
}
