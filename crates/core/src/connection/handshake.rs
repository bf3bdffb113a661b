//! The handshake: handles `initialize` and `reconnect`.

use std::collections::BTreeSet;

use agenthost_protocol::common::Meta;
use agenthost_protocol::connection::{
    InitializeParams, InitializeResult, ReconnectParams, ReconnectSnapshot,
};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::rpc::{RequestId, RpcError, UnsupportedVersionData};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::{Release, Version};
use agenthost_protocol::wire::{Json, Object};

use crate::chat::completions;
use crate::chat::turn::command_turn::COMMAND_PREFIX;
use crate::connection::registry::ClientRecord;
use crate::host::Host;
use crate::host::effect::{AppVisibility, Effects, ResponseBody, StoreWrite};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;
use crate::host::step::Env;
use crate::policy;
use crate::policy::scope::AccessScope;

/// The `_meta` key of the result of `initialize` for the scope of the connection. A client without
/// it may do everything.
const SCOPE_META_KEY: &str = "agenthost.scope";

/// Method by which a reconnecting client catches up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatchUpMode {
    /// The missed actions, if the log has all of them.
    Replay,
    /// The current state of each channel.
    Snapshots,
}

impl Host {
    pub(crate) fn initialize(
        &mut self,
        connection: ConnectionId,
        params: InitializeParams,
        out: &mut Effects,
    ) -> Result<ResponseBody, RpcError> {
        if self.clients.client_of(connection).is_some() {
            return Err(RequestFailure::AlreadyInitialized.into());
        }
        let Some(version) = negotiate_version(&params.protocol_versions)? else {
            let supported = UnsupportedVersionData {
                supported_versions: supported_versions(),
            };
            return Err(RpcError::unsupported_version(
                "none of the offered protocol versions is supported",
                &supported,
            ));
        };
        if params.client_id.as_str().is_empty()
            || params.client_id.as_str().len() > policy::MAX_NAME_BYTES
        {
            let reason = format!("clientId: expected 1 to {} bytes", policy::MAX_NAME_BYTES);
            return Err(RequestFailure::InvalidParams(reason).into());
        }
        let principal = self.principal_at(connection)?;
        if self
            .clients
            .is_owned_by_other(&params.client_id, &principal)
        {
            let reason = "the client id belongs to another principal";
            self.audit_refusal(connection, &params.client_id, reason, out);
            return Err(RequestFailure::ClientIdTaken(params.client_id).into());
        }
        // The same client would have reconnected, so this is another program with the same
        // client id.
        let present = self.clients.clients.get(&params.client_id);
        let present = present.map(|client| &client.record);
        // A remembered client may have started over. Its record is replaced, except for what
        // protects a program that still reconnects with the same client id.
        let before = self.clients.record(&params.client_id);
        let windowed = before.map_or_else(BTreeSet::new, |before| before.windowed.clone());
        let record = ClientRecord {
            shared: present.is_some(),
            epoch: present.map_or(self.log.epochs.current, |before| before.epoch),
            principal,
            version: version.to_owned(),
            capabilities: params.capabilities.unwrap_or_default(),
            locale: params.locale,
            info: params.client_info,
            windowed,
        };
        out.write(StoreWrite::Client(
            params.client_id.clone(),
            Box::new(record.clone()),
        ));
        self.clients.attach(connection, &params.client_id, record);
        self.audit_sign_in(connection, out);
        // Unknown channels are left out of the result (HSK-14).
        let wanted = params.initial_subscriptions.unwrap_or_default();
        let snapshots = wanted
            .iter()
            .filter_map(|channel| self.subscribe_derived(connection, channel, out).ok())
            .collect();
        Ok(ResponseBody::Initialize(Box::new(InitializeResult {
            protocol_version: version.to_owned(),
            server_seq: self.log.seq,
            server_info: Some(self.config.server.clone()),
            snapshots,
            default_directory: self
                .config
                .default_directory
                .clone()
                .filter(|_| !self.connection_quirks(connection).no_default_directory),
            completion_trigger_characters: Some(completions::trigger_characters()),
            terminal_command_prefix: Some(COMMAND_PREFIX.to_owned()),
            telemetry: None,
            automations: None,
            meta: self.handshake_meta(connection),
        })))
    }

    /// Returns the `_meta` of the handshake: the scope, unless the connection has all rights.
    fn handshake_meta(&self, connection: ConnectionId) -> Option<Meta> {
        let scope = self.clients.connections.get(&connection)?.peer.scope;
        let entry = (SCOPE_META_KEY.to_owned(), Json::from(scope.name()));
        (scope < AccessScope::Terminal).then(|| Meta::new(Object::from_iter([entry])))
    }

    /// Reconnects a client with one cursor for all channels. An error does not close the
    /// connection: the client initializes on the same one (HSK-22).
    pub(crate) fn reconnect(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        params: ReconnectParams,
        mode: CatchUpMode,
        out: &mut Effects,
    ) -> Result<(), RpcError> {
        let record = self.find_returning_client(connection, &params.client_id)?;
        let replay = mode == CatchUpMode::Replay && self.can_replay(&params);
        self.attach_returning_client(connection, &params.client_id, record, out);
        if !replay {
            let snapshots = params
                .subscriptions
                .iter()
                .filter_map(|channel| self.subscribe_derived(connection, channel, out).ok())
                .collect();
            let answer = ResponseBody::Snapshots(ReconnectSnapshot { snapshots });
            out.respond(connection, id, answer);
            self.send_list_changes(connection, ServerSeq(0), out);
            self.retry_client_plugins(&params.client_id, out);
            self.leave_unsubscribed_sessions(env, &params.client_id, out);
            return Ok(());
        }
        let (watched, mut missing): (Vec<_>, Vec<_>) = params
            .subscriptions
            .into_iter()
            .partition(|channel: &Uri| self.add_subscriber(connection, channel).is_ok());
        // Stateless channels are subscribed again, without a replay (REC-10).
        missing.retain(|channel| !self.is_stateless(connection, channel));
        let answer = ResponseBody::Replay {
            after: params.last_seen_server_seq,
            until: self.log.seq,
            channels: watched.clone(),
            missing,
            apps: self.app_visibility(connection),
        };
        out.respond(connection, id, answer);
        for channel in &watched {
            self.refresh_changeset(channel, out);
            self.track_customizations(channel, out);
        }
        self.send_list_changes(connection, params.last_seen_server_seq, out);
        self.retry_client_plugins(&params.client_id, out);
        self.leave_unsubscribed_sessions(env, &params.client_id, out);
        Ok(())
    }

    /// Returns `true` if the log has all actions that the client missed (REC-3). A number
    /// that this log has not assigned while the client was attached belongs to another
    /// history (REC-4). A channel that was created since is not the one that the client
    /// knows, even with the same URI.
    pub(crate) fn can_replay(&self, params: &ReconnectParams) -> bool {
        let seen = params.last_seen_server_seq;
        let known = |channel: &Uri| {
            let is_root = *channel == Uri::from(RootChannel);
            let channel = self.channels.get(channel);
            channel.is_none_or(|channel| is_root || channel.created_seq < seen)
        };
        let record = self.clients.record(&params.client_id);
        let windowed = record.is_some_and(|record| {
            let mut channels = params.subscriptions.iter();
            channels.any(|channel| record.windowed.contains(channel))
        });
        let kept = self.has_actions_since(&params.client_id, seen);
        kept && !windowed && params.subscriptions.iter().all(known)
    }

    /// Returns `true` if the log has all actions after `seen`, and the client can have
    /// received that number from this log (REC-3, REC-4).
    pub(crate) fn has_actions_since(&self, client: &ClientId, seen: ServerSeq) -> bool {
        let record = self.clients.record(client);
        let attached = record.map_or(ServerSeq(0), |record| record.epoch);
        self.log.log_start <= seen && self.log.epochs.may_have_seen(seen, attached, self.log.seq)
    }

    /// Returns the record of a client that reconnects. The connection must not have a
    /// client yet.
    pub(crate) fn find_returning_client(
        &self,
        connection: ConnectionId,
        client: &ClientId,
    ) -> Result<ClientRecord, RequestFailure> {
        if self.clients.client_of(connection).is_some() {
            return Err(RequestFailure::AlreadyInitialized);
        }
        let principal = self.principal_at(connection)?;
        let record = self.cloned_record(client);
        record
            .filter(|record| record.principal == principal)
            .ok_or_else(|| RequestFailure::UnknownClient(client.clone()))
    }

    /// Attaches a reconnecting client. From now on it has the whole state of each chat it
    /// subscribes to, and has seen numbers of the current epoch.
    ///
    /// The store learns that a remembered client is present again.
    pub(crate) fn attach_returning_client(
        &mut self,
        connection: ConnectionId,
        client: &ClientId,
        mut record: ClientRecord,
        out: &mut Effects,
    ) {
        let windowed = !record.shared && !std::mem::take(&mut record.windowed).is_empty();
        let stale = !record.shared && record.epoch != self.log.epochs.current;
        if windowed || stale {
            record.epoch = self.log.epochs.current;
        }
        if windowed || stale || self.clients.remembered_record(client).is_some() {
            let kept = Box::new(record.clone());
            out.write(StoreWrite::Client(client.clone(), kept));
        }
        self.clients.attach(connection, client, record);
        self.audit_sign_in(connection, out);
    }

    /// Returns the visibility of MCP App fields for a connection.
    pub(crate) fn app_visibility(&self, connection: ConnectionId) -> AppVisibility {
        if self.supports_apps(connection) {
            AppVisibility::Visible
        } else {
            AppVisibility::Hidden
        }
    }

    fn cloned_record(&self, client: &ClientId) -> Option<ClientRecord> {
        self.clients.record(client).cloned()
    }

    fn principal_at(
        &self,
        connection: ConnectionId,
    ) -> Result<crate::connection::registry::Principal, RequestFailure> {
        let connection = self.clients.connections.get(&connection);
        connection
            .map(|connection| connection.peer.principal.clone())
            .ok_or(RequestFailure::NotInitialized)
    }
}

/// Returns the supported version ranges, the newest first. 0.10 became 1.0, so it has an
/// entry of its own. 0.1 has none: its clients offer a number instead of a
/// version.
fn supported_versions() -> Vec<String> {
    let releases = Release::ALL.iter().rev();
    let releases = releases.filter(|release| **release > Release::V0_1);
    let mut spoken: Vec<_> = releases.map(|release| format!("^{release}")).collect();
    spoken.insert(1, "^0.10.0".to_owned());
    spoken
}

/// Returns the highest supported version of the client's offers, as the client wrote it
/// (HSK-3). An offer that can't be parsed is an error (HSK-7).
fn negotiate_version(offers: &[String]) -> Result<Option<&str>, RequestFailure> {
    let mut best: Option<(Version, &str)> = None;
    for offer in offers {
        let version = Version::parse(offer).ok_or_else(|| {
            let beginning = offer.chars().take(40).collect();
            RequestFailure::MalformedVersion(beginning)
        })?;
        if Release::of(version).is_some() && best.is_none_or(|(highest, _)| version > highest) {
            best = Some((version, offer));
        }
    }
    Ok(best.map(|(_, offer)| offer))
}
