//! Loads channels and clients from the store, before the step that needs them.

use agenthost_core::{ChannelNeed, Effects, Input};
use agenthost_protocol::ids::ClientId;
use agenthost_store::StoreError;

use super::HostLoop;

impl HostLoop {
    /// Loads the record of the client that an input concerns, if it is not present.
    pub(super) fn load_client(
        &mut self,
        input: &Input,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        match self.host.missing_client(input) {
            Some(client) => self.load_client_record(client, out),
            None => Ok(()),
        }
    }

    pub(super) fn load_client_record(
        &mut self,
        client: ClientId,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        let remembered = match self.store.load_client(&client) {
            // The client starts over.
            Err(error @ StoreError::Unreadable { .. }) => {
                tracing::error!(%client, %error, "failed to load the record of a client");
                None
            }
            remembered => remembered?.map(Box::new),
        };
        let env = self.next_env();
        let loaded = Input::ClientLoaded { client, remembered };
        self.host.step(&env, loaded, out);
        Ok(())
    }

    pub(super) fn load_channel(
        &mut self,
        need: ChannelNeed,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        let ChannelNeed { channel, extent } = need;
        let loaded = match self.store.load(&channel, extent) {
            // The rest of the host works without this channel.
            Err(error @ StoreError::Unreadable { .. }) => {
                tracing::error!(%channel, %error, "failed to load a channel");
                return Ok(());
            }
            loaded => loaded?,
        };
        if let Some(loaded) = loaded {
            let env = self.next_env();
            let restored = Input::ChannelLoaded { channel, loaded };
            self.note_step(&restored);
            self.host.step(&env, restored, out);
        }
        Ok(())
    }
}
