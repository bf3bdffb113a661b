//! The files of a session: folders that are read when the user opens them, as one list of rows.

use agenthost_protocol::resource::DirectoryEntry;
use agenthost_protocol::sorted::{SortedMap, SortedSet, sort_by_key};
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use crate::location::{child_uri, is_file_name, name_of, parent_uri, path_of};
use crate::visible_text::visible_label;

/// Entries of a folder that are shown.
pub const MAX_FOLDER_ROWS: usize = 10_000;

/// Rows of the whole tree.
const MAX_TREE_ROWS: usize = 30_000;

/// Folders that are open at the same time. Each is watched.
pub const MAX_OPEN_FOLDERS: usize = 100;

/// Working directories of a session.
const MAX_ROOTS: usize = 50;

/// Length of a name or a reason in a row, in characters.
const MAX_FILE_NAME_CHARS: usize = 300;

/// Folders in the path above the list.
const MAX_CRUMBS: usize = 50;

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRow {
    /// URI of the file or folder. Rows of other kinds have that of their folder.
    pub uri: Uri,
    /// Kind of the row.
    pub kind: FileRowKind,
    /// Name of the file or the reason of a failure, safe to show.
    pub label: String,
    /// The name as it is, if `label` shows it differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of folders above, below the first that is shown.
    pub depth: usize,
    /// `true` for an open folder.
    pub expanded: bool,
    /// `true` if the user can ask for access to a folder that was refused.
    pub can_request: bool,
    /// Entries that are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<usize>,
}

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileRowKind {
    Folder,
    /// A file of any other type.
    File,
    /// An open folder is being read.
    Loading,
    /// An open folder shows nothing.
    Empty,
    /// An open folder could not be read.
    Failed,
    /// An open folder has more entries than are shown.
    More,
}

/// A folder in the path above the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FolderCrumb {
    /// URI of the folder.
    pub uri: Uri,
    /// Name of the folder, safe to show.
    pub label: String,
}

/// The layout of the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TreeLayout {
    /// Open folders are shown inside of their parents.
    #[default]
    Nested,
    /// One folder at a time, for narrow screens.
    Flat,
}

/// The reason for which a folder could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderFailure {
    /// Error of the host.
    pub reason: String,
    /// `true` if the user can ask for access.
    pub can_request: bool,
}

/// The folders of a session that were read.
#[derive(Debug, Default)]
pub struct FileTree {
    roots: Vec<Uri>,
    layout: TreeLayout,
    /// The folder of the flat layout; `None` shows the roots.
    current: Option<Uri>,
    expanded: SortedSet<Uri>,
    folders: SortedMap<Uri, FolderContent>,
    shows_hidden: bool,
}

#[derive(Debug)]
enum FolderContent {
    Entries(Vec<Entry>),
    Failed(FolderFailure),
}

/// A file or a folder. The order is folders first, then names without regard to case.
#[derive(Debug)]
struct Entry {
    is_file: bool,
    folded: String,
    name: String,
}

impl FileRow {
    /// Returns the key of the row: the URI of a file, or the URI and the kind of another row.
    pub fn key(&self) -> String {
        match self.kind {
            FileRowKind::Folder | FileRowKind::File => self.uri.to_string(),
            FileRowKind::Loading | FileRowKind::Empty | FileRowKind::Failed => {
                format!("{}#", self.uri)
            }
            FileRowKind::More => format!("{}#more", self.uri),
        }
    }
}

impl FileTree {
    /// Sets the working directories. Other ones than before close all folders. Returns `false` if
    /// they are the same.
    pub fn set_roots(&mut self, roots: &[Uri]) -> bool {
        let roots = roots.get(..MAX_ROOTS).unwrap_or(roots);
        if self.roots == roots {
            return false;
        }
        *self = FileTree {
            roots: roots.to_vec(),
            layout: self.layout,
            shows_hidden: self.shows_hidden,
            ..FileTree::default()
        };
        true
    }

    /// Returns the working directories.
    pub fn roots(&self) -> &[Uri] {
        &self.roots
    }

    pub fn set_layout(&mut self, layout: TreeLayout) {
        self.layout = layout;
    }

    /// Shows or hides files whose name begins with a dot.
    pub fn set_shows_hidden(&mut self, shows_hidden: bool) {
        self.shows_hidden = shows_hidden;
    }

    /// Returns `true` if files are shown whose name begins with a dot.
    pub fn shows_hidden(&self) -> bool {
        self.shows_hidden
    }

    /// Opens a folder in the nested layout. Returns `false` if too many are open.
    pub fn expand(&mut self, folder: Uri) -> bool {
        let is_free = self.expanded.len() < MAX_OPEN_FOLDERS;
        if is_free {
            self.expanded.insert(folder);
        }
        is_free
    }

    /// Closes a folder and those in it.
    pub fn collapse(&mut self, folder: &Uri) {
        let inside = format!("{}/", folder.as_str().trim_end_matches('/'));
        self.expanded
            .retain(|open| open != folder && !open.as_str().starts_with(&inside));
    }

    /// Opens a folder in the flat layout; `None` opens the list of the roots.
    pub fn enter(&mut self, folder: Option<Uri>) {
        self.current = folder;
    }

    /// Sets the content of a folder.
    pub fn set_entries(&mut self, folder: &Uri, entries: Vec<DirectoryEntry>) {
        let entries = entries.into_iter();
        // A host could name a file outside of the folder.
        let entries = entries.filter(|entry| is_file_name(&entry.name));
        let mut entries: Vec<_> = entries
            .map(|entry| Entry {
                is_file: entry.r#type != "directory",
                folded: entry.name.to_lowercase(),
                name: entry.name,
            })
            .collect();
        sort_by_key(&mut entries, |entry| {
            (entry.is_file, entry.folded.clone(), entry.name.clone())
        });
        entries.dedup_by(|one, other| one.name == other.name);
        let content = FolderContent::Entries(entries);
        self.folders.insert(folder.clone(), content);
    }

    /// Records that a folder could not be read.
    pub fn set_failure(&mut self, folder: &Uri, failure: FolderFailure) {
        let content = FolderContent::Failed(failure);
        self.folders.insert(folder.clone(), content);
    }

    /// Returns the folders whose content is shown, and drops the content of all others.
    pub fn retain_shown(&mut self) -> SortedSet<Uri> {
        let mut shown = SortedSet::new();
        for folder in self.top_folders() {
            self.collect_shown(folder, &mut shown);
        }
        self.folders.retain(|folder, _| shown.contains(folder));
        shown
    }

    fn collect_shown(&self, folder: &Uri, shown: &mut SortedSet<Uri>) {
        if !shown.insert(folder.clone()) {
            return;
        }
        let Some(FolderContent::Entries(entries)) = self.folders.get(folder) else {
            return;
        };
        if self.layout == TreeLayout::Flat || self.expanded.is_empty() {
            return;
        }
        for entry in entries.iter().filter(|entry| !entry.is_file) {
            let inner = child_uri(folder, &entry.name);
            if self.is_visible(entry) && self.expanded.contains(&inner) {
                self.collect_shown(&inner, shown);
            }
        }
    }

    /// Returns the folders whose rows begin the list; none if the roots are rows themselves.
    fn top_folders(&self) -> Vec<&Uri> {
        match (self.layout, &self.current, self.roots.as_slice()) {
            (TreeLayout::Flat, Some(current), _) => vec![current],
            (_, _, [root]) => vec![root],
            (TreeLayout::Flat, None, _) => Vec::new(),
            (TreeLayout::Nested, _, roots) => {
                let open = roots.iter().filter(|root| self.expanded.contains(root));
                open.collect()
            }
        }
    }

    fn is_visible(&self, entry: &Entry) -> bool {
        self.shows_hidden || !entry.name.starts_with('.')
    }

    pub fn rows(&self) -> Vec<FileRow> {
        let mut rows = Vec::new();
        match (self.layout, &self.current, self.roots.as_slice()) {
            (TreeLayout::Flat, Some(current), _) => self.add_folder(current, 0, &mut rows),
            (_, _, [root]) => self.add_folder(root, 0, &mut rows),
            (_, _, roots) => {
                for root in roots {
                    let path = path_of(root);
                    self.add_row(root.clone(), name_of(&path), false, 0, &mut rows);
                }
            }
        }
        rows
    }

    fn add_row(&self, uri: Uri, name: &str, is_file: bool, depth: usize, rows: &mut Vec<FileRow>) {
        let label = visible_label(name, MAX_FILE_NAME_CHARS);
        let can_open = !is_file && self.layout == TreeLayout::Nested;
        let expanded = can_open && self.expanded.contains(&uri);
        rows.push(FileRow {
            kind: match is_file {
                true => FileRowKind::File,
                false => FileRowKind::Folder,
            },
            name: (label != name).then(|| name.to_owned()),
            label,
            expanded,
            ..plain_row(&uri, depth)
        });
        if expanded {
            self.add_folder(&uri, depth + 1, rows);
        }
    }

    fn add_folder(&self, folder: &Uri, depth: usize, rows: &mut Vec<FileRow>) {
        let entries = match self.folders.get(folder) {
            Some(FolderContent::Entries(entries)) => entries,
            Some(FolderContent::Failed(failure)) => {
                rows.push(FileRow {
                    kind: FileRowKind::Failed,
                    label: visible_label(&failure.reason, MAX_FILE_NAME_CHARS),
                    can_request: failure.can_request,
                    ..plain_row(folder, depth)
                });
                return;
            }
            None => {
                rows.push(plain_row(folder, depth));
                return;
            }
        };
        let count = entries
            .iter()
            .filter(|entry| self.is_visible(entry))
            .count();
        if count == 0 {
            rows.push(FileRow {
                kind: FileRowKind::Empty,
                ..plain_row(folder, depth)
            });
        }
        let visible = entries.iter().filter(|entry| self.is_visible(entry));
        for (shown, entry) in visible.enumerate() {
            if shown == MAX_FOLDER_ROWS || rows.len() >= MAX_TREE_ROWS {
                rows.push(FileRow {
                    kind: FileRowKind::More,
                    omitted: Some(count - shown),
                    ..plain_row(folder, depth)
                });
                return;
            }
            let uri = child_uri(folder, &entry.name);
            self.add_row(uri, &entry.name, entry.is_file, depth, rows);
        }
    }

    /// Returns the path of the folder in the flat layout, from its root.
    pub fn crumbs(&self) -> Vec<FolderCrumb> {
        let mut crumbs = Vec::new();
        let mut next = match (self.layout, &self.current) {
            (TreeLayout::Flat, Some(current)) => Some(current.clone()),
            (TreeLayout::Flat | TreeLayout::Nested, _) => None,
        };
        while let Some(folder) = next.filter(|_| crumbs.len() < MAX_CRUMBS) {
            let is_root = self.roots.contains(&folder);
            next = parent_uri(&folder).filter(|_| !is_root);
            let path = path_of(&folder);
            crumbs.push(FolderCrumb {
                label: visible_label(name_of(&path), MAX_FILE_NAME_CHARS),
                uri: folder,
            });
        }
        crumbs.reverse();
        crumbs
    }
}

fn plain_row(uri: &Uri, depth: usize) -> FileRow {
    FileRow {
        uri: uri.clone(),
        kind: FileRowKind::Loading,
        label: String::new(),
        name: None,
        depth,
        expanded: false,
        can_request: false,
        omitted: None,
    }
}

#[cfg(test)]
#[path = "file_tree_tests.rs"]
mod tests;
