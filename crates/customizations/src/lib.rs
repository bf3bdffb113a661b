//! What makes agents behave as they should here: plugins, watched directories,
//! servers of tools.
//!
//! **What it does.** It reads packages and folders, tells the host what
//! clients may see of them, finds out what a turn needs of them, and runs
//! servers of tools (MCP) for the agents of sessions.
//!
//! **What it never does.** It decides nothing about who may do what and keeps
//! no state of the protocol. What a hook or a server runs is told to nobody
//! (CUS-19). Nothing here runs code of a package that no person allowed to.
//!
//! **Where to start.** `mcp` for servers of tools.

pub mod mcp;
