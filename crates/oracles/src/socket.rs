//! The WebSocket connection of official clients, whose crates have no transport, or an
//! outdated one.

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// A WebSocket that carries text messages.
#[derive(Debug)]
pub struct TextSocket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl TextSocket {
    /// Opens a connection to a host.
    pub async fn connect(url: &str) -> Result<Self, String> {
        let connected = tokio_tungstenite::connect_async(url).await;
        let (socket, _) = connected.map_err(|error| error.to_string())?;
        Ok(TextSocket(socket))
    }

    /// Sends a text message.
    pub async fn send_text(&mut self, text: String) -> Result<(), String> {
        let said = self.0.send(Message::text(text)).await;
        said.map_err(|error| error.to_string())
    }

    /// Returns the next text message; `None` when the connection has ended. The call is
    /// cancel safe: a dropped future loses no message.
    pub async fn receive_text(&mut self) -> Result<Option<String>, String> {
        loop {
            match self.0.next().await {
                None | Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Text(text))) => return Ok(Some(text.to_string())),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.to_string()),
            }
        }
    }

    /// Closes the connection with a close frame.
    pub async fn close(&mut self) -> Result<(), String> {
        self.0.close(None).await.map_err(|error| error.to_string())
    }
}
