//! Tests for the tables of actions and methods.

use std::collections::BTreeSet;

use agenthost_protocol::action::{Action, Dispatcher};
use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::rpc::{
    ClientNotification, ClientRequest, ErrorCode, HostNotification, HostRequest,
};
use agenthost_protocol::version::{ProtocolCapabilities, Release, Version};
use agenthost_protocol::wire::{Shape, Wire};
use expect_test::expect;

#[test]
fn the_table_has_106_actions_of_which_47_are_for_clients() {
    let table: Vec<_> = Action::table().collect();
    let names: BTreeSet<_> = table.iter().map(|info| info.name).collect();
    assert_eq!(table.len(), 106);
    assert_eq!(names.len(), 106);
    let clients = table
        .iter()
        .filter(|info| info.dispatcher == Dispatcher::Client);
    assert_eq!(clients.count(), 47);
}

/// The table of actions, with the channel, the dispatcher and the first version of each.
#[test]
fn the_table_of_actions_is_unchanged() {
    let mut lines = String::new();
    for kind in ChannelKind::ALL {
        let of_kind: Vec<_> = Action::table()
            .filter(|info| info.channel == *kind)
            .collect();
        let clients = of_kind
            .iter()
            .filter(|info| info.dispatcher == Dispatcher::Client)
            .count();
        lines.push_str(&format!(
            "{kind:?}: {} actions, {clients} for clients\n",
            of_kind.len()
        ));
        for info in of_kind {
            let who = match info.dispatcher {
                Dispatcher::Client => "C",
                Dispatcher::Host => "S",
            };
            lines.push_str(&format!("  {who} {} {}\n", info.since, info.name));
        }
    }
    expect![[r#"
        Session: 30 actions, 13 for clients
          S 0.1.0 session/ready
          S 0.1.0 session/creationFailed
          S 0.4.0 session/chatAdded
          S 0.4.0 session/chatRemoved
          S 0.4.0 session/chatUpdated
          S 1.0.0 session/chatsReordered
          S 0.4.0 session/defaultChatChanged
          C 0.1.0 session/titleChanged
          S 0.1.0 session/serverToolsChanged
          C 0.5.0 session/activeClientSet
          C 0.5.0 session/activeClientRemoved
          C 0.7.0 session/workingDirectorySet
          C 0.7.0 session/workingDirectoryRemoved
          C 0.8.0 session/workingDirectoryReplaced
          S 0.5.1 session/inputNeededSet
          S 0.5.1 session/inputNeededRemoved
          S 0.1.0 session/customizationsChanged
          C 0.1.0 session/customizationToggled
          S 0.2.0 session/customizationUpdated
          S 0.2.0 session/customizationRemoved
          S 0.3.0 session/mcpServerStateChanged
          C 0.5.2 session/mcpServerStartRequested
          C 0.5.2 session/mcpServerStopRequested
          C 1.0.0 session/mcpServerBackgroundRequested
          C 0.1.0 session/isReadChanged
          C 0.1.0 session/isArchivedChanged
          S 0.1.0 session/activityChanged
          S 0.2.0 session/changesetsChanged
          C 0.1.0 session/configChanged
          S 0.1.0 session/metaChanged
        Chat: 37 actions, 18 for clients
          C 0.4.0 chat/turnStarted
          S 0.4.0 chat/delta
          S 0.4.0 chat/responsePart
          S 0.4.0 chat/reasoning
          S 0.4.0 chat/usage
          S 0.4.0 chat/turnComplete
          C 0.4.0 chat/turnCancelled
          S 0.4.0 chat/error
          C 0.9.0 chat/turnResume
          S 0.4.0 chat/toolCallStart
          S 0.4.0 chat/toolCallDelta
          S 0.4.0 chat/toolCallReady
          C 0.4.0 chat/toolCallConfirmed
          C 0.4.0 chat/toolCallComplete
          C 0.4.0 chat/toolCallResultConfirmed
          C 0.4.0 chat/toolCallContentChanged
          S 0.6.0 chat/toolCallAuthRequired
          S 0.6.0 chat/toolCallAuthResolved
          S 0.5.0 chat/activityChanged
          S 1.0.0 chat/backgroundWorkSet
          S 1.0.0 chat/backgroundWorkRemoved
          S 1.0.0 chat/movableChanged
          S 1.0.0 chat/changesetsChanged
          S 1.0.0 chat/canvasesChanged
          C 0.7.0 chat/workingDirectorySet
          C 0.7.0 chat/workingDirectoryRemoved
          C 0.4.0 chat/pendingMessageSet
          C 0.4.0 chat/pendingMessageRemoved
          C 0.4.0 chat/queuedMessagesReordered
          C 0.5.0 chat/draftChanged
          C 1.0.0 chat/isReadChanged
          C 1.0.0 chat/isArchivedChanged
          S 0.4.0 chat/inputRequested
          C 0.4.0 chat/inputAnswerChanged
          C 0.4.0 chat/inputCompleted
          C 0.4.0 chat/truncated
          S 0.5.1 chat/turnsLoaded
        Terminal: 11 actions, 5 for clients
          S 0.1.0 terminal/data
          C 0.1.0 terminal/input
          C 0.1.0 terminal/resized
          C 0.1.0 terminal/claimed
          C 0.1.0 terminal/titleChanged
          S 0.1.0 terminal/cwdChanged
          S 0.1.0 terminal/exited
          C 0.1.0 terminal/cleared
          S 0.1.0 terminal/commandDetectionAvailable
          S 0.1.0 terminal/commandExecuted
          S 0.1.0 terminal/commandFinished
        Changeset: 8 actions, 1 for clients
          S 0.2.0 changeset/statusChanged
          S 0.2.0 changeset/fileSet
          S 0.2.0 changeset/fileRemoved
          C 0.6.0 changeset/filesReviewChanged
          S 0.4.0 changeset/contentChanged
          S 0.2.0 changeset/operationsChanged
          S 0.3.0 changeset/operationStatusChanged
          S 0.2.0 changeset/cleared
        ResourceWatch: 1 actions, 0 for clients
          S 0.2.0 resourceWatch/changed
        Canvas: 1 actions, 0 for clients
          S 1.0.0 canvas/stateChanged
        AutomationRun: 5 actions, 1 for clients
          S 0.9.0 automationRun/lifecycleChanged
          S 0.9.0 automationRun/sessionSet
          S 0.9.0 automationRun/sessionRemoved
          S 0.9.0 automationRun/primarySessionChanged
          C 0.9.0 automationRun/cancelRequested
        Root: 4 actions, 1 for clients
          S 0.1.0 root/agentsChanged
          S 0.1.0 root/activeSessionsChanged
          S 0.1.0 root/terminalsChanged
          C 0.1.0 root/configChanged
        Annotations: 5 actions, 5 for clients
          C 0.4.0 annotations/set
          C 0.4.0 annotations/updated
          C 0.4.0 annotations/removed
          C 0.4.0 annotations/entrySet
          C 0.4.0 annotations/entryRemoved
        Automations: 4 actions, 3 for clients
          C 0.9.0 automation/createRequested
          C 0.9.0 automation/updateRequested
          S 0.9.0 automation/set
          C 0.9.0 automation/removed
    "#]]
    .assert_eq(&lines);
}

/// The prefix of an action name determines the channel, so the table can be checked against it.
#[test]
fn action_names_have_the_prefix_of_their_channel() {
    for info in Action::table() {
        let prefix = match info.channel {
            ChannelKind::Root => "root",
            ChannelKind::Session => "session",
            ChannelKind::Chat => "chat",
            ChannelKind::Terminal => "terminal",
            ChannelKind::Changeset => "changeset",
            ChannelKind::Annotations => "annotations",
            ChannelKind::ResourceWatch => "resourceWatch",
            ChannelKind::Canvas => "canvas",
            ChannelKind::Automations => "automation",
            ChannelKind::AutomationRun => "automationRun",
        };
        assert_eq!(info.name.split('/').next(), Some(prefix), "{}", info.name);
        assert!(info.since <= Version::CURRENT);
    }
}

#[test]
fn an_action_has_the_row_with_its_name() {
    let Shape::Union { variants, .. } = Action::shape() else {
        unreachable!("an action is a union");
    };
    assert_eq!(variants.len(), 106);
    for ((name, _), row) in variants.iter().zip(Action::table()) {
        assert_eq!(*name, row.name);
        let options = agenthost_testkit::GeneratorOptions::default();
        let shape = variants.iter().find(|(other, _)| other == name).unwrap().1;
        let mut json = agenthost_testkit::Generator::new(1, options).generate(&shape());
        json["type"] = (*name).into();
        let action: Action = agenthost_protocol::wire::from_str(&json.to_string()).unwrap();
        assert_eq!(action.info(), row);
    }
}

#[test]
fn the_number_of_methods_of_each_kind_is_unchanged() {
    assert_eq!(ClientRequest::METHODS.len(), 31);
    assert_eq!(ClientNotification::METHODS.len(), 2);
    assert_eq!(HostNotification::METHODS.len(), 9);
    assert_eq!(HostRequest::METHODS.len(), 10);
    let all: BTreeSet<_> = ClientRequest::METHODS.iter().collect();
    assert_eq!(all.len(), 31);
    assert!(
        HostRequest::METHODS
            .iter()
            .all(|method| all.contains(method))
    );
}

/// RPC-3 and RPC-4: `null` and `{}` are different results.
#[test]
fn void_results_are_null_and_empty_results_are_objects() {
    let mut null = Vec::new();
    let mut empty = Vec::new();
    for (method, shape) in ClientRequest::result_shapes() {
        match shape() {
            Shape::Null => null.push(method),
            Shape::Object { fields, .. } if fields.is_empty() => empty.push(method),
            _ => {}
        }
    }
    assert_eq!(
        null,
        [
            "ping",
            "createSession",
            "disposeSession",
            "createChat",
            "disposeChat",
            "createTerminal",
            "disposeTerminal",
        ]
    );
    assert_eq!(
        empty,
        [
            "fetchTurns",
            "authenticate",
            "resourceWrite",
            "resourceCopy",
            "resourceDelete",
            "resourceMove",
            "resourceMkdir",
            "resourceRequest",
            "fetchAutomationRuns",
        ]
    );
}

#[test]
fn error_codes_are_the_official_ones() {
    use ahp_types::errors::{ahp_error_codes as ahp, json_rpc_error_codes as rpc};
    let pairs = [
        (ErrorCode::ParseError, rpc::PARSE_ERROR),
        (ErrorCode::InvalidRequest, rpc::INVALID_REQUEST),
        (ErrorCode::MethodNotFound, rpc::METHOD_NOT_FOUND),
        (ErrorCode::InvalidParams, rpc::INVALID_PARAMS),
        (ErrorCode::InternalError, rpc::INTERNAL_ERROR),
        (ErrorCode::SessionNotFound, ahp::SESSION_NOT_FOUND),
        (ErrorCode::ProviderNotFound, ahp::PROVIDER_NOT_FOUND),
        (ErrorCode::SessionAlreadyExists, ahp::SESSION_ALREADY_EXISTS),
        (ErrorCode::TurnInProgress, ahp::TURN_IN_PROGRESS),
        (
            ErrorCode::UnsupportedProtocolVersion,
            ahp::UNSUPPORTED_PROTOCOL_VERSION,
        ),
        (ErrorCode::AuthRequired, ahp::AUTH_REQUIRED),
        (ErrorCode::NotFound, ahp::NOT_FOUND),
        (ErrorCode::PermissionDenied, ahp::PERMISSION_DENIED),
        (ErrorCode::AlreadyExists, ahp::ALREADY_EXISTS),
        (ErrorCode::Conflict, ahp::CONFLICT),
        // Reserved codes (ERR-1), and unknown ones.
        (ErrorCode::Other(-32006), -32006),
        (ErrorCode::Other(1), 1),
    ];
    for (ours, official) in pairs {
        assert_eq!(ours.number(), i64::from(official));
        assert_eq!(ErrorCode::from_number(i64::from(official)), ours);
    }
}

/// HSK-7: three whole numbers without leading zeros, and nothing else.
#[test]
fn versions_are_read_strictly() {
    assert_eq!(Version::parse("0.5.2"), Some(Version::new(0, 5, 2)));
    assert_eq!(Version::parse("10.0.0"), Some(Version::new(10, 0, 0)));
    for wrong in [
        "",
        "1",
        "1.0",
        "1.0.0.0",
        "01.0.0",
        "1.00.0",
        "1.0.0-rc.1",
        "1.0.0+x",
        "v1.0.0",
        "1..0",
        "-1.0.0",
        "1.0.99999999999",
        " 1.0.0",
    ] {
        assert_eq!(Version::parse(wrong), None, "{wrong}");
    }
    assert!(Version::new(0, 5, 2) < Version::new(0, 10, 0));
    assert_eq!(Version::CURRENT.to_string(), ahp_types::PROTOCOL_VERSION);
}

/// The capabilities of a release agree with the version in which the corresponding actions were
/// added.
#[test]
fn capabilities_agree_with_the_actions() {
    type Capability = fn(ProtocolCapabilities) -> bool;
    let pairs: [(&str, Capability); 14] = [
        ("changeset/fileSet", |can| can.changesets),
        ("session/mcpServerStateChanged", |can| can.tool_servers),
        ("session/chatAdded", |can| can.chats),
        ("annotations/set", |can| can.annotations),
        ("session/activeClientSet", |can| can.several_active_clients),
        ("chat/draftChanged", |can| can.drafts),
        ("chat/turnsLoaded", |can| can.pages),
        ("chat/toolCallAuthRequired", |can| can.tool_authentication),
        ("session/workingDirectorySet", |can| can.several_directories),
        ("automation/set", |can| can.automations),
        ("chat/turnResume", |can| can.turn_resume),
        ("chat/backgroundWorkSet", |can| can.background_work),
        ("chat/movableChanged", |can| can.moving_chats),
        ("canvas/stateChanged", |can| can.canvases),
    ];
    for (name, capability) in pairs {
        let info = Action::table().find(|info| info.name == name).unwrap();
        for release in Release::ALL {
            let known = info.since <= release.version();
            assert_eq!(
                capability(release.capabilities()),
                known,
                "{name} in {release}"
            );
        }
    }
}
