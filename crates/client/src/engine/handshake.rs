//! The handshake with a host, and the responses to subscriptions.

use agenthost_protocol::connection::{
    CHANNEL_CURSORS_VERSION, InitializeParams, InitializeResult, SubscribeResult,
};
use agenthost_protocol::rpc::RpcError;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::version::Version;
use agenthost_protocol::wire::{Node, Wire};

use super::recovery::ReconnectForm;
use super::{ClientEngine, ClientUpdate, EnginePhase, HostInfo, PendingRequest};
use crate::error::EngineError;

impl ClientEngine {
    pub(super) fn push_initialize(&mut self, subscriptions: Vec<Uri>) -> Result<(), EngineError> {
        let initialize = InitializeParams {
            channel: RootChannel,
            protocol_versions: vec![
                CHANNEL_CURSORS_VERSION.to_string(),
                Version::CURRENT.to_string(),
            ],
            client_id: self.options.client_id.clone(),
            client_info: Some(self.options.info.clone()),
            initial_subscriptions: Some(subscriptions),
            locale: None,
            capabilities: self.options.capabilities.clone(),
            meta: None,
        };
        self.push_request(&initialize, PendingRequest::Initialize)?;
        Ok(())
    }

    pub(super) fn finish_initialize(
        &mut self,
        outcome: Result<Node<'_>, RpcError>,
    ) -> Result<(), EngineError> {
        let node = outcome.map_err(|error| EngineError::HandshakeRefused(error.message))?;
        let result = InitializeResult::decode(node)?;
        let unconfirmed = self.mirror.unconfirmed_actions();
        self.mirror.channels.clear();
        self.mirror.last_seen = result.server_seq;
        self.reconnect_form = ReconnectForm::for_version(&result.protocol_version);
        self.host = Some(HostInfo {
            program: result.server_info,
            default_directory: result.default_directory,
            meta: result.meta,
        });
        for snapshot in result.snapshots {
            self.mirror.install(snapshot);
        }
        // The host did not know this client any more: every channel starts over (HSK-22).
        if self.is_initialized {
            self.report_resync(unconfirmed);
        }
        self.is_initialized = true;
        self.become_live()
    }

    pub(super) fn finish_subscribe(
        &mut self,
        channel: Uri,
        outcome: Result<Node<'_>, RpcError>,
    ) -> Result<(), EngineError> {
        match outcome {
            Ok(node) => {
                let result = SubscribeResult::decode(node)?;
                if let Some(snapshot) = result.snapshot {
                    self.mirror.install(snapshot);
                }
            }
            // The channel does not exist, or this client may not see it.
            Err(_) => self.mirror.remove(&channel),
        }
        self.updates.push_back(ClientUpdate::Resynced {
            channels: vec![channel],
            unconfirmed: Vec::new(),
        });
        Ok(())
    }

    /// Subscribes to the channels that were requested while there was no connection.
    pub(super) fn become_live(&mut self) -> Result<(), EngineError> {
        self.phase = EnginePhase::Live;
        for (_, params) in self.mirror.take_wanted() {
            self.subscribe(params)?;
        }
        Ok(())
    }
}
