//! Errors of file watches.

use std::io;

use nix::errno::Errno;

/// The error of a directory that can't be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The process has no free inotify instance or file descriptor.
    #[error(
        "there are no inotify instances or file descriptors left\nhint: raise \
         fs.inotify.max_user_instances with sysctl, or the limit of open files"
    )]
    InstanceLimit,
    /// The user has no free inotify watch.
    #[error(
        "there are no inotify watches left\nhint: raise fs.inotify.max_user_watches with sysctl, \
         or watch fewer folders"
    )]
    WatchLimit,
    /// The path does not exist.
    #[error("there is no such folder")]
    NotFound,
    /// The system returned another error.
    #[error("{0}")]
    System(String),
}

impl From<notify::Error> for WatchError {
    fn from(error: notify::Error) -> Self {
        match &error.kind {
            notify::ErrorKind::MaxFilesWatch => WatchError::WatchLimit,
            notify::ErrorKind::PathNotFound => WatchError::NotFound,
            notify::ErrorKind::Io(error) => WatchError::from_io(error),
            _ => WatchError::System("it cannot be watched".to_owned()),
        }
    }
}

impl WatchError {
    fn from_io(error: &io::Error) -> Self {
        match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EMFILE | Errno::ENFILE) => WatchError::InstanceLimit,
            Some(Errno::ENOSPC) => WatchError::WatchLimit,
            Some(Errno::ENOENT) => WatchError::NotFound,
            _ => WatchError::System(error.kind().to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhausted_limits_name_their_sysctl() {
        for (errno, sysctl) in [
            (Errno::EMFILE, "fs.inotify.max_user_instances"),
            (Errno::ENOSPC, "fs.inotify.max_user_watches"),
        ] {
            let error = io::Error::from_raw_os_error(errno as i32);
            let error = WatchError::from(notify::Error::io(error)).to_string();
            let hint = format!("\nhint: raise {sysctl} with sysctl");
            assert!(error.contains(&hint), "{error}");
        }
        let full = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        assert!(matches!(WatchError::from(full), WatchError::WatchLimit));
    }
}
