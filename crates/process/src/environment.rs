//! Selects the environment variables of the host that child processes inherit.

use std::ffi::OsString;

/// Variables that any program needs. Tokens and keys are not among them: a program gets one
/// only if its configuration names it.
const INHERITED_VARIABLES: &[&str] = &[
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Name prefixes of further variables that any program needs.
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Returns the variables of the host's environment that any program needs.
pub fn inherited_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        let name = name.to_str().unwrap_or_default();
        let has_prefix = |prefix: &&str| name.starts_with(prefix);
        INHERITED_VARIABLES.contains(&name) || INHERITED_PREFIXES.iter().any(has_prefix)
    })
}
