//! Replaces unknown values of enums that are closed up to 0.8. An unknown value makes the whole
//! document undecodable for a client of 0.8, whereas 0.9 accepts it.

use agenthost_protocol::wire::Object;

use crate::edit::{list_mut, set_field, text_field};

/// A closed enum field: the parts that have it, its values, and the closest value for an
/// unknown one.
struct ClosedEnum {
    parts: &'static [&'static str],
    field: &'static str,
    values: &'static [&'static str],
    fallback: &'static str,
}

const CLOSED_ENUMS: &[ClosedEnum] = &[
    ClosedEnum {
        parts: &["SessionState"],
        field: "lifecycle",
        values: &["creating", "ready", "creationFailed"],
        fallback: "ready",
    },
    ClosedEnum {
        parts: &["MessageOrigin"],
        field: "kind",
        values: &["user", "agent", "tool", "systemNotification"],
        fallback: "systemNotification",
    },
    ClosedEnum {
        parts: &[
            "ToolCall",
            "ToolCallConfirmation",
            "ToolCallRunning",
            "ToolCallAuthRequired",
            "ToolCallReady",
            "ToolCallConfirmed",
        ],
        field: "confirmed",
        values: &["not-needed", "user-action", "setting"],
        fallback: "user-action",
    },
    ClosedEnum {
        parts: &["ConfirmationOption"],
        field: "kind",
        values: &["approve", "deny"],
        fallback: "deny",
    },
    ClosedEnum {
        parts: &["RiskAssessment"],
        field: "kind",
        values: &["judge"],
        fallback: "judge",
    },
    ClosedEnum {
        parts: &["Customization"],
        field: "contents",
        values: &[
            "plugin",
            "directory",
            "agent",
            "skill",
            "prompt",
            "rule",
            "hook",
            "mcpServer",
        ],
        fallback: "rule",
    },
    ClosedEnum {
        parts: &["McpServerState", "McpAuthRequirement"],
        field: "reason",
        values: &["required", "expired", "insufficientScope"],
        fallback: "required",
    },
    ClosedEnum {
        parts: &["AuthRequiredParams"],
        field: "reason",
        values: &["required", "expired"],
        fallback: "required",
    },
    ClosedEnum {
        parts: &["ChangesetState", "ChangesetStatusChanged"],
        field: "status",
        values: &["computing", "ready", "error"],
        fallback: "computing",
    },
    ClosedEnum {
        parts: &["ChangesetOperation", "ChangesetOperationStatusChanged"],
        field: "status",
        values: &["idle", "running", "error", "disabled"],
        fallback: "disabled",
    },
    ClosedEnum {
        parts: &["ResourceResolveResult"],
        field: "type",
        values: &["file", "directory", "symlink"],
        fallback: "file",
    },
];

/// Scopes of changeset operations in 0.8.
const OPERATION_SCOPES: &[&str] = &["changeset", "resource", "range"];

/// Scopes of enablement decisions in 0.8.
const ENABLEMENT_SCOPES: &[&str] = &["global", "workspace", "session"];

/// Replaces each unknown value of a closed enum by a known one.
pub(super) fn close_enums(name: &str, part: &mut Object) {
    for closed in CLOSED_ENUMS
        .iter()
        .filter(|closed| closed.parts.contains(&name))
    {
        if text_field(part, closed.field).is_some_and(|word| !closed.values.contains(&word)) {
            set_field(part, closed.field, closed.fallback);
        }
    }
    match name {
        "ChangesetOperation" => {
            if let Some(scopes) = list_mut(part, "scopes") {
                scopes.retain(|scope| is_one_of(scope.as_str(), OPERATION_SCOPES));
            }
        }
        // A decision with an unknown scope means disabled, if it comes first.
        "CustomizationEnablement" if !is_one_of(text_field(part, "kind"), ENABLEMENT_SCOPES) => {
            part.clear();
            set_field(part, "kind", "global");
            set_field(part, "enabled", false);
        }
        _ => {}
    }
}

fn is_one_of(word: Option<&str>, known: &[&str]) -> bool {
    word.is_some_and(|word| known.contains(&word))
}
