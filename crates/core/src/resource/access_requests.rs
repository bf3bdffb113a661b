//! Clients that ask for files which were not granted, and people who grant
//! them (RES-12).
//!
//! A request waits a while for a person. Whoever watches the host sees it in
//! the settings, and grants it by adding the folder there.

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

/// How long a person has to answer.
const ACCESS_REQUEST_TIMEOUT: Millis = Millis(60_000);

/// Most requests that wait.
const MAX_ACCESS_REQUESTS: usize = 50;

/// A client that waits for access.
#[derive(Debug, Clone)]
pub(crate) struct AccessRequest {
    connection: ConnectionId,
    id: RequestId,
    uri: Uri,
    access: FileAccess,
}

impl Host {
    /// Answers at once if it was granted, else when a person has granted it or
    /// not in time; `None` then.
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
        // What no folder could ever have in it, nobody has to be asked for.
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

    /// Something else was granted now: answers those who waited for it.
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

    /// Nobody has granted it in time.
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

    /// Who is gone waits for nothing.
    pub(crate) fn drop_access_requests(&mut self, connection: ConnectionId, out: &mut Effects) {
        let before = self.requests.access.len();
        self.requests
            .access
            .retain(|one| one.connection != connection);
        if self.requests.access.len() != before {
            self.publish_access_requests(out);
        }
    }

    /// Says in the settings what is asked for. After a restart nobody asks.
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
