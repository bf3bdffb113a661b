//! What a host may ask of a client.
//!
//! A client has things that only it can read, such as text in an editor that is
//! in no file. It attaches them to messages by addresses of its own, and the
//! host reads them here, by the same requests that files are read with (RES-1).

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

use crate::client::Client;
use crate::transport::TransportError;

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident $variant:ident($params:ty) -> $result:ty;)*) => {
        /// What a client serves to its host. Whatever is not served is answered
        /// with `-32601`, which a host can live with (RPC-14).
        ///
        /// It is asked while somebody awaits the client, and everything else
        /// waits for its answer: it should have it at hand. Who may read what
        /// is for it to decide; `-32009` says no.
        pub trait ResourceProvider: Send {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// Why not.
                fn $name(&mut self, params: $params) -> Result<$result, RpcError> {
                    Err(unknown_method(&params))
                }
            )*
        }

        impl dyn ResourceProvider {
            /// Answers a request of the host, whatever it is.
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
    /// What is in a resource.
    read ResourceRead(ResourceReadParams) -> ResourceReadResult;
    /// Changes what is in a resource.
    write ResourceWrite(ResourceWriteParams) -> Empty;
    /// What is in a directory.
    list ResourceList(ResourceListParams) -> ResourceListResult;
    /// Copies a resource.
    copy ResourceCopy(ResourceCopyParams) -> Empty;
    /// Deletes a resource.
    delete ResourceDelete(ResourceDeleteParams) -> Empty;
    /// Moves a resource.
    r#move ResourceMove(ResourceMoveParams) -> Empty;
    /// What a resource is.
    resolve ResourceResolve(ResourceResolveParams) -> ResourceResolveResult;
    /// Makes a directory.
    make_directory ResourceMkdir(ResourceMkdirParams) -> Empty;
    /// Lets the host read or write something, or not.
    request ResourceRequest(ResourceRequestParams) -> Empty;
    /// Watches something.
    watch CreateResourceWatch(CreateResourceWatchParams) -> CreateResourceWatchResult;
}

/// A client that serves nothing.
#[derive(Debug)]
pub(crate) struct NoResources;

impl ResourceProvider for NoResources {}

impl Client {
    /// Serves these from now on, instead of what was served before. At first a
    /// client serves nothing.
    pub fn serve_resources(&mut self, resources: impl ResourceProvider + 'static) {
        self.resources = Box::new(resources);
    }

    /// The next message, after what is due to the host has gone. If waiting is
    /// given up, that may go twice, and the host has no use for the second.
    pub(crate) async fn receive_message(&mut self) -> Result<String, TransportError> {
        if let Some(answer) = &self.pending_response {
            self.transport.send(answer.clone()).await?;
            self.pending_response = None;
        }
        self.transport.next_message().await
    }
}

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
