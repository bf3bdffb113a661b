//! Approvals that follow from the configuration of a session.
//!
//! The properties have the names that VS Code uses: `autoApprove` decides about all calls of
//! the session, `permissions` about those of certain tools. They answer for the user, after the
//! hooks. Calls of client tools are excluded: the client itself requests approval.

use agenthost_protocol::chat::{
    CancellationReason, ChatAction, ConfirmationOption, ConfirmationOptionKind, ToolCall,
    ToolCallConfirmed, ToolCallContributor, ToolCallReady, ToolCallTarget,
};
use agenthost_protocol::common::{
    ConfigPropertySchema, Meta, SessionConfigPropertySchema, SessionConfigSchema,
};
use agenthost_protocol::ids::ConfirmationOptionId;
use agenthost_protocol::session::{SessionAction, SessionConfigChanged};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::agent::ToolCallDecision;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::effect::audit::approvals::AuditDecision;
use crate::host::step::Env;

const AUTO_APPROVE_KEY: &str = "autoApprove";
const ASK_VALUE: &str = "default";
const APPROVE_ALL_VALUE: &str = "autoApprove";

const PERMISSIONS_KEY: &str = "permissions";
const ALLOW_KEY: &str = "allow";
const DENY_KEY: &str = "deny";

/// Maximum number of tools in each list of a session.
const MAX_PERMISSION_TOOLS: u64 = 200;

/// Id of the option that the host adds to the options of an agent.
const ALLOW_SESSION_OPTION_ID: &str = "agenthost.allow-session";

/// Keys in the `_meta` of ACP agents for the kind of a call and the kinds of its options.
const KIND_META_KEY: &str = "kind";
const PERMISSION_KINDS_META_KEY: &str = "permissionKinds";
const ALLOW_ONCE_KIND: &str = "allow_once";

/// The decision of the configuration about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionVerdict {
    /// The request is published, and the user decides.
    Ask,
    Allow(PermissionRule),
    Deny,
}

/// The rule of the configuration that allows a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionRule {
    /// All calls are allowed.
    AutoApprove,
    /// The tool is in the list of allowed tools.
    AllowedTool,
}

impl PermissionRule {
    fn name(self) -> &'static str {
        match self {
            PermissionRule::AutoApprove => "autoApprove",
            PermissionRule::AllowedTool => "permissions.allow",
        }
    }
}

/// Adds the properties to a schema, unless the agent has properties with the same names.
pub(crate) fn add_permission_schema(schema: &mut SessionConfigSchema) {
    let approve = ConfigPropertySchema {
        description: Some("Which actions of the agent need an approval".to_owned()),
        default: Some(Json::from(ASK_VALUE)),
        r#enum: Some(vec![Json::from(ASK_VALUE), Json::from(APPROVE_ALL_VALUE)]),
        enum_labels: Some(vec!["Ask first".to_owned(), "Allow all".to_owned()]),
        enum_descriptions: Some(vec![
            "Ask whenever the agent requests an approval".to_owned(),
            "Approve everything that the agent asks for".to_owned(),
        ]),
        ..ConfigPropertySchema::new("string", "Approvals")
    };
    let tools = |title: &str| ConfigPropertySchema {
        items: Some(Box::new(ConfigPropertySchema::new("string", "Tool"))),
        max_items: Some(MAX_PERMISSION_TOOLS),
        ..ConfigPropertySchema::new("array", title)
    };
    let lists = [
        (ALLOW_KEY.to_owned(), tools("Allowed tools")),
        (DENY_KEY.to_owned(), tools("Denied tools")),
    ];
    let permissions = ConfigPropertySchema {
        description: Some("Tools that need no approval, and tools that never get one".to_owned()),
        properties: Some(lists.into_iter().collect()),
        ..ConfigPropertySchema::new("object", "Permissions")
    };
    for (key, property) in [(AUTO_APPROVE_KEY, approve), (PERMISSIONS_KEY, permissions)] {
        let known = schema.properties.entry(key.to_owned());
        known.or_insert(SessionConfigPropertySchema {
            property,
            enum_dynamic: None,
            session_mutable: Some(true),
        });
    }
}

/// Returns `true` if an option was added by the host. The agent does not know it.
pub(crate) fn is_host_option(id: &ConfirmationOptionId) -> bool {
    id.as_str() == ALLOW_SESSION_OPTION_ID
}

/// Adds an option that allows a tool for the whole session, if the agent offers only a single
/// approval.
pub(crate) fn add_session_option(ready: &mut ToolCallReady) {
    // The agent gets one approval of this call, so it needs an option that allows the call
    // once.
    if ready.target.meta.as_ref().is_some_and(lacks_allow_once) {
        return;
    }
    let Some(options) = &mut ready.question.options else {
        return;
    };
    let approves = |option: &&ConfirmationOption| option.kind == ConfirmationOptionKind::Approve;
    if options.iter().filter(approves).count() != 1 {
        return;
    }
    let after = options.iter().position(|option| approves(&option));
    options.insert(
        after.map_or(0, |index| index + 1),
        ConfirmationOption {
            id: ALLOW_SESSION_OPTION_ID.into(),
            label: "Allow in this session".to_owned(),
            kind: ConfirmationOptionKind::Approve,
            group: None,
        },
    );
}

impl Host {
    /// Returns the decision of the session's configuration about a call that needs approval.
    pub(crate) fn permission_verdict(
        &self,
        chat: &Uri,
        ready: &ToolCallReady,
    ) -> PermissionVerdict {
        if ready.confirmed.is_some() {
            return PermissionVerdict::Ask;
        }
        let head = self
            .active_call(chat, &ready.target)
            .and_then(ToolCall::head);
        let Some(head) = head else {
            return PermissionVerdict::Ask;
        };
        let contributor = ready.contributor.as_ref().or(head.contributor.as_ref());
        if matches!(contributor, Some(ToolCallContributor::Client(_))) {
            return PermissionVerdict::Ask;
        }
        let session = self
            .session_of(chat)
            .and_then(|session| self.session(session));
        let config = session.and_then(|session| session.config.as_ref());
        let Some(values) = config.map(|config| &config.values) else {
            return PermissionVerdict::Ask;
        };
        // An agent may give another name in the approval request than at the start of the call.
        // A call is denied if any of its names is denied, and allowed only if all of them are
        // allowed.
        let asked = ready.target.meta.as_ref();
        let kind = asked.and_then(|meta| meta.get(KIND_META_KEY)?.as_str());
        let names = [Some(head.tool_name.as_str()), kind];
        let lists = |list: &str, name: &str| listed_tools(values, list).any(|tool| tool == name);
        let mut named = names.iter().flatten();
        let all = values.get(AUTO_APPROVE_KEY).and_then(Json::as_str) == Some(APPROVE_ALL_VALUE);
        if named.clone().any(|name| lists(DENY_KEY, name)) {
            PermissionVerdict::Deny
        } else if asked.is_some_and(lacks_allow_once) {
            PermissionVerdict::Ask
        } else if all {
            PermissionVerdict::Allow(PermissionRule::AutoApprove)
        } else if named.all(|name| lists(ALLOW_KEY, name)) {
            PermissionVerdict::Allow(PermissionRule::AllowedTool)
        } else {
            PermissionVerdict::Ask
        }
    }

    /// Answers an approval request for the user.
    pub(crate) fn apply_permission_verdict(
        &mut self,
        env: &Env,
        chat: &Uri,
        target: ToolCallTarget,
        verdict: PermissionVerdict,
        out: &mut Effects,
    ) {
        match verdict {
            PermissionVerdict::Ask => {}
            PermissionVerdict::Allow(rule) => {
                let decision = AuditDecision::Approved;
                self.audit_decision(chat, &target, decision, rule.name(), out);
                let approved = ToolCallDecision::Approved {
                    option: None,
                    edited_input: None,
                };
                self.send_decision(chat, &target, approved, out);
            }
            PermissionVerdict::Deny => {
                let decision = AuditDecision::Denied;
                self.audit_decision(chat, &target, decision, "permissions.deny", out);
                let denied = ChatAction::ToolCallConfirmed(Box::new(ToolCallConfirmed {
                    target,
                    approved: false,
                    confirmed: None,
                    reason: Some(CancellationReason::Denied),
                    edited_tool_input: None,
                    user_suggestion: None,
                    reason_message: Some("The session's permissions deny this tool".into()),
                    selected_option_id: None,
                }));
                if self.originate(chat, denied.clone(), out) {
                    self.react(env, chat, &denied.into(), out);
                }
            }
        }
    }

    /// Allows a tool for the rest of the session, because the user selected the host's option
    /// for one of its calls.
    pub(crate) fn allow_tool_in_session(
        &mut self,
        chat: &Uri,
        target: &ToolCallTarget,
        out: &mut Effects,
    ) {
        let head = self.active_call(chat, target).and_then(ToolCall::head);
        let tool = head.map(|head| head.tool_name.clone());
        let (Some(tool), Some(session)) = (tool, self.session_of(chat).cloned()) else {
            return;
        };
        let config = self.session(&session).and_then(|s| s.config.as_ref());
        let Some(values) = config.map(|config| &config.values) else {
            return;
        };
        let mut permissions = values
            .get(PERMISSIONS_KEY)
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default();
        let allowed = listed_tools(values, ALLOW_KEY).map(str::to_owned);
        let mut allowed: Vec<_> = allowed.filter(|other| *other != tool).collect();
        if allowed.len() as u64 >= MAX_PERMISSION_TOOLS {
            return;
        }
        allowed.push(tool);
        permissions.insert(ALLOW_KEY.to_owned(), Json::from(allowed));
        let config: Object = [(PERMISSIONS_KEY.to_owned(), Json::Object(permissions))]
            .into_iter()
            .collect();
        let changed = SessionConfigChanged {
            config,
            replace: None,
        };
        self.originate(&session, SessionAction::ConfigChanged(changed), out);
    }
}

/// Returns `true` if an agent declares kinds of options, but none that allows a call once.
fn lacks_allow_once(meta: &Meta) -> bool {
    let kinds = meta
        .get(PERMISSION_KINDS_META_KEY)
        .and_then(Json::as_object);
    kinds.is_some_and(|kinds| {
        !kinds
            .values()
            .any(|kind| kind.as_str() == Some(ALLOW_ONCE_KIND))
    })
}

fn listed_tools<'a>(values: &'a Object, list: &str) -> impl Iterator<Item = &'a str> {
    let tools = values
        .get(PERMISSIONS_KEY)
        .and_then(|value| value.get(list));
    let tools = tools.and_then(Json::as_array).into_iter().flatten();
    tools.filter_map(Json::as_str)
}
