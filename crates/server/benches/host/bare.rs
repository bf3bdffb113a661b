//! The baseline without a host: broadcasts the same bytes over plain tungstenite. Each connection
//! has a queue and a task, as in a straightforward implementation.

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

/// Capacity of a connection's queue. A sender waits while the queue is full.
const QUEUE: usize = 1_024;

pub(crate) struct Bare {
    pub(crate) url: String,
    connected: mpsc::Receiver<mpsc::Sender<Message>>,
    peers: Vec<mpsc::Sender<Message>>,
    _accepting: tokio::task::JoinHandle<()>,
}

impl Bare {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        let (sender, connected) = mpsc::channel(QUEUE);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let socket = tokio_tungstenite::accept_async(stream).await.unwrap();
                let (queue, mut outgoing) = mpsc::channel(QUEUE);
                sender.send(queue).await.unwrap();
                tokio::spawn(async move {
                    let (mut sink, _stream) = socket.split();
                    while let Some(message) = outgoing.recv().await {
                        if sink.send(message).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Bare {
            url,
            connected,
            peers: Vec::new(),
            _accepting: accepting,
        }
    }

    /// Waits until `count` peers are connected.
    pub(crate) async fn peers(&mut self, count: usize) {
        while self.peers.len() < count {
            self.peers.push(self.connected.recv().await.unwrap());
        }
    }

    pub(crate) async fn broadcast(&self, text: String) {
        let message = Message::text(text);
        for peer in &self.peers {
            peer.send(message.clone()).await.unwrap();
        }
    }
}
