//! Tests that the host runs no code of a repository that a person has not trusted.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agenthost_core::{CheckpointId, DiffEndpoint, DiffRange, OperationKind, WorktreeRequest};
use agenthost_workspace::{ChangesError, RepositoryCode, uri_of};

use super::operations::{allow_code, operate};
use super::{TrackedFolder, git, turn};

/// A folder with a program that creates a file when it runs.
struct Trap {
    tracked_folder: TrackedFolder,
    program: PathBuf,
    ran: PathBuf,
}

impl Trap {
    fn new(tracked_folder: TrackedFolder) -> Self {
        let beside = tracked_folder.folder.parent().unwrap();
        let (program, ran) = (beside.join("evil.sh"), beside.join("ran"));
        // As a filter, the program has to pass its input on.
        let text = format!(
            "#!/bin/sh\necho \"$0 $*\" >> '{}'\nexec cat\n",
            ran.display()
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Trap {
            tracked_folder,
            program,
            ran,
        }
    }

    fn program(&self) -> &str {
        self.program.to_str().unwrap()
    }

    fn ran(&self) -> Option<String> {
        fs::read_to_string(&self.ran).ok()
    }

    /// Forgets earlier runs: git commands of the test itself may have run the program.
    fn reset(&self) {
        fs::remove_file(&self.ran).unwrap_or_default();
    }

    fn append(&self, name: &str, text: &str) {
        let path = self.tracked_folder.folder.join(name);
        let before = fs::read_to_string(&path).unwrap_or_default();
        self.tracked_folder.write(name, &format!("{before}{text}"));
    }

    /// Does everything that the host does on its own during a session.
    fn hold_session(&self) {
        let tracked_folder = &self.tracked_folder;
        tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
        tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn("t1")));
        tracked_folder.write("a.txt", "changed\n");
        tracked_folder.write("new.txt", "new\n");
        tracked_folder.take_checkpoint(&CheckpointId::AfterTurn(turn("t1")));
        let moments = [
            DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
            DiffEndpoint::Head,
            DiffEndpoint::MergeBase,
        ];
        for from in moments {
            // A folder in no repository has no commits.
            tracked_folder
                .compare(from, DiffEndpoint::WorkingTree)
                .map(drop)
                .unwrap_or_default();
        }
    }

    fn operate(&self, operation: OperationKind, from: DiffEndpoint) -> Result<(), ChangesError> {
        let to = DiffEndpoint::WorkingTree;
        operate(
            &self.tracked_folder,
            operation,
            DiffRange { from, to },
            None,
        )
        .map(drop)
    }
}

/// Makes a file look as if it had changed since git last read it.
fn make_stale(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let past = SystemTime::now() - Duration::from_secs(3_600);
    file.set_modified(past).unwrap();
}

#[test]
fn a_filter_of_an_unpacked_archive_does_not_run() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    trap.tracked_folder
        .git(&["config", "filter.x.clean", trap.program()]);
    trap.tracked_folder.write(".gitattributes", "* filter=x\n");
    trap.reset();
    trap.hold_session();
    assert_eq!(trap.ran(), None);
}

#[test]
fn a_filter_process_of_info_attributes_does_not_run() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let folder = &trap.tracked_folder.folder;
    trap.tracked_folder
        .git(&["config", "filter.p.process", trap.program()]);
    trap.tracked_folder
        .git(&["config", "filter.p.required", "true"]);
    fs::create_dir_all(folder.join(".git/info")).unwrap();
    fs::write(folder.join(".git/info/attributes"), "* filter=p\n").unwrap();
    make_stale(&folder.join("a.txt"));
    trap.reset();
    trap.hold_session();
    assert_eq!(trap.ran(), None);
}

#[test]
fn a_tracked_folder_that_looks_like_a_repository_is_not_used_as_one() {
    let tracked_folder = TrackedFolder::with(&[("a.txt", "a\n")]);
    for folder in ["refs", "objects"] {
        tracked_folder.write(&format!("innocent/{folder}/keep"), "");
    }
    tracked_folder.write("innocent/HEAD", "ref: refs/heads/main\n");
    let trap = Trap::new(tracked_folder);
    let config = format!(
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\n\
         fsmonitor = {program}\n[filter \"x\"]\nclean = {program}\n",
        program = trap.program()
    );
    trap.tracked_folder.write("innocent/config", &config);
    trap.tracked_folder.write(".gitattributes", "* filter=x\n");
    trap.tracked_folder.commit("all of it");
    let clone = trap.tracked_folder.folder.parent().unwrap().join("clone");
    git(
        clone.parent().unwrap(),
        &["clone", "--quiet", "project", "clone"],
    );
    let tracked_folder = TrackedFolder {
        folder: clone.join("innocent"),
        ..trap.tracked_folder
    };
    let trap = Trap {
        tracked_folder,
        ..trap
    };
    trap.reset();
    trap.hold_session();
    assert_eq!(trap.ran(), None);
}

#[test]
fn filters_of_included_files_do_not_run() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let filter = format!("[filter \"x\"]\n\tclean = {}\n", trap.program());
    trap.tracked_folder.write("always.inc", &filter);
    trap.tracked_folder
        .git(&["config", "include.path", "../always.inc"]);
    trap.tracked_folder.write(".gitattributes", "* filter=x\n");
    trap.reset();
    trap.hold_session();
    assert_eq!(trap.ran(), None);
}

/// A configuration that can't be overridden is refused: the session continues without tracking
/// changes.
#[test]
fn git_configs_that_cannot_be_overridden_are_rejected() {
    let refusal = |trap: &Trap| {
        trap.reset();
        let tracked_folder = &trap.tracked_folder;
        let marked = tracked_folder.changes.take_checkpoint(
            &tracked_folder.session,
            &tracked_folder.directories(),
            &CheckpointId::SessionStart,
            None,
        );
        assert_eq!(trap.ran(), None);
        marked.unwrap_err().to_string()
    };
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let condition = "includeIf.onbranch:main.path";
    trap.tracked_folder
        .git(&["config", condition, "../branch.inc"]);
    assert!(refusal(&trap).contains("a conditional include"));

    // A name that is not UTF-8 can't be overridden by an environment variable.
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let folder = &trap.tracked_folder.folder;
    let mut config = fs::read(folder.join(".git/config")).unwrap();
    config.extend(b"[filter \"x\xff\"]\n\tclean = ");
    config.extend(trap.program().as_bytes());
    fs::write(folder.join(".git/config"), config).unwrap();
    fs::create_dir_all(folder.join(".git/info")).unwrap();
    fs::write(folder.join(".git/info/attributes"), b"* filter=x\xff\n").unwrap();
    make_stale(&folder.join("a.txt"));
    assert!(refusal(&trap).contains("not UTF-8"));

    // A path with a newline could be read as two paths.
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let folder = &trap.tracked_folder.folder;
    fs::rename(folder.join(".git"), folder.join(".m\nevil")).unwrap();
    fs::write(folder.join(".git"), "gitdir: .m\nevil\n").unwrap();
    assert!(refusal(&trap).contains("newline"));
}

#[test]
fn filters_of_an_included_worktree_config_do_not_run() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let tracked_folder = &trap.tracked_folder;
    tracked_folder.write(".gitattributes", "* filter=x\n");
    tracked_folder.commit("attributes");
    tracked_folder.git(&["config", "extensions.worktreeConfig", "true"]);
    // Git copies this file into the new worktree, where it includes another.
    let include = "[include]\n\tpath = ../../evil.cfg\n";
    fs::write(tracked_folder.folder.join(".git/config.worktree"), include).unwrap();
    let filter = format!("[filter \"x\"]\n\tsmudge = {}\n", trap.program());
    fs::write(tracked_folder.folder.join(".git/evil.cfg"), filter).unwrap();
    trap.reset();
    let folder = uri_of(&tracked_folder.folder).unwrap();
    let made = tracked_folder.changes.create_worktree(
        &tracked_folder.session,
        &folder,
        &WorktreeRequest::default(),
    );
    let refusal = made.unwrap_err().to_string();
    assert!(refusal.contains("filter.x.smudge"), "{refusal}");
    assert_eq!(trap.ran(), None);
}

#[test]
fn lfs_extensions_in_a_repository_need_approval() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    trap.tracked_folder
        .git(&["config", "lfs.extension.x.clean", trap.program()]);
    let code = RepositoryCode::inspect(&trap.tracked_folder.folder).unwrap();
    assert_eq!(code.unwrap().settings.len(), 1);
}

#[test]
fn a_forged_worktree_record_in_a_repository_is_ignored() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let victim = trap.tracked_folder.folder.parent().unwrap().join("victim");
    fs::create_dir(&victim).unwrap();
    let note = format!("main\nfile://{}\nmain\n", victim.display());
    fs::write(trap.tracked_folder.folder.join(".git/agenthost"), note).unwrap();
    trap.hold_session();
    let applied = trap.operate(
        OperationKind::Apply,
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
    );
    let refusal = applied.unwrap_err().to_string();
    assert!(refusal.contains("has no worktree"), "{refusal}");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
}

#[test]
fn hooks_of_core_hooks_path_run_only_after_approval() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let tracked_folder = &trap.tracked_folder;
    tracked_folder.git(&["config", "core.hooksPath", ".husky/_"]);
    let hook = tracked_folder.folder.join(".husky/_/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::copy(&trap.program, &hook).unwrap();
    // Staging runs no hooks, and the host never pushes.
    fs::copy(&trap.program, hook.with_file_name("pre-push")).unwrap();
    trap.hold_session();
    trap.operate(OperationKind::Stage, DiffEndpoint::Head)
        .unwrap();
    trap.operate(OperationKind::Commit, DiffEndpoint::Head)
        .unwrap_err();
    assert_eq!(trap.ran(), None);
    allow_code(tracked_folder);
    trap.operate(OperationKind::Commit, DiffEndpoint::Head)
        .unwrap();
    assert!(trap.ran().is_some_and(|ran| ran.contains("pre-commit")));
}

#[test]
fn code_of_a_submodule_does_not_run() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let other = trap.tracked_folder.folder.parent().unwrap().join("other");
    fs::create_dir(&other).unwrap();
    git(&other, &["init", "--quiet"]);
    fs::write(other.join("f"), "f\n").unwrap();
    git(&other, &["add", "--all"]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    git(&other, &[who.as_slice(), &["commit", "-qm", "x"]].concat());
    let from = other.to_str().unwrap();
    trap.tracked_folder
        .git(&["submodule", "--quiet", "add", from, "sub"]);
    trap.tracked_folder.commit("with a submodule");
    let sub = trap.tracked_folder.folder.join("sub");
    git(&sub, &["config", "core.fsmonitor", trap.program()]);
    trap.reset();
    trap.hold_session();
    trap.operate(OperationKind::Stage, DiffEndpoint::Head)
        .unwrap();
    assert_eq!(trap.ran(), None, "staging");
    trap.operate(OperationKind::Commit, DiffEndpoint::Head)
        .unwrap();
    assert_eq!(trap.ran(), None, "committing");

    // Git runs the filter for a file of the same size that looks changed.
    git(&sub, &["config", "filter.x.clean", trap.program()]);
    let attributes =
        PathBuf::from(git(&sub, &["rev-parse", "--git-path", "info/attributes"]).trim());
    let attributes = sub.join(attributes);
    fs::create_dir_all(attributes.parent().unwrap()).unwrap();
    fs::write(attributes, "* filter=x\n").unwrap();
    make_stale(&sub.join("f"));
    trap.tracked_folder.write("a.txt", "once more\n");
    trap.reset();
    trap.hold_session();
    for operation in [OperationKind::Stage, OperationKind::Commit] {
        let refusal = trap.operate(operation, DiffEndpoint::Head).unwrap_err();
        assert!(refusal.to_string().contains("filter.x.clean"), "{refusal}");
    }
    assert_eq!(trap.ran(), None, "with a filter");
}

#[test]
fn hooks_run_only_with_an_approval_of_their_content() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let hook = trap.tracked_folder.folder.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::copy(&trap.program, &hook).unwrap();
    trap.hold_session();
    let refused = trap.operate(OperationKind::Commit, DiffEndpoint::Head);
    let refusal = refused.unwrap_err().to_string();
    assert!(refusal.contains("hook pre-commit"), "{refusal}");
    assert_eq!(trap.ran(), None);

    allow_code(&trap.tracked_folder);
    trap.operate(OperationKind::Commit, DiffEndpoint::Head)
        .unwrap();
    assert!(trap.ran().is_some_and(|ran| ran.contains("pre-commit")));

    // Code that has changed has to be trusted again.
    trap.reset();
    let text = fs::read_to_string(&hook).unwrap();
    fs::write(&hook, text.replace("#!/bin/sh", "#!/bin/sh\n")).unwrap();
    trap.append("a.txt", "more\n");
    let refused = trap.operate(OperationKind::Commit, DiffEndpoint::Head);
    assert!(refused.is_err());
    assert_eq!(trap.ran(), None);
}

#[test]
fn operations_need_an_approval_of_filters() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    trap.tracked_folder
        .git(&["config", "filter.x.clean", trap.program()]);
    trap.tracked_folder.write(".gitattributes", "* filter=x\n");
    trap.hold_session();
    for operation in [
        OperationKind::Stage,
        OperationKind::Commit,
        OperationKind::Restore,
    ] {
        let refused = trap.operate(
            operation,
            DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
        );
        let refusal = refused.unwrap_err().to_string();
        assert!(refusal.contains("filter.x.clean"), "{refusal}");
    }
    let shown = trap.operate(
        OperationKind::ShowPatch,
        DiffEndpoint::Checkpoint(CheckpointId::SessionStart),
    );
    shown.unwrap();
    assert_eq!(trap.ran(), None);
    allow_code(&trap.tracked_folder);
    trap.operate(OperationKind::Stage, DiffEndpoint::Head)
        .unwrap();
    assert!(trap.ran().is_some());
}

#[test]
fn git_gets_no_secret_of_the_environment() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    // A filter in the user's own configuration runs, and shows its environment.
    let home = trap.tracked_folder.folder.parent().unwrap().join("home");
    fs::create_dir(&home).unwrap();
    let ran = trap.ran.display();
    let filter = format!("[filter \"own\"]\n\tclean = \"env > '{ran}'; cat\"\n");
    fs::write(home.join(".gitconfig"), filter).unwrap();
    trap.tracked_folder
        .write(".gitattributes", "* filter=own\n");
    let exe = std::env::current_exe().unwrap();
    let test = "changes::repository_code::a_session_is_held_by_a_child";
    let child = std::process::Command::new(exe)
        .args(["--exact", test, "--ignored"])
        .env("HOME", &home)
        .env("SECRET_TOKEN", "hunter2")
        .env("HELD_FOLDER", &trap.tracked_folder.folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}"
    );
    let environment = trap.ran().unwrap();
    assert!(environment.contains("HOME="), "{environment}");
    assert!(!environment.contains("hunter2"), "{environment}");
}

#[test]
#[ignore = "run by another test, as a process with another environment"]
fn a_session_is_held_by_a_child() {
    let folder = PathBuf::from(std::env::var_os("HELD_FOLDER").unwrap());
    let tracked_folder = TrackedFolder {
        folder,
        ..TrackedFolder::plain()
    };
    tracked_folder.write("a.txt", "changed\n");
    tracked_folder.take_checkpoint(&CheckpointId::SessionStart);
}

#[test]
fn repository_code_has_a_content_key() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n")]));
    let tracked_folder = &trap.tracked_folder;
    let key = || {
        RepositoryCode::inspect(&tracked_folder.folder)
            .unwrap()
            .map(|code| code.key)
    };
    assert_eq!(key(), None);
    // Settings that no operation runs do not need to be trusted.
    tracked_folder.git(&["config", "alias.x", "!true"]);
    tracked_folder.git(&["config", "diff.x.textconv", "true"]);
    assert_eq!(key(), None);
    let mut keys = BTreeSet::new();
    for (name, value) in [
        ("filter.x.clean", "a b"),
        ("filter.x.clean", "a"),
        ("filter.x.smudge", "b"),
        ("gpg.program", "c"),
        ("merge.x.driver", "d"),
    ] {
        tracked_folder.git(&["config", name, value]);
        assert!(keys.insert(key().unwrap()), "{name} {value}");
    }
}

/// Returns every setting that this git knows, with names in place of placeholders.
fn all_settings() -> Vec<String> {
    let listed = git(Path::new("/"), &["help", "--config"]);
    let mut keys: BTreeSet<_> = listed
        .lines()
        .filter(|line| line.contains('.') && !line.contains(' '))
        .map(|line| {
            let parts = line
                .split('.')
                .map(|part| match part.starts_with(['<', '*']) {
                    true => "x",
                    false => part,
                });
            parts.collect::<Vec<_>>().join(".")
        })
        .collect();
    // Settings that are documented but not listed, or that other releases have.
    let more = [
        "credential.https://x.example.helper",
        "filter.x.process",
        "hook.x.command",
        "interactive.diffFilter",
        "sendemail.sendmailCmd",
        "tar.x.command",
        "trailer.x.cmd",
        "trailer.x.command",
    ];
    keys.extend(more.map(str::to_owned));
    keys.into_iter().collect()
}

fn may_take_a_program(key: &str) -> bool {
    let words = [
        "alias",
        "askpass",
        "browser",
        "clean",
        "cmd",
        "command",
        "driver",
        "editor",
        "external",
        "filter",
        "fsmonitor",
        "helper",
        "hook",
        "pack",
        "pager",
        "path",
        "process",
        "program",
        "proxy",
        "signature",
        "smudge",
        "ssh",
        "textconv",
        "tool",
        "tunnel",
        "update",
        "vcs",
    ];
    let key = key.to_lowercase();
    words.iter().any(|word| key.contains(word))
}

/// Returns a setting in the syntax of a configuration file.
fn line(key: &str, value: &str) -> String {
    let (section, variable) = key.rsplit_once('.').unwrap();
    match section.split_once('.') {
        Some((section, name)) => format!("[{section} \"{name}\"]\n{variable} = {value}\n"),
        None => format!("[{section}]\n{variable} = {value}\n"),
    }
}

/// By default, only settings whose names suggest a program are tried; `ALL_SETTINGS=1` tries all.
#[test]
fn no_git_setting_of_a_repository_runs_a_program() {
    let trap = Trap::new(TrackedFolder::with(&[("a.txt", "a\n"), ("b.txt", "b\n")]));
    trap.tracked_folder
        .write(".gitattributes", "* filter=x diff=x merge=x\n");
    trap.tracked_folder.commit("attributes");
    let config = trap.tracked_folder.folder.join(".git/config");
    let plain = fs::read_to_string(&config).unwrap();
    let all = all_settings();
    assert!(all.len() > 500, "git lists only {} settings", all.len());
    let mut run_by_git = BTreeSet::new();
    let every = std::env::var_os("ALL_SETTINGS").is_some();
    let tried = all.iter().filter(|key| every || may_take_a_program(key));
    for (index, key) in tried.enumerate() {
        // These switches enable other settings.
        let more = ["log.showSignature", "commit.gpgSign"].map(|other| line(other, "true"));
        let text = [plain.as_str(), &more.concat(), &line(key, trap.program())].concat();
        fs::write(&config, text).unwrap();
        trap.tracked_folder.write("a.txt", &format!("{index}\n"));
        trap.reset();
        let tracked_folder = TrackedFolder {
            session: format!("ahp-session:/{index}").into(),
            ..TrackedFolder::in_same_folder(&trap.tracked_folder)
        };
        // A value that git can't use makes git fail, which is acceptable.
        let directories = tracked_folder.directories();
        let mark = |mark: &CheckpointId| {
            let marked = tracked_folder.changes.take_checkpoint(
                &tracked_folder.session,
                &directories,
                mark,
                None,
            );
            marked.map(drop).unwrap_or_default();
        };
        mark(&CheckpointId::SessionStart);
        if may_take_a_program(key) {
            mark(&CheckpointId::AfterTurn(turn("t")));
            for from in [DiffEndpoint::Head, DiffEndpoint::MergeBase] {
                tracked_folder
                    .compare(from, DiffEndpoint::WorkingTree)
                    .map(drop)
                    .unwrap_or_default();
            }
            for operation in [
                OperationKind::Stage,
                OperationKind::Commit,
                OperationKind::Restore,
            ] {
                let to = DiffEndpoint::WorkingTree;
                let from = DiffEndpoint::Checkpoint(CheckpointId::SessionStart);
                let done = operate(&tracked_folder, operation, DiffRange { from, to }, None);
                done.map(drop).unwrap_or_default();
            }
            assert_eq!(trap.ran(), None, "{key} in an operation");
            let add = std::process::Command::new("git")
                .args(["commit", "--quiet", "--all", "--message", "x"])
                .current_dir(&tracked_folder.folder)
                .output();
            add.unwrap();
            if trap.ran().is_some() {
                run_by_git.insert(key.to_lowercase());
            }
        }
        if !run_by_git.contains(&key.to_lowercase()) {
            assert_eq!(trap.ran(), None, "{key}");
        }
    }
    // Verifies the trap: git on its own runs at least these.
    for key in [
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.process",
        "gpg.program",
    ] {
        assert!(run_by_git.contains(key), "{key} is not in {run_by_git:?}");
    }
}
