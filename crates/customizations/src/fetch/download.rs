//! Downloads plugins with git and curl as child processes, without the user's settings except
//! for proxies and SSH keys.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Instant;

use agenthost_process::{DeadlineStatus, KillStep, ProcessGroup};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::text::truncate_chars;

use super::{FETCH_TIMEOUT, FetchError, MAX_ARCHIVE_BYTES};

/// Environment variables that curl inherits.
const DOWNLOAD_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Maximum size of standard error that is kept for an error message.
const MAX_STDERR_BYTES: u64 = 4 * 1024;

/// Clones a repository without its history. Rejects URLs with other schemes and references that
/// look like options.
pub(super) fn clone_repository(
    url: &str,
    reference: Option<&str>,
    into: &Path,
) -> Result<(), FetchError> {
    let known = ["https://", "ssh://", "git@", "file:///"];
    let reference_is_plain = reference.is_none_or(|reference| !reference.starts_with('-'));
    if !known.iter().any(|start| url.starts_with(start)) || !reference_is_plain {
        return Err(FetchError::InvalidAddress(truncate_message(url)));
    }
    agenthost_workspace::clone_shallow(url, reference, into, FETCH_TIMEOUT).map_err(|error| {
        FetchError::ProgramFailed {
            program: "git",
            problem: truncate_message(&error.to_string()),
        }
    })
}

/// Downloads a file over HTTPS, up to the size limit of archives.
pub(super) fn download_file(url: &str, into: &Path) -> Result<(), FetchError> {
    if !url.starts_with("https://") {
        return Err(FetchError::InvalidAddress(truncate_message(url)));
    }
    let mut curl = Command::new("curl");
    curl.args(["--disable", "--silent", "--show-error", "--fail"])
        .args(["--location", "--proto", "=https", "--max-redirs", "5"])
        .args(["--max-filesize", &MAX_ARCHIVE_BYTES.to_string()])
        .arg("--output")
        .arg(into)
        .arg("--")
        .arg(url);
    run_program("curl", curl)
}

/// Runs a program in its own process group, for at most [`FETCH_TIMEOUT`].
fn run_program(program: &'static str, mut command: Command) -> Result<(), FetchError> {
    let failed = |problem: String| FetchError::ProgramFailed { program, problem };
    let own: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command.env_clear();
    for name in DOWNLOAD_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let mut child = command
        .envs(own)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let stderr = child.stderr.take();
    let deadline = Instant::now() + FETCH_TIMEOUT;
    let steps = [KillStep::kill("failed to kill a download")];
    let group = ProcessGroup::of_leader(child.id());
    // Standard error ends when the program exits or its group is killed.
    let (said, deadline_status) = group.kill_at_deadline(deadline, &steps, || read_stderr(stderr));
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    match (deadline_status, status.success()) {
        (DeadlineStatus::Met, true) => Ok(()),
        (DeadlineStatus::Exceeded, _) => Err(failed("it timed out".to_owned())),
        (DeadlineStatus::Met, false) => {
            let said = String::from_utf8_lossy(&said);
            let line = said.lines().rfind(|line| !line.trim().is_empty());
            Err(failed(truncate_message(
                line.unwrap_or("it failed without a message"),
            )))
        }
    }
}

/// Reads standard error to its end and returns its beginning.
fn read_stderr(stderr: Option<ChildStderr>) -> Vec<u8> {
    let mut said = Vec::new();
    if let Some(mut stderr) = stderr {
        // After a read error the message is only shorter.
        let mut beginning = (&mut stderr).take(MAX_STDERR_BYTES);
        let read = beginning.read_to_end(&mut said);
        read.log_err("failed to read stderr of a download");
        let drained = std::io::copy(&mut stderr, &mut std::io::sink());
        drained.log_err("failed to read stderr of a download");
    }
    said
}

fn truncate_message(text: &str) -> String {
    truncate_chars(text.trim(), 200)
}
