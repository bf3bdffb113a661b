//! Clients that flood the host below the protocol: control frames, fragments, request headers.

use std::time::{Duration, Instant};

use agenthost_server::{Server, ServerConfig, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const PING: u8 = 0x89;
const PONG: u8 = 0x8a;

/// Longer than any step takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Opens a WebSocket on a plain socket, so that only the test reads from it.
async fn open_websocket(server: &Server) -> TcpStream {
    let address = server.address.unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    // A small receive buffer makes the host's writes block sooner.
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request = format!(
        "GET /?tkn={} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{head:?}");
    stream
}

/// Returns a frame from a client, masked with zeros.
fn frame(first_byte: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first_byte];
    match payload.len() {
        length @ ..126 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length @ ..65_536 => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend(u64::try_from(length).unwrap().to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// Reads until the payload arrives.
async fn read_until(stream: &mut TcpStream, payload: &[u8]) {
    let mut read = Vec::new();
    let reading = async {
        while !read.windows(payload.len()).any(|bytes| bytes == payload) {
            assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "closed");
        }
    };
    tokio::time::timeout(DEADLINE, reading).await.unwrap();
}

/// A client that sends pings and never reads the pongs: the host buffers little, stops reading from
/// it and closes the connection.
#[tokio::test]
async fn pings_without_reading_the_pongs_end_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = ServerConfig::new(directory.path());
    config.limits.idle_timeout = Duration::from_secs(2);
    // Disables the rate limit, which would also stop this flood.
    config.limits.messages_per_second = u32::MAX;
    let server = serve(config).await.unwrap();
    let mut stream = open_websocket(&server).await;
    let pings = frame(PING, &[b'x'; 125]).repeat(1_000);
    // The kernel buffers some megabytes in each direction; the host must not take the rest.
    let (flood, bound) = (256 << 20, 96 << 20);
    let flooding = async {
        let mut written = 0;
        while written < flood && stream.write_all(&pings).await.is_ok() {
            written += pings.len();
        }
        written
    };
    let written = tokio::time::timeout(DEADLINE, flooding).await.unwrap();
    assert!(written < bound, "the host took {written} bytes");
    server.stop().await.unwrap();
}

/// SEC-8: control frames count towards the rate limit like messages.
#[tokio::test]
async fn control_frames_are_rate_limited() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = ServerConfig::new(directory.path());
    config.limits.messages_per_second = 100;
    let server = serve(config).await.unwrap();
    for kind in [PING, PONG] {
        let mut stream = open_websocket(&server).await;
        let begun = Instant::now();
        stream
            .write_all(&frame(kind, b"").repeat(250))
            .await
            .unwrap();
        stream
            .write_all(&frame(PING, b"the last one"))
            .await
            .unwrap();
        read_until(&mut stream, b"the last one").await;
        let elapsed = begun.elapsed();
        assert!(elapsed > Duration::from_millis(1_300), "{elapsed:?}");
    }
    server.stop().await.unwrap();
}

/// A client that reads the pongs may send as many pings as the rate limit allows.
#[tokio::test]
async fn pings_are_answered_for_as_long_as_the_pongs_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(ServerConfig::new(directory.path())).await.unwrap();
    let mut stream = open_websocket(&server).await;
    for number in 0..500 {
        let payload = format!("ping {number:04}");
        stream
            .write_all(&frame(PING, payload.as_bytes()))
            .await
            .unwrap();
        read_until(&mut stream, payload.as_bytes()).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn malformed_control_frames_end_the_connection() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(ServerConfig::new(directory.path())).await.unwrap();
    let cases = [
        ("more than 125 bytes", frame(PING, &[0; 126])),
        ("a fragment", frame(PING & 0x7f, b"")),
        ("a reserved kind", frame(0x8b, b"")),
        ("a reserved bit", frame(PING | 0x40, b"")),
        ("a continuation of nothing", frame(0x80, b"")),
    ];
    for (case, bytes) in cases {
        let mut stream = open_websocket(&server).await;
        stream.write_all(&bytes).await.unwrap();
        let close = read_close_code(&mut stream).await;
        assert_eq!(close, Some(1002), "{case}");
    }
    server.stop().await.unwrap();
}

/// The size limit applies to a whole message, however many frames it has.
#[tokio::test]
async fn a_fragmented_message_is_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = ServerConfig::new(directory.path());
    config.limits.message_limits.bytes = 64 * 1024;
    let server = serve(config).await.unwrap();
    let mut stream = open_websocket(&server).await;
    stream.write_all(&frame(0x01, b"{")).await.unwrap();
    let fragment = frame(0x00, &[b' '; 1_000]);
    let mut fragments = 0;
    // The host closes the connection at about the 65th fragment.
    while fragments < 20_000 && stream.write_all(&fragment).await.is_ok() {
        fragments += 1;
    }
    // A reset may overtake the close frame.
    let close = read_close_code(&mut stream).await;
    assert!(close.is_none_or(|code| code == 1009), "{close:?}");
    assert!(fragments < 20_000);
    server.stop().await.unwrap();
}

/// Reads to the end and returns the code of the close frame, if there is one.
async fn read_close_code(stream: &mut TcpStream) -> Option<u16> {
    let mut bytes = Vec::new();
    // A reset also counts as the end.
    drop(
        tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes))
            .await
            .unwrap(),
    );
    let close = bytes.windows(4).rev().find(|bytes| bytes[0] == 0x88)?;
    Some(u16::from_be_bytes([close[2], close[3]]))
}

/// The host limits the headers that it reads from a peer without a token.
#[tokio::test]
async fn request_headers_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(ServerConfig::new(directory.path())).await.unwrap();
    let one_long = format!("X: {}\r\n", "x".repeat(60_000));
    let many: String = (0..80).map(|n| format!("X-{n}: x\r\n")).collect();
    for headers in [one_long, many] {
        let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
        let request = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        // The host may answer before it has read everything.
        drop(stream.write_all(request.as_bytes()).await);
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 431");
    }
    server.stop().await.unwrap();
}

/// No route reads a body, so a request with one is answered at once.
#[tokio::test]
async fn request_bodies_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(ServerConfig::new(directory.path())).await.unwrap();
    let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
        1_u64 << 40
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
    let piece = vec![b'x'; 1 << 20];
    let mut written = 0;
    let sending = async {
        while written < 256 && stream.write_all(&piece).await.is_ok() {
            written += 1;
        }
    };
    tokio::time::timeout(DEADLINE, sending).await.unwrap();
    assert!(written < 96, "the host took {written} MiB");
    server.stop().await.unwrap();
}
