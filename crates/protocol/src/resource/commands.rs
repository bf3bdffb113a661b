//! Requests about resources. Both directions use the same types: the host sends the same
//! requests to a client for resources of the client (RES-1).

use super::watch::WatchPatterns;
use crate::common::Meta;
use crate::timestamp::Timestamp;
use crate::uri::{RootChannel, Uri};
use crate::wire::Wire;

/// The encoding of bytes in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum ContentEncoding {
    /// Base64, for arbitrary bytes.
    Base64,
    /// UTF-8, for content that is text.
    #[wire(name = "utf-8")]
    Utf8,
}

/// Parameters of the `resourceRead` request, which reads the content of a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceReadParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource.
    pub uri: Uri,
    /// Preferred encoding of the content.
    pub encoding: Option<ContentEncoding>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `resourceRead` request.
#[derive(Clone, PartialEq, Wire)]
pub struct ResourceReadResult {
    /// Content of the resource.
    pub data: String,
    /// Encoding of the field `data`.
    pub encoding: ContentEncoding,
    /// MIME type of the content.
    pub content_type: Option<String>,
}

/// Parameters of the `resourceWrite` request, which writes a resource and creates it if
/// necessary.
#[derive(Clone, PartialEq, Wire)]
pub struct ResourceWriteParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource.
    pub uri: Uri,
    /// Content to write to the resource.
    pub data: String,
    /// Encoding of the field `data`.
    pub encoding: ContentEncoding,
    /// MIME type of the content.
    pub content_type: Option<String>,
    /// `true` to fail if the resource exists.
    pub create_only: Option<bool>,
    /// Write mode; absent means `truncate`.
    pub mode: Option<ResourceWriteMode>,
    /// Position in bytes; its reference point depends on the mode (RES-3).
    pub position: Option<u64>,
    /// Expected `etag`: the request fails if the resource has another one.
    pub if_match: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

macro_rules! debug_without_data {
    ($($name:ident { $($field:ident),* })*) => {$(
        /// Prints only the size: file contents must not reach logs.
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

/// The mode of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum ResourceWriteMode {
    /// Retains the content before the position, and replaces the rest with `data`.
    Truncate,
    /// Writes at the end, or `position` bytes before it.
    Append,
    /// Inserts at the position and retains the rest.
    Insert,
}

/// Parameters of the `resourceList` request, which lists a directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceListParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the directory.
    pub uri: Uri,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `resourceList` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceListResult {
    /// Entries of the directory.
    pub entries: Vec<DirectoryEntry>,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct DirectoryEntry {
    /// File name without the path.
    pub name: String,
    /// Type of the entry: `file` or `directory`.
    pub r#type: String,
}

/// Parameters of the `resourceCopy` request, which copies a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceCopyParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource to copy.
    pub source: Uri,
    /// URI of the copy.
    pub destination: Uri,
    /// `true` to fail if the destination exists.
    pub fail_if_exists: Option<bool>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `resourceDelete` request, which deletes a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceDeleteParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource.
    pub uri: Uri,
    /// `true` to delete also a directory that is not empty.
    pub recursive: Option<bool>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `resourceMove` request, which moves a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceMoveParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource to move.
    pub source: Uri,
    /// New URI of the resource.
    pub destination: Uri,
    /// `true` to fail if the destination exists.
    pub fail_if_exists: Option<bool>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `resourceResolve` request, which returns metadata of a resource.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceResolveParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource.
    pub uri: Uri,
    /// `true` to follow symbolic links; absent means `true`.
    pub follow_symlinks: Option<bool>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `resourceResolve` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceResolveResult {
    /// Canonical URI of the resource.
    pub uri: Uri,
    /// Type of the resource.
    pub r#type: ResourceType,
    /// Size of the content in bytes.
    pub size: Option<u64>,
    /// Time of the last change of the content.
    pub mtime: Option<Timestamp>,
    /// Creation time of the resource.
    pub ctime: Option<Timestamp>,
    /// MIME type of the content.
    pub content_type: Option<String>,
    /// Value that changes with the content; usable as `ifMatch`.
    pub etag: Option<String>,
}

/// The type of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ResourceType {
    /// The resource is a regular file.
    File,
    /// The resource is a directory.
    Directory,
    /// The resource is a symbolic link.
    Symlink,
    /// A type that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// Parameters of the `resourceMkdir` request, which creates a directory and its parents.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceMkdirParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the directory.
    pub uri: Uri,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `resourceRequest` request, which requests access to a resource. If neither
/// `read` nor `write` is present, read access is requested.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ResourceRequestParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the resource.
    pub uri: Uri,
    /// `true` to request read access.
    pub read: Option<bool>,
    /// `true` to request write access.
    pub write: Option<bool>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Parameters of the `createResourceWatch` request, which watches a file or directory.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateResourceWatchParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// URI of the file or directory.
    pub uri: Uri,
    /// `true` to watch the whole tree below `uri`.
    pub recursive: Option<bool>,
    /// Patterns of files that are not reported.
    pub excludes: Option<WatchPatterns>,
    /// Patterns of files that are reported; absent means all files.
    pub includes: Option<WatchPatterns>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `createResourceWatch` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CreateResourceWatchResult {
    /// URI of the watch channel, to subscribe to.
    pub channel: Uri,
}
