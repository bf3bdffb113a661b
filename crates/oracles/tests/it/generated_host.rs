//! A small generated host: one channel of each kind, with consistent references.

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol as protocol;
use agenthost_protocol::action::{Action, ActionEnvelope, ActionOrigin};
use agenthost_protocol::channel::{ChannelKind, ChannelState, Snapshot};
use agenthost_protocol::ids::{ClientId, ClientSeq, ServerSeq};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Shape, Wire};
use agenthost_testkit::{Generator, GeneratorOptions};
use agenthost_versions::{TargetClient, TranslationContext};
use serde_json::json;

pub(crate) const SESSION: &str = "ahp-session:/s";
pub(crate) const CHAT: &str = "ahp-chat:/c";

/// Client id of the viewer. Some generated clients have the same id.
pub(crate) const CLIENT: &str = "ClientId-0";

/// Returns the URI of the channel of a kind.
pub(crate) fn uri_of_kind(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Root => "ahp-root://",
        ChannelKind::Session => SESSION,
        ChannelKind::Chat => CHAT,
        ChannelKind::Terminal => "ahp-terminal:/t",
        ChannelKind::Changeset => "ahp-session:/s/changeset/x",
        ChannelKind::Annotations => "ahp-session:/s/annotations",
        ChannelKind::ResourceWatch => "ahp-resource-watch:/w",
        ChannelKind::Canvas => "ahp-canvas:/v",
        ChannelKind::Automations => "ahp-automations://",
        ChannelKind::AutomationRun => "ahp-automation-run:/r",
    }
}

/// The states of all channels of a host.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedHost {
    pub(crate) channels: Vec<(ChannelKind, ChannelState)>,
}

impl GeneratedHost {
    /// Generates a random host.
    pub(crate) fn generated(generator: &mut Generator) -> Self {
        let state = |kind: &ChannelKind| {
            let mut json = generator.generate(&shape(*kind));
            make_plausible(*kind, &mut json);
            make_statuses_plausible(generator, &mut json);
            let state: ChannelState = wire::from_str(&json.to_string()).unwrap();
            assert_eq!(state.kind(), *kind, "{json}");
            (*kind, state)
        };
        GeneratedHost {
            channels: ChannelKind::ALL.iter().map(state).collect(),
        }
    }

    pub(crate) fn state(&self, kind: ChannelKind) -> &ChannelState {
        &self
            .channels
            .iter()
            .find(|(other, _)| *other == kind)
            .unwrap()
            .1
    }

    /// Applies an action to its channel. Returns the state before the action, and the outcome.
    pub(crate) fn apply(&mut self, action: &Action) -> (ChannelState, Outcome) {
        let kind = action.info().channel;
        let (_, state) = self
            .channels
            .iter_mut()
            .find(|(other, _)| *other == kind)
            .unwrap();
        let before = state.clone();
        let outcome = state.reduce(action);
        (before, outcome)
    }

    /// Returns the states that version steps may look up.
    pub(crate) fn scene(&self) -> StateView {
        let channel = |(kind, state): &(ChannelKind, ChannelState)| {
            let owned = matches!(
                kind,
                ChannelKind::Chat
                    | ChannelKind::Terminal
                    | ChannelKind::Changeset
                    | ChannelKind::Annotations
            );
            let session = owned.then(|| Uri::from(SESSION));
            (Uri::from(uri_of_kind(*kind)), session, state.clone())
        };
        let mut scene = StateView {
            channels: self.channels.iter().map(channel).collect(),
            summaries: Vec::new(),
        };
        if let ChannelState::Session(session) = self.state(ChannelKind::Session) {
            scene.summaries.push(Arc::new(listed(session)));
        }
        scene
    }

    pub(crate) fn snapshot(&self, kind: ChannelKind) -> Snapshot {
        Snapshot {
            resource: Uri::from(uri_of_kind(kind)),
            state: self.state(kind).clone(),
            from_seq: ServerSeq(7),
        }
    }
}

/// Returns a client of a release that is subscribed to the session and its chat.
pub(crate) fn viewer(release: Release) -> TargetClient {
    let mut viewer = TargetClient::new(release, ClientId::from(CLIENT));
    viewer.map_session(Uri::from(SESSION), Uri::from(CHAT));
    viewer
}

/// Returns a translation context outside of an action.
pub(crate) fn at<'a>(viewer: &'a TargetClient, scene: &'a StateView) -> TranslationContext<'a> {
    TranslationContext {
        client: viewer,
        states: scene,
        state_before: None,
    }
}

/// Wraps an action in an envelope, dispatched by the viewer.
pub(crate) fn envelope(action: Action) -> ActionEnvelope {
    ActionEnvelope {
        channel: Uri::from(uri_of_kind(action.info().channel)),
        action: Arc::new(action),
        server_seq: ServerSeq(8),
        origin: Some(ActionOrigin {
            client_id: ClientId::from(CLIENT),
            client_seq: ClientSeq(3),
        }),
    }
}

/// Returns the entry of a session in the list of sessions.
fn listed(session: &SessionState) -> SessionSummary {
    let then = Timestamp::from("2026-01-01T00:00:00.000Z");
    SessionSummary {
        metadata: session.metadata.clone(),
        resource: Uri::from(SESSION),
        created_at: then.clone(),
        modified_at: then,
        changes: None,
        meta: session.meta.clone(),
        chats: None,
        default_chat: session.default_chat.clone(),
    }
}

fn shape(kind: ChannelKind) -> Shape {
    match kind {
        ChannelKind::Root => protocol::root::RootState::shape(),
        ChannelKind::Session => SessionState::shape(),
        ChannelKind::Chat => protocol::chat::ChatState::shape(),
        ChannelKind::Terminal => protocol::terminal::TerminalState::shape(),
        ChannelKind::Changeset => protocol::changeset::ChangesetState::shape(),
        ChannelKind::Annotations => protocol::annotations::AnnotationsState::shape(),
        ChannelKind::ResourceWatch => protocol::resource::ResourceWatchState::shape(),
        ChannelKind::Canvas => protocol::canvas::CanvasState::shape(),
        ChannelKind::Automations => protocol::automation::AutomationsState::shape(),
        ChannelKind::AutomationRun => protocol::automation::AutomationRunState::shape(),
    }
}

/// Makes references between channels consistent, and removes duplicates.
fn make_plausible(kind: ChannelKind, state: &mut Json) {
    match kind {
        ChannelKind::Session => {
            let chat = json!({
                "resource": CHAT, "title": "", "status": 1,
                "modifiedAt": "2026-01-01T00:00:00.000Z",
            });
            let chats = state["chats"].as_array_mut().unwrap();
            chats.insert(0, chat);
            state["defaultChat"] = json!(CHAT);
        }
        ChannelKind::Chat => state["resource"] = json!(CHAT),
        _ => {}
    }
    make_distinct(state, &mut BTreeSet::new());
}

/// Replaces each numeric status with a valid combination of one activity and flags.
pub(crate) fn make_statuses_plausible(generator: &mut Generator, json: &mut Json) {
    match json {
        Json::Array(items) => {
            for item in items {
                make_statuses_plausible(generator, item);
            }
        }
        Json::Object(fields) => {
            for (name, field) in fields {
                if name == "status" && field.is_number() {
                    let activity = generator.pick(&[1, 1, 2, 8, 24]).unwrap();
                    let flags = generator.pick(&[0, 32, 64, 96]).unwrap();
                    *field = json!(activity | flags);
                } else {
                    make_statuses_plausible(generator, field);
                }
            }
        }
        _ => {}
    }
}

/// Fields that identify an entry of a list.
const NAMES: &[&str] = &["id", "resource", "clientId", "name"];

/// Removes entries with a duplicate id from lists. Ids of customizations and of their children must
/// be distinct from each other.
fn make_distinct(json: &mut Json, customizations: &mut BTreeSet<String>) {
    match json {
        Json::Array(items) => {
            let mut seen = BTreeSet::new();
            items.retain(|item| {
                let call = item["toolCall"]["toolCallId"].as_str();
                let scope = item.get("enabled").and_then(|_| item["kind"].as_str());
                let name = NAMES.iter().find_map(|name| item[*name].as_str());
                let name = call.or(name).or(scope).or(item.as_str());
                let is_customization = item.get("type").is_some() && item.get("uri").is_some();
                match name {
                    Some(name) if is_customization => customizations.insert(name.to_owned()),
                    Some(name) => seen.insert(name.to_owned()),
                    None => true,
                }
            });
            for item in items {
                make_distinct(item, customizations);
            }
        }
        Json::Object(fields) => {
            for (_, field) in fields {
                make_distinct(field, customizations);
            }
        }
        _ => {}
    }
}

/// Returns a generator that fills none, some or all of the optional fields, depending on the seed.
pub(crate) fn generator(seed: u64) -> Generator {
    let options = GeneratorOptions {
        optional: f64::from(u32::try_from(seed % 4).unwrap()) / 3.0,
        unknown: 0.0,
        ..GeneratorOptions::default()
    };
    Generator::new(seed, options)
}
