//! What steps look at, in tests.

use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{self, Json};
use agenthost_versions::{Call, Chain, Dispatch, Moment, Scene, Viewer};

/// A client of a release, and what it could look up.
pub(crate) struct Client {
    pub(crate) chain: Chain,
    pub(crate) viewer: Viewer,
    pub(crate) scene: Scene,
    pub(crate) before: Option<ChannelState>,
}

impl Client {
    /// A client called `c`, in an empty world.
    pub(crate) fn of(release: Release) -> Self {
        Client {
            chain: Chain::to(release),
            viewer: Viewer::new(release, ClientId::from("c")),
            scene: Scene::default(),
            before: None,
        }
    }

    /// Adds a channel to the world.
    pub(crate) fn knows(mut self, channel: &str, session: Option<&str>, state: &Json) -> Self {
        let state = wire::from_str(&state.to_string()).unwrap();
        let session = session.map(Uri::from);
        self.scene
            .channels
            .push((Uri::from(channel), session, state));
        self
    }

    pub(crate) fn at(&self) -> Moment<'_> {
        Moment {
            viewer: &self.viewer,
            world: &self.scene,
            before: self.before.as_ref(),
        }
    }

    /// What the client hears of an action of 1.0: `channel` and action of
    /// each.
    pub(crate) fn hears(&self, channel: &str, action: &Json) -> Vec<(Option<String>, Json)> {
        let envelope = ActionEnvelope {
            channel: Uri::from(channel),
            action: std::sync::Arc::new(wire::from_str(&action.to_string()).unwrap()),
            server_seq: ServerSeq(7),
            origin: None,
        };
        let envelopes = self.chain.action(&self.at(), &envelope).unwrap();
        let pair = |one: agenthost_versions::Envelope| (one.channel, Json::Object(one.action));
        envelopes.into_iter().map(pair).collect()
    }

    /// The state that the client sees of one of 1.0.
    pub(crate) fn sees(&self, channel: &str, state: &Json) -> Option<Json> {
        let snapshot = Snapshot {
            resource: Uri::from(channel),
            state: wire::from_str(&state.to_string()).unwrap(),
            from_seq: ServerSeq(7),
        };
        let snapshot = self.chain.snapshot(&self.at(), &snapshot).unwrap()?;
        snapshot.get("state").cloned()
    }

    /// What the client says, in the words of 1.0.
    pub(crate) fn says(&self, channel: &str, action: Json) -> (String, Json) {
        let Json::Object(action) = action else {
            panic!("an action is an object");
        };
        let mut dispatch = Dispatch {
            channel: channel.to_owned(),
            action,
        };
        self.chain.dispatch(&self.at(), &mut dispatch).unwrap();
        (dispatch.channel, Json::Object(dispatch.action))
    }

    /// What the client asks for, in the words of 1.0.
    pub(crate) fn asks(&self, method: &str, params: Json) -> (String, Json) {
        let Json::Object(params) = params else {
            panic!("parameters are an object");
        };
        let mut call = Call {
            method: method.to_owned(),
            params,
        };
        self.chain.params(&self.at(), &mut call).unwrap();
        (call.method, Json::Object(call.params))
    }
}
