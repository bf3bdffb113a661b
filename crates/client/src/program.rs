//! A program whose standard input and output are the connection to a host, such as ssh.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::codec::LinesCodecError;

use crate::transport::TransportError;

/// Maximum length of the error output that is kept, in bytes. It is the end of the output.
const MAX_ERROR_BYTES: usize = 2_000;

/// Time for the rest of the error output after the program has closed the connection.
const ERROR_TIMEOUT: Duration = Duration::from_millis(500);

/// A program that is started for each connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProgram {
    /// The program, found by the `PATH` of this process.
    pub program: OsString,
    /// The arguments after the name of the program.
    pub arguments: Vec<OsString>,
}

/// The program of an open connection. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct RunningProgram {
    /// Owns the process, which is killed with it.
    _child: Child,
    /// The error output, until its end.
    errors: Option<ChildStderr>,
    error_text: Vec<u8>,
    /// `true` after the first message.
    has_begun: bool,
}

impl RunningProgram {
    pub(crate) fn start(
        program: &HostProgram,
    ) -> Result<(Self, ChildStdout, ChildStdin), TransportError> {
        let mut child = Command::new(&program.program)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let streams = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = streams else {
            return Err(TransportError::Closed { reason: None });
        };
        let running = RunningProgram {
            errors: child.stderr.take(),
            _child: child,
            error_text: Vec::new(),
            has_begun: false,
        };
        Ok((running, stdout, stdin))
    }

    /// Reads error output, so that the program does not block. This method is cancel safe.
    pub(crate) async fn read_errors(&mut self) {
        let Some(errors) = &mut self.errors else {
            return std::future::pending().await;
        };
        let mut piece = [0; 1_024];
        match errors.read(&mut piece).await {
            Ok(count @ 1..) => {
                self.error_text.extend(piece.iter().take(count));
                let surplus = self.error_text.len().saturating_sub(MAX_ERROR_BYTES);
                self.error_text.drain(..surplus);
            }
            Ok(0) | Err(_) => self.errors = None,
        }
    }

    /// Returns `true` if a line is a message. A shell at the other end may print other lines
    /// before the first one.
    pub(crate) fn is_message(&mut self, line: &str) -> bool {
        self.has_begun |= line.starts_with('{');
        self.has_begun
    }

    /// Replaces the error of a write by the reason that the program gives: it has ended, and no
    /// longer reads.
    pub(crate) async fn explain(
        &mut self,
        written: Result<(), LinesCodecError>,
    ) -> Result<(), TransportError> {
        match written {
            Ok(()) => Ok(()),
            Err(LinesCodecError::MaxLineLengthExceeded) => Err(TransportError::LineTooLong),
            Err(LinesCodecError::Io(_)) => {
                let reason = self.end_reason().await;
                Err(TransportError::Closed { reason })
            }
        }
    }

    /// Returns the error output of a program that has closed the connection.
    pub(crate) async fn end_reason(&mut self) -> Option<String> {
        let rest = async {
            while self.errors.is_some() {
                self.read_errors().await;
            }
        };
        if timeout(ERROR_TIMEOUT, rest).await.is_err() {
            // Another process still has the error output open.
            self.errors = None;
        }
        let text = String::from_utf8_lossy(&self.error_text);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}
