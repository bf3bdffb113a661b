//! Which programs are on this machine.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::registry::{KnownAgent, known_agents};

/// Finds the program of an agent that is known, in folders that are listed
/// like those of `PATH`. Nothing is run for that.
#[must_use]
pub fn find_known_agent(agent: &KnownAgent, path: &OsStr) -> Option<PathBuf> {
    let rest = agent.needs.iter();
    let all_there = rest.into_iter().all(|needed| {
        let mut places = find_in_path(path, needed);
        places.next().is_some()
    });
    let mut found = agent
        .programs
        .iter()
        .flat_map(|name| find_in_path(path, name));
    found.find(|program| all_there && belongs_to(agent, program))
}

/// Finds a program by its name.
#[must_use]
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    find_in_path(path, name).next()
}

/// Where a program of this name is. Folders whose place depends on where
/// somebody is do not count.
fn find_in_path<'a>(path: &'a OsStr, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let places = folders.map(move |folder| folder.join(name));
    places.filter(|place| is_executable(place))
}

fn is_executable(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether a program is this agent's, and not one of another of the same name.
fn belongs_to(agent: &KnownAgent, program: &Path) -> bool {
    let real = program.canonicalize().unwrap_or_else(|_| program.into());
    let is_in = |package: &String| real.to_string_lossy().contains(&format!("/{package}/"));
    match &agent.package {
        Some(package) => is_in(package),
        None => {
            let mut others = known_agents().iter();
            !others.any(|other| other.package.as_ref().is_some_and(is_in))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn known(id: &str) -> &'static KnownAgent {
        known_agents().iter().find(|agent| agent.id == id).unwrap()
    }

    fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn programs_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let path = std::env::join_paths([Path::new("relative"), &one, &two]).unwrap();
        let claude = known("claude");
        assert_eq!(find_known_agent(claude, &path), None);
        program(&one.join("claude-code-acp"));
        assert_eq!(
            find_known_agent(claude, &path),
            Some(one.join("claude-code-acp"))
        );
        program(&two.join("claude-agent-acp"));
        assert_eq!(
            find_known_agent(claude, &path),
            Some(two.join("claude-agent-acp"))
        );
        // What nobody can run is no program.
        std::fs::write(one.join("claude-agent-acp"), "").unwrap();
        assert_eq!(
            find_known_agent(claude, &path),
            Some(two.join("claude-agent-acp"))
        );
        // It needs another one.
        program(&one.join("pi-acp"));
        assert_eq!(find_known_agent(known("pi"), &path), None);
        program(&two.join("pi"));
        assert_eq!(
            find_known_agent(known("pi"), &path),
            Some(one.join("pi-acp"))
        );
    }

    #[test]
    fn a_program_of_a_package_is_no_other_agents() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder
            .path()
            .join("lib/node_modules/@zed-industries/codex-acp");
        program(&package.join("bin/codex-acp.js"));
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(package.join("bin/codex-acp.js"), bin.join("codex-acp")).unwrap();
        let path = bin.as_os_str();
        assert_eq!(find_known_agent(known("codex"), path), None);
        let zed = known("codex-zed");
        assert_eq!(find_known_agent(zed, path), Some(bin.join("codex-acp")));
        std::fs::remove_file(bin.join("codex-acp")).unwrap();
        program(&bin.join("codex-acp"));
        let found = Some(bin.join("codex-acp"));
        assert_eq!(find_known_agent(known("codex"), path), found);
        assert_eq!(find_known_agent(zed, path), None);
    }
}
