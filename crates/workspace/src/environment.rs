//! What programs that the host starts for others get to see of its
//! environment.

use std::ffi::OsString;

/// Variables that any program needs. Tokens and keys are not among them: who
/// wants a program to have one says so.
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

/// How the names of others begin that it gets to see, too.
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// What any program needs of the host's environment.
pub fn inherited_environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        let name = name.to_str().unwrap_or_default();
        let family = |family: &&str| name.starts_with(family);
        INHERITED_VARIABLES.contains(&name) || INHERITED_PREFIXES.iter().any(family)
    })
}
