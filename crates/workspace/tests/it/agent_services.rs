//! Tests for functions that agents use: text files, working directories, and programs with
//! their own environment.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use agenthost_workspace::{ExecSpec, FileError, FileService, PtyProgram};
use serde_json::json;
use tempfile::TempDir;

use crate::bench::Bench;
use crate::files::Disk;

#[test]
fn reading_a_binary_file_as_text_is_an_error() {
    let disk = Disk::new();
    fs::write(disk.path("text"), "grüße").unwrap();
    fs::write(disk.path("bytes"), [0xff, 0xfe]).unwrap();
    let read = |name: &str| disk.files.read_text(&disk.roots, &disk.uri(name));
    assert_eq!(read("text").unwrap(), "grüße");
    let refused = read("bytes").unwrap_err().to_string();
    assert!(refused.ends_with("is binary, not text"), "{refused}");
    assert!(matches!(read("nothing"), Err(FileError::NotFound(_))));
}

/// SEC-2: a working directory has to be inside a granted folder, and is returned as its real path.
#[test]
fn a_working_directory_must_be_in_a_granted_folder() {
    let disk = Disk::new();
    fs::create_dir(disk.path("sub")).unwrap();
    fs::write(disk.path("file"), "").unwrap();
    symlink("sub", disk.path("link")).unwrap();
    symlink(disk.outside.path(), disk.path("out")).unwrap();
    let directory = |name: &str| disk.files.real_directory(&disk.roots, &disk.uri(name));
    let real = fs::canonicalize(disk.path("sub")).unwrap();
    assert_eq!(directory("sub").unwrap(), real);
    assert_eq!(directory("link").unwrap(), real);
    assert!(directory("").is_ok());
    assert!(matches!(
        directory("out"),
        Err(FileError::NotGranted { .. })
    ));
    assert!(matches!(
        directory("file"),
        Err(FileError::WrongKind { .. })
    ));
    assert!(matches!(directory("none"), Err(FileError::NotFound(_))));
}

#[test]
fn read_only_files_are_not_changed() {
    let disk = Disk::new();
    let path = disk.path("fixed");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    for more in [json!({}), json!({"mode": "append"})] {
        let refused = disk.write(&disk.uri("fixed"), more);
        assert!(
            matches!(refused, Err(FileError::Forbidden(_))),
            "{refused:?}"
        );
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}

/// Independent writers of the same file do not cause each other to fail.
#[test]
fn concurrent_writers_of_a_file_all_succeed() {
    let disk = Disk::new();
    let (uri, roots) = (disk.uri("file"), &disk.roots);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let files = FileService::default();
                let wanted = json!({"uri": uri, "data": "new", "encoding": "utf-8"});
                for _ in 0..20 {
                    let params = crate::files::params(wanted.clone());
                    files.write(roots, &params).unwrap();
                }
            });
        }
    });
    assert_eq!(disk.read(&uri).unwrap(), "new");
}

#[test]
fn a_program_gets_its_own_environment() {
    let directory = TempDir::new().unwrap();
    let run = |script: &str| {
        let words = ["-c", script, "sh", "a  b"];
        PtyProgram::Exec(ExecSpec {
            program: "/bin/sh".into(),
            arguments: words.into_iter().map(Into::into).collect(),
            environment: vec![("MINE".into(), "secret".into())],
        })
    };
    let script = "echo $MINE $PAGER \"$1\" ${CARGO_MANIFEST_DIR-none} ${HOME-none}";
    assert!(!format!("{:?}", run(script)).contains("secret"));
    let bench = Bench::open(run(script), directory.path());
    let (output, end) = bench.end();
    assert_eq!(output, "secret cat a  b none none\r\n");
    assert_eq!((end.exit_code, end.signal), (Some(0), None));
    for (signal, name) in [
        ("TERM", "SIGTERM"),
        ("KILL", "SIGKILL"),
        ("SEGV", "SIGSEGV"),
    ] {
        let bench = Bench::open(run(&format!("kill -{signal} $$")), directory.path());
        let (_, end) = bench.end();
        assert_eq!((end.exit_code, end.signal.as_deref()), (None, Some(name)));
    }
}
