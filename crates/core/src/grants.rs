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

use crate::effect::{Answer, Effects};
use crate::files::Access;
use crate::host::Host;
use crate::input::{ConnectionId, Input};
use crate::refusal::Failure;
use crate::settings::REQUESTED;
use crate::uris;

/// How long a person has to answer.
const PATIENCE: Millis = Millis(60_000);

/// Most requests that wait.
const REQUESTS: usize = 50;

/// A client that waits for access.
#[derive(Debug, Clone)]
pub(crate) struct AccessRequest {
    connection: ConnectionId,
    id: RequestId,
    uri: Uri,
    access: Access,
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
    ) -> Result<Option<Answer>, Failure> {
        let access = match params.write {
            Some(true) => Access::Write,
            _ => Access::Read,
        };
        let Err(refused) = self.check_granted(&params.uri, access) else {
            return Ok(Some(Answer::Empty));
        };
        // What no folder could ever have in it, nobody has to be asked for.
        let plain = params.uri.as_str().starts_with("file:///") && !uris::goes_up(&params.uri);
        if self.requests.len() >= REQUESTS || !plain {
            return Err(refused);
        }
        self.requests.push(AccessRequest {
            connection,
            id: id.clone(),
            uri: params.uri.clone(),
            access,
        });
        let ungranted = Input::StillUngranted {
            connection,
            id: id.clone(),
        };
        out.later(PATIENCE, ungranted);
        self.show_requests(out);
        Ok(None)
    }

    /// Something else was granted now: answers those who waited for it.
    pub(crate) fn answer_requests(&mut self, out: &mut Effects) {
        let waiting = std::mem::take(&mut self.requests);
        let (granted, waiting) = waiting.into_iter().partition(|request| {
            let granted = self.check_granted(&request.uri, request.access);
            granted.is_ok()
        });
        self.requests = waiting;
        let granted: Vec<AccessRequest> = granted;
        for request in &granted {
            out.answer(request.connection, &request.id, Answer::Empty);
        }
        if !granted.is_empty() {
            self.show_requests(out);
        }
    }

    /// Nobody has granted it in time.
    pub(crate) fn refuse_request(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        out: &mut Effects,
    ) {
        let mut requests = self.requests.iter();
        let found = requests.position(|one| one.connection == connection && one.id == *id);
        let Some(request) = found.map(|index| self.requests.remove(index)) else {
            return;
        };
        let (uri, access) = (request.uri, request.access);
        out.fail(connection, id, Failure::NotGranted { uri, access }.into());
        self.show_requests(out);
    }

    /// Who is gone waits for nothing.
    pub(crate) fn forget_requests(&mut self, connection: ConnectionId, out: &mut Effects) {
        let before = self.requests.len();
        self.requests.retain(|one| one.connection != connection);
        if self.requests.len() != before {
            self.show_requests(out);
        }
    }

    /// Says in the settings what is asked for. After a restart nobody asks.
    pub(crate) fn show_requests(&mut self, out: &mut Effects) {
        let Some(config) = self.root().and_then(|root| root.config.as_ref()) else {
            return;
        };
        let mut values: Object = config.values.clone();
        let mut asked: Vec<_> = self.requests.iter().map(in_words).collect();
        asked.sort();
        asked.dedup();
        values.shift_remove(REQUESTED);
        if !asked.is_empty() {
            values.insert(
                REQUESTED.to_owned(),
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

fn in_words(request: &AccessRequest) -> String {
    let what = match request.access {
        Access::Read => "read",
        Access::Write => "write",
    };
    format!("{what} {}", request.uri)
}
