//! Folders that are shown, and the watches that report their changes.

use agenthost_client::ClientResponse;
use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::resource::{
    CreateResourceWatchParams, ResourceChangeType, ResourceListParams, ResourceWatchAction,
};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::file_tree::{FileRow, FolderCrumb, FolderFailure};
use agenthost_view::location::{name_of, path_of};
use agenthost_view::visible_text::visible_label;
use serde::Serialize;

use super::{FetchState, FileResponse, decode_file};
use crate::effect::SlicePatch;
use crate::frontend::Frontend;
use crate::frontend::slices::SliceCache;

/// Length of the name of a working directory, in characters.
const MAX_ROOT_CHARS: usize = 200;

/// A watch of a folder or file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FolderWatch {
    Requested,
    /// The channel that reports the changes.
    Active(Uri),
    /// The host does not watch it.
    Refused,
}

/// `value` of slice `files`, beside its rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FilesView {
    roots: Vec<FolderCrumb>,
    crumbs: Vec<FolderCrumb>,
    shows_hidden: bool,
    /// `false` if changes of a folder are not reported.
    is_live: bool,
}

impl Frontend {
    /// Stops following changes. What is shown stays until the panel is shown again.
    pub(super) fn hide_files(&mut self, id: u64) {
        self.files.is_shown = false;
        for watch in std::mem::take(&mut self.files.watches).into_values() {
            self.end_watch(watch);
        }
        self.done(id);
    }

    fn end_watch(&mut self, watch: FolderWatch) {
        match watch {
            FolderWatch::Active(channel) => self.unfollow(&channel),
            // The host ends a watch without subscribers.
            FolderWatch::Requested | FolderWatch::Refused => {}
        }
    }

    /// Shows the working directories of the selected session.
    pub(super) fn update_file_roots(&mut self) {
        let state = self.session.as_ref().and_then(|session| {
            let state = self.session_state(session)?;
            state.metadata.working_directories.as_deref()
        });
        let summary = self.session.as_ref().and_then(|session| {
            let summary = self.sessions.get(session)?;
            summary.metadata.working_directories.as_deref()
        });
        let roots = state.or(summary).unwrap_or(&[]);
        if roots != self.files.tree.roots() {
            let roots = roots.to_vec();
            if self.files.tree.set_roots(&roots) {
                // The open file belongs to the session that was left.
                self.files.open = None;
                self.mark_files();
            }
        }
    }

    pub(super) fn sync_folders(&mut self) {
        let shown = self.files.tree.retain_shown();
        let mut watched = shown.clone();
        watched.extend(self.files.open.as_ref().map(|open| open.uri.clone()));
        let (kept, ended) = std::mem::take(&mut self.files.watches)
            .into_iter()
            .partition(|(target, _)| watched.contains(target));
        self.files.watches = kept;
        let ended: SortedMap<Uri, FolderWatch> = ended;
        for watch in ended.into_values() {
            self.end_watch(watch);
        }
        for target in watched {
            if !self.files.watches.contains_key(&target) {
                self.request_watch(target);
            }
        }
        self.files
            .fetches
            .retain(|folder, _| shown.contains(folder));
        for folder in shown {
            let is_ready = self.is_watch_settled(&folder);
            let fetch = self.files.fetches.or_default(folder.clone());
            if *fetch == FetchState::Wanted && is_ready {
                *fetch = FetchState::Loading;
                let params = ResourceListParams {
                    channel: RootChannel,
                    uri: folder.clone(),
                    meta: None,
                };
                self.request_file(&params, FileResponse::Entries { folder });
            }
        }
    }

    fn request_watch(&mut self, target: Uri) {
        let params = CreateResourceWatchParams {
            channel: RootChannel,
            uri: target.clone(),
            recursive: Some(false),
            excludes: None,
            includes: None,
            meta: None,
        };
        self.files
            .watches
            .insert(target.clone(), FolderWatch::Requested);
        self.request_file(&params, FileResponse::Watch { target });
    }

    /// Returns `true` if the changes of a folder or file are reported from now on, or will not be.
    pub(super) fn is_watch_settled(&self, target: &Uri) -> bool {
        match self.files.watches.get(target) {
            Some(FolderWatch::Active(_) | FolderWatch::Refused) => true,
            Some(FolderWatch::Requested) | None => false,
        }
    }

    pub(super) fn add_watch(&mut self, target: &Uri, response: ClientResponse) {
        if self.files.watches.get(target) != Some(&FolderWatch::Requested) {
            return;
        }
        match decode_file::<CreateResourceWatchParams>(response) {
            Ok(result) => {
                self.follow(&result.channel);
                let watch = FolderWatch::Active(result.channel);
                self.files.watches.insert(target.clone(), watch);
            }
            // The connection was lost.
            Err(failure) if failure.code.is_none() => {
                self.files.watches.remove(target);
            }
            // The folder itself is read, and shows the reason if that fails as well.
            Err(_) => {
                let watch = FolderWatch::Refused;
                self.files.watches.insert(target.clone(), watch);
            }
        }
        self.want_file(target);
    }

    /// Reads a folder or the open file again, if it is shown.
    pub(super) fn want_file(&mut self, uri: &Uri) {
        if let Some(fetch) = self.files.fetches.get_mut(uri) {
            fetch.want();
        }
        if let Some(open) = &mut self.files.open
            && open.uri == *uri
        {
            open.fetch.want();
        }
        self.mark_files();
    }

    pub(super) fn add_entries(&mut self, folder: &Uri, response: ClientResponse) {
        let Some(fetch) = self.files.fetches.get_mut(folder) else {
            return;
        };
        fetch.finish();
        match decode_file::<ResourceListParams>(response) {
            Ok(result) => self.files.tree.set_entries(folder, result.entries),
            Err(failure) if failure.code.is_none() && !self.link.is_live() => fetch.want(),
            Err(failure) => {
                let failure = FolderFailure {
                    reason: failure.reason,
                    can_request: failure.can_request,
                };
                self.files.tree.set_failure(folder, failure);
            }
        }
        self.mark_files();
    }

    /// Returns `true` for a channel that only reports changes of files.
    pub(in crate::frontend) fn is_watch(channel: &Uri) -> bool {
        channel.as_str().starts_with("ahp-resource-watch:")
    }

    fn watched_by(&self, channel: &Uri) -> Option<Uri> {
        let mut watches = self.files.watches.iter();
        let is_same = |watch: &FolderWatch| match watch {
            FolderWatch::Active(active) => active == channel,
            FolderWatch::Requested | FolderWatch::Refused => false,
        };
        let (target, _) = watches.find(|(_, watch)| is_same(watch))?;
        Some(target.clone())
    }

    pub(in crate::frontend) fn handle_file_changes(
        &mut self,
        channel: &Uri,
        action: &ReceivedAction,
    ) {
        let ReceivedAction::Valid(Action::ResourceWatch(ResourceWatchAction::Changed(changed))) =
            action
        else {
            return;
        };
        let Some(target) = self.watched_by(channel) else {
            return;
        };
        let is_open = self
            .files
            .open
            .as_ref()
            .is_some_and(|open| open.uri == target);
        // New content of a file does not change the list of its folder.
        let is_listed = |kind| match kind {
            ResourceChangeType::Added | ResourceChangeType::Deleted => true,
            ResourceChangeType::Updated => false,
        };
        let mut changes = changed.changes.items.iter();
        if is_open || changes.any(|change| is_listed(change.r#type) || change.uri == target) {
            self.want_file(&target);
        }
    }

    pub(in crate::frontend) fn draw_files(
        &mut self,
        slices: &mut SliceCache,
        patches: &mut Vec<SlicePatch>,
    ) {
        if !std::mem::take(&mut self.files.is_changed) {
            return;
        }
        let rows = self.files.tree.rows();
        let keyed = rows.iter().map(|row| (row.key(), row));
        slices.set_rows::<FileRow>(patches, "files", keyed);
        let mut watches = self.files.watches.values();
        let roots = self.files.tree.roots().iter().map(|root| FolderCrumb {
            label: visible_label(name_of(&path_of(root)), MAX_ROOT_CHARS),
            uri: root.clone(),
        });
        let view = FilesView {
            roots: roots.collect(),
            crumbs: self.files.tree.crumbs(),
            shows_hidden: self.files.tree.shows_hidden(),
            is_live: !watches.any(|watch| *watch == FolderWatch::Refused),
        };
        slices.set_value(patches, "files", &view);
        let open = self.files.open.as_ref();
        slices.set_value(patches, "file", &open.map(|open| open.view()));
    }
}
