//! The connection of the runner to its host.

use std::time::Duration;

use agenthost_stdx::result::IgnoreResult;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::runner::RunnerError;
use crate::runner::frame::{
    Frame, FrameKind, Hello, PROTOCOL, Welcome, encode_frame, encode_text, read_frame,
};

/// Capacity of the queue of frames to the host. Further inputs wait in the buffer.
const OUTGOING_QUEUE: usize = 256;

/// Capacity of the queue of frames from the host. Further ones wait in the socket.
const INCOMING_QUEUE: usize = 256;

/// Timeout for the first message of a process that has connected.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// The connected host.
pub(super) struct HostLink {
    pub(super) outgoing: mpsc::Sender<Vec<u8>>,
    pub(super) incoming: mpsc::Receiver<Frame>,
    /// `true` once the host has said from which number inputs are sent.
    pub(super) has_begun: bool,
    /// Reads and writes the socket. Dropping it closes the connection.
    pub(super) tasks: JoinSet<()>,
}

/// A connected process that knows the secret.
pub(super) struct AcceptedHost(UnixStream);

/// Accepts hosts. A process that does not know the secret is disconnected.
pub(super) async fn accept_hosts(
    listener: UnixListener,
    secret: String,
    hosts: mpsc::Sender<AcceptedHost>,
) -> Result<(), RunnerError> {
    loop {
        let (stream, _) = listener.accept().await?;
        match tokio::time::timeout(HELLO_TIMEOUT, receive_hello(stream, &secret)).await {
            Ok(Ok(Some(host))) => {
                if hosts.send(host).await.is_err() {
                    return Ok(());
                }
            }
            Ok(Ok(None)) => tracing::warn!("refused a process that does not know the secret"),
            Ok(Err(error)) => tracing::warn!(%error, "refused a connection"),
            Err(_) => tracing::warn!("refused a process that sent nothing"),
        }
    }
}

/// Reads the first message of a process. Returns `None` if it may not connect.
async fn receive_hello(
    mut stream: UnixStream,
    secret: &str,
) -> Result<Option<AcceptedHost>, RunnerError> {
    let peer = stream.peer_cred()?;
    if peer.uid() != agenthost_process::own_user() {
        return Ok(None);
    }
    let Some(frame) = read_frame(&mut stream).await? else {
        return Ok(None);
    };
    if frame.kind != FrameKind::Hello {
        return Err(RunnerError::UnexpectedFrame);
    }
    let hello: Hello = frame.decode()?;
    if !(hello.min_protocol..=hello.protocol).contains(&PROTOCOL) {
        tracing::warn!(
            "a host has connected that does not know version {PROTOCOL} of the messages"
        );
    }
    Ok((hello.secret == secret).then_some(AcceptedHost(stream)))
}

impl HostLink {
    /// Starts the exchange with a host.
    pub(super) fn start(AcceptedHost(stream): AcceptedHost, welcome: &Welcome) -> Self {
        let (reader, mut writer) = stream.into_split();
        let (outgoing, mut frames) = mpsc::channel::<Vec<u8>>(OUTGOING_QUEUE);
        let (sender, incoming) = mpsc::channel(INCOMING_QUEUE);
        let welcome = encode_frame(FrameKind::Welcome, 0, &encode_text(welcome));
        // The queue is empty.
        outgoing.try_send(welcome).ignore_closed();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(frame) = frames.recv().await {
                if writer.write_all(&frame).await.is_err() {
                    return;
                }
            }
        });
        tasks.spawn(read_frames(reader, sender));
        HostLink {
            outgoing,
            incoming,
            has_begun: false,
            tasks,
        }
    }
}

async fn read_frames(mut reader: OwnedReadHalf, frames: mpsc::Sender<Frame>) {
    loop {
        match read_frame(&mut reader).await {
            Ok(Some(frame)) => {
                if frames.send(frame).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "failed to read from the host");
                return;
            }
        }
    }
}
