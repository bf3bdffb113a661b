//! Listeners and the transports of connections: WebSocket, Unix socket and standard input, TLS.

pub(crate) mod accept;
pub(crate) mod lines;
pub(crate) mod tls;
pub(crate) mod websocket;
