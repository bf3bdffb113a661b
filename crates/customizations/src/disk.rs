//! A container's files, read from this disk.
//!
//! Links are followed as long as they stay inside of a boundary: the package
//! itself, or the workspace that a folder belongs to. One that leads out, or
//! around in a circle, is said so and left out.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::package::{A_FOLDER, DEEPEST, LARGEST_FILE, Package, Room, usable_name};

/// What is said of something that can't be read as a file.
const NO_FILE: &str = "it is a pipe, a socket or a device, not a file";

/// What was found at a place.
#[derive(Debug)]
pub(crate) enum OnDisk {
    /// Nothing.
    Absent,
    /// Files.
    Present(Found),
    /// It can't be looked at; why, in words.
    Failed(String),
}

/// Files that were found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The files.
    pub(crate) package: Package,
    /// All folders that they are in, where these really are.
    pub(crate) folders: Vec<PathBuf>,
}

/// Reads all of a folder.
pub(crate) fn read_folder(root: &Path, boundary: &Path) -> OnDisk {
    let real = match root.canonicalize() {
        Ok(real) => real,
        Err(error) if gone(&error) => return OnDisk::Absent,
        Err(error) => return OnDisk::Failed(error.kind().to_string()),
    };
    let boundary = boundary.canonicalize().unwrap_or_else(|_| real.clone());
    if !real.starts_with(&boundary) {
        return OnDisk::Failed("it is a link that leads out of its folder".to_owned());
    }
    if !real.is_dir() {
        return OnDisk::Failed("it is not a folder".to_owned());
    }
    let mut walk = Walk {
        package: Package::default(),
        boundary,
        above: Vec::new(),
        folders: Vec::new(),
    };
    match walk.folder(&real, "") {
        Ok(()) => OnDisk::Present(walk.found()),
        Err(error) if gone(&error) => OnDisk::Absent,
        Err(error) => OnDisk::Failed(error.kind().to_string()),
    }
}

/// Reads some files of a folder, as far as they are there; of a name that ends
/// with a slash all that is in that folder.
pub(crate) fn read_files(root: &Path, names: &[String], boundary: &Path) -> OnDisk {
    let boundary = match boundary.canonicalize() {
        Ok(boundary) => boundary,
        Err(error) if gone(&error) => return OnDisk::Absent,
        Err(error) => return OnDisk::Failed(error.kind().to_string()),
    };
    let mut walk = Walk {
        package: Package::default(),
        boundary,
        above: Vec::new(),
        folders: Vec::new(),
    };
    for name in names {
        let plain = name.trim_end_matches('/');
        let path = root.join(plain);
        if path.symlink_metadata().is_err() {
            continue;
        }
        // Whatever stands in the place of a file would be read as one.
        match (path.is_dir(), plain == name) {
            (true, true) => walk.package.add_unreadable(plain, A_FOLDER),
            (false, false) if path.exists() => {
                let problem = format!("`{plain}`: it is not a folder");
                walk.package.add_problem(problem);
            }
            (true, false) | (false, true | false) => {
                walk.link(&path, plain);
            }
        }
    }
    match walk.package.is_empty() {
        false => OnDisk::Present(walk.found()),
        true => OnDisk::Absent,
    }
}

struct Walk {
    package: Package,
    boundary: PathBuf,
    /// The folders that we are in, to notice circles.
    above: Vec<PathBuf>,
    /// All folders that we were in.
    folders: Vec<PathBuf>,
}

impl Walk {
    fn found(self) -> Found {
        Found {
            package: self.package,
            folders: self.folders,
        }
    }

    fn folder(&mut self, real: &Path, name: &str) -> std::io::Result<()> {
        if self.above.len() >= DEEPEST {
            self.package
                .add_problem(format!("`{name}`: folders are too deep inside each other"));
            return Ok(());
        }
        self.folders.push(real.to_owned());
        let mut names = Vec::new();
        for entry in real.read_dir()? {
            match entry?.file_name().into_string() {
                Ok(entry) if usable_name(&entry) => names.push(entry),
                Ok(_) => {}
                Err(_) => self
                    .package
                    .add_problem(format!("`{name}` has a file whose name is not text")),
            }
        }
        names.sort();
        self.above.push(real.to_owned());
        for entry in names {
            let inside = match name {
                "" => entry.clone(),
                _ => format!("{name}/{entry}"),
            };
            if self.entry(&real.join(&entry), &inside) == Room::Full {
                break;
            }
        }
        self.above.pop();
        Ok(())
    }

    /// Something in a folder that is where it seems to be.
    fn entry(&mut self, path: &Path, name: &str) -> Room {
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_symlink() => self.place(path, name, &metadata),
            Ok(_) | Err(_) => self.link(path, name),
        }
    }

    /// Something that may be elsewhere.
    fn link(&mut self, path: &Path, name: &str) -> Room {
        let real = match path.canonicalize() {
            Ok(real) => real,
            // It went away in between, or is a link to nothing.
            Err(error) if gone(&error) => {
                self.package.add_unreadable(name, "it leads to nothing");
                return Room::Enough;
            }
            Err(_) => {
                self.package
                    .add_problem(format!("`{name}`: links lead in a circle"));
                return Room::Enough;
            }
        };
        if !real.starts_with(&self.boundary) {
            self.package
                .add_problem(format!("`{name}` is a link that leads out of its folder"));
            return Room::Enough;
        }
        match real.symlink_metadata() {
            Ok(metadata) => self.place(&real, name, &metadata),
            Err(error) => {
                self.package.add_unreadable(name, error.kind().to_string());
                Room::Enough
            }
        }
    }

    fn place(&mut self, real: &Path, name: &str, metadata: &Metadata) -> Room {
        if metadata.is_dir() {
            self.package.add_folder(name);
            if self.above.iter().any(|above| above == real) {
                self.package
                    .add_problem(format!("`{name}`: links lead in a circle"));
                return Room::Enough;
            }
            if let Err(error) = self.folder(real, name) {
                self.package
                    .add_problem(format!("`{name}`: {}", error.kind()));
            }
            return Room::Enough;
        }
        // To open a device can do something, so it is not even opened.
        if !metadata.is_file() {
            self.package.add_unreadable(name, NO_FILE);
            return self.package.room_for(0);
        }
        self.file(real, name)
    }

    fn file(&mut self, real: &Path, name: &str) -> Room {
        match read(real) {
            Ok(Content::Bytes(bytes)) => {
                let room = self.package.room_for(bytes.len() as u64);
                self.package.add(name, bytes);
                room
            }
            Ok(Content::Large(size)) => {
                self.package.add_large(name, size);
                self.package.room_for(0)
            }
            Ok(Content::NoFile) => {
                self.package.add_unreadable(name, NO_FILE);
                self.package.room_for(0)
            }
            Err(error) => {
                self.package.add_unreadable(name, error.kind().to_string());
                self.package.room_for(0)
            }
        }
    }
}

enum Content {
    Bytes(Vec<u8>),
    Large(u64),
    NoFile,
}

/// Reads a file that may be anything; a pipe does not make it wait.
fn read(real: &Path) -> std::io::Result<Content> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(real)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Content::NoFile);
    }
    if metadata.len() > LARGEST_FILE {
        return Ok(Content::Large(metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    Ok(Content::Bytes(bytes))
}

fn gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
