//! Checks the space on the file system of the data directory.

use std::path::Path;

use agenthost_stdx::disk_space;

use super::DoctorCheck;

/// Free space below which the user is warned: a host stores that much in a few hours of work.
const LOW_SPACE_BYTES: u64 = 256 * 1024 * 1024;

pub(super) const SPACE_HINT: &str =
    "make space on the file system of the data directory; the host continues by itself";

/// Reports how much can still be written.
pub(super) fn diagnose_disk(directory: &Path) -> DoctorCheck {
    let what = "disk";
    // The directory is created at the first start.
    let existing = directory.ancestors().find(|path| path.exists());
    let Some(existing) = existing else {
        return DoctorCheck::passed(what, "unknown");
    };
    match disk_space::find_problem(existing) {
        Ok(None) => {}
        Ok(Some(problem)) => {
            let found = format!("{}: {problem}", directory.display());
            return DoctorCheck::failed(what, found, SPACE_HINT);
        }
        Err(error) => {
            let found = format!("write to {}: {error}", existing.display());
            return DoctorCheck::failed(what, found, "check the owner and mode of the directory");
        }
    }
    match disk_space::free_bytes(existing) {
        Ok(free) if free < LOW_SPACE_BYTES => {
            let found = format!("only {} MB free", free / 1_000_000);
            DoctorCheck::failed(what, found, SPACE_HINT)
        }
        Ok(free) => DoctorCheck::passed(what, format!("{} MB free", free / 1_000_000)),
        Err(error) => DoctorCheck::passed(what, format!("free space unknown: {error}")),
    }
}
