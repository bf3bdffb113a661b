//! Official clients of every release, and a host that they talk to over
//! sockets.

mod actor;
mod everything;
mod happenings;
mod host;
mod poison;
mod room;

use actor::Actor;
use host::Host;
