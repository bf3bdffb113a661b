//! Tests for customizations, and the script lines for customizations and MCP servers.
//!
//! ```text
//! customized SESSION found [{..}, ..] | updated {..} | gone ID
//!                  | wants TICKET CLIENT list URI | wants TICKET CLIENT read URI
//!                  | commands NAME ..
//!                  | prepared TURN {text?, instructions?, tools?} | refused TURN REASON
//!                  | hooks [before] [after] [failed] | checked TICKET [REASON]
//! tools SESSION ready ID | token ID {requirement} | failed ID WHY | stopped ID
//!             | has NAME=SERVER .. | sought
//!             | called TICKET TOOL {input} | calling TICKET TOOL {input}
//!             | abandoned TICKET
//!             | needs TOOL {requirement} | goes-on TOOL
//!             | says SERVER METHOD {params} | answers CONNECTION REQUEST {..}
//! ```

use agenthost_core::agent::SlashCommand;
use agenthost_core::customization::driver::{
    CustomizationCommand, CustomizationEvent, HookDenial, PreparationError, PreparedTurn, QueryId,
    ResourceQuery, ResourceReply,
};
use agenthost_core::tools::mcp::driver::{
    CallGateMode, GatewayCallId, McpCommand, McpEvent, McpTool, StartReason,
};
use agenthost_core::tools::tool_use::{HookCheckId, ToolHookPhase};
use agenthost_core::{ConnectionId, Input};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ClientId, CustomizationId, TurnId};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::Json;
use expect_test::expect;

use crate::script::{check_customized, object, uri, word};

pub(crate) fn event(line: &str) -> Input {
    let (session, rest) = word(line);
    let (what, rest) = word(rest);
    let chat = uri(&format!("{session}.chat"));
    let event = match what {
        "found" => CustomizationEvent::CustomizationsFound {
            all: wire::from_str(rest).unwrap(),
        },
        "updated" => {
            CustomizationEvent::CustomizationUpdated(Box::new(wire::from_str(rest).unwrap()))
        }
        "gone" => CustomizationEvent::CustomizationRemoved(CustomizationId::from(rest)),
        "wants" => {
            let (ticket, rest) = word(rest);
            let (client, rest) = word(rest);
            let (how, address) = word(rest);
            let address = Uri::from(address);
            CustomizationEvent::ResourceRequested {
                id: QueryId(ticket.parse().unwrap()),
                client: ClientId::from(client),
                query: match how {
                    "list" => ResourceQuery::List(address),
                    _ => ResourceQuery::Read(address),
                },
            }
        }
        "commands" => CustomizationEvent::CommandsChanged {
            commands: rest
                .split_whitespace()
                .map(|name| SlashCommand {
                    name: name.to_owned(),
                    description: String::new(),
                })
                .collect(),
        },
        "prepared" => {
            let (turn, rest) = word(rest);
            let prepared = object(rest);
            let text = |key: &str| prepared.get(key)?.as_str().map(str::to_owned);
            let prepared = PreparedTurn {
                text: text("text"),
                instructions: text("instructions").map(Into::into),
                tools: prepared
                    .get("tools")
                    .map(|tools| wire::from_str(&tools.to_string()).unwrap()),
                ..PreparedTurn::default()
            };
            CustomizationEvent::TurnPrepared {
                chat,
                turn: TurnId::from(turn),
                outcome: Box::new(Ok(prepared)),
            }
        }
        "hooks" => CustomizationEvent::ToolHooksChanged {
            phases: rest
                .split_whitespace()
                .map(|moment| match moment {
                    "before" => ToolHookPhase::Before,
                    "after" => ToolHookPhase::After,
                    _ => ToolHookPhase::Failed,
                })
                .collect(),
        },
        "checked" => {
            let (ticket, reason) = word(rest);
            CustomizationEvent::ToolChecked {
                id: HookCheckId(ticket.parse().unwrap()),
                verdict: match reason {
                    "" => Ok(()),
                    reason => Err(HookDenial::Denied(reason.to_owned())),
                },
            }
        }
        _ => {
            let (turn, reason) = word(rest);
            CustomizationEvent::TurnPrepared {
                chat,
                turn: TurnId::from(turn),
                outcome: Box::new(Err(PreparationError::Denied(reason.to_owned()))),
            }
        }
    };
    let session = uri(session);
    Input::Customization { session, event }
}

pub(crate) fn tool_event(line: &str) -> Input {
    let (session, rest) = word(line);
    let (what, rest) = word(rest);
    let chat = uri(&format!("{session}.chat"));
    let (first, rest) = word(rest);
    let server = CustomizationId::from(first);
    let requirement = || {
        let text = if rest.is_empty() {
            r#"{"reason": "required", "resource": {"resource": "https://tools.example"}}"#
        } else {
            rest
        };
        Box::new(wire::from_str(text).unwrap())
    };
    let event = match what {
        "ready" => McpEvent::ServerReady {
            server,
            apps: wire::from_str(r#"{"capabilities": {"serverTools": {}}}"#).unwrap(),
        },
        "token" => McpEvent::ServerAuthRequired {
            server,
            requirement: requirement(),
        },
        "failed" => McpEvent::ServerFailed {
            server,
            error: ErrorInfo::new("failed", rest),
        },
        "complaint" => McpEvent::ToolListProblem {
            server,
            problem: Some(rest.to_owned()).filter(|rest| !rest.is_empty()),
        },
        "stopped" => McpEvent::ServerStopped { server },
        "sought" => McpEvent::ToolsRequested,
        "has" => McpEvent::ToolsChanged {
            tools: [first]
                .into_iter()
                .chain(rest.split_whitespace())
                .filter_map(|tool| tool.split_once('='))
                .map(|(name, server)| McpTool {
                    server: CustomizationId::from(server),
                    name: name.to_owned(),
                    original_name: name.to_owned(),
                    title: None,
                    description: None,
                    ui: None,
                })
                .collect(),
        },
        "called" => {
            let (tool, input) = word(rest);
            McpEvent::ClientToolCalled {
                chat,
                call: GatewayCallId(first.parse().unwrap()),
                tool: tool.to_owned(),
                input: input.to_owned(),
            }
        }
        "calling" => {
            let (tool, input) = word(rest);
            McpEvent::ApprovalRequested {
                chat,
                call: GatewayCallId(first.parse().unwrap()),
                tool: tool.to_owned(),
                input: input.to_owned(),
            }
        }
        "abandoned" => McpEvent::CallAbandoned {
            call: GatewayCallId(first.parse().unwrap()),
        },
        "needs" => McpEvent::CallAuthRequired {
            chat,
            tool: first.to_owned(),
            requirement: requirement(),
        },
        "goes-on" => McpEvent::CallAuthorized {
            chat,
            tool: first.to_owned(),
        },
        "says" => {
            let (method, params) = word(rest);
            let Json::Object(params) = object(params) else {
                panic!("expected an object");
            };
            McpEvent::ServerNotified {
                server,
                method: method.to_owned(),
                params,
            }
        }
        _ => {
            let (request, answer) = word(rest);
            McpEvent::ForwardAnswered {
                connection: ConnectionId(first[1..].parse().unwrap()),
                id: RequestId::from(request.parse::<u64>().unwrap()),
                result: Box::new(Ok(object(answer))),
            }
        }
    };
    let session = uri(session);
    Input::Mcp { session, event }
}

pub(crate) fn render(errand: &CustomizationCommand) -> String {
    match errand {
        CustomizationCommand::Track {
            provider,
            directories,
            ..
        } => {
            let names: Vec<_> = directories.iter().map(Uri::as_str).collect();
            format!("follow [{}] for {provider}", names.join(", "))
        }
        CustomizationCommand::Untrack { .. } => "forget".to_owned(),
        CustomizationCommand::SetClientPlugins { plugins, .. } => {
            let plugins = plugins.iter().map(|brought| {
                let base = &brought.plugin.plugin.0.container.base;
                format!("{} of {}", base.uri, brought.client)
            });
            format!("plugins [{}]", plugins.collect::<Vec<_>>().join(", "))
        }
        CustomizationCommand::QueryAnswered {
            id: ticket,
            reply: answer,
        } => match answer {
            Ok(ResourceReply::Listed(listed)) => {
                format!("heard {}: {} files", ticket.0, listed.entries.len())
            }
            Ok(ResourceReply::Read(read)) => format!("heard {}: {:?}", ticket.0, read.data),
            Err(why) => format!("heard {}: {why}", ticket.0),
        },
        CustomizationCommand::SetDisabled { ids, .. } => {
            let ids: Vec<_> = ids.iter().map(CustomizationId::as_str).collect();
            format!("off [{}]", ids.join(", "))
        }
        CustomizationCommand::SetTrustedCode { keys } => format!("trust {keys:?}"),
        CustomizationCommand::Prepare(preparation) => {
            let files: Vec<_> = preparation.files.iter().map(Uri::as_str).collect();
            let files = match files.is_empty() {
                true => String::new(),
                false => format!(" about [{}]", files.join(", ")),
            };
            format!(
                "prepare {} {:?} agent {:?}{files}",
                preparation.turn, preparation.text, preparation.agent
            )
        }
        CustomizationCommand::TurnEnded { turn, .. } => format!("{turn} ended"),
        CustomizationCommand::CheckTool {
            id: ticket,
            tool_use: tool,
        } => {
            format!("check {} {:?} with {}", ticket.0, tool.names, tool.input)
        }
        CustomizationCommand::CancelCheck { id: ticket, .. } => format!("drop check {}", ticket.0),
        CustomizationCommand::ToolUsed(tool) => format!(
            "{:?} {:?} with {}: {}",
            tool.phase,
            tool.names,
            tool.input,
            tool.response.as_ref().unwrap()
        ),
    }
}

pub(crate) fn render_tools(errand: &McpCommand) -> String {
    match errand {
        McpCommand::Start {
            server, reason: by, ..
        } => {
            let by = match by {
                StartReason::Turn => "Turn",
                StartReason::User => "Person",
            };
            format!("start {server} for a {by}")
        }
        McpCommand::Stop { server, .. } => format!("stop {server}"),
        McpCommand::EndSession { .. } => "end".to_owned(),
        McpCommand::SetClientTools { tools, .. } => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("tools of clients [{}]", names.join(", "))
        }
        McpCommand::SetToolFilter { tools, .. } => match tools {
            Some(tools) => format!("allow [{}]", tools.join(", ")),
            None => "allow all".to_owned(),
        },
        McpCommand::CompleteCall { call, result } => {
            format!("answer {} {} {:?}", call.0, result.success, result.error)
        }
        McpCommand::SetCallGate { mode, .. } => {
            let guard = match mode {
                CallGateMode::Hooks => "Hooks",
                CallGateMode::Open => "Nobody",
            };
            format!("guarded by {guard}")
        }
        McpCommand::ResolveApproval { call, verdict, .. } => {
            let verdict = verdict.as_ref().map_err(ToString::to_string);
            format!("pass {} {verdict:?}", call.0)
        }
        McpCommand::ForwardRequest(forwarded) => format!(
            "forward {} to {} with {}",
            forwarded.method,
            forwarded.server,
            Json::Object(forwarded.params.clone())
        ),
        McpCommand::ForwardNotification { server, method, .. } => format!("tell {server} {method}"),
    }
}

/// The guide's first diagram: a plugin is listed while it loads, then with its children (CUS-4,
/// CUS-5). Updates for a disposed session are ignored.
#[test]
fn discovered_customizations_are_published() {
    check_customized(
        r#"
        - c1 joins a
        c1 createSession s1 {"workingDirectories": ["file:///w"]}
        - agent s1 opened
        c1 subscribe s1
        customized s1 found [{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "load": {"kind": "loading"}}]
        customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]}
        customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]}
        customized s1 gone p
        c1 ! root root/configChanged {"config": {"trustedCode": ["file:///p#1"]}}
        c1 disposeSession s1
        customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P"}
        "#,
        expect![[r#"
            c1 createSession s1 {"workingDirectories": ["file:///w"]}
                c1: null
                changes s1: mark start
                agent s1: open
                customizations: follow [file:///w] for shell
                tools: tools of clients []
            c1 subscribe s1
                c1: snapshot of s1 at 2
            customized s1 found [{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "load": {"kind": "loading"}}]
                c1: 3 s1 session/customizationsChanged {"customizations":[{"type":"plugin","id":"p","uri":"file:///p","name":"P","load":{"kind":"loading"}}]}
            customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]}
                c1: 4 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"p","uri":"file:///p","name":"P","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"file:///p/k","name":"k"}]}}
            customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}]}
                nothing
            customized s1 gone p
                c1: 5 s1 session/customizationRemoved {"id":"p"}
            c1 ! root root/configChanged {"config": {"trustedCode": ["file:///p#1"]}}
                trust code {"file:///p#1"}
                customizations: trust {"file:///p#1"}
            c1 disposeSession s1
                tools: end
                customizations: forget
                agent s1: close
                changes s1: forget
                c1: 7 s1 session/chatRemoved {"chat":"s1.chat"}
                c1: null
            customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P"}
                nothing
        "#]],
    );
}

/// CUS-10 to CUS-16, FWD-3: which enablement decisions are accepted, in which scope they apply, and
/// their effect.
#[test]
fn enablement_decisions_apply_in_their_scope() {
    let plugin = r#"{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}, {"type": "mcpServer", "id": "m", "uri": "file:///p/mcp", "name": "m", "state": {"kind": "stopped"}}]}"#;
    let directory = r#"{"type": "directory", "id": "d", "uri": "file:///d", "name": "D", "enabled": true, "contents": "rule", "writable": true, "children": []}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 opens s2 {{"workingDirectories": ["file:///w"]}}
        - c1 opens s3 {{"workingDirectories": ["file:///other"]}}
        - c1 subscribe s1
        - c1 subscribe s2
        - c1 subscribe s3
        - customized s1 found [{plugin}, {directory}]
        - customized s2 found [{plugin}]
        - customized s3 found [{plugin}]
        c1 ! s1 session/customizationToggled {{"id": "none", "enablement": []}}
        c1 ! s1 session/customizationToggled {{"id": "p", "enablement": [{{"kind": "galaxy", "enabled": false}}]}}
        c1 ! s1 session/customizationToggled {{"id": "p", "enablement": [{{"kind": "global", "enabled": false}}, {{"kind": "global", "enabled": true}}]}}
        c1 ! s1 session/customizationToggled {{"id": "p", "enablement": [{{"kind": "workspace", "uri": "file:///other", "enabled": false}}]}}
        c1 ! s1 session/customizationToggled {{"id": "p", "enablement": [{{"kind": "workspace", "uri": "file:///w", "enabled": false}}, {{"kind": "session", "enabled": true}}]}}
        c1 ! s1 session/customizationToggled {{"id": "m", "enablement": [{{"kind": "global", "enabled": false}}]}}
        c1 ! s1 session/customizationToggled {{"id": "d", "enablement": [{{"kind": "session", "enabled": false}}]}}
        c1 ! s1 session/customizationToggled {{"id": "k", "enablement": [{{"kind": "session", "enabled": false}}]}}
        customized s1 updated {plugin}
        customized s1 updated {directory}
        restart
        - c2 connect me was c1
        - c2 reconnect {{"clientId": "a", "lastSeenServerSeq": 1000, "subscriptions": ["ahp-session:/s3"]}}
        - c2 initialize {{"clientId": "b", "protocolVersions": ["1.0.0"]}}
        c2 subscribe s2
        customized s2 found [{plugin}]
        "#
        ),
        expect![[r#"
            c1 ! s1 session/customizationToggled {"id": "none", "enablement": []}
                c1: 10 rejected: there is no customization `none`
            c1 ! s1 session/customizationToggled {"id": "p", "enablement": [{"kind": "galaxy", "enabled": false}]}
                c1: 11 rejected: enablement: expected `session`, `workspace` or `global`
            c1 ! s1 session/customizationToggled {"id": "p", "enablement": [{"kind": "global", "enabled": false}, {"kind": "global", "enabled": true}]}
                c1: 12 rejected: enablement: expected one decision for each scope at most
            c1 ! s1 session/customizationToggled {"id": "p", "enablement": [{"kind": "workspace", "uri": "file:///other", "enabled": false}]}
                c1: 13 rejected: enablement: expected the primary folder of the session
            c1 ! s1 session/customizationToggled {"id": "p", "enablement": [{"kind": "workspace", "uri": "file:///w", "enabled": false}, {"kind": "session", "enabled": true}]}
                c1: 14 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":true},{"kind":"workspace","uri":"file:///w","enabled":false}],"id":"p"}
                c1: 15 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"p":true}}}
                c1: 17 s2 session/customizationToggled {"enablement":[{"kind":"workspace","uri":"file:///w","enabled":false}],"id":"p"}
                customizations: off [p]
            c1 ! s1 session/customizationToggled {"id": "m", "enablement": [{"kind": "global", "enabled": false}]}
                c1: 18 s1 by a session/customizationToggled {"enablement":[{"kind":"global","enabled":false}],"id":"m"}
                c1: 20 s2 session/customizationToggled {"enablement":[{"kind":"global","enabled":false}],"id":"m"}
                customizations: off [m, p]
                c1: 21 s3 session/customizationToggled {"enablement":[{"kind":"global","enabled":false}],"id":"m"}
                customizations: off [m]
                customizations: off [m]
            c1 ! s1 session/customizationToggled {"id": "d", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 22 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"d"}
                c1: 23 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"p":true,"d":false}}}
                customizations: off [d, m]
            c1 ! s1 session/customizationToggled {"id": "k", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 24 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"k"}
                c1: 25 s1 session/metaChanged {"_meta":{"agenthost.customizations":{"p":true,"d":false,"k":false}}}
                customizations: off [d, k, m]
            customized s1 updated {"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}, {"type": "mcpServer", "id": "m", "uri": "file:///p/mcp", "name": "m", "state": {"kind": "stopped"}}]}
                nothing
            customized s1 updated {"type": "directory", "id": "d", "uri": "file:///d", "name": "D", "enabled": true, "contents": "rule", "writable": true, "children": []}
                nothing
            restart
                nothing
            c2 subscribe s2
                customizations: follow [file:///w] for shell
                tools: tools of clients []
                c2: snapshot of s2 at 25
            customized s2 found [{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}, {"type": "mcpServer", "id": "m", "uri": "file:///p/mcp", "name": "m", "state": {"kind": "stopped"}}]}]
                customizations: off [m, p]
        "#]],
    );
}

/// CUS-3, CUS-8, CUS-9, CUS-14, CUS-15: a plugin of a client is read from that client, enabled as
/// the client decides, and removed with it.
#[test]
fn plugins_of_a_client_are_read_from_it_and_removed_with_it() {
    check_customized(
        r#"
        - c1 joins a
        - c2 joins b
        - c1 opens s1 {"workingDirectories": ["file:///w"]}
        - c1 subscribe s1
        c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [], "customizations": [{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "nonce": "1", "enablement": [{"kind": "global", "enabled": false}], "childEnablement": {"k": [{"kind": "global", "enabled": false}]}}]}}
        customized s1 updated {"type": "plugin", "id": "h", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loading"}}
        customized s1 wants 1 a list virtual://a/x
        c1 answers {"entries": [{"name": "plugin.json", "type": "file"}]}
        customized s1 wants 2 a read virtual://a/x/plugin.json
        c1 refuses -32009
        c1 answers {}
        c1 answers {"data": "{}", "encoding": "utf-8"}
        customized s1 wants 3 b read virtual://b/none
        c2 refuses -32601
        customized s1 wants 4 nobody read virtual://b/none
        customized s1 updated {"type": "plugin", "id": "h", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "virtual://a/x/k", "name": "k"}]}
        c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [], "customizations": [{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "nonce": "1"}]}}
        c1 leave
        grace a
        customized s1 gone h
        "#,
        expect![[r#"
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [], "customizations": [{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "nonce": "1", "enablement": [{"kind": "global", "enabled": false}], "childEnablement": {"k": [{"kind": "global", "enabled": false}]}}]}}
                c1: 3 s1 by a session/activeClientSet {"activeClient":{"clientId":"a","tools":[],"customizations":[{"type":"plugin","id":"x","uri":"virtual://a/x","name":"X","enablement":[{"kind":"global","enabled":false}],"nonce":"1","childEnablement":{"k":[{"kind":"global","enabled":false}]}}]}}
                agent s1: tools []
                tools: tools of clients []
                customizations: plugins [virtual://a/x of a]
            customized s1 updated {"type": "plugin", "id": "h", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loading"}}
                c1: 4 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"h","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loading"},"enablement":[{"kind":"global","enabled":false}]}}
                customizations: off [h]
            customized s1 wants 1 a list virtual://a/x
                c1: asked resourceList virtual://a/x
                await an answer 10000
            c1 answers {"entries": [{"name": "plugin.json", "type": "file"}]}
                customizations: heard 1: 1 files
            customized s1 wants 2 a read virtual://a/x/plugin.json
                c1: asked resourceRead virtual://a/x/plugin.json
                await an answer 10000
            c1 refuses -32009
                c1: asked resourceRequest virtual://a/x/plugin.json
                await an answer 10000
            c1 answers {}
                c1: asked resourceRead virtual://a/x/plugin.json
                await an answer 10000
            c1 answers {"data": "{}", "encoding": "utf-8"}
                customizations: heard 2: "{}"
            customized s1 wants 3 b read virtual://b/none
                c2: asked resourceRead virtual://b/none
                await an answer 10000
            c2 refuses -32601
                customizations: heard 3: the client does not serve resources
            customized s1 wants 4 nobody read virtual://b/none
                customizations: heard 4: the client that sent it is not connected
            customized s1 updated {"type": "plugin", "id": "h", "uri": "virtual://a/x", "name": "X", "clientId": "a", "load": {"kind": "loaded"}, "children": [{"type": "skill", "id": "k", "uri": "virtual://a/x/k", "name": "k"}]}
                c1: 5 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"h","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"virtual://a/x/k","name":"k","enabled":false}],"enablement":[{"kind":"global","enabled":false}]}}
                customizations: off [h, k]
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [], "customizations": [{"type": "plugin", "id": "x", "uri": "virtual://a/x", "name": "X", "nonce": "1"}]}}
                c1: 6 s1 by a session/activeClientSet {"activeClient":{"clientId":"a","tools":[],"customizations":[{"type":"plugin","id":"x","uri":"virtual://a/x","name":"X","nonce":"1"}]}}
                agent s1: tools []
                tools: tools of clients []
                customizations: plugins [virtual://a/x of a]
                c1: 7 s1 session/customizationUpdated {"customization":{"type":"plugin","id":"h","uri":"virtual://a/x","name":"X","clientId":"a","load":{"kind":"loaded"},"children":[{"type":"skill","id":"k","uri":"virtual://a/x/k","name":"k","enabled":false}]}}
                customizations: off [k]
            c1 leave
                grace a 30000
            grace a
                agent s1: tools []
                tools: tools of clients []
                customizations: plugins []
            customized s1 gone h
                customizations: off []
        "#]],
    );
}

/// A prompt waits for its preparation, which can add text and instructions, or refuse the turn.
/// CUS-18: a custom agent that users may not invoke can't be selected.
#[test]
fn a_prompt_waits_for_its_preparation() {
    let agents = r#"{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "children": [{"type": "agent", "id": "g", "uri": "file:///p/g", "name": "g"}, {"type": "agent", "id": "h", "uri": "file:///p/h", "name": "h", "disableUserInvocation": true}]}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1.chat
        - customized s1 found [{agents}]
        - customized s1 commands deploy help
        - agent s1 commands help
        c1 completions s1.chat {{"kind": "userMessage", "text": "/", "offset": 1}}
        c1 says t1 /deploy now
        customized s1 prepared t0
        customized s1 prepared t1 {{"text": "Deploy it now.", "instructions": "Be kind."}}
        customized s1 prepared t1
        agent s1 end t1
        c1 ! s1.chat chat/turnStarted {{"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "go", "origin": {{"kind": "user"}}, "agent": {{"uri": "file:///p/h"}}}}}}
        c1 ! s1.chat chat/turnStarted {{"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {{"text": "go", "origin": {{"kind": "user"}}, "agent": {{"uri": "file:///p/g"}}}}}}
        customized s1 refused t2 a hook says no
        c1 says t3 stop
        c1 ! s1.chat chat/turnCancelled {{"turnId": "t3", "duration": 1}}
        customized s1 prepared t3
        "#
        ),
        expect![[r#"
            c1 completions s1.chat {"kind": "userMessage", "text": "/", "offset": 1}
                c1: items [/help for 0..1, /deploy for 0..1]
            c1 says t1 /deploy now
                c1: 4 s1.chat by a chat/turnStarted {"message":{"text":"/deploy now","origin":{"kind":"user"}},"turnId":"t1","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t1
                customizations: prepare t1 "/deploy now" agent None
            customized s1 prepared t0
                nothing
            customized s1 prepared t1 {"text": "Deploy it now.", "instructions": "Be kind."}
                agent s1: prompt t1 "/deploy now"
            customized s1 prepared t1
                nothing
            agent s1 end t1
                c1: 7 s1.chat chat/turnComplete {"duration":0,"turnId":"t1"}
                customizations: t1 ended
                changes s1: mark after t1, chat since before t1
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "agent": {"uri": "file:///p/h"}}}
                c1: 9 rejected: there is no custom agent `file:///p/h`
            c1 ! s1.chat chat/turnStarted {"turnId": "t2", "startedAt": "2026-01-05T09:00:00Z", "message": {"text": "go", "origin": {"kind": "user"}, "agent": {"uri": "file:///p/g"}}}
                c1: 10 s1.chat by a chat/turnStarted {"message":{"text":"go","origin":{"kind":"user"},"agent":{"uri":"file:///p/g"}},"turnId":"t2","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t2
                customizations: prepare t2 "go" agent Some("file:///p/g")
            customized s1 refused t2 a hook says no
                c1: 12 s1.chat chat/error {"part":{"kind":"error","error":{"errorType":"refused","message":"a hook says no"}},"turnId":"t2","duration":0}
                customizations: t2 ended
                changes s1: mark after t2, chat since before t1
            c1 says t3 stop
                c1: 14 s1.chat by a chat/turnStarted {"message":{"text":"stop","origin":{"kind":"user"}},"turnId":"t3","startedAt":"2026-01-05T09:00:00Z"}
                changes s1: mark before t3
                customizations: prepare t3 "stop" agent None
            c1 ! s1.chat chat/turnCancelled {"turnId": "t3", "duration": 1}
                c1: 16 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t3"}
                customizations: t3 ended
                changes s1: mark after t3, chat since before t1
            customized s1 prepared t3
                nothing
        "#]],
    );
}
