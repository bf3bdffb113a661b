//! The JSON documents that steps translate.

use agenthost_protocol::wire::{Json, Object};

/// An action envelope for a client: the parameters of `action`.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonEnvelope {
    /// URI of the channel. Releases before 0.2 have no channels: the last step removes it.
    pub channel: Option<String>,
    /// The action with its `type`.
    pub action: Object,
    /// Sequence number of the action.
    pub server_seq: u64,
    /// Client that dispatched the action.
    pub origin: Option<Json>,
    /// Reason for the rejection, if the action was rejected.
    pub rejection_reason: Option<String>,
}

impl JsonEnvelope {
    /// Returns the `type` of the action.
    pub fn action_type(&self) -> &str {
        action_type(&self.action)
    }

    /// Returns an envelope on the same channel with another action, without origin. Only one of
    /// several actions that replace one action may carry its origin.
    pub fn with_action(&self, action: Object) -> Self {
        JsonEnvelope {
            channel: self.channel.clone(),
            action,
            server_seq: self.server_seq,
            origin: None,
            rejection_reason: self.rejection_reason.clone(),
        }
    }

    /// Returns the parameters of the `action` notification.
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

/// An action dispatched by a client.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonDispatch {
    /// URI of the channel; the first step up determines it for releases without channels.
    pub channel: String,
    /// The action with its `type`.
    pub action: Object,
}

impl JsonDispatch {
    /// Returns the `type` of the action.
    pub fn action_type(&self) -> &str {
        action_type(&self.action)
    }
}

/// A request or notification, in either direction.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonCall {
    /// Name of the method.
    pub method: String,
    /// Parameters of the method.
    pub params: Object,
}

/// Returns the `type` of an action.
pub(crate) fn action_type(action: &Object) -> &str {
    action
        .get("type")
        .and_then(Json::as_str)
        .unwrap_or_default()
}
