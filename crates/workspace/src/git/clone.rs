//! Clones plugin repositories, and reads the version of git.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agenthost_process::inherited_environment;

use super::{COMMON_CONFIG, GitError, NO_HOOKS_CONFIG, child};

/// Timeout for `git --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Clones one commit of a repository without its history. Neither the user's nor the system's
/// configuration applies, except for proxies and SSH keys.
///
/// The caller checks that cloning from the URL is allowed.
///
/// # Errors
///
/// Returns an error if git fails or exceeds the timeout.
pub fn clone_shallow(
    url: &str,
    reference: Option<&str>,
    into: &Path,
    timeout: Duration,
) -> Result<(), GitError> {
    let deadline = Instant::now() + timeout;
    let run = |directory: &Path, arguments: &[&OsStr]| -> Result<(), GitError> {
        let mut git = isolated_command();
        git.current_dir(directory).args(arguments);
        let done = child::exchange(git, directory, &[], deadline)?;
        done.into_stdout().map(drop)
    };
    let words = |words: &'static [&'static str]| words.iter().map(OsStr::new);
    let init: Vec<_> = words(&["init", "--quiet", "--template=", "--"])
        .chain([into.as_os_str()])
        .collect();
    run(Path::new("/"), &init)?;
    let reference = reference.unwrap_or("HEAD");
    let fetch: Vec<_> = words(&["fetch", "--quiet", "--depth", "1", "--no-tags", "--"])
        .chain([url.as_ref(), reference.as_ref()])
        .collect();
    run(into, &fetch)?;
    let checkout: Vec<_> = words(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]).collect();
    run(into, &checkout)
}

/// Returns the output of `git --version`.
///
/// # Errors
///
/// Returns an error if git can't be run.
pub fn version() -> Result<String, GitError> {
    let mut git = isolated_command();
    git.arg("--version");
    let deadline = Instant::now() + VERSION_TIMEOUT;
    let output = child::exchange(git, Path::new("/"), &[], deadline)?.into_stdout()?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// Returns git without the configuration of the user and the system.
fn isolated_command() -> Command {
    let mut git = Command::new("git");
    git.env_clear().envs(inherited_environment());
    git.envs(std::env::var_os("SSH_AUTH_SOCK").map(|socket| ("SSH_AUTH_SOCK", socket)));
    for setting in COMMON_CONFIG.iter().chain(&[NO_HOOKS_CONFIG]) {
        git.args(["-c", setting]);
    }
    git.args(["-c", "core.symlinks=true"])
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "true")
        .env("GIT_ALLOW_PROTOCOL", "https:ssh:file")
        .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
    git
}
