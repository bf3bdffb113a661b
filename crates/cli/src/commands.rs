//! The commands of the binary, each in its own file or folder.

pub(crate) mod agents;
pub(crate) mod allow;
pub(crate) mod attach;
pub(crate) mod completions;
pub(crate) mod customizations;
pub(crate) mod devices;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod open;
pub(crate) mod pair;
pub(crate) mod reduce;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tools_relay;
