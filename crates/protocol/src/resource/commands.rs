//! Commands about files, the same in both directions: a host asks a client
//! for its resources with the same shapes (RES-1).

use super::watch::WatchPatterns;
use crate::common::Meta;
use crate::timestamp::Timestamp;
use crate::uri::{RootChannel, Uri};
use crate::wire::Wire;

/// How bytes travel in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum ContentEncoding {
    /// Any bytes.
    Base64,
    /// Text.
    #[wire(name = "utf-8")]
    Utf8,
}

/// `resourceRead`: what is in a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceReadParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The resource.
    pub uri: Uri,
    /// How it should travel.
    pub encoding: Option<ContentEncoding>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `resourceRead`.
#[derive(Clone, PartialEq, Wire)]
pub struct ResourceReadResult {
    /// What is in it.
    pub data: String,
    /// How it travels.
    pub encoding: ContentEncoding,
    /// Its MIME type.
    pub content_type: Option<String>,
}

/// `resourceWrite`: changes what is in a resource; makes it if need be.
#[derive(Clone, PartialEq, Wire)]
pub struct ResourceWriteParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The resource.
    pub uri: Uri,
    /// What to write.
    pub data: String,
    /// How it travels.
    pub encoding: ContentEncoding,
    /// Its MIME type.
    pub content_type: Option<String>,
    /// Fails if it is there already.
    pub create_only: Option<bool>,
    /// Where to write; absent means `truncate`.
    pub mode: Option<ResourceWriteMode>,
    /// Where, in bytes; what from depends on the mode (RES-3).
    pub position: Option<u64>,
    /// Fails unless the resource still has this `etag`.
    pub if_match: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}

macro_rules! debug_without_data {
    ($($name:ident { $($field:ident),* })*) => {$(
        /// Shows how much, not what: file contents stay out of logs.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("bytes", &self.data.len())
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    )*};
}

debug_without_data! {
    ResourceReadResult { encoding, content_type }
    ResourceWriteParams { uri, encoding, mode, position, create_only, if_match }
}

/// Where to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum ResourceWriteMode {
    /// Keep up to the position, then write, then end.
    Truncate,
    /// Write at the end, or so many bytes before it.
    Append,
    /// Put in at the position, keep the rest.
    Insert,
}

/// `resourceList`: what is in a directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceListParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The directory.
    pub uri: Uri,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `resourceList`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceListResult {
    /// What is in it.
    pub entries: Vec<DirectoryEntry>,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: String,
    /// `file` or `directory`.
    pub r#type: String,
}

/// `resourceCopy`: copies a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceCopyParams {
    /// The root channel.
    pub channel: RootChannel,
    /// What.
    pub source: Uri,
    /// Where to.
    pub destination: Uri,
    /// Fails if something is there.
    pub fail_if_exists: Option<bool>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `resourceDelete`: deletes a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceDeleteParams {
    /// The root channel.
    pub channel: RootChannel,
    /// What.
    pub uri: Uri,
    /// Also a directory that is not empty.
    pub recursive: Option<bool>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `resourceMove`: moves a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceMoveParams {
    /// The root channel.
    pub channel: RootChannel,
    /// What.
    pub source: Uri,
    /// Where to.
    pub destination: Uri,
    /// Fails if something is there.
    pub fail_if_exists: Option<bool>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `resourceResolve`: what a resource is.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceResolveParams {
    /// The root channel.
    pub channel: RootChannel,
    /// What.
    pub uri: Uri,
    /// Whether to look at what a link points to; absent means yes.
    pub follow_symlinks: Option<bool>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `resourceResolve`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceResolveResult {
    /// Where it really is.
    pub uri: Uri,
    /// What it is.
    pub r#type: ResourceType,
    /// How many bytes it has.
    pub size: Option<u64>,
    /// When its content last changed.
    pub mtime: Option<Timestamp>,
    /// When it was made.
    pub ctime: Option<Timestamp>,
    /// Its MIME type.
    pub content_type: Option<String>,
    /// Changes whenever the content does; good for `ifMatch`.
    pub etag: Option<String>,
}

/// What a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ResourceType {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link.
    Symlink,
    /// A type of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// `resourceMkdir`: makes a directory and those above it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceMkdirParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The directory.
    pub uri: Uri,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `resourceRequest`: asks for access. Neither `read` nor `write` means read.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceRequestParams {
    /// The root channel.
    pub channel: RootChannel,
    /// To what.
    pub uri: Uri,
    /// To read it.
    pub read: Option<bool>,
    /// To write it.
    pub write: Option<bool>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// `createResourceWatch`: watches a file or directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateResourceWatchParams {
    /// The root channel.
    pub channel: RootChannel,
    /// What to watch.
    pub uri: Uri,
    /// Whether to watch everything below it, too.
    pub recursive: Option<bool>,
    /// What not to report.
    pub excludes: Option<WatchPatterns>,
    /// What to report; absent means everything.
    pub includes: Option<WatchPatterns>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `createResourceWatch`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateResourceWatchResult {
    /// The watch channel to subscribe to.
    pub channel: Uri,
}
