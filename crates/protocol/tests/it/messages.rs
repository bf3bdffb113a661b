//! Tests for every message: its shape, its round trip, and the encoding of responses.

use agenthost_protocol::common::{ProtectedResource, SessionStatus};
use agenthost_protocol::connection::{PingParams, SubscribeParams};
use agenthost_protocol::resource::ResourceRequestParams;
use agenthost_protocol::rpc::{
    AuthRequiredData, Call, ClientNotification, ClientRequest, Command, Empty, ErrorCode,
    HostNotification, HostRequest, Message, Null, PermissionDeniedData, RequestId, RpcError,
    UnsupportedVersionData, encode,
};
use agenthost_protocol::uri::RootChannel;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Document, Json, Limits, NamedShape};
use agenthost_testkit::json::{diff, normalize};
use agenthost_testkit::{Generator, GeneratorOptions};
use serde_json::json;

/// Generates calls of every method, decodes them and encodes them again.
fn check_round_trips<T: serde::Serialize>(
    shapes: Vec<NamedShape>,
    decode: impl Fn(&Call<'_>) -> Result<T, agenthost_protocol::rpc::CallError>,
) {
    for (method, shape) in shapes {
        for seed in 0..40 {
            let params = Generator::new(seed, GeneratorOptions::default()).generate(&shape());
            let text = encode::request(&RequestId::from(seed), method, &params).unwrap();
            let document = Document::parse(&text, Limits::default()).unwrap();
            let Ok(Message::Request(id, call)) = Message::decode(&document) else {
                panic!("expected a request: {text}");
            };
            assert_eq!(id, RequestId::from(seed));
            let decoded = decode(&call).unwrap_or_else(|error| panic!("{method}: {error}\n{text}"));
            let written = serde_json::to_value(&decoded).unwrap();
            let difference = diff(&normalize(&params), &normalize(&written));
            assert!(difference.is_empty(), "{method}: {difference}");
        }
    }
}

#[test]
fn every_message_survives_a_round_trip() {
    check_round_trips(ClientRequest::shapes(), ClientRequest::decode);
    check_round_trips(ClientNotification::shapes(), ClientNotification::decode);
    check_round_trips(HostNotification::shapes(), HostNotification::decode);
    check_round_trips(HostRequest::shapes(), HostRequest::decode);
}

/// RPC-6: every message names its channel.
#[test]
fn every_message_names_its_channel() {
    let shapes = [
        ClientRequest::shapes(),
        ClientNotification::shapes(),
        HostNotification::shapes(),
        HostRequest::shapes(),
    ];
    for (method, shape) in shapes.into_iter().flatten() {
        let forms = match shape() {
            wire::Shape::Either(forms) => forms.iter().map(|form| form()).collect(),
            one => vec![one],
        };
        for form in forms {
            let wire::Shape::Object { fields, .. } = form else {
                panic!("{method} has no fields");
            };
            let channel = fields.iter().find(|field| field.name == "channel").unwrap();
            // `ping` works without anything (TRN-5).
            assert_eq!(channel.optional, method == "ping", "{method}");
        }
    }
}

#[test]
fn responses_are_encoded() {
    let id = RequestId::Text("a\"b".into());
    assert_eq!(
        encode::success(&id, &Null).unwrap(),
        r#"{"jsonrpc":"2.0","id":"a\"b","result":null}"#
    );
    assert_eq!(
        encode::success(&RequestId::from(7), &Empty {}).unwrap(),
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#
    );
    assert_eq!(
        encode::failure(
            &RequestId::Null,
            &RpcError::new(ErrorCode::ParseError, "no JSON")
        )
        .unwrap(),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}"#
    );
    assert_eq!(
        encode::notification("unsubscribe", &json!({"channel": "c"})).unwrap(),
        r#"{"jsonrpc":"2.0","method":"unsubscribe","params":{"channel":"c"}}"#
    );
    assert_eq!(PingParams::METHOD, "ping");
    assert_eq!(SubscribeParams::METHOD, "subscribe");
}

/// ERR-2: three errors carry structured data.
#[test]
fn errors_carry_their_data() {
    let supported = UnsupportedVersionData {
        supported_versions: vec!["^1.0.0".to_owned()],
    };
    let error = RpcError::unsupported_version("no common version", &supported);
    assert_eq!(error.code, ErrorCode::UnsupportedProtocolVersion);
    assert_eq!(error.data, Some(json!({"supportedVersions": ["^1.0.0"]})));

    let resource: ProtectedResource = wire::from_str(r#"{"resource": "https://x"}"#).unwrap();
    let error = RpcError::auth_required(
        "sign in first",
        &AuthRequiredData {
            resources: vec![resource],
        },
    );
    assert_eq!(
        error.data,
        Some(json!({"resources": [{"resource": "https://x"}]}))
    );

    let request = ResourceRequestParams {
        channel: RootChannel,
        uri: "file:///etc".into(),
        read: Some(true),
        write: None,
        meta: None,
    };
    let error = RpcError::permission_denied(
        "outside of the workspace",
        &PermissionDeniedData {
            request: Some(request),
        },
    );
    let request = json!({"channel": "ahp-root://", "uri": "file:///etc", "read": true});
    assert_eq!(error.data, Some(json!({"request": request})));
    assert_eq!(error.to_string(), "outside of the workspace (-32009)");
}

/// AGG-11: a status has an activity and flags, and keeps unknown bits.
#[test]
fn a_status_keeps_unknown_bits() {
    let status: SessionStatus = wire::from_str("2147483689").unwrap();
    assert_eq!(status.bits(), (1 << 31) | 32 | 8 | 1);
    let status = SessionStatus::from_bits((1 << 31) | 32 | 8);
    assert!(status.contains(SessionStatus::IS_READ));
    assert!(!status.contains(SessionStatus::INPUT_NEEDED));
    assert_eq!(status.activity(), SessionStatus::IN_PROGRESS);
    let waiting = status.with_activity(SessionStatus::INPUT_NEEDED);
    assert_eq!(waiting.bits(), (1 << 31) | 32 | 24);
    assert!(waiting.contains(SessionStatus::IN_PROGRESS));
    assert_eq!(
        waiting.without(SessionStatus::IS_READ).bits(),
        (1 << 31) | 24
    );
    assert_eq!(
        serde_json::to_value(waiting).unwrap(),
        json!((1_u32 << 31) | 32 | 24)
    );
    assert_eq!(
        format!("{waiting:?}"),
        "SessionStatus(2147483704: input needed, read)"
    );
}

/// SUB-23: optional fields are omitted, never `null`.
#[test]
fn omitted_fields_are_never_encoded_as_null() {
    fn no_null(json: &Json) -> bool {
        match json {
            Json::Null => false,
            Json::Array(items) => items.iter().all(no_null),
            Json::Object(fields) => fields.values().all(no_null),
            _ => true,
        }
    }
    let text = r#"{"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "queuedMessageId": null, "_meta": null,
        "message": {"text": "x", "origin": {"kind": "user"}, "attachments": null, "model": null}}"#;
    let action: agenthost_protocol::action::Action = wire::from_str(text).unwrap();
    let written = serde_json::to_value(&action).unwrap();
    assert!(no_null(&written), "{written}");
}
