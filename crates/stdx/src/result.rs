//! Results that a caller ignores, each with the reason in the method's name.

use std::fmt::Display;
use std::io;

/// Ignores the errors of one kind of operation.
///
/// `let _ = result` says nothing. These methods say which error is expected,
/// and log the others where there can be others.
pub trait IgnoreResult: Sized {
    /// The error of the result.
    type Error;

    /// Ignores the error of a channel, a connection or a pipe whose other end is
    /// gone: there is no receiver left that could miss the value.
    fn ignore_closed(self);

    /// Ignores the end of a timeout, or of a task that was waited for: both ways
    /// the wait is over.
    fn ignore_elapsed(self);

    /// Ignores the error of cleaning up after another error, which is the one to
    /// report.
    fn ignore_secondary(self);

    /// Ignores an error that the type has and the operation never returns, such
    /// as that of writing to a `String`.
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
    /// Ignores that the file is not there, and logs every other error.
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
    /// Ignores that the process or the group has exited already, and logs every
    /// other error.
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
