//! Entries of the audit log: who did what, from where, and by which rule.
//!
//! The core produces an entry with the action that it belongs to, so both are stored in the same
//! transaction. An entry has no content of messages, arguments or files: they are represented by
//! their digest.

pub(crate) mod approvals;
mod settings;

use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::label::clean_label;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::connection::registry::{PeerIdentity, Principal};
use crate::host::Host;
use crate::host::effect::{Effects, StoreWrite};
use crate::host::input::{ConnectionId, RefusedPeer};
use crate::resource::content::sha256_hex;
use crate::session::provisional;

/// Maximum length of a text in an entry, in characters.
const MAX_AUDIT_TEXT_CHARS: usize = 200;

/// Maximum number of elements of a list in an entry.
pub(crate) const MAX_AUDIT_ITEMS: usize = 50;

/// An event that the audit log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditKind {
    HostStarted,
    ConnectionAccepted,
    ConnectionRefused,
    DevicePaired,
    DeviceRevoked,
    TokenStored,
    TokenRemoved,
    ToolCallDecided,
    ToolResultDecided,
    FolderGranted,
    FolderRevoked,
    CodeAllowed,
    CodeRevoked,
    SettingChanged,
    SessionConfigChanged,
    CustomizationToggled,
    AgentsChanged,
    SessionRemoved,
}

impl AuditKind {
    /// All kinds.
    pub const ALL: [AuditKind; 18] = [
        AuditKind::HostStarted,
        AuditKind::ConnectionAccepted,
        AuditKind::ConnectionRefused,
        AuditKind::DevicePaired,
        AuditKind::DeviceRevoked,
        AuditKind::TokenStored,
        AuditKind::TokenRemoved,
        AuditKind::ToolCallDecided,
        AuditKind::ToolResultDecided,
        AuditKind::FolderGranted,
        AuditKind::FolderRevoked,
        AuditKind::CodeAllowed,
        AuditKind::CodeRevoked,
        AuditKind::SettingChanged,
        AuditKind::SessionConfigChanged,
        AuditKind::CustomizationToggled,
        AuditKind::AgentsChanged,
        AuditKind::SessionRemoved,
    ];

    /// Returns `true` if an entry of this kind may be stored after its event, because the event
    /// stores nothing that clients rely on.
    pub fn can_wait(self) -> bool {
        match self {
            AuditKind::HostStarted
            | AuditKind::ConnectionAccepted
            | AuditKind::ConnectionRefused
            | AuditKind::DevicePaired
            | AuditKind::DeviceRevoked
            | AuditKind::TokenStored
            | AuditKind::TokenRemoved => true,
            AuditKind::ToolCallDecided
            | AuditKind::ToolResultDecided
            | AuditKind::FolderGranted
            | AuditKind::FolderRevoked
            | AuditKind::CodeAllowed
            | AuditKind::CodeRevoked
            | AuditKind::SettingChanged
            | AuditKind::SessionConfigChanged
            | AuditKind::CustomizationToggled
            | AuditKind::AgentsChanged
            | AuditKind::SessionRemoved => false,
        }
    }

    /// Returns the name of the kind, as it is stored.
    pub fn name(self) -> &'static str {
        match self {
            AuditKind::HostStarted => "host.started",
            AuditKind::ConnectionAccepted => "connection.accepted",
            AuditKind::ConnectionRefused => "connection.refused",
            AuditKind::DevicePaired => "device.paired",
            AuditKind::DeviceRevoked => "device.revoked",
            AuditKind::TokenStored => "token.stored",
            AuditKind::TokenRemoved => "token.removed",
            AuditKind::ToolCallDecided => "toolCall.decided",
            AuditKind::ToolResultDecided => "toolResult.decided",
            AuditKind::FolderGranted => "folder.granted",
            AuditKind::FolderRevoked => "folder.revoked",
            AuditKind::CodeAllowed => "code.allowed",
            AuditKind::CodeRevoked => "code.revoked",
            AuditKind::SettingChanged => "setting.changed",
            AuditKind::SessionConfigChanged => "sessionConfig.changed",
            AuditKind::CustomizationToggled => "customization.toggled",
            AuditKind::AgentsChanged => "agents.changed",
            AuditKind::SessionRemoved => "session.removed",
        }
    }
}

/// The originator of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditActor {
    /// The host itself, by a rule that the details name.
    Host,
    /// A peer that was not authenticated, at this network address.
    Unauthenticated { address: Option<String> },
    /// A paired device, or a peer with the token of the host.
    Peer {
        principal: Principal,
        device: Option<String>,
        client: Option<ClientId>,
        /// The name and version that the client reports about itself.
        program: Option<String>,
    },
}

impl AuditActor {
    /// Returns the actor as a JSON object.
    pub fn to_object(&self) -> Object {
        let text = |value: &str| Json::from(audit_text(value));
        match self {
            AuditActor::Host => Object::from_iter([("kind".to_owned(), Json::from("host"))]),
            AuditActor::Unauthenticated { address } => {
                let kind = ("kind".to_owned(), Json::from("unauthenticated"));
                let address = address.as_deref();
                let address = address.map(|address| ("address".to_owned(), text(address)));
                [kind].into_iter().chain(address).collect()
            }
            AuditActor::Peer {
                principal,
                device,
                client,
                program,
            } => {
                let fields = [
                    ("kind", Some("peer")),
                    ("principal", Some(principal.0.as_str())),
                    ("device", device.as_deref()),
                    ("client", client.as_ref().map(ClientId::as_str)),
                    ("program", program.as_deref()),
                ];
                let present = fields.into_iter();
                present
                    .filter_map(|(name, value)| Some((name.to_owned(), text(value?))))
                    .collect()
            }
        }
    }
}

/// An entry of the audit log. The store adds its number, its time and its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub kind: AuditKind,
    pub actor: AuditActor,
    /// The session that the event is about.
    pub session: Option<Uri>,
    pub details: Object,
}

/// The reason for which a session is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RemovalReason {
    /// A client has requested it.
    Client(AuditActor),
    /// The session is provisional and its creator is gone. The removal is not recorded.
    Unused,
    /// A limit of the configuration.
    Retention(&'static str),
}

/// Returns a text of a peer for an entry: one line of limited length.
pub(crate) fn audit_text(text: &str) -> String {
    let mut text: String = text.chars().take(MAX_AUDIT_TEXT_CHARS).collect();
    clean_label(&mut text);
    text
}

/// Returns the digest of a text that an entry must not contain.
pub(crate) fn audit_digest(text: &str) -> Json {
    Json::from(format!("sha256:{}", sha256_hex(text.as_bytes())))
}

/// Builds an object from fields that are present.
pub(crate) fn audit_details<const N: usize>(fields: [(&str, Option<Json>); N]) -> Object {
    let present = fields.into_iter();
    present
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

impl Effects {
    /// Records an event in the audit log.
    pub(crate) fn audit(
        &mut self,
        kind: AuditKind,
        actor: AuditActor,
        session: Option<&Uri>,
        details: Object,
    ) {
        self.write(StoreWrite::Audit(Box::new(AuditEntry {
            kind,
            actor,
            session: session.cloned(),
            details,
        })));
    }
}

impl Host {
    /// Returns the peer of a connection as an actor.
    pub(crate) fn audit_actor(&self, connection: ConnectionId) -> AuditActor {
        let Some(entry) = self.clients.connections.get(&connection) else {
            return AuditActor::Host;
        };
        let client = entry.client.as_ref();
        let record = client.and_then(|client| self.clients.record(client));
        let info = record.and_then(|record| record.info.as_ref());
        peer_actor(&entry.peer, client, info)
    }

    /// Records that a client has signed in.
    pub(crate) fn audit_sign_in(&self, connection: ConnectionId, out: &mut Effects) {
        let Some(entry) = self.clients.connections.get(&connection) else {
            return;
        };
        let scope = Some(Json::from(entry.peer.scope.name()));
        let protocol = Some(Json::from(entry.release.to_string()));
        let details = audit_details([("scope", scope), ("protocol", protocol)]);
        let actor = self.audit_actor(connection);
        out.audit(AuditKind::ConnectionAccepted, actor, None, details);
    }

    /// Records that a handshake was refused.
    pub(crate) fn audit_refusal(
        &self,
        connection: ConnectionId,
        client: &ClientId,
        reason: &str,
        out: &mut Effects,
    ) {
        let Some(entry) = self.clients.connections.get(&connection) else {
            return;
        };
        let actor = peer_actor(&entry.peer, Some(client), None);
        let reason = Some(Json::from(audit_text(reason)));
        let details = audit_details([("reason", reason)]);
        out.audit(AuditKind::ConnectionRefused, actor, None, details);
    }

    /// Records that a session was removed.
    pub(crate) fn audit_removal(
        &self,
        removed: &SessionSummary,
        reason: RemovalReason,
        out: &mut Effects,
    ) {
        if provisional::maker(removed).is_some() {
            return;
        }
        let (actor, rule) = match reason {
            RemovalReason::Unused => return,
            RemovalReason::Client(actor) => (actor, None),
            RemovalReason::Retention(rule) => (AuditActor::Host, Some(Json::from(rule))),
        };
        let metadata = &removed.metadata;
        let details = audit_details([
            ("agent", Some(Json::from(metadata.provider.as_str()))),
            ("created", Some(Json::from(removed.created_at.to_string()))),
            (
                "modified",
                Some(Json::from(removed.modified_at.to_string())),
            ),
            ("rule", rule),
        ]);
        out.audit(
            AuditKind::SessionRemoved,
            actor,
            Some(&removed.resource),
            details,
        );
    }
}

fn peer_actor(
    peer: &PeerIdentity,
    client: Option<&ClientId>,
    info: Option<&Implementation>,
) -> AuditActor {
    let program = info.map(|info| match &info.version {
        Some(version) => format!("{} {version}", info.name),
        None => info.name.clone(),
    });
    AuditActor::Peer {
        principal: peer.principal.clone(),
        device: peer.device_name.clone(),
        client: client.cloned(),
        program,
    }
}

/// Records a peer that was refused before it had a connection.
pub(crate) fn audit_refused_peer(peer: RefusedPeer, out: &mut Effects) {
    let suppressed = (peer.suppressed > 0).then(|| Json::from(peer.suppressed));
    let details = audit_details([
        ("reason", Some(Json::from(audit_text(&peer.reason)))),
        ("suppressed", suppressed),
    ]);
    let actor = AuditActor::Unauthenticated {
        address: peer.address,
    };
    out.audit(AuditKind::ConnectionRefused, actor, None, details);
}

/// Records a device that was paired.
pub(crate) fn audit_paired_device(device: PeerIdentity, out: &mut Effects) {
    let scope = Some(Json::from(device.scope.name()));
    let actor = peer_actor(&device, None, None);
    let details = audit_details([("scope", scope)]);
    out.audit(AuditKind::DevicePaired, actor, None, details);
}
