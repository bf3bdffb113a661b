//! Unknown channels and requests that stay unanswered do not disturb the rest of a client's
//! session.

use std::time::{Duration, Instant};

use agenthost_oracles::ClientAct;
use agenthost_protocol::version::Release;
use serde_json::json;

use super::actor::SESSION;
use super::{Actor, Host};
use crate::releases::each_release;

/// Channels that only newer releases have, and one of an unknown scheme.
const UNKNOWN_CHANNELS: [&str; 4] = [
    "ahp-canvas:/c",
    "ahp-automations://",
    "ahp-automation-run:/r",
    "unheard-of:/x",
];

/// `initialize` with unknown channels among the initial subscriptions succeeds and returns
/// snapshots of the known ones only.
fn check_initialize_with_unknown_channels(release: Release) {
    let host = Host::start();
    let Some(mut first) = Actor::of(release, "first") else {
        return;
    };
    first.join(&host);
    first.create();
    first.enter();
    for order in [0, 2, UNKNOWN_CHANNELS.len()] {
        let mut actor = Actor::of(release, &format!("after-{order}")).unwrap();
        let url = host.url();
        actor.execute(ClientAct::Connect { url }).unwrap();
        let mut channels = UNKNOWN_CHANNELS.to_vec();
        channels.insert(order, SESSION);
        channels.insert(order, actor.root());
        actor.hello(&channels).unwrap();
        let mut followed = actor.followed.clone();
        followed.sort_unstable();
        let mut known = [SESSION, actor.root()];
        known.sort_unstable();
        assert_eq!(followed, known, "{release}");
        actor.check_equal_to_host();
        for channel in UNKNOWN_CHANNELS {
            let channel = channel.to_owned();
            let refused = actor.execute(ClientAct::Subscribe { channel });
            assert!(refused.is_err(), "{release}");
        }
    }
}

each_release!(check_initialize_with_unknown_channels);

/// Official clients up to 0.5.1 do not answer requests of the host. A turn that needs such an
/// answer continues without it.
fn check_unanswered_request(release: Release) {
    let host = Host::start();
    let Some(mut actor) = Actor::of(release, "silent") else {
        return;
    };
    actor.join(&host);
    actor.create();
    actor.enter();
    let (kind, plugin) = match release {
        Release::V0_1 => (
            "session/activeClientChanged",
            json!({"uri": "virtual://editor/skills", "displayName": "Skills"}),
        ),
        _ => (
            "session/activeClientSet",
            json!({"id": "p", "uri": "virtual://editor/skills", "name": "Skills", "enabled": true}),
        ),
    };
    let client = json!({"clientId": "silent", "tools": [], "customizations": [plugin]});
    let action = json!({"type": kind, "activeClient": client});
    let number = actor.dispatch(SESSION, action);
    let echo = actor.until_echo(number);
    assert!(echo["rejectionReason"].is_null(), "{echo}");

    let attachment = match release {
        Release::V0_1 => json!({"type": "file", "displayName": "x", "uri": "virtual:/x"}),
        _ => json!({"type": "resource", "label": "x", "uri": "virtual:/x"}),
    };
    let mut action = actor.with_message(json!({"turnId": "t1"}), "say hi");
    let field = match release {
        Release::V0_1 => "userMessage",
        _ => "message",
    };
    action[field]["attachments"] = json!([attachment]);
    let start = Instant::now();
    actor.dispatch_to_chat("turnStarted", action);
    actor.until_turn("turnComplete", "t1");
    assert!(start.elapsed() < Duration::from_secs(15));
    let heard = host.agent.received_commands();
    let attached = heard.iter().find(|line| line.starts_with("AddAttachment"));
    assert!(
        attached.unwrap().contains("did not respond"),
        "{attached:?}"
    );
    actor.check_equal_to_host();
}

#[test]
fn a_0_1_turn_completes_with_unanswered_requests() {
    check_unanswered_request(Release::V0_1);
}

#[test]
fn a_0_5_1_turn_completes_with_unanswered_requests() {
    check_unanswered_request(Release::V0_5_1);
}
