//! Files of the host.

use agenthost_client::ClientResponse;
use agenthost_protocol::resource::{ResourceListParams, ResourceReadParams};
use agenthost_protocol::uri::RootChannel;
use serde_json::value::RawValue;

use super::PageCore;
use super::responses::{RequestError, decode, encode};
use super::sessions::folder_uri;

impl PageCore {
    pub(super) fn read_file(&mut self, id: u64, uri: &str) {
        let params = ResourceReadParams {
            channel: RootChannel,
            uri: folder_uri(uri),
            encoding: None,
            meta: None,
        };
        self.request_for(id, &params, to_content);
    }

    pub(super) fn list_folder(&mut self, id: u64, uri: &str) {
        let params = ResourceListParams {
            channel: RootChannel,
            uri: folder_uri(uri),
            meta: None,
        };
        self.request_for(id, &params, to_entries);
    }
}

fn to_content(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    encode(&decode::<ResourceReadParams>(response)?)
}

fn to_entries(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    encode(&decode::<ResourceListParams>(response)?)
}
