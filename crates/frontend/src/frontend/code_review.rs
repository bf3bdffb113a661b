//! The review of code that waits for approval: reads its files, and sends the decision.
//!
//! Only code that is shown as a whole can be approved, and only with the key that belongs to it.
//! If the code changes meanwhile, it is read again and an approval of the earlier version fails.

use agenthost_protocol::resource::{ContentEncoding, ResourceReadParams, ResourceReadResult};
use agenthost_protocol::root::{RootAction, RootConfigChanged};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};
use agenthost_view::customizations::{
    CodeApproval, CodeContent, CodeFile, CodeReview, CodeState, DecisionScope, MAX_REVIEW_FILES,
    ReviewStatus, TRUSTED_CODE_SETTING, allowed_keys, find_container, keys_without,
};
use serde::Serialize;

use super::Frontend;
use super::responses::{RequestError, ResponsePurpose};
use super::slices::SliceCache;
use crate::effect::SlicePatch;

/// The error for an approval of code that is not what the page shows.
const CHANGED: &str = "the code has changed: read it again before you allow it";

/// The error for a container that the session does not have any more.
const GONE: &str = "the session does not have this code any more";

/// The error for a decision without a connection. It is not kept for later: the settings that it
/// changes would be outdated.
const OFFLINE: &str = "there is no connection to the host";

/// The code that the user reviews.
#[derive(Debug)]
pub(super) struct OpenReview {
    session: Uri,
    container: String,
    /// The approval that the files belong to.
    approval: CodeApproval,
    files: Vec<CodeFile>,
    /// Identifies the requests for the files.
    revision: u64,
    /// `true` if the code has changed since the review was opened.
    is_changed: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewView {
    /// Absent if the session does not have the code any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<CodeReview>,
    is_changed: bool,
}

impl OpenReview {
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }
}

impl Frontend {
    pub(super) fn open_review(&mut self, id: u64, session: Uri, container: String) {
        if !self.link.is_live() {
            return self.fail(id, OFFLINE.to_owned());
        }
        let Some(approval) = self.code_approval(&session, &container) else {
            return self.fail(id, GONE.to_owned());
        };
        self.read_code(session, container, approval, false);
        self.done(id);
    }

    pub(super) fn close_review(&mut self, id: u64) {
        self.code_review = None;
        self.dirty.panels = true;
        self.done(id);
    }

    /// Approves the code with this key, if it is the one that the open review shows as a whole.
    pub(super) fn allow_code(&mut self, id: u64, code: &str) {
        if !self.link.is_live() {
            return self.fail(id, OFFLINE.to_owned());
        }
        let Some(review) = self.shown_review() else {
            return self.fail(id, GONE.to_owned());
        };
        let is_shown = review.status == ReviewStatus::Complete
            && review.state == CodeState::Waiting
            && review.key == code
            && self
                .code_review
                .as_ref()
                .is_some_and(|open| open.approval.key == code);
        if !is_shown {
            return self.fail(id, CHANGED.to_owned());
        }
        let keys = allowed_keys(self.host_settings(), code);
        self.set_trusted_code(id, keys);
    }

    /// Turns the container of the open review off in its session, so that its code does not
    /// wait any more.
    pub(super) fn deny_code(&mut self, id: u64) {
        match &self.code_review {
            Some(open) => {
                let (session, container) = (open.session.clone(), open.container.clone());
                self.decide(id, &session, &container, DecisionScope::Session, false);
            }
            None => self.fail(id, GONE.to_owned()),
        }
    }

    /// Withdraws the approval of a container, in any version of its code.
    pub(super) fn revoke_code(&mut self, id: u64, session: &Uri, container: &str) {
        if !self.link.is_live() {
            return self.fail(id, OFFLINE.to_owned());
        }
        let state = self.session_state(session);
        let container = state.and_then(|state| find_container(state, container));
        let keys = container.and_then(|container| keys_without(self.host_settings(), container));
        match keys {
            Some(keys) => self.set_trusted_code(id, keys),
            None => self.fail(id, "this code is not approved any more".to_owned()),
        }
    }

    fn set_trusted_code(&mut self, id: u64, keys: Vec<String>) {
        let config = Object::from_iter([(TRUSTED_CODE_SETTING.to_owned(), Json::from(keys))]);
        let action = RootAction::ConfigChanged(RootConfigChanged {
            config,
            replace: None,
        });
        self.dispatch(id, &Uri::from(RootChannel::URI), action.into(), None);
    }

    fn code_approval(&self, session: &Uri, container: &str) -> Option<CodeApproval> {
        let container = find_container(self.session_state(session)?, container)?;
        CodeApproval::of_container(container, self.host_settings())
    }

    /// Requests the files of the code.
    fn read_code(
        &mut self,
        session: Uri,
        container: String,
        approval: CodeApproval,
        is_changed: bool,
    ) {
        self.last_review += 1;
        let revision = self.last_review;
        let uris = approval.files.iter().take(MAX_REVIEW_FILES);
        let uris: Vec<_> = uris.cloned().collect();
        self.code_review = Some(OpenReview {
            session,
            container,
            approval,
            files: uris.iter().map(CodeFile::loading).collect(),
            revision,
            is_changed,
        });
        for (index, uri) in uris.into_iter().enumerate() {
            let params = ResourceReadParams {
                channel: RootChannel,
                uri,
                encoding: None,
                meta: None,
            };
            self.request(&params, ResponsePurpose::CodeFile { revision, index });
        }
        self.dirty.panels = true;
    }

    /// Adds a file that was read.
    pub(super) fn add_code_file(
        &mut self,
        revision: u64,
        index: usize,
        content: Result<ResourceReadResult, RequestError>,
    ) {
        let open = self.code_review.as_mut();
        let open = open.filter(|open| open.revision == revision);
        let Some(file) = open.and_then(|open| open.files.get_mut(index)) else {
            return;
        };
        file.content = match content {
            Ok(content) => match content.encoding {
                ContentEncoding::Utf8 => CodeContent::of_text(&content.data),
                ContentEncoding::Base64 => CodeContent::Error("the file is not text".to_owned()),
            },
            Err(error) => CodeContent::Error(error.to_string()),
        };
        self.dirty.panels = true;
    }

    /// Reads the code of the open review again if it has changed.
    pub(super) fn sync_review(&mut self) {
        if !self.link.is_live() {
            return;
        }
        let Some(open) = &self.code_review else {
            return;
        };
        let Some(current) = self.code_approval(&open.session, &open.container) else {
            return;
        };
        if current.state == CodeState::Waiting && current != open.approval {
            let is_changed = open.is_changed || !open.approval.key.is_empty();
            let (session, container) = (open.session.clone(), open.container.clone());
            self.read_code(session, container, current, is_changed);
            self.send_pending();
        }
    }

    pub(super) fn shown_review(&self) -> Option<CodeReview> {
        let open = self.code_review.as_ref()?;
        let state = self.session_state(&open.session)?;
        let container = find_container(state, &open.container)?;
        let settings = self.host_settings();
        CodeReview::compute(&open.session, state, settings, container, &open.files)
    }

    pub(super) fn draw_review(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let view = self.code_review.as_ref().map(|open| ReviewView {
            review: self.shown_review(),
            is_changed: open.is_changed,
        });
        slices.set_value(patches, "codeReview", &view);
    }
}
