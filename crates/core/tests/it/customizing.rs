//! Customizations and servers of tools.
//!
//! ```text
//! customized SESSION found [{..}, ..] | updated {..} | gone ID
//!                  | wants TICKET CLIENT list URI | wants TICKET CLIENT read URI
//!                  | commands NAME ..
//!                  | prepared TURN {text?, instructions?} | refused TURN REASON
//! tools SESSION ready ID | token ID {requirement} | failed ID WHY | stopped ID
//!             | has NAME=SERVER .. | sought
//!             | called TICKET TOOL {input} | abandoned TICKET
//!             | needs TOOL {requirement} | goes-on TOOL
//!             | says SERVER METHOD {params} | answers CONNECTION REQUEST {..}
//! ```

use agenthost_core::agent::SlashCommand;
use agenthost_core::customizing::{
    CustomizationErrand, CustomizationEvent, Heard, Prepared, Ticket, Wanted,
};
use agenthost_core::tool_servers::{ServerTool, ToolErrand, ToolEvent, ToolTicket};
use agenthost_core::{ConnectionId, Input};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ClientId, CustomizationId, TurnId};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{self, Json};
use expect_test::expect;

use crate::script::{check_customized, object, uri, word};

pub(crate) fn event(line: &str) -> Input {
    let (session, rest) = word(line);
    let (what, rest) = word(rest);
    let chat = uri(&format!("{session}.chat"));
    let event = match what {
        "found" => CustomizationEvent::Found {
            all: wire::from_str(rest).unwrap(),
        },
        "updated" => CustomizationEvent::Updated(Box::new(wire::from_str(rest).unwrap())),
        "gone" => CustomizationEvent::Gone(CustomizationId::from(rest)),
        "wants" => {
            let (ticket, rest) = word(rest);
            let (client, rest) = word(rest);
            let (how, address) = word(rest);
            let address = Uri::from(address);
            CustomizationEvent::Wanted {
                ticket: Ticket(ticket.parse().unwrap()),
                client: ClientId::from(client),
                wanted: match how {
                    "list" => Wanted::List(address),
                    _ => Wanted::Read(address),
                },
            }
        }
        "commands" => CustomizationEvent::Commands {
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
            let prepared = Prepared {
                text: text("text"),
                instructions: text("instructions").map(Into::into),
                ..Prepared::default()
            };
            CustomizationEvent::Prepared {
                chat,
                turn: TurnId::from(turn),
                outcome: Box::new(Ok(prepared)),
            }
        }
        _ => {
            let (turn, reason) = word(rest);
            CustomizationEvent::Prepared {
                chat,
                turn: TurnId::from(turn),
                outcome: Box::new(Err(reason.to_owned())),
            }
        }
    };
    let session = uri(session);
    Input::Customized { session, event }
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
        "ready" => ToolEvent::Ready {
            server,
            apps: wire::from_str(r#"{"capabilities": {"serverTools": {}}}"#).unwrap(),
        },
        "token" => ToolEvent::AuthRequired {
            server,
            requirement: requirement(),
        },
        "failed" => ToolEvent::Failed {
            server,
            error: ErrorInfo::new("failed", rest),
        },
        "stopped" => ToolEvent::Stopped { server },
        "sought" => ToolEvent::Sought,
        "has" => ToolEvent::Tools {
            tools: [first]
                .into_iter()
                .chain(rest.split_whitespace())
                .filter_map(|tool| tool.split_once('='))
                .map(|(name, server)| ServerTool {
                    server: CustomizationId::from(server),
                    name: name.to_owned(),
                    own_name: name.to_owned(),
                    title: None,
                    description: None,
                    ui: None,
                })
                .collect(),
        },
        "called" => {
            let (tool, input) = word(rest);
            ToolEvent::Called {
                chat,
                call: ToolTicket(first.parse().unwrap()),
                tool: tool.to_owned(),
                input: input.to_owned(),
            }
        }
        "abandoned" => ToolEvent::Abandoned {
            call: ToolTicket(first.parse().unwrap()),
        },
        "needs" => ToolEvent::CallNeedsToken {
            chat,
            tool: first.to_owned(),
            requirement: requirement(),
        },
        "goes-on" => ToolEvent::CallHasToken {
            chat,
            tool: first.to_owned(),
        },
        "says" => {
            let (method, params) = word(rest);
            let Json::Object(params) = object(params) else {
                panic!("expected an object");
            };
            ToolEvent::Said {
                server,
                method: method.to_owned(),
                params,
            }
        }
        _ => {
            let (request, answer) = word(rest);
            ToolEvent::Answered {
                connection: ConnectionId(first[1..].parse().unwrap()),
                id: RequestId::from(request.parse::<u64>().unwrap()),
                answer: Box::new(Ok(object(answer))),
            }
        }
    };
    let session = uri(session);
    Input::Tools { session, event }
}

pub(crate) fn render(errand: &CustomizationErrand) -> String {
    match errand {
        CustomizationErrand::Follow {
            provider,
            directories,
            ..
        } => {
            let names: Vec<_> = directories.iter().map(Uri::as_str).collect();
            format!("follow [{}] for {provider}", names.join(", "))
        }
        CustomizationErrand::Forget { .. } => "forget".to_owned(),
        CustomizationErrand::ClientPlugins { plugins, .. } => {
            let plugins = plugins.iter().map(|brought| {
                let base = &brought.plugin.plugin.0.container.base;
                format!("{} of {}", base.uri, brought.client)
            });
            format!("plugins [{}]", plugins.collect::<Vec<_>>().join(", "))
        }
        CustomizationErrand::Heard { ticket, answer } => match answer {
            Ok(Heard::Listed(listed)) => {
                format!("heard {}: {} files", ticket.0, listed.entries.len())
            }
            Ok(Heard::Read(read)) => format!("heard {}: {:?}", ticket.0, read.data),
            Err(why) => format!("heard {}: {why}", ticket.0),
        },
        CustomizationErrand::Disabled { ids, .. } => {
            let ids: Vec<_> = ids.iter().map(CustomizationId::as_str).collect();
            format!("off [{}]", ids.join(", "))
        }
        CustomizationErrand::Trust { keys } => format!("trust {keys:?}"),
        CustomizationErrand::Prepare(preparation) => format!(
            "prepare {} {:?} agent {:?}",
            preparation.turn, preparation.text, preparation.agent
        ),
        CustomizationErrand::TurnEnded { turn, .. } => format!("{turn} ended"),
    }
}

pub(crate) fn render_tools(errand: &ToolErrand) -> String {
    match errand {
        ToolErrand::Start { server, by, .. } => format!("start {server} for a {by:?}"),
        ToolErrand::Stop { server, .. } => format!("stop {server}"),
        ToolErrand::End { .. } => "end".to_owned(),
        ToolErrand::ClientTools { tools, .. } => {
            let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("tools of clients [{}]", names.join(", "))
        }
        ToolErrand::Answer { call, result } => {
            format!("answer {} {} {:?}", call.0, result.success, result.error)
        }
        ToolErrand::Forward(forwarded) => format!(
            "forward {} to {} with {}",
            forwarded.method,
            forwarded.server,
            Json::Object(forwarded.params.clone())
        ),
        ToolErrand::Tell { server, method, .. } => format!("tell {server} {method}"),
    }
}

/// The guide's first diagram: a plugin is shown while it is read, then with
/// what is in it (CUS-4, CUS-5). What nobody needs any more is forgotten.
#[test]
fn a_session_shows_what_is_found() {
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

/// CUS-10 to CUS-16, FWD-3: who decides what is on, where that holds, and what
/// comes of it.
#[test]
fn decisions_hold_where_they_were_made_for() {
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
                c1: 16 s2 session/customizationToggled {"enablement":[{"kind":"workspace","uri":"file:///w","enabled":false}],"id":"p"}
                customizations: off [p]
            c1 ! s1 session/customizationToggled {"id": "m", "enablement": [{"kind": "global", "enabled": false}]}
                c1: 17 s1 by a session/customizationToggled {"enablement":[{"kind":"global","enabled":false}],"id":"m"}
                c1: 19 s2 session/customizationToggled {"enablement":[{"kind":"global","enabled":false}],"id":"m"}
                customizations: off [m, p]
                c1: 20 s3 session/customizationToggled {"enablement":[{"kind":"global","enabled":false}],"id":"m"}
                customizations: off [m]
                customizations: off [m]
            c1 ! s1 session/customizationToggled {"id": "d", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 21 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"d"}
                customizations: off [d, m]
            c1 ! s1 session/customizationToggled {"id": "k", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 22 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"k"}
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
                c2: snapshot of s2 at 22
            customized s2 found [{"type": "plugin", "id": "p", "uri": "file:///p", "name": "P", "children": [{"type": "skill", "id": "k", "uri": "file:///p/k", "name": "k"}, {"type": "mcpServer", "id": "m", "uri": "file:///p/mcp", "name": "m", "state": {"kind": "stopped"}}]}]
                customizations: off [m, p]
        "#]],
    );
}

/// CUS-3, CUS-8, CUS-9, CUS-14, CUS-15: a plugin that a client brings is read
/// from it, decided by it, and gone with it.
#[test]
fn clients_bring_plugins() {
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
                customizations: heard 3: the client does not serve what it attaches
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

/// What customizations have to add reaches the agent with the message; what
/// refuses a turn ends it. CUS-18: what nobody may pick can't be picked.
#[test]
fn turns_wait_for_what_they_need() {
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

/// MCP-1 to MCP-6: servers start with the first turn, which waits for them;
/// people stop them, and do not wait.
#[test]
fn servers_start_with_a_turn_and_stop_when_told() {
    let server = |id: &str| {
        format!(
            r#"{{"type": "mcpServer", "id": "{id}", "uri": "file:///c", "name": "{id}", "state": {{"kind": "stopped"}}}}"#
        )
    };
    let (m, n) = (server("m"), server("n"));
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - customized s1 found [{m}, {n}]
        c1 says t1 go
        customized s1 prepared t1
        tools s1 ready m
        c1 ! s1 session/mcpServerBackgroundRequested {{"id": "n"}}
        tools s1 has search=m
        tools s1 failed n it broke
        - agent s1 end t1
        c1 says t2 go
        customized s1 prepared t2
        - agent s1 end t2
        c1 ! s1 session/mcpServerStopRequested {{"id": "m"}}
        tools s1 stopped m
        c1 says t3 go
        - customized s1 prepared t3
        - agent s1 end t3
        c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        tools s1 ready m
        customized s1 updated {m}
        c1 ! s1 session/customizationToggled {{"id": "m", "enablement": [{{"kind": "session", "enabled": false}}]}}
        c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        c1 ! s1 session/mcpServerStartRequested {{"id": "p"}}
        c1 ! s1 session/customizationToggled {{"id": "m", "enablement": []}}
        - tools s1 ready m
        customized s1 gone n
        restart
        - c2 joins b
        c2 subscribe s1
        "#
        ),
        expect![[r#"
            c1 says t1 go
                c1: 5 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c1: 6 s1 session/titleChanged {"title":"go"}
                changes s1: mark before t1
                c1: 7 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                c1: 8 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"n"}
                tools: start n for a Turn
                customizations: prepare t1 "go" agent None
            customized s1 prepared t1
                nothing
            tools s1 ready m
                c1: 9 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting","blocking":true}}}
                c1: 10 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            c1 ! s1 session/mcpServerBackgroundRequested {"id": "n"}
                c1: 11 s1 by a session/mcpServerBackgroundRequested {"id":"n"}
                agent s1: prompt t1 "go"
            tools s1 has search=m
                c1: 12 s1 session/serverToolsChanged {"tools":[{"name":"search"}]}
                agent s1: server tools [search]
            tools s1 failed n it broke
                c1: 13 s1 session/mcpServerStateChanged {"state":{"kind":"error","error":{"errorType":"failed","message":"it broke"}},"id":"n"}
            c1 says t2 go
                c1: 17 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t2
                customizations: prepare t2 "go" agent None
            customized s1 prepared t2
                agent s1: prompt t2 "go"
            c1 ! s1 session/mcpServerStopRequested {"id": "m"}
                c1: 20 s1 by a session/mcpServerStopRequested {"id":"m"}
                tools: stop m
            tools s1 stopped m
                c1: 21 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
            c1 says t3 go
                c1: 23 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                changes s1: mark before t3
                customizations: prepare t3 "go" agent None
            c1 ! s1 session/mcpServerStartRequested {"id": "m"}
                c1: 26 s1 by a session/mcpServerStartRequested {"id":"m"}
                tools: start m for a Person
            tools s1 ready m
                c1: 27 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            customized s1 updated {"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}
                nothing
            c1 ! s1 session/customizationToggled {"id": "m", "enablement": [{"kind": "session", "enabled": false}]}
                c1: 28 s1 by a session/customizationToggled {"enablement":[{"kind":"session","enabled":false}],"id":"m"}
                customizations: off [m]
                tools: stop m
                c1: 29 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
            c1 ! s1 session/mcpServerStartRequested {"id": "m"}
                c1: 30 rejected: the server is turned off
            c1 ! s1 session/mcpServerStartRequested {"id": "p"}
                c1: 31 rejected: there is no server `p`
            c1 ! s1 session/customizationToggled {"id": "m", "enablement": []}
                c1: 32 s1 by a session/customizationToggled {"enablement":[],"id":"m"}
                customizations: off []
            customized s1 gone n
                c1: 34 s1 session/customizationRemoved {"id":"n"}
                tools: stop n
            restart
                nothing
            c2 subscribe s1
                customizations: follow [file:///w] for shell
                tools: tools of clients []
                c2: snapshot of s1 at 35
        "#]],
    );
}

/// MCP-3: an agent that comes for tools may ask only once, so servers start then;
/// not before it is known what is there, also after a restart.
#[test]
fn servers_start_when_an_agent_comes_for_tools() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        tools s1 sought
        customized s1 found [{m}]
        tools s1 ready m
        tools s1 sought
        restart
        - c2 joins b
        - c2 subscribe s1
        c2 says t1 go
        customized s1 found [{m}]
        customized s1 prepared t1
        tools s1 ready m
        "#
        ),
        expect![[r#"
            tools s1 sought
                nothing
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}]
                c1: 3 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"stopped"}}]}
                c1: 4 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                tools: tools of clients []
            tools s1 ready m
                c1: 5 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting","blocking":true}}}
                c1: 6 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            tools s1 sought
                tools: tools of clients []
            restart
                nothing
            c2 says t1 go
                c2: 9 s1 session/chatUpdated {"changes":{"status":8,"modifiedAt":"2026-01-05T09:00:00Z"},"chat":"s1.chat"}
                c2: 10 s1 session/titleChanged {"title":"go"}
                changes s1: mark before t1
                customizations: prepare t1 "go" agent None
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}]
                c2: 11 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"stopped"}}]}
            customized s1 prepared t1
                c2: 12 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
            tools s1 ready m
                c2: 13 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting","blocking":true}}}
                c2: 14 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
                agent s1: open
                agent s1: prompt t1 "go"
        "#]],
    );
}

/// MCP-12 to MCP-16, MCP-21, A-3, A-9: only clients that show apps get to know
/// of the way to a server, and can use it.
#[test]
fn apps_talk_to_their_servers() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins plain
        - c2 connect
        - c2 initialize {{"clientId": "apps", "protocolVersions": ["1.0.0"], "capabilities": {{"mcpApps": {{}}}}}}
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - c2 subscribe s1
        - customized s1 found [{m}]
        - c1 ! s1 session/mcpServerStartRequested {{"id": "m"}}
        tools s1 ready m
        c1 subscribe s1
        c2 subscribe s1
        c2 subscribe mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        c1 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023 {{"cursor": "x"}}
        tools s1 answers c2 11 {{"tools": []}}
        c2 tools/list mcp://agenthost/none
        tools s1 says m notifications/tools/list_changed {{}}
        c1 leave
        - tools s1 failed m it broke
        - tools s1 ready m
        - c3 connect me was c1
        c3 reconnect {{"clientId": "plain", "lastSeenServerSeq": 6, "subscriptions": ["ahp-session:/s1"]}}
        c2 ! s1 session/mcpServerStopRequested {{"id": "m"}}
        c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
        "#
        ),
        expect![[r#"
            tools s1 ready m
                c1: 5 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting"}}}
                c2: 5 s1 session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"starting"},"mcpApp":{"capabilities":{"serverTools":{}}}}}
                c1: 6 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
                c2: 6 s1 session/mcpServerStateChanged {"channel":"mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023","id":"m","state":{"kind":"ready"}}
            c1 subscribe s1
                c1: snapshot of s1 at 6
            c2 subscribe s1
                c2: snapshot of s1 at 6
            c2 subscribe mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c2: subscribed
            c1 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c1: error -32601 `capabilities.mcpApps` was not declared
            c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023 {"cursor": "x"}
                tools: forward tools/list to m with {"cursor":"x"}
            tools s1 answers c2 11 {"tools": []}
                c2: the server says {"tools":[]}
            c2 tools/list mcp://agenthost/none
                c2: error -32008 there is nothing at `mcp://agenthost/none`
            tools s1 says m notifications/tools/list_changed {}
                c2: notifications/tools/list_changed {"channel":"mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023"}
            c1 leave
                grace plain 30000
            c3 reconnect {"clientId": "plain", "lastSeenServerSeq": 6, "subscriptions": ["ahp-session:/s1"]}
                c3: replay (6, 8] of [s1], missing []
            c2 ! s1 session/mcpServerStopRequested {"id": "m"}
                c2, c3: 9 s1 by apps session/mcpServerStopRequested {"id":"m"}
                tools: stop m
            c2 tools/list mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023
                c2: error -32008 there is nothing at `mcp://agenthost/24d0cb23a77b5b3b9cb44e20e8c7d023`
        "#]],
    );
}

/// CLT-4, CLT-8, CLT-12, CLT-13: what an agent calls a client's tool for
/// becomes a call of the turn, and what comes of that is what the agent gets.
#[test]
fn agents_call_tools_of_clients() {
    let active = r#"{"activeClient": {"clientId": "a", "tools": [{"name": "run", "title": "Run it"}, {"name": "look"}]}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1.chat
        c1 ! s1 session/activeClientSet {active}
        tools s1 called 1 run {{}}
        - c1 says t1 go
        - customized s1 prepared t1
        tools s1 called 2 none {{}}
        tools s1 called 3 run {{"x": 1}}
        untold
        c1 ! s1.chat chat/toolCallContentChanged {{"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "content": [{{"type": "text", "text": "half"}}]}}
        c1 ! s1.chat chat/toolCallComplete {{"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "result": {{"success": true, "pastTenseMessage": "Ran"}}}}
        agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k1", "toolName": "run", "displayName": "Run it", "contributor": {{"kind": "client", "clientId": "a"}}}}
        tools s1 called 4 run {{"x": 2}}
        c1 ! s1.chat chat/toolCallConfirmed {{"turnId": "t1", "toolCallId": "k1", "approved": false, "reason": "denied"}}
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k2", "toolName": "look", "displayName": "look", "contributor": {{"kind": "client", "clientId": "a"}}}}
        - agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k2", "invocationMessage": "look"}}
        - agent s1 chat/toolCallComplete {{"turnId": "t1", "toolCallId": "k2", "result": {{"success": false, "pastTenseMessage": "never called"}}}}
        tools s1 called 5 look {{}}
        untold
        tools s1 abandoned 5
        tools s1 called 6 look {{}}
        untold
        c1 ! s1.chat chat/turnCancelled {{"turnId": "t1", "duration": 1}}
        - c1 says t2 go
        - customized s1 prepared t2
        tools s1 called 7 look {{}}
        agent s1 chat/toolCallStart {{"turnId": "t2", "toolCallId": "k9", "toolName": "look", "displayName": "look", "contributor": {{"kind": "client", "clientId": "a"}}}}
        untold
        c1 ! s1 session/activeClientRemoved {{"clientId": "a"}}
        "#
        ),
        expect![[r#"
            c1 ! s1 session/activeClientSet {"activeClient": {"clientId": "a", "tools": [{"name": "run", "title": "Run it"}, {"name": "look"}]}}
                agent s1: tools [run, look]
                tools: tools of clients [run, look]
            tools s1 called 1 run {}
                tools: answer 1 false Some(Object {"message": String("There is no turn that this could be for")})
            tools s1 called 2 none {}
                tools: answer 2 false Some(Object {"message": String("There is no such tool any more")})
            tools s1 called 3 run {"x": 1}
                await what is told of 3 150
            untold
                c1: 7 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"call-0000000000000000000000000000000d","toolName":"run","displayName":"Run it"}
                agent s1: called run as call-0000000000000000000000000000000d
                c1: 8 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call-0000000000000000000000000000000d","invocationMessage":"Run it","toolInput":"{\"x\": 1}"}
                await execute:call-0000000000000000000000000000000d@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/toolCallContentChanged {"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "content": [{"type": "text", "text": "half"}]}
                c1: 10 s1.chat by a chat/toolCallContentChanged {"content":[{"type":"text","text":"half"}],"turnId":"t1","toolCallId":"call-0000000000000000000000000000000d"}
            c1 ! s1.chat chat/toolCallComplete {"turnId": "t1", "toolCallId": "call-0000000000000000000000000000000d", "result": {"success": true, "pastTenseMessage": "Ran"}}
                c1: 12 s1.chat by a chat/toolCallComplete {"result":{"success":true,"pastTenseMessage":"Ran"},"turnId":"t1","toolCallId":"call-0000000000000000000000000000000d"}
                agent s1: completed call-0000000000000000000000000000000d true
                tools: answer 3 true None
            agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k1", "toolName": "run", "displayName": "Run it", "contributor": {"kind": "client", "clientId": "a"}}
                c1: 14 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"k1","toolName":"run","displayName":"Run it"}
            tools s1 called 4 run {"x": 2}
                agent s1: called run as k1
                c1: 15 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"k1","invocationMessage":"Run it","toolInput":"{\"x\": 2}"}
                await execute:k1@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k1", "approved": false, "reason": "denied"}
                c1: 17 s1.chat by a chat/toolCallConfirmed {"reason":"denied","turnId":"t1","toolCallId":"k1","approved":false}
                c1: 18 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client declined to run it","error":{"message":"The client declined to run it"}},"turnId":"t1","toolCallId":"k1"}
                agent s1: completed k1 false
                tools: answer 4 false Some(Object {"message": String("The client declined to run it")})
            tools s1 called 5 look {}
                await what is told of 5 150
            untold
                c1: 27 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"call-00000000000000000000000000000017","toolName":"look","displayName":"look"}
                agent s1: called look as call-00000000000000000000000000000017
                c1: 28 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call-00000000000000000000000000000017","invocationMessage":"look","toolInput":"{}"}
                await execute:call-00000000000000000000000000000017@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            tools s1 abandoned 5
                c1: 30 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The agent does not wait for it any more","error":{"message":"The agent does not wait for it any more"}},"turnId":"t1","toolCallId":"call-00000000000000000000000000000017"}
                agent s1: completed call-00000000000000000000000000000017 false
            tools s1 called 6 look {}
                await what is told of 6 150
            untold
                c1: 32 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t1","toolCallId":"call-0000000000000000000000000000001a","toolName":"look","displayName":"look"}
                agent s1: called look as call-0000000000000000000000000000001a
                c1: 33 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t1","toolCallId":"call-0000000000000000000000000000001a","invocationMessage":"look","toolInput":"{}"}
                await execute:call-0000000000000000000000000000001a@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1.chat chat/turnCancelled {"turnId": "t1", "duration": 1}
                c1: 35 s1.chat by a chat/turnCancelled {"duration":0,"turnId":"t1"}
                agent s1: cancel t1
                customizations: t1 ended
                changes s1: mark after t1, chat since before t1
                tools: answer 6 false Some(Object {"message": String("The turn is over")})
            tools s1 called 7 look {}
                await what is told of 7 150
            agent s1 chat/toolCallStart {"turnId": "t2", "toolCallId": "k9", "toolName": "look", "displayName": "look", "contributor": {"kind": "client", "clientId": "a"}}
                c1: 40 s1.chat chat/toolCallStart {"contributor":{"kind":"client","clientId":"a"},"turnId":"t2","toolCallId":"k9","toolName":"look","displayName":"look"}
            untold
                agent s1: called look as k9
                c1: 41 s1.chat chat/toolCallReady {"confirmed":"not-needed","turnId":"t2","toolCallId":"k9","invocationMessage":"look","toolInput":"{}"}
                await execute:k9@ahp-chat://default/YWhwLXNlc3Npb246L3Mx 1800000
            c1 ! s1 session/activeClientRemoved {"clientId": "a"}
                c1: 44 s1.chat chat/toolCallComplete {"result":{"success":false,"pastTenseMessage":"The client that was to run look is gone","error":{"message":"The client that was to run look is gone"}},"turnId":"t2","toolCallId":"k9"}
                agent s1: completed k9 false
                tools: answer 7 false Some(Object {"message": String("The client that was to run look is gone")})
                agent s1: tools []
                tools: tools of clients []
        "#]],
    );
}

/// MCP-7, MCP-8, MCP-10, TOO-18 to TOO-20, AUT-2, AUT-11, AUT-12: servers and
/// calls of their tools wait for tokens, each by itself.
#[test]
fn servers_and_calls_wait_for_tokens() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    let scoped = r#"{"reason": "insufficientScope", "resource": {"resource": "https://tools.example"}, "requiredScopes": ["write"]}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        - customized s1 found [{m}]
        c1 authenticate {{"resource": "https://tools.example", "token": "secret"}}
        - c1 says t1 go
        - customized s1 prepared t1
        tools s1 token m
        c1 authenticate {{"resource": "https://tools.example", "token": "secret", "expiresIn": 60}}
        tools s1 ready m
        tools s1 has search=m
        - agent s1 chat/toolCallStart {{"turnId": "t1", "toolCallId": "k1", "toolName": "search", "displayName": "Search", "contributor": {{"kind": "mcp", "customizationId": "m"}}}}
        - agent s1 chat/toolCallReady {{"turnId": "t1", "toolCallId": "k1", "invocationMessage": "Searches", "confirmed": "not-needed"}}
        tools s1 needs search {scoped}
        c1 authenticate {{"resource": "https://tools.example", "token": "secret", "scopes": ["read"]}}
        c1 authenticate {{"resource": "https://tools.example", "token": "secret", "scopes": ["read", "write"]}}
        tools s1 goes-on search
        expired
        c1 authenticate {{"resource": "https://tools.example", "token": ""}}
        c1 authenticate {{"resource": "https://tools.example", "token": "secret"}}
        "#
        ),
        expect![[r#"
            c1 authenticate {"resource": "https://tools.example", "token": "secret"}
                c1: error -32602 resource: no agent or server here needs a token for this
            tools s1 token m
                c1: 8 s1 session/mcpServerStateChanged {"state":{"kind":"authRequired","reason":"required","resource":{"resource":"https://tools.example"}},"id":"m"}
                agent s1: prompt t1 "go"
            c1 authenticate {"resource": "https://tools.example", "token": "secret", "expiresIn": 60}
                token for https://tools.example expires 60000
                token of me for https://tools.example
                c1: {}
            tools s1 ready m
                c1: 9 shown session/customizationUpdated {"customization":{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"authRequired","reason":"required","resource":{"resource":"https://tools.example"}}}}
                c1: 10 shown session/mcpServerStateChanged {"state":{"kind":"ready"},"id":"m"}
            tools s1 has search=m
                c1: 11 s1 session/serverToolsChanged {"tools":[{"name":"search"}]}
                agent s1: server tools [search]
            tools s1 needs search {"reason": "insufficientScope", "resource": {"resource": "https://tools.example"}, "requiredScopes": ["write"]}
                c1: 15 s1 session/chatUpdated {"changes":{"status":24},"chat":"s1.chat"}
                c1: 16 s1 session/inputNeededSet {"request":{"kind":"toolAuthentication","id":"authenticate:k1@s1.chat","chat":"s1.chat","turnId":"t1","toolCall":{"status":"auth-required","toolCallId":"k1","toolName":"search","displayName":"Search","contributor":{"kind":"mcp","customizationId":"m"},"invocationMessage":"Searches","confirmed":"not-needed","auth":{"reason":"insufficientScope","resource":{"resource":"https://tools.example"},"requiredScopes":["write"]}}}}
            c1 authenticate {"resource": "https://tools.example", "token": "secret", "scopes": ["read"]}
                c1: error -32602 scopes: `write` is needed, too
            c1 authenticate {"resource": "https://tools.example", "token": "secret", "scopes": ["read", "write"]}
                token of me for https://tools.example
                c1: {}
            tools s1 goes-on search
                c1: 18 s1 session/chatUpdated {"changes":{"status":8},"chat":"s1.chat"}
                c1: 19 s1 session/inputNeededRemoved {"id":"authenticate:k1@s1.chat"}
            expired
                nothing
            c1 authenticate {"resource": "https://tools.example", "token": ""}
                no token of me for https://tools.example
                c1: {}
            c1 authenticate {"resource": "https://tools.example", "token": "secret"}
                c1: error -32602 resource: no agent or server here needs a token for this
        "#]],
    );
}

/// A server whose code nobody allowed is tried once, and again when what is
/// allowed is something else.
#[test]
fn servers_that_may_not_run_are_not_tried_again_and_again() {
    let m = r#"{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}"#;
    check_customized(
        &format!(
            r#"
        - c1 joins a
        - c1 opens s1 {{"workingDirectories": ["file:///w"]}}
        - c1 subscribe s1
        customized s1 found [{m}]
        tools s1 sought
        tools s1 stopped m
        customized s1 updated {m}
        tools s1 sought
        c1 ! root root/configChanged {{"config": {{"trustedCode": ["file:///c#1"]}}}}
        customized s1 updated {m}
        "#
        ),
        expect![[r#"
            customized s1 found [{"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}]
                c1: 3 s1 session/customizationsChanged {"customizations":[{"type":"mcpServer","id":"m","uri":"file:///c","name":"m","state":{"kind":"stopped"}}]}
            tools s1 sought
                c1: 4 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                tools: tools of clients []
            tools s1 stopped m
                c1: 5 s1 session/mcpServerStateChanged {"state":{"kind":"stopped"},"id":"m"}
            customized s1 updated {"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}
                tools: tools of clients []
            tools s1 sought
                tools: tools of clients []
            c1 ! root root/configChanged {"config": {"trustedCode": ["file:///c#1"]}}
                customizations: trust {"file:///c#1"}
            customized s1 updated {"type": "mcpServer", "id": "m", "uri": "file:///c", "name": "m", "state": {"kind": "stopped"}}
                c1: 7 s1 session/mcpServerStateChanged {"state":{"kind":"starting","blocking":true},"id":"m"}
                tools: start m for a Turn
                tools: tools of clients []
        "#]],
    );
}
