//! What goes through the steps.

use agenthost_protocol::wire::{Json, Object};

/// An action on its way to a client: the parameters of `action`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonEnvelope {
    /// The channel. Before 0.2 there was none: the last step takes it away.
    pub channel: Option<String>,
    /// The action, with its `type`.
    pub action: Object,
    /// Its number.
    pub server_seq: u64,
    /// Who dispatched it.
    pub origin: Option<Json>,
    /// Why it was refused, if it was.
    pub rejection_reason: Option<String>,
}

impl JsonEnvelope {
    /// The name of the action.
    pub fn action_type(&self) -> &str {
        action_type(&self.action)
    }

    /// The same on the same channel, with another action. Only one of several
    /// that stand for one action may carry its origin.
    pub fn with_action(&self, action: Object) -> Self {
        JsonEnvelope {
            channel: self.channel.clone(),
            action,
            server_seq: self.server_seq,
            origin: None,
            rejection_reason: self.rejection_reason.clone(),
        }
    }

    /// As it is sent.
    pub fn into_json(self) -> Json {
        let mut params = Object::new();
        if let Some(channel) = self.channel {
            params.insert("channel".to_owned(), Json::String(channel));
        }
        params.insert("action".to_owned(), Json::Object(self.action));
        params.insert("serverSeq".to_owned(), self.server_seq.into());
        params.extend(self.origin.map(|origin| ("origin".to_owned(), origin)));
        let rejection = self.rejection_reason.map(Json::String);
        params.extend(rejection.map(|reason| ("rejectionReason".to_owned(), reason)));
        Json::Object(params)
    }
}

/// An action on its way from a client.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonDispatch {
    /// The channel; the first step up finds it for versions that had none.
    pub channel: String,
    /// The action, with its `type`.
    pub action: Object,
}

impl JsonDispatch {
    /// The name of the action.
    pub fn action_type(&self) -> &str {
        action_type(&self.action)
    }
}

/// A request or a notification, whichever way it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonCall {
    /// What is called.
    pub method: String,
    /// With what.
    pub params: Object,
}

/// The name of an action.
pub(crate) fn action_type(action: &Object) -> &str {
    action
        .get("type")
        .and_then(Json::as_str)
        .unwrap_or_default()
}
