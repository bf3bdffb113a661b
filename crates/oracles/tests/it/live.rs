//! Official clients of every release, and a host that they talk to over
//! sockets.

mod actor;
mod host;
mod lifecycle;
mod random_events;
mod shared_session;
mod unknown_channels;

use actor::Actor;
use host::Host;
