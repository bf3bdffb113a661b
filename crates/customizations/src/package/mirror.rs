//! Writes packages of clients to disk so that agents can read their files.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the folder for packages of clients.
pub(crate) fn mirrors_folder(data: &Path) -> PathBuf {
    data.join("plugins/clients")
}

/// Writes the files of a package. The caller has checked that the paths stay inside of it.
pub(crate) fn write(root: &Path, files: &[(String, Vec<u8>)]) -> std::io::Result<()> {
    std::fs::create_dir_all(root)?;
    std::fs::set_permissions(root, Permissions::from_mode(0o700))?;
    for (path, bytes) in files {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = File::create(&path)?;
        file.write_all(bytes)?;
        make_executable(&file, bytes)?;
    }
    Ok(())
}

/// Removes a mirrored package, which may not exist any more.
pub(crate) fn remove(root: &Path) {
    match std::fs::remove_dir_all(root) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!(%error, "failed to remove the package of a client"),
    }
}

/// Makes a file executable if it begins with `#!`. The modes of files from clients and
/// archives are not known here.
pub(crate) fn make_executable(file: &File, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.starts_with(b"#!") {
        file.set_permissions(Permissions::from_mode(0o755))
    } else {
        Ok(())
    }
}
