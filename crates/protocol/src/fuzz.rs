//! Fuzz target of this crate: passes arbitrary text through every decoder.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the fuzzer sees a violated invariant as a panic"
)]

use std::fmt::Debug;

use serde::Serialize;

use crate::action::{Action, ReceivedAction};
use crate::channel::ChannelState;
use crate::outcome::Outcome;
use crate::rpc::{
    Call, CallError, ClientNotification, ClientRequest, HostNotification, HostRequest, Message,
    RequestId, Response, encode,
};
use crate::wire::{Document, Json, Limits, Node, Wire};

/// Decodes a message, an action and a state. Each decoded value must encode to text that
/// decodes to an equal value.
pub fn wire_decode(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let grammar = serde_json::from_str::<Json>(text);
    let Ok(document) = Document::parse(text, Limits::default()) else {
        return;
    };
    let root = document.root();
    assert_eq!(root.to_json(), grammar.unwrap(), "serde_json disagrees");
    check_value::<Action>(root);
    check_value::<ChannelState>(root);
    check_reduction(root);
    match Message::decode(&document) {
        Ok(Message::Request(id, call)) => {
            check_request(&id, &call, ClientRequest::decode, ClientRequest::method);
            check_request(&id, &call, HostRequest::decode, HostRequest::method);
        }
        Ok(Message::Notification(call)) => check_notification(&call),
        Ok(Message::Response(response)) => check_response(response),
        Err(invalid) => assert!(!invalid.to_string().is_empty()),
    }
}

fn check_value<T: Wire + PartialEq + Debug>(node: Node<'_>) {
    let Ok(value) = T::decode(node) else {
        return;
    };
    let text = serde_json::to_string(&value).unwrap();
    let again = Document::parse(&text, Limits::default()).unwrap();
    assert_eq!(T::decode(again.root()).as_ref(), Ok(&value));
}

/// Reduces `action` on `state`, if the document has both.
fn check_reduction(root: Node<'_>) {
    let (Ok(Some(state)), Ok(Some(action))) = (root.get("state"), root.get("action")) else {
        return;
    };
    check_value::<Action>(action);
    check_value::<ChannelState>(state);
    let (Ok(before), Ok(action)) = (ChannelState::decode(state), Action::decode(action)) else {
        return;
    };
    let mut after = before.clone();
    if after.reduce(&action) != Outcome::Applied {
        assert_eq!(after, before, "only `Applied` may change the state");
    }
    let text = serde_json::to_string(&after).unwrap();
    let again = Document::parse(&text, Limits::STATE).unwrap();
    assert_eq!(ChannelState::decode(again.root()), Ok(after));
}

fn check_request<T: Serialize + PartialEq + Debug>(
    id: &RequestId,
    call: &Call<'_>,
    decode: fn(&Call<'_>) -> Result<T, CallError>,
    method: fn(&T) -> &'static str,
) {
    let Ok(request) = decode(call) else {
        return;
    };
    let text = encode::request(id, method(&request), &request).unwrap();
    let document = Document::parse(&text, Limits::default()).unwrap();
    match Message::decode(&document) {
        Ok(Message::Request(again, call)) => {
            assert_eq!((&again, decode(&call)), (id, Ok(request)));
        }
        other => panic!("encoded as {other:?}"),
    }
}

fn check_notification(call: &Call<'_>) {
    if let Ok(notification) = ClientNotification::decode(call) {
        let ClientNotification::DispatchAction(params) = &notification else {
            check_notified(
                &notification,
                notification.method(),
                ClientNotification::decode,
            );
            return;
        };
        if is_comparable(&params.action) {
            check_notified(
                &notification,
                notification.method(),
                ClientNotification::decode,
            );
        }
    }
    if let Ok(notification) = HostNotification::decode(call) {
        let HostNotification::Action(envelope) = &notification else {
            check_notified(
                &notification,
                notification.method(),
                HostNotification::decode,
            );
            return;
        };
        if is_comparable(&envelope.action) {
            check_notified(
                &notification,
                notification.method(),
                HostNotification::decode,
            );
        }
    }
}

/// Returns `false` for a malformed action. It is echoed as JSON, which has each key once, so
/// the error "given twice" does not survive the round trip.
fn is_comparable(action: &ReceivedAction) -> bool {
    !matches!(action, ReceivedAction::Malformed(..))
}

fn check_notified<T: Serialize + PartialEq + Debug>(
    value: &T,
    method: &str,
    decode: fn(&Call<'_>) -> Result<T, CallError>,
) {
    let text = encode::notification(method, value).unwrap();
    let document = Document::parse(&text, Limits::default()).unwrap();
    match Message::decode(&document) {
        Ok(Message::Notification(call)) => assert_eq!(decode(&call).as_ref(), Ok(value)),
        other => panic!("encoded as {other:?}"),
    }
}

fn check_response(response: Response<'_>) {
    let text = match &response.outcome {
        Ok(result) => encode::success(&response.id, &result.to_json()).unwrap(),
        Err(error) => encode::failure(&response.id, error).unwrap(),
    };
    let document = Document::parse(&text, Limits::default()).unwrap();
    let Ok(Message::Response(again)) = Message::decode(&document) else {
        panic!("encoded as {text}");
    };
    let read = |response: Response<'_>| {
        let outcome = response.outcome.map(|result| result.to_json());
        (response.id, outcome)
    };
    assert_eq!(read(again), read(response));
}

#[cfg(test)]
#[path = "../../../fuzz/seeds.rs"]
#[expect(clippy::disallowed_methods, reason = "the seeds are files")]
mod seeds;

#[cfg(test)]
mod tests {
    #[test]
    fn every_seed_of_the_corpus_passes() {
        super::seeds::check_seeds("wire_decode", super::wire_decode);
    }
}
