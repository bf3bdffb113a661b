//! Reads the protocol version of a client from its handshake (`initialize` or `reconnect`).

use agenthost_core::{ClientQuirks, Host};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::uri::RootChannel;
use agenthost_protocol::version::{Release, Version};
use agenthost_protocol::wire::{Document, Json, Limits, Object};

use super::LegacyClient;

/// The version number of 0.1, the only release whose version was a number.
const V0_1_NUMBER: i64 = 1;

/// Returns the legacy client that sent a handshake, or `None` if its messages need no
/// translation. The host itself reports errors in a handshake.
pub(super) fn legacy_client(host: &Host, method: &str, params: &Object) -> Option<LegacyClient> {
    let client = ClientId::from(params.get("clientId")?.as_str()?);
    let (release, version, quirks) = match method {
        "initialize" => {
            let (release, version) = negotiate(params)?;
            let info = params.get("clientInfo").and_then(Json::as_object);
            let program = info.and_then(|info| info.get("name")?.as_str());
            (release, version, ClientQuirks::of(release, program))
        }
        "reconnect" => {
            let record = host.client_record(&client)?;
            let release = Release::named(&record.version)?;
            (
                release,
                agreed_version(release, &record.version),
                record.quirks(),
            )
        }
        _ => return None,
    };
    let quirks = quirks.connected_as(params.get("_meta"));
    let translated = release < Release::CURRENT || quirks.provider_schemes;
    translated.then(|| LegacyClient::new(release, version, client, quirks))
}

/// Returns the client that a message reconnects.
pub(crate) fn reconnecting_client(text: &str, limits: Limits) -> Option<ClientId> {
    let document = Document::parse(text, limits).ok()?;
    let Json::Object(message) = document.root().to_json() else {
        return None;
    };
    if message.get("method")?.as_str()? != "reconnect" {
        return None;
    }
    let params = message.get("params")?.as_object()?;
    Some(ClientId::from(params.get("clientId")?.as_str()?))
}

/// Returns the highest offered version that the host supports, with its encoding for the
/// client.
fn negotiate(params: &Object) -> Option<(Release, Json)> {
    if let Some(number) = params.get("protocolVersion").and_then(Json::as_i64)
        && !params.contains_key("protocolVersions")
    {
        return (number == V0_1_NUMBER).then(|| (Release::V0_1, Json::from(V0_1_NUMBER)));
    }
    let offers = params.get("protocolVersions")?.as_array()?;
    let offers = offers.iter().filter_map(Json::as_str);
    let versions = offers.filter_map(|offer| Some((Version::parse(offer)?, offer)));
    let spoken = versions.filter_map(|(version, offer)| {
        let release = Release::of(version)?;
        is_plausible(release, params).then_some((version, release, offer))
    });
    let (_, release, offer) = spoken.max_by_key(|(version, ..)| *version)?;
    Some((release, Json::from(offer)))
}

/// Returns `true` if an offered release fits the parameters. Programs that were copied from an
/// example offer `0.1.0`, but speak the version they were built with. 0.1 had no channels.
fn is_plausible(release: Release, params: &Object) -> bool {
    release != Release::V0_1 || !params.contains_key("channel")
}

/// Returns the encoding of a version that was agreed on before. It is not sent to clients of
/// 0.1 again.
fn agreed_version(release: Release, version: &str) -> Json {
    if release == Release::V0_1 {
        Json::from(V0_1_NUMBER)
    } else {
        Json::from(version)
    }
}

/// Returns `true` if a reconnecting client is another program than the one that agreed on the
/// version, so that its version is unknown. 0.1 has no channels and other URIs for the root; no
/// legacy release has cursors.
pub(super) fn is_other_program(release: Release, params: &Object) -> bool {
    let subscriptions = params.get("subscriptions").and_then(Json::as_array);
    let subscriptions = subscriptions.map(Vec::as_slice).unwrap_or_default();
    let has_channels = || {
        let root = Json::from(RootChannel::URI);
        params.contains_key("channel") || subscriptions.contains(&root)
    };
    release < Release::CURRENT
        && (has_cursors(params) || (!release.capabilities().channels && has_channels()))
}

/// Returns `true` if `reconnect` has a cursor for each channel. The rule is that of
/// `ReconnectRequest`: an empty list counts as cursors if there is no `lastSeenServerSeq` for
/// all channels.
fn has_cursors(params: &Object) -> bool {
    match params.get("subscriptions") {
        Some(Json::Array(entries)) if entries.is_empty() => {
            !params.contains_key("lastSeenServerSeq")
        }
        Some(Json::Array(entries)) => entries.iter().any(Json::is_object),
        _ => false,
    }
}

/// Corrects a handshake that the host would misread. Returns `true` if it changed the message.
pub(super) fn repair_handshake(message: &mut Object) -> bool {
    if message.get("method").and_then(Json::as_str) == Some("reconnect") {
        return false;
    }
    let Some(Json::Object(params)) = message.get_mut("params") else {
        return false;
    };
    let has_channel = params.contains_key("channel");
    let has_number = params.contains_key("protocolVersion");
    match params.get_mut("protocolVersions") {
        Some(offers @ Json::Array(_)) => {
            let kept = plausible_offers(offers.clone(), has_channel);
            std::mem::replace(offers, kept) != *offers
        }
        Some(_) => false,
        // The number is not a supported version. The client should get that error, and not one
        // about a missing channel.
        None if has_number => {
            params.insert("protocolVersions".to_owned(), Json::Array(Vec::new()));
            params.insert("channel".to_owned(), Json::from(RootChannel::URI));
            true
        }
        None => false,
    }
}

/// Removes offers of 0.1 from a client that uses channels.
pub(super) fn plausible_offers(offers: Json, has_channel: bool) -> Json {
    let offers = match offers {
        Json::Array(offers) => offers,
        one => vec![one],
    };
    let first = |offer: &Json| {
        let version = offer.as_str().and_then(Version::parse);
        version.and_then(Release::of) == Some(Release::V0_1)
    };
    let meant = offers
        .into_iter()
        .filter(|offer| !(has_channel && first(offer)));
    Json::Array(meant.collect())
}
