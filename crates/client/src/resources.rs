//! Serves requests of the host for resources of the client.
//!
//! A client has content that only it can read, such as an unsaved editor buffer. It
//! attaches this content to messages with URIs of its own, and the host reads it with the
//! same requests that clients use for files (RES-1).

use agenthost_protocol::resource::{
    CreateResourceWatchParams, CreateResourceWatchResult, ResourceCopyParams, ResourceDeleteParams,
    ResourceListParams, ResourceListResult, ResourceMkdirParams, ResourceMoveParams,
    ResourceReadParams, ResourceReadResult, ResourceRequestParams, ResourceResolveParams,
    ResourceResolveResult, ResourceWriteParams,
};
use agenthost_protocol::rpc::{
    Call, CallError, Command, Empty, HostRequest, RequestId, RpcError, encode,
};
use agenthost_protocol::wire::Wire;

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident $variant:ident($params:ty) -> $result:ty;)*) => {
        /// Resources that a client serves to its host. The default implementation of each
        /// method responds with `-32601`, which hosts must accept (RPC-14).
        ///
        /// The client calls these methods inside of its own futures, and all other messages
        /// wait meanwhile, so an implementation should return at once. The implementation
        /// decides which resources the host may use; the error `-32009` denies access.
        pub trait ResourceProvider: Send {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// Any error is sent to the host as the response.
                fn $name(&mut self, params: $params) -> Result<$result, RpcError> {
                    Err(unknown_method(&params))
                }
            )*
        }

        impl dyn ResourceProvider {
            /// Handles a request of the host and returns the encoded response.
            pub(crate) fn answer(
                &mut self,
                id: &RequestId,
                call: &Call<'_>,
            ) -> Result<String, encode::EncodeError> {
                match HostRequest::decode(call) {
                    Err(unknown) => encode::failure(id, &RpcError::from(unknown)),
                    $(Ok(HostRequest::$variant(params)) => encode_response(id, self.$name(params)),)*
                }
            }
        }
    };
}

resources! {
    /// Returns the content of a resource.
    read ResourceRead(ResourceReadParams) -> ResourceReadResult;
    /// Replaces or changes the content of a resource.
    write ResourceWrite(ResourceWriteParams) -> Empty;
    /// Returns the entries of a directory.
    list ResourceList(ResourceListParams) -> ResourceListResult;
    /// Copies a resource to another URI.
    copy ResourceCopy(ResourceCopyParams) -> Empty;
    /// Deletes a resource or a directory.
    delete ResourceDelete(ResourceDeleteParams) -> Empty;
    /// Moves a resource to another URI.
    r#move ResourceMove(ResourceMoveParams) -> Empty;
    /// Returns the metadata of a resource.
    resolve ResourceResolve(ResourceResolveParams) -> ResourceResolveResult;
    /// Creates a directory of the client.
    make_directory ResourceMkdir(ResourceMkdirParams) -> Empty;
    /// Grants or denies the host access to a resource.
    request ResourceRequest(ResourceRequestParams) -> Empty;
    /// Starts to watch a resource for changes.
    watch CreateResourceWatch(CreateResourceWatchParams) -> CreateResourceWatchResult;
}

/// The initial provider, which serves no resources.
#[derive(Debug)]
pub(crate) struct NoResources;

impl ResourceProvider for NoResources {}

fn unknown_method<C: Command>(_: &C) -> RpcError {
    CallError::UnknownMethod(C::METHOD.to_owned()).into()
}

fn encode_response<R: Wire>(
    id: &RequestId,
    answer: Result<R, RpcError>,
) -> Result<String, encode::EncodeError> {
    match answer {
        Ok(result) => encode::success(id, &result),
        Err(error) => encode::failure(id, &error),
    }
}
