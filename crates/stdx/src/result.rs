//! Results that a caller ignores, each with the reason in the method's name.

use std::fmt::Display;
use std::io;

/// Ignores the errors of one kind of operation.
///
/// `let _ = result` gives no reason. The names of these methods state which error is
/// expected; [`IgnoreResult::log_err`] logs it instead.
pub trait IgnoreResult: Sized {
    /// The error type of the result.
    type Error;

    /// Ignores the error of a channel, a connection or a pipe whose other end has closed:
    /// no receiver is left that could miss the value.
    fn ignore_closed(self);

    /// Ignores the error of a timeout, or of a task that the caller waited for: either way
    /// the wait is over.
    fn ignore_elapsed(self);

    /// Ignores the error of cleaning up after another error, which is the one to report.
    fn ignore_secondary(self);

    /// Ignores an error that the type allows and the operation never returns, such as that
    /// of writing to a `String`.
    fn ignore_infallible(self);

    /// Logs the error as a warning: `{what}: {error}`.
    fn log_err(self, what: &str)
    where
        Self::Error: Display;
}

impl<T, E> IgnoreResult for Result<T, E> {
    type Error = E;

    fn ignore_closed(self) {}

    fn ignore_elapsed(self) {}

    fn ignore_secondary(self) {}

    fn ignore_infallible(self) {}

    fn log_err(self, what: &str)
    where
        E: Display,
    {
        if let Err(error) = self {
            tracing::warn!("{what}: {error}");
        }
    }
}

/// Ignores errors of removing a file.
pub trait IgnoreMissing {
    /// Ignores that the file does not exist, and logs every other error.
    fn ignore_missing(self, what: &str);
}

impl<T> IgnoreMissing for io::Result<T> {
    fn ignore_missing(self, what: &str) {
        match self {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("{what}: {error}");
            }
            _ => {}
        }
    }
}

/// Ignores errors of sending a signal.
pub trait IgnoreExited {
    /// Ignores that the process or process group has already exited, and logs every other
    /// error.
    fn ignore_exited(self, what: &str);
}

impl<T> IgnoreExited for nix::Result<T> {
    fn ignore_exited(self, what: &str) {
        match self {
            Err(error) if error != nix::errno::Errno::ESRCH => {
                tracing::warn!("{what}: {error}");
            }
            _ => {}
        }
    }
}
