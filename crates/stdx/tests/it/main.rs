//! Private files, sockets and temporary directories, as another user of the
//! machine would attack them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod private_file;
mod private_socket;
mod scratch;

use std::path::Path;

/// Gives a file to another user. Only root can: returns whether it worked.
fn give_away(path: &Path) -> bool {
    let given = std::os::unix::fs::lchown(path, Some(65_534), Some(65_534)).is_ok();
    if !given {
        #[expect(clippy::print_stderr, reason = "a person reads why a test was skipped")]
        {
            eprintln!("skipped: only root can give files to other users");
        }
    }
    given
}
