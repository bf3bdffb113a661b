//! The host of another machine, over ssh.
//!
//! ssh runs `agenthost relay` there, which connects its standard input and output to the host of
//! that machine.

use std::path::PathBuf;
use std::str::FromStr;

use agenthost_client::{HostAddress, HostProgram};
use anyhow::bail;

/// The only scheme of a host of another machine.
const SSH_SCHEME: &str = "ssh:";

/// Runs its arguments as a program that ignores Ctrl-C, which is for the turn and not for the
/// connection.
const SHIELDED_PROGRAM: &str = "trap '' INT QUIT; exec \"$@\"";

/// The command at the other machine. A shell that ssh starts often has a shorter `PATH` than that
/// of a user.
const RELAY_COMMAND: &str = r#"PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin" agenthost relay"#;

/// The option of the relay that starts no host.
const NO_START_OPTION: &str = " --no-start";

/// A machine with a host, as ssh names it, and a folder on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemoteHost {
    pub(crate) name: String,
    pub(crate) folder: Option<PathBuf>,
}

/// The treatment of a machine without a running host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayStart {
    /// A host is started, which stays. ssh may ask for a password.
    StartHost,
    /// The connection fails. ssh does not ask, because a program uses the terminal.
    OnlyRunning,
}

impl FromStr for RemoteHost {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let Some(place) = text.strip_prefix(SSH_SCHEME) else {
            bail!("`{text}` does not begin with `{SSH_SCHEME}`, as in `ssh:box`");
        };
        let (name, folder) = match place.split_once(":/") {
            Some((name, folder)) => (name, Some(PathBuf::from(format!("/{folder}")))),
            None => (place, None),
        };
        // ssh would take it for an option.
        if name.is_empty() || name.starts_with('-') {
            bail!("`{text}` names no machine, as `ssh:box` or `ssh:me@box:/folder` do");
        }
        Ok(RemoteHost {
            name: name.to_owned(),
            folder,
        })
    }
}

impl RemoteHost {
    /// Returns the address at which a client reaches the host.
    pub(crate) fn address(&self, start: RelayStart) -> HostAddress {
        let mut arguments = vec!["-c", SHIELDED_PROGRAM, "sh", "ssh", "-T"];
        let mut command = RELAY_COMMAND.to_owned();
        if start == RelayStart::OnlyRunning {
            arguments.extend(["-o", "BatchMode=yes"]);
            command.push_str(NO_START_OPTION);
        }
        arguments.extend(["--", &self.name, &command]);
        HostAddress::Program(HostProgram {
            program: "sh".into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(String, Option<PathBuf>)> {
        let remote = text.parse::<RemoteHost>().ok()?;
        Some((remote.name, remote.folder))
    }

    #[test]
    fn a_machine_and_a_folder_are_named() {
        assert_eq!(parsed("ssh:box"), Some(("box".to_owned(), None)));
        assert_eq!(
            parsed("ssh:me@box:/srv/a b"),
            Some(("me@box".to_owned(), Some("/srv/a b".into())))
        );
        for wrong in ["box", "ssh:", "ssh:-oProxyCommand=x", "ssh::/srv"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
