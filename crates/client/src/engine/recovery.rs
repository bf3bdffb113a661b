//! Resumes the subscribed channels on a new connection.

use agenthost_protocol::action::{Action, ActionOrigin};
use agenthost_protocol::connection::{
    CHANNEL_CURSORS_VERSION, ChannelReconnectParams, ChannelRecovery, ChannelReplayCursor,
    ReconnectParams, ReconnectRequest, ReconnectResponse, ReconnectResult,
};
use agenthost_protocol::ids::{ClientSeq, ServerSeq};
use agenthost_protocol::rpc::{ErrorCode, RpcError};
use agenthost_protocol::sorted::sort_by_key;
use agenthost_protocol::terminal::TerminalAction;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Version;
use agenthost_protocol::wire::{Node, Wire};

use super::mirror::{pending_of, sort_by_dispatch};
use super::{ClientEngine, ClientUpdate, EnginePhase, encode_dispatch};
use crate::error::EngineError;
use crate::optimistic::PendingAction;

/// Reason for which terminal input without a confirmation is not sent again.
const LOST_INPUT: &str = "the connection was lost before the host confirmed this input";

/// The form of the `reconnect` request that a host accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReconnectForm {
    /// One sequence number for all channels.
    Connection,
    /// A replay cursor for each channel.
    Channels,
}

impl ReconnectForm {
    /// Returns the form to try first with a host that negotiated `version`. Any host of 1.x
    /// accepts this version, so the engine may fall back to the other form.
    pub(super) fn for_version(version: &str) -> Self {
        match Version::parse(version) {
            Some(version) if version >= CHANNEL_CURSORS_VERSION => ReconnectForm::Channels,
            _ => ReconnectForm::Connection,
        }
    }
}

impl ClientEngine {
    pub(super) fn reconnect_request(&self) -> ReconnectRequest {
        let client_id = self.options.client_id.clone();
        match self.reconnect_form {
            ReconnectForm::Connection => ReconnectRequest::Connection(ReconnectParams {
                channel: RootChannel,
                client_id,
                last_seen_server_seq: self.mirror.last_seen,
                subscriptions: self.mirror.channels().cloned().collect(),
                meta: None,
            }),
            ReconnectForm::Channels => {
                let cursors = self.mirror.channels.iter();
                let cursors = cursors.map(|(channel, mirrored)| ChannelReplayCursor {
                    channel: channel.clone(),
                    last_seen_server_seq: mirrored.cursor,
                });
                ReconnectRequest::Channels(ChannelReconnectParams {
                    channel: RootChannel,
                    client_id,
                    subscriptions: cursors.collect(),
                    meta: None,
                })
            }
        }
    }

    /// Handles the response to `reconnect`.
    pub(super) fn finish_reconnect(
        &mut self,
        outcome: Result<Node<'_>, RpcError>,
    ) -> Result<(), EngineError> {
        let response = match outcome {
            Ok(node) => Ok(ReconnectResponse::decode(node)),
            Err(error) => Err(error),
        };
        let is_understood = match &response {
            Ok(Ok(ReconnectResponse::Channels(_))) => true,
            Ok(Ok(ReconnectResponse::Connection(_)) | Err(_)) => false,
            Err(error) => error.code != ErrorCode::InvalidParams,
        };
        // The host may have misread the request, so the other form needs a new connection.
        if !is_understood && self.reconnect_form == ReconnectForm::Channels {
            self.reconnect_form = ReconnectForm::Connection;
            self.phase = EnginePhase::Reopen;
            return Ok(());
        }
        match response {
            // The host does not know this client any more: initialize again (HSK-22).
            Err(_) => {
                let subscriptions = self.mirror.channels().cloned().collect();
                self.push_initialize(subscriptions)
            }
            Ok(response) => {
                match response? {
                    ReconnectResponse::Channels(result) => {
                        self.report_reconnected();
                        self.apply_recoveries(result.channels);
                        self.resend_unconfirmed()?;
                    }
                    ReconnectResponse::Connection(ReconnectResult::Replay(replay)) => {
                        self.report_reconnected();
                        for envelope in replay.actions {
                            let update = self.mirror.apply(envelope, &self.options.client_id);
                            self.updates.push_back(update);
                        }
                        for gone in replay.missing {
                            self.mirror.channels.remove(&gone);
                        }
                        self.resend_unconfirmed()?;
                    }
                    ReconnectResponse::Connection(ReconnectResult::Snapshot(result)) => {
                        let unconfirmed = self.mirror.unconfirmed_actions();
                        self.mirror.channels.clear();
                        // The host may not know the sequence numbers that were seen so far.
                        self.mirror.last_seen = ServerSeq(0);
                        for snapshot in result.snapshots {
                            self.mirror.install(snapshot);
                        }
                        self.report_resync(unconfirmed);
                    }
                }
                self.become_live()
            }
        }
    }

    /// Reports that all channels restart from snapshots. These contain the effect of all
    /// updates that were not read yet.
    pub(super) fn report_resync(&mut self, unconfirmed: Vec<(Uri, PendingAction)>) {
        self.report_reconnected();
        self.updates
            .retain(|update| matches!(update, ClientUpdate::Reconnected));
        self.updates.push_back(ClientUpdate::Resynced {
            channels: self.mirror.channels().cloned().collect(),
            unconfirmed,
        });
    }

    /// Reports that the connection is open again, unless its loss was never reported: then
    /// the update of the loss is removed.
    fn report_reconnected(&mut self) {
        let is_loss = |update: &ClientUpdate| matches!(update, ClientUpdate::Disconnected);
        match self.updates.iter().position(is_loss) {
            Some(position) => drop(self.updates.remove(position)),
            None => self.updates.push_front(ClientUpdate::Reconnected),
        }
    }

    /// Applies the outcome of each channel. Channels without an outcome are removed from
    /// the mirror.
    fn apply_recoveries(&mut self, outcomes: Vec<ChannelRecovery>) {
        let mut before = std::mem::take(&mut self.mirror.channels);
        let mut missed = Vec::new();
        let mut channels = Vec::new();
        let mut unconfirmed = Vec::new();
        for outcome in outcomes {
            match outcome {
                ChannelRecovery::Replay(replay) => {
                    if let Some(mirrored) = before.remove(&replay.channel) {
                        self.mirror.channels.insert(replay.channel, mirrored);
                        missed.extend(replay.actions);
                    }
                }
                ChannelRecovery::Snapshot(recovery) => {
                    if let Some(mirrored) = before.remove(&recovery.channel) {
                        unconfirmed.extend(pending_of(&recovery.channel, &mirrored));
                    }
                    channels.push(recovery.channel);
                    self.mirror.install(recovery.snapshot);
                }
                // The channel stays removed, like a channel without an outcome.
                ChannelRecovery::Missing(_) => {}
            }
        }
        // A snapshot contains the effect of the unread actions of its channel.
        self.updates.retain(|update| match update {
            ClientUpdate::Action(envelope) => !channels.contains(&envelope.channel),
            _ => true,
        });
        // Channels depend on each other, so their actions are returned in one global order.
        sort_by_key(&mut missed, |envelope| i128::from(envelope.server_seq.0));
        for envelope in missed {
            let update = self.mirror.apply(envelope, &self.options.client_id);
            self.updates.push_back(update);
        }
        // After the recovery, no cursor contains a number that the host does not know.
        let cursors = self.mirror.channels.values();
        let cursors = cursors.map(|mirrored| mirrored.cursor);
        self.mirror.last_seen = cursors.max().unwrap_or_default();
        if !(before.is_empty() && channels.is_empty()) {
            sort_by_dispatch(&mut unconfirmed);
            self.updates.push_back(ClientUpdate::Resynced {
                channels,
                unconfirmed,
            });
        }
    }

    /// Dispatches the pending actions again. After a replay, an action that the host has
    /// neither confirmed nor rejected was never received.
    ///
    /// The host keeps input of terminals out of its log (TER-20), so a replay does not tell
    /// whether it was received. It counts as rejected, because typing it twice can do harm. So does
    /// an action that hosts do not accept, which an earlier version may have saved.
    fn resend_unconfirmed(&mut self) -> Result<(), EngineError> {
        for (channel, pending) in self.mirror.unconfirmed_actions() {
            let client_seq = pending.client_seq;
            if matches!(*pending.action, Action::Terminal(TerminalAction::Input(_))) {
                self.reject_pending(&channel, client_seq, LOST_INPUT.to_owned());
                continue;
            }
            match encode_dispatch(&channel, client_seq, pending.action) {
                Ok(text) => self.outgoing.push_back(text),
                Err(error @ EngineError::TooLarge { .. }) => {
                    self.reject_pending(&channel, client_seq, error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes an unconfirmed action as if the host had rejected it.
    fn reject_pending(&mut self, channel: &Uri, client_seq: ClientSeq, reason: String) {
        self.mirror.drop_pending(channel, client_seq);
        self.updates.push_back(ClientUpdate::Rejected {
            origin: Some(ActionOrigin {
                client_id: self.options.client_id.clone(),
                client_seq,
            }),
            reason,
        });
    }
}
