//! `initialize` and `reconnect`.

use std::collections::BTreeSet;

use agenthost_protocol::connection::{
    InitializeParams, InitializeResult, ReconnectParams, ReconnectSnapshot,
};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::rpc::{RequestId, RpcError, UnsupportedVersionData};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::{Release, Version};

use crate::clients::{ClientRecord, Departure};
use crate::completions;
use crate::effect::{Answer, Effects, Seen, Write};
use crate::env::Env;
use crate::host::Host;
use crate::input::ConnectionId;
use crate::policy;
use crate::refusal::Failure;
use crate::terminal_turns::PREFIX;

/// How a client that comes back is told what it missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatchUp {
    /// One by one, if the log has it all.
    Replay,
    /// By where things are now.
    Snapshots,
}

impl Host {
    pub(crate) fn initialize(
        &mut self,
        connection: ConnectionId,
        params: InitializeParams,
        out: &mut Effects,
    ) -> Result<Answer, RpcError> {
        if self.clients.client_of(connection).is_some() {
            return Err(Failure::AlreadyInitialized.into());
        }
        let Some(version) = negotiate(&params.protocol_versions)? else {
            let supported = UnsupportedVersionData {
                supported_versions: spoken(),
            };
            return Err(RpcError::unsupported_version(
                "none of the offered protocol versions is spoken here",
                &supported,
            ));
        };
        if params.client_id.as_str().is_empty() || params.client_id.as_str().len() > policy::NAME {
            let reason = format!("clientId: expected 1 to {} bytes", policy::NAME);
            return Err(Failure::InvalidParams(reason).into());
        }
        let principal = self.principal(connection)?;
        if self.clients.is_taken(&params.client_id, &principal) {
            return Err(Failure::ClientTaken(params.client_id).into());
        }
        // A program that was here would take up where it was: this is another.
        let before = self.record(&params.client_id);
        let record = ClientRecord {
            shared: before.is_some(),
            epoch: before
                .as_ref()
                .map_or(self.epochs.current, |before| before.epoch),
            principal,
            version: version.to_owned(),
            capabilities: params.capabilities.unwrap_or_default(),
            locale: params.locale,
            info: params.client_info,
            windowed: before.map_or_else(BTreeSet::new, |before| before.windowed),
        };
        out.write(Write::Client(
            params.client_id.clone(),
            Box::new(record.clone()),
        ));
        self.clients.attach(connection, &params.client_id, record);
        // What does not exist is left out (HSK-14).
        let wanted = params.initial_subscriptions.unwrap_or_default();
        let snapshots = wanted
            .iter()
            .filter_map(|channel| self.install_prepared(connection, channel, out).ok())
            .collect();
        Ok(Answer::Initialize(Box::new(InitializeResult {
            protocol_version: version.to_owned(),
            server_seq: self.seq,
            server_info: Some(self.config.server.clone()),
            snapshots,
            default_directory: self
                .config
                .default_directory
                .clone()
                .filter(|_| !self.quirks(connection).no_default_directory),
            completion_trigger_characters: Some(completions::triggers()),
            terminal_command_prefix: Some(PREFIX.to_owned()),
            telemetry: None,
            automations: None,
            meta: None,
        })))
    }

    /// Never closes the connection: a client that fails here initializes on
    /// the same one (HSK-22).
    pub(crate) fn reconnect(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        id: &RequestId,
        params: ReconnectParams,
        how: CatchUp,
        out: &mut Effects,
    ) -> Result<(), RpcError> {
        let record = self.returning_client(connection, &params.client_id)?;
        let replay = how == CatchUp::Replay && self.can_replay(&params);
        self.attach_returning(connection, &params.client_id, record, out);
        if !replay {
            let snapshots = params
                .subscriptions
                .iter()
                .filter_map(|channel| self.install_prepared(connection, channel, out).ok())
                .collect();
            let answer = Answer::Snapshots(ReconnectSnapshot { snapshots });
            out.answer(connection, id, answer);
            self.tell_list_changes(connection, ServerSeq(0), out);
            self.read_again_from(&params.client_id, out);
            self.leave_unwatched(env, &params.client_id, out);
            return Ok(());
        }
        let (watched, mut missing): (Vec<_>, Vec<_>) = params
            .subscriptions
            .into_iter()
            .partition(|channel: &Uri| self.register(connection, channel).is_ok());
        // Channels without state are followed again, and nothing of them is
        // replayed (REC-10).
        missing.retain(|channel| !self.is_stateless(connection, channel));
        let answer = Answer::Replay {
            after: params.last_seen_server_seq,
            until: self.seq,
            channels: watched.clone(),
            missing,
            seen: self.seen_by(connection),
        };
        out.answer(connection, id, answer);
        for channel in &watched {
            self.refresh(channel, out);
            self.follow(channel, out);
        }
        self.tell_list_changes(connection, params.last_seen_server_seq, out);
        self.read_again_from(&params.client_id, out);
        self.leave_unwatched(env, &params.client_id, out);
        Ok(())
    }

    /// Whether the log has everything that the client missed (REC-3). A number
    /// that this history has not given out to the client is of another one
    /// (REC-4). And a channel that was born since is not the one that the
    /// client knows, even if it has the same address.
    pub(crate) fn can_replay(&self, params: &ReconnectParams) -> bool {
        let seen = params.last_seen_server_seq;
        let known = |channel: &Uri| {
            let is_root = *channel == Uri::from(RootChannel);
            let channel = self.channels.get(channel);
            channel.is_none_or(|channel| is_root || channel.born < seen)
        };
        let client = self.clients.clients.get(&params.client_id);
        let windowed = client.is_some_and(|client| {
            let windowed = &client.record.windowed;
            params
                .subscriptions
                .iter()
                .any(|channel| windowed.contains(channel))
        });
        let kept = self.has_since(&params.client_id, seen);
        kept && !windowed && params.subscriptions.iter().all(known)
    }

    /// Whether the log has all actions after a number that the client was given
    /// in this history (REC-3, REC-4).
    pub(crate) fn has_since(&self, client: &ClientId, seen: ServerSeq) -> bool {
        let client = self.clients.clients.get(client);
        let attached = client.map_or(ServerSeq(0), |client| client.record.epoch);
        self.log_start <= seen && self.epochs.may_have_seen(seen, attached, self.seq)
    }

    /// The record of a client that comes back on a new connection.
    pub(crate) fn returning_client(
        &self,
        connection: ConnectionId,
        client: &ClientId,
    ) -> Result<ClientRecord, Failure> {
        if self.clients.client_of(connection).is_some() {
            return Err(Failure::AlreadyInitialized);
        }
        let principal = self.principal(connection)?;
        let record = self.record(client);
        record
            .filter(|record| record.principal == principal)
            .ok_or_else(|| Failure::UnknownClient(client.clone()))
    }

    /// Attaches a client that came back. From here on it has all of every chat
    /// it asked for, and no other, and all that it sees is of this epoch.
    pub(crate) fn attach_returning(
        &mut self,
        connection: ConnectionId,
        client: &ClientId,
        mut record: ClientRecord,
        out: &mut Effects,
    ) {
        let windowed = !record.shared && !std::mem::take(&mut record.windowed).is_empty();
        let stale = !record.shared && record.epoch != self.epochs.current;
        if windowed || stale {
            record.epoch = self.epochs.current;
            let kept = Box::new(record.clone());
            out.write(Write::Client(client.clone(), kept));
        }
        self.clients.attach(connection, client, record);
    }

    /// How much of the log a client gets to see.
    pub(crate) fn seen_by(&self, connection: ConnectionId) -> Seen {
        match self.shows_apps(connection) {
            true => Seen::All,
            false => Seen::WithoutApps,
        }
    }

    pub(crate) fn end_grace(
        &mut self,
        env: &Env,
        client: &ClientId,
        departure: Departure,
        out: &mut Effects,
    ) {
        if self.clients.forget(client, departure) {
            out.write(Write::ClientForgotten(client.clone()));
            self.leave_unwatched(env, client, out);
            self.end_provisional(client, out);
        }
    }

    fn record(&self, client: &ClientId) -> Option<ClientRecord> {
        Some(self.clients.clients.get(client)?.record.clone())
    }

    fn principal(&self, connection: ConnectionId) -> Result<crate::clients::Principal, Failure> {
        let connection = self.clients.connections.get(&connection);
        connection
            .map(|connection| connection.principal.clone())
            .ok_or(Failure::NotInitialized)
    }
}

/// What can be offered here, newest first. 0.10 is what became 1.0; 0.1 is
/// offered as a number.
fn spoken() -> Vec<String> {
    let releases = Release::ALL.iter().rev();
    let releases = releases.filter(|release| **release > Release::V0_1);
    let mut spoken: Vec<_> = releases.map(|release| format!("^{release}")).collect();
    spoken.insert(1, "^0.10.0".to_owned());
    spoken
}

/// The highest offer that is spoken here, as the client wrote it (HSK-3).
/// One that can't be read fails them all (HSK-7).
fn negotiate(offers: &[String]) -> Result<Option<&str>, Failure> {
    let mut best: Option<(Version, &str)> = None;
    for offer in offers {
        let version = Version::parse(offer).ok_or_else(|| {
            let beginning = offer.chars().take(40).collect();
            Failure::MalformedVersion(beginning)
        })?;
        if Release::of(version).is_some() && best.is_none_or(|(highest, _)| version > highest) {
            best = Some((version, offer));
        }
    }
    Ok(best.map(|(_, offer)| offer))
}
