//! Reasons why a folder cannot be watched.

use std::io;

use nix::errno::Errno;

/// The reason why a folder cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// No inotify instance can be made.
    #[error(
        "there are no inotify instances or file descriptors left\nhint: raise \
         fs.inotify.max_user_instances with sysctl, or the limit of open files"
    )]
    InstanceLimit,
    /// No more folders can be watched.
    #[error(
        "there are no inotify watches left\nhint: raise fs.inotify.max_user_watches with sysctl, \
         or watch fewer folders"
    )]
    WatchLimit,
    /// There is nothing at the path.
    #[error("there is no such folder")]
    NotFound,
    /// The system refuses.
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
