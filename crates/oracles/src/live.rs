//! Official clients that connect to a host.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::OracleReading;

/// A command to an official client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub enum ClientAct {
    /// Opens a connection. Subscriptions of a previous connection end.
    Connect {
        /// The URL of the host.
        url: String,
    },
    /// Performs the handshake in the client's own version. Returns the result.
    Initialize {
        /// The id of the client.
        name: String,
        /// The channels to subscribe to.
        channels: Vec<String>,
    },
    /// Sends a reconnect request and returns the result.
    Reconnect {
        /// The id of the client.
        name: String,
        /// The last server sequence number that the client has received.
        seen: i64,
        /// The channels to subscribe to again.
        channels: Vec<String>,
    },
    /// Sends a subscribe request and returns the result.
    Subscribe {
        /// The channel to subscribe to.
        channel: String,
    },
    /// Sends an unsubscribe notification for a channel.
    Unsubscribe {
        /// The channel to unsubscribe from.
        channel: String,
    },
    /// Listens to messages of a channel without a subscribe request.
    Listen {
        /// The channel to listen to.
        channel: String,
    },
    /// Requests the list of sessions and returns the result.
    List {
        /// The parameters in the encoding of the release.
        params: Value,
    },
    /// Creates a session with a request.
    Create {
        /// The parameters in the encoding of the release.
        params: Value,
    },
    /// Sends a request that has an empty result.
    Order {
        /// The method of the request.
        method: String,
        /// The parameters in the encoding of the release.
        params: Value,
    },
    /// Dispatches an action. Returns its client sequence number.
    Dispatch {
        /// The channel of the action.
        channel: String,
        /// The action, which the release has to know.
        action: Value,
    },
    /// Waits for the next event of a tracked channel: `{channel, envelope}`, or
    /// `{channel, notification}` as its `Debug` text. Returns `null` after the timeout.
    Next {
        /// The timeout in milliseconds.
        milliseconds: u64,
    },
    /// Closes the connection and drops the client.
    Leave,
}

/// The official client of a release.
pub trait OfficialClient: Send {
    /// Executes a command and returns the host's response as the client has decoded it.
    fn perform(&mut self, act: ClientAct) -> Result<OracleReading, String>;
}

/// Capacity of the event buffer of a subscription. An official client drops events when its
/// buffer is full, so the capacity is far larger than any test needs.
pub const EVENT_BUFFER: usize = 4_096;

/// Builds the Tokio runtime for an official client.
pub fn build_runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.map_err(|error| error.to_string())
}

/// Decodes the parameters of a request as an official type.
pub fn decode_params<T: DeserializeOwned>(json: Value) -> Result<T, String> {
    serde_json::from_value(json).map_err(|error| error.to_string())
}

/// Adds the channel to an action, for releases with actions that contain it.
pub fn address_action(mut action: Value, field: &str, channel: &str) -> Value {
    if let Value::Object(fields) = &mut action {
        fields.insert(field.to_owned(), Value::from(channel));
    }
    action
}

/// Defines an official client from the crates `ahp` and `ahp-types` of a release. The last
/// argument is the dialect: `numbered` for 0.1, which has a numeric version and no
/// channels, and `channels` for all others.
#[macro_export]
macro_rules! live {
    ($name:ident: $ahp:ident, $types:ident, $how:ident) => {
        /// The official client of this release.
        #[derive(Default)]
        pub struct $name {
            // The client is dropped before its runtime.
            client: Option<$ahp::Client>,
            followed: ::std::collections::BTreeSet<String>,
            heard: Option<(
                $crate::tokio::sync::mpsc::Sender<Result<$crate::OracleReading, String>>,
                $crate::tokio::sync::mpsc::Receiver<Result<$crate::OracleReading, String>>,
            )>,
            runtime: Option<$crate::tokio::runtime::Runtime>,
        }

        struct WireClient($crate::TextSocket);

        impl $ahp::Transport for WireClient {
            async fn send(
                &mut self,
                message: $ahp::TransportMessage,
            ) -> Result<(), $ahp::TransportError> {
                let message = message.into_parsed()?;
                let text = ::serde_json::to_string(&message)
                    .map_err(|error| $ahp::TransportError::Protocol(error.to_string()))?;
                let said = self.0.send_text(text).await;
                said.map_err($ahp::TransportError::Io)
            }

            async fn recv(
                &mut self,
            ) -> Result<Option<$ahp::TransportMessage>, $ahp::TransportError> {
                let heard = self.0.receive_text().await.map_err($ahp::TransportError::Io)?;
                Ok(heard.map($ahp::TransportMessage::Text))
            }

            async fn close(&mut self) -> Result<(), $ahp::TransportError> {
                self.0.close().await.map_err($ahp::TransportError::Io)
            }
        }

        /// Converts an event of a channel to a reading.
        fn happened(
            channel: &str,
            event: &$ahp::SubscriptionEvent,
        ) -> Result<$crate::OracleReading, String> {
            let (field, mut reading) = match event {
                $ahp::SubscriptionEvent::Action(envelope) => {
                    ("envelope", $crate::to_reading(envelope)?)
                }
                other => ("notification", $crate::debug_reading(other)),
            };
            reading.encoded = ::serde_json::json!({ "channel": channel, field: reading.encoded });
            Ok(reading)
        }

        impl $name {
            fn client(&self) -> Result<($ahp::Client, &$crate::tokio::runtime::Runtime), String> {
                match (&self.client, &self.runtime) {
                    (Some(client), Some(runtime)) => Ok((client.clone(), runtime)),
                    _ => Err("not connected".to_owned()),
                }
            }

            fn connect(&mut self, url: &str) -> Result<(), String> {
                self.client = None;
                self.followed.clear();
                self.heard = Some($crate::tokio::sync::mpsc::channel($crate::EVENT_BUFFER));
                let runtime = match self.runtime.take() {
                    Some(runtime) => runtime,
                    None => $crate::build_runtime()?,
                };
                let client = runtime.block_on(async {
                    let config = $ahp::ClientConfig {
                        subscription_buffer: $crate::EVENT_BUFFER,
                        ..Default::default()
                    };
                    let wire = WireClient($crate::TextSocket::connect(url).await?);
                    let client = $ahp::Client::connect(wire, config).await;
                    client.map_err(|error| error.to_string())
                });
                self.runtime = Some(runtime);
                self.client = Some(client?);
                Ok(())
            }

            /// Forwards the events of a channel to the queue.
            fn follow(&mut self, channel: &str) -> Result<(), String> {
                let (client, runtime) = self.client()?;
                let Some((told, _)) = &self.heard else {
                    return Err("not connected".to_owned());
                };
                if self.followed.contains(channel) {
                    return Ok(());
                }
                let told = told.clone();
                let mut subscription = runtime.block_on(client.attach_subscription(channel));
                let name = channel.to_owned();
                runtime.spawn(async move {
                    while let Some(event) = subscription.recv().await {
                        if told.send(happened(&name, &event)).await.is_err() {
                            return;
                        }
                    }
                });
                self.followed.insert(channel.to_owned());
                Ok(())
            }

            fn next(&mut self, milliseconds: u64) -> Result<$crate::OracleReading, String> {
                let (Some((_, heard)), Some(runtime)) = (&mut self.heard, &self.runtime) else {
                    return Err("not connected".to_owned());
                };
                let patience = ::std::time::Duration::from_millis(milliseconds);
                let next = runtime
                    .block_on(async { $crate::tokio::time::timeout(patience, heard.recv()).await });
                match next {
                    Ok(Some(reading)) => reading,
                    Ok(None) | Err(_) => Ok($crate::OracleReading::default()),
                }
            }
        }

        impl $crate::OfficialClient for $name {
            fn perform(&mut self, act: $crate::ClientAct) -> Result<$crate::OracleReading, String> {
                use $crate::ClientAct;
                let failed = |error: $ahp::ClientError| error.to_string();
                match act {
                    ClientAct::Connect { url } => {
                        self.connect(&url)?;
                        Ok($crate::OracleReading::default())
                    }
                    ClientAct::Initialize { name, channels } => {
                        for channel in &channels {
                            self.follow(channel)?;
                        }
                        let (client, runtime) = self.client()?;
                        let version = $crate::live!(version $how $types);
                        let hello = client.initialize(name, version, channels);
                        $crate::to_reading(&runtime.block_on(hello).map_err(failed)?)
                    }
                    ClientAct::Reconnect { name, seen, channels } => {
                        for channel in &channels {
                            self.follow(channel)?;
                        }
                        let (client, runtime) = self.client()?;
                        let again = client.reconnect(name, seen, channels);
                        $crate::to_reading(&runtime.block_on(again).map_err(failed)?)
                    }
                    ClientAct::Subscribe { channel } => {
                        self.follow(&channel)?;
                        let (client, runtime) = self.client()?;
                        let subscribed = runtime.block_on(client.subscribe(channel));
                        $crate::to_reading(&subscribed.map_err(failed)?.0)
                    }
                    ClientAct::Unsubscribe { channel } => {
                        self.followed.remove(&channel);
                        let (client, runtime) = self.client()?;
                        let said = runtime.block_on(client.unsubscribe(channel));
                        said.map_err(failed)?;
                        Ok($crate::OracleReading::default())
                    }
                    ClientAct::Listen { channel } => {
                        self.follow(&channel)?;
                        Ok($crate::OracleReading::default())
                    }
                    ClientAct::List { params } => {
                        let params: $types::commands::ListSessionsParams = $crate::decode_params(params)?;
                        let (client, runtime) = self.client()?;
                        let list = client.request("listSessions", params);
                        let list: $types::commands::ListSessionsResult =
                            runtime.block_on(list).map_err(failed)?;
                        $crate::to_reading(&list)
                    }
                    ClientAct::Create { params } => {
                        let params: $types::commands::CreateSessionParams = $crate::decode_params(params)?;
                        let (client, runtime) = self.client()?;
                        let created = client.request("createSession", params);
                        let () = runtime.block_on(created).map_err(failed)?;
                        Ok($crate::OracleReading::default())
                    }
                    ClientAct::Order { method, params } => {
                        let (client, runtime) = self.client()?;
                        let done = client.request(&method, params);
                        let () = runtime.block_on(done).map_err(failed)?;
                        Ok($crate::OracleReading::default())
                    }
                    ClientAct::Dispatch { channel, action } => {
                        let action = $crate::live!(addressed $how channel action);
                        let action: $types::actions::StateAction = $crate::decode_params(action)?;
                        let shown = $crate::debug_reading(&action);
                        if !shown.unknown_values.is_empty() {
                            return Err(format!("the release does not know {action:?}"));
                        }
                        let (client, runtime) = self.client()?;
                        let dispatched =
                            runtime.block_on($crate::live!(dispatch $how client channel action));
                        let number = dispatched.map_err(failed)?.client_seq;
                        $crate::to_reading(&number)
                    }
                    ClientAct::Next { milliseconds } => self.next(milliseconds),
                    ClientAct::Leave => {
                        let (client, runtime) = self.client()?;
                        runtime.block_on(client.shutdown());
                        self.client = None;
                        Ok($crate::OracleReading::default())
                    }
                }
            }
        }
    };
    (version numbered $types:ident) => {
        $types::PROTOCOL_VERSION.into()
    };
    (version channels $types:ident) => {
        vec![$types::PROTOCOL_VERSION.to_owned()]
    };
    (addressed numbered $channel:ident $action:ident) => {
        $crate::address_action($action, "session", &$channel)
    };
    (addressed channels $channel:ident $action:ident) => {
        $action
    };
    (dispatch numbered $client:ident $channel:ident $action:ident) => {
        $client.dispatch($action)
    };
    (dispatch channels $client:ident $channel:ident $action:ident) => {
        $client.dispatch($channel, $action)
    };
}
