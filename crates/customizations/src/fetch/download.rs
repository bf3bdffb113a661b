//! Git and curl, as child processes that see nothing of the user's settings
//! but how to get through a proxy and with which key.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};

use agenthost_stdx::result::{IgnoreExited, IgnoreResult};
use agenthost_stdx::text::truncate_chars;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{FETCH_TIMEOUT, FetchError, MAX_ARCHIVE_BYTES};

/// What the programs may know of the environment.
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

/// Most bytes of what a program says is wrong.
const MAX_STDERR_BYTES: u64 = 4 * 1024;

/// Clones a repository, without its history.
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

/// Downloads a file.
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

/// Runs a program in a process group of its own, as long as there is patience.
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
    let (done, waits) = channel();
    // It ends when the program does, or when its group is killed.
    let listener = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut stderr) = stderr {
            // What can't be read is not quoted.
            let mut beginning = (&mut stderr).take(MAX_STDERR_BYTES);
            let read = beginning.read_to_end(&mut said);
            read.log_err("failed to read the messages of a download");
            let drained = std::io::copy(&mut stderr, &mut std::io::sink());
            drained.log_err("failed to read the messages of a download");
        }
        done.send(()).ignore_closed();
        said
    });
    let in_time = waits.recv_timeout(FETCH_TIMEOUT) != Err(RecvTimeoutError::Timeout);
    if !in_time {
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        killpg(group, Signal::SIGKILL).ignore_exited("failed to kill a download");
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    let said = listener.join().unwrap_or_default();
    match (in_time, status.success()) {
        (true, true) => Ok(()),
        (false, _) => Err(failed("it took too long".to_owned())),
        (true, false) => {
            let said = String::from_utf8_lossy(&said);
            let line = said.lines().rfind(|line| !line.trim().is_empty());
            Err(failed(truncate_message(line.unwrap_or("it failed"))))
        }
    }
}

fn truncate_message(text: &str) -> String {
    truncate_chars(text.trim(), 200)
}
