//! Reads the files of a container from disk.
//!
//! Links are followed as long as they stay inside of a boundary: the package itself, or the
//! workspace that a folder belongs to. A link that leads out of it or forms a cycle is left
//! out and reported as a problem.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::package::{
    FOLDER_MESSAGE, MAX_FOLDER_DEPTH, MAX_PACKAGE_FILE_BYTES, Package, PackageCapacity,
    is_usable_name,
};

/// The problem of a path that is not a regular file.
const NOT_A_FILE_MESSAGE: &str = "it is a pipe, a socket or a device, not a file";

/// The result of reading a container from disk.
#[derive(Debug)]
pub(crate) enum DiskRead {
    /// The root does not exist.
    Absent,
    /// The files could be read.
    Present(DiskPackage),
    /// The root can't be read, with the reason as text.
    Failed(String),
}

/// The files that were read, and their folders.
#[derive(Debug)]
pub(crate) struct DiskPackage {
    pub(crate) package: Package,
    /// The canonical paths of all folders that contain the files.
    pub(crate) folders: Vec<PathBuf>,
}

/// Reads all files of a folder.
pub(crate) fn read_folder(root: &Path, boundary: &Path) -> DiskRead {
    let real = match root.canonicalize() {
        Ok(real) => real,
        Err(error) if is_missing(&error) => return DiskRead::Absent,
        Err(error) => return DiskRead::Failed(error.kind().to_string()),
    };
    let boundary = boundary.canonicalize().unwrap_or_else(|_| real.clone());
    if !real.starts_with(&boundary) {
        return DiskRead::Failed("it is a link to a target outside of its folder".to_owned());
    }
    if !real.is_dir() {
        return DiskRead::Failed("it is not a folder".to_owned());
    }
    let mut walk = DirectoryWalk {
        package: Package::default(),
        boundary,
        ancestors: Vec::new(),
        folders: Vec::new(),
    };
    match walk.walk_folder(&real, "") {
        Ok(()) => DiskRead::Present(walk.into_package()),
        Err(error) if is_missing(&error) => DiskRead::Absent,
        Err(error) => DiskRead::Failed(error.kind().to_string()),
    }
}

/// Reads the given files of a folder, as far as they exist. A name that ends with a slash
/// stands for all files of that folder.
pub(crate) fn read_files(root: &Path, names: &[String], boundary: &Path) -> DiskRead {
    let boundary = match boundary.canonicalize() {
        Ok(boundary) => boundary,
        Err(error) if is_missing(&error) => return DiskRead::Absent,
        Err(error) => return DiskRead::Failed(error.kind().to_string()),
    };
    let mut walk = DirectoryWalk {
        package: Package::default(),
        boundary,
        ancestors: Vec::new(),
        folders: Vec::new(),
    };
    for name in names {
        let plain = name.trim_end_matches('/');
        let path = root.join(plain);
        if path.symlink_metadata().is_err() {
            continue;
        }
        // A folder at the path of a file must not be read as if it were the file, and the
        // other way round.
        match (path.is_dir(), plain == name) {
            (true, true) => walk.package.add_unreadable(plain, FOLDER_MESSAGE),
            (false, false) if path.exists() => {
                let problem = format!("`{plain}`: it is not a folder");
                walk.package.add_problem(problem);
            }
            (true, false) | (false, true | false) => {
                walk.follow_link(&path, plain);
            }
        }
    }
    if walk.package.is_empty() {
        DiskRead::Absent
    } else {
        DiskRead::Present(walk.into_package())
    }
}

struct DirectoryWalk {
    package: Package,
    boundary: PathBuf,
    /// Canonical paths of the current folder and its parents, to detect cycles.
    ancestors: Vec<PathBuf>,
    /// Canonical paths of all visited folders.
    folders: Vec<PathBuf>,
}

impl DirectoryWalk {
    fn into_package(self) -> DiskPackage {
        DiskPackage {
            package: self.package,
            folders: self.folders,
        }
    }

    fn walk_folder(&mut self, real: &Path, name: &str) -> std::io::Result<()> {
        if self.ancestors.len() >= MAX_FOLDER_DEPTH {
            self.package
                .add_problem(format!("`{name}`: folders are nested too deeply"));
            return Ok(());
        }
        self.folders.push(real.to_owned());
        let mut names = Vec::new();
        for entry in real.read_dir()? {
            match entry?.file_name().into_string() {
                Ok(entry) if is_usable_name(&entry) => names.push(entry),
                Ok(_) => {}
                Err(_) => self
                    .package
                    .add_problem(format!("`{name}` has a file whose name is not UTF-8")),
            }
        }
        names.sort();
        self.ancestors.push(real.to_owned());
        for entry in names {
            let inside = match name {
                "" => entry.clone(),
                _ => format!("{name}/{entry}"),
            };
            if self.walk_entry(&real.join(&entry), &inside) == PackageCapacity::Full {
                break;
            }
        }
        self.ancestors.pop();
        Ok(())
    }

    /// Adds an entry of a folder, and resolves it if it is a link.
    fn walk_entry(&mut self, path: &Path, name: &str) -> PackageCapacity {
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_symlink() => self.add_resolved(path, name, &metadata),
            Ok(_) | Err(_) => self.follow_link(path, name),
        }
    }

    /// Resolves a path that may be a link, and adds its target.
    fn follow_link(&mut self, path: &Path, name: &str) -> PackageCapacity {
        let real = match path.canonicalize() {
            Ok(real) => real,
            // The entry was removed in the meantime, or it is a dangling link.
            Err(error) if is_missing(&error) => {
                self.package.add_unreadable(name, "it is a broken link");
                return PackageCapacity::Available;
            }
            Err(_) => {
                self.package
                    .add_problem(format!("`{name}`: links form a cycle"));
                return PackageCapacity::Available;
            }
        };
        if !real.starts_with(&self.boundary) {
            self.package.add_problem(format!(
                "`{name}` is a link to a target outside of its folder"
            ));
            return PackageCapacity::Available;
        }
        match real.symlink_metadata() {
            Ok(metadata) => self.add_resolved(&real, name, &metadata),
            Err(error) => {
                self.package.add_unreadable(name, error.kind().to_string());
                PackageCapacity::Available
            }
        }
    }

    fn add_resolved(&mut self, real: &Path, name: &str, metadata: &Metadata) -> PackageCapacity {
        if metadata.is_dir() {
            self.package.add_folder(name);
            if self.ancestors.iter().any(|above| above == real) {
                self.package
                    .add_problem(format!("`{name}`: links form a cycle"));
                return PackageCapacity::Available;
            }
            if let Err(error) = self.walk_folder(real, name) {
                self.package
                    .add_problem(format!("`{name}`: {}", error.kind()));
            }
            return PackageCapacity::Available;
        }
        // Opening a device can have side effects, so devices are never opened.
        if !metadata.is_file() {
            self.package.add_unreadable(name, NOT_A_FILE_MESSAGE);
            return self.package.check_capacity(0);
        }
        self.add_file(real, name)
    }

    fn add_file(&mut self, real: &Path, name: &str) -> PackageCapacity {
        match read_file(real) {
            Ok(FileContent::Bytes(bytes)) => {
                let capacity = self.package.check_capacity(bytes.len() as u64);
                self.package.add_file(name, bytes);
                capacity
            }
            Ok(FileContent::TooLarge(size)) => {
                self.package.add_large(name, size);
                self.package.check_capacity(0)
            }
            Ok(FileContent::NotAFile) => {
                self.package.add_unreadable(name, NOT_A_FILE_MESSAGE);
                self.package.check_capacity(0)
            }
            Err(error) => {
                self.package.add_unreadable(name, error.kind().to_string());
                self.package.check_capacity(0)
            }
        }
    }
}

enum FileContent {
    Bytes(Vec<u8>),
    TooLarge(u64),
    NotAFile,
}

/// Reads a file without blocking, even if a pipe has replaced it since the check.
fn read_file(real: &Path) -> std::io::Result<FileContent> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(real)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(FileContent::NotAFile);
    }
    if metadata.len() > MAX_PACKAGE_FILE_BYTES {
        return Ok(FileContent::TooLarge(metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_PACKAGE_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(FileContent::Bytes(bytes))
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
