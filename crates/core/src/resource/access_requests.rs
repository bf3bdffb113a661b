//! Access requests of clients for files that were not granted (RES-12).
//!
//! A request stays open until its timeout. Clients that subscribe to the root channel see it in
//! the settings, and the user grants it by adding the folder there.

use agenthost_protocol::number::Millis;
use agenthost_protocol::resource::ResourceRequestParams;
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};

use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::{ConnectionId, Input};
use crate::host::settings::REQUESTED_FOLDERS_SETTING;
use crate::resource::FileAccess;
use crate::resource::uris;

/// Time for the user to grant a request. Clients wait for the response, so it is only a minute.
const ACCESS_REQUEST_TIMEOUT: Millis = Millis(60_000);

/// Maximum number of open access requests. Further requests are refused at once.
const MAX_ACCESS_REQUESTS: usize = 50;

/// An access request that waits for the user.
#[derive(Debug, Clone)]
pub(crate) struct AccessRequest {
    connection: ConnectionId,
    id: RequestId,
    uri: Uri,
    access: FileAccess,
}

impl Host {
    /// Returns the response if access was granted before. Returns `None` if the request has to
    /// wait for the user, and sends the response later.
    pub(crate) fn request_access(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        params: &ResourceRequestParams,
        out: &mut Effects,
    ) -> Result<Option<ResponseBody>, RequestFailure> {
        let access = match params.write {
            Some(true) => FileAccess::Write,
            _ => FileAccess::Read,
        };
        let Err(refused) = self.check_granted(&params.uri, access) else {
            return Ok(Some(ResponseBody::Empty));
        };
        // No folder can contain such a URI, so the user could not grant it.
        let plain =
            params.uri.as_str().starts_with("file:///") && !uris::has_parent_segment(&params.uri);
        if self.requests.access.len() >= MAX_ACCESS_REQUESTS || !plain {
            return Err(refused);
        }
        self.requests.access.push(AccessRequest {
            connection,
            id: id.clone(),
            uri: params.uri.clone(),
            access,
        });
        let ungranted = Input::AccessRequestTimedOut {
            connection,
            id: id.clone(),
        };
        out.schedule(ACCESS_REQUEST_TIMEOUT, ungranted);
        self.publish_access_requests(out);
        Ok(None)
    }

    /// Answers the access requests that are granted by now.
    pub(crate) fn resolve_access_requests(&mut self, out: &mut Effects) {
        let waiting = std::mem::take(&mut self.requests.access);
        let (granted, waiting) = waiting.into_iter().partition(|request| {
            let granted = self.check_granted(&request.uri, request.access);
            granted.is_ok()
        });
        self.requests.access = waiting;
        let granted: Vec<AccessRequest> = granted;
        for request in &granted {
            out.respond(request.connection, &request.id, ResponseBody::Empty);
        }
        if !granted.is_empty() {
            self.publish_access_requests(out);
        }
    }

    /// Refuses an access request that the user has not granted in time.
    pub(crate) fn expire_access_request(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        out: &mut Effects,
    ) {
        let mut requests = self.requests.access.iter();
        let found = requests.position(|one| one.connection == connection && one.id == *id);
        let Some(request) = found.map(|index| self.requests.access.remove(index)) else {
            return;
        };
        let (uri, access) = (request.uri, request.access);
        out.respond_error(
            connection,
            id,
            RequestFailure::NotGranted { uri, access }.into(),
        );
        self.publish_access_requests(out);
    }

    /// Drops the access requests of a closed connection.
    pub(crate) fn drop_access_requests(&mut self, connection: ConnectionId, out: &mut Effects) {
        let before = self.requests.access.len();
        self.requests
            .access
            .retain(|one| one.connection != connection);
        if self.requests.access.len() != before {
            self.publish_access_requests(out);
        }
    }

    /// Publishes the open access requests in the settings. At startup this removes the requests
    /// of the previous run.
    pub(crate) fn publish_access_requests(&mut self, out: &mut Effects) {
        let Some(config) = self.root().and_then(|root| root.config.as_ref()) else {
            return;
        };
        let mut values: Object = config.values.clone();
        let mut asked: Vec<_> = self
            .requests
            .access
            .iter()
            .map(describe_access_request)
            .collect();
        asked.sort();
        asked.dedup();
        values.shift_remove(REQUESTED_FOLDERS_SETTING);
        if !asked.is_empty() {
            values.insert(
                REQUESTED_FOLDERS_SETTING.to_owned(),
                asked.into_iter().map(Json::from).collect(),
            );
        }
        if values != config.values {
            let changed = RootAction::ConfigChanged(RootConfigChanged {
                config: values,
                replace: Some(true),
            });
            self.originate(&RootChannel.into(), changed, out);
        }
    }
}

fn describe_access_request(request: &AccessRequest) -> String {
    let what = match request.access {
        FileAccess::Read => "read",
        FileAccess::Write => "write",
    };
    format!("{what} {}", request.uri)
}
