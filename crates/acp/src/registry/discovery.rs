//! Finds the programs of agents in `PATH`.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::registry::{KnownAgent, known_agents};

/// Finds the program of a known agent in a list of folders in the format of `PATH`. Runs
/// nothing.
#[must_use]
pub fn find_known_agent(agent: &KnownAgent, path: &OsStr) -> Option<PathBuf> {
    let needs = agent.needs.iter();
    let has_needs = needs.into_iter().all(|needed| {
        let mut paths = find_in_path(path, needed);
        paths.next().is_some()
    });
    let mut programs = agent
        .programs
        .iter()
        .flat_map(|name| find_in_path(path, name));
    programs.find(|program| has_needs && belongs_to(agent, program))
}

/// Finds a program by its name, in a list of folders in the format of `PATH`.
#[must_use]
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    find_in_path(path, name).next()
}

/// Returns the paths of all programs with this name. Relative folders are skipped, because they
/// depend on the current directory.
fn find_in_path<'a>(path: &'a OsStr, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let programs = folders.map(move |folder| folder.join(name));
    programs.filter(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns `true` if a program belongs to this agent and not to another one of the same name.
fn belongs_to(agent: &KnownAgent, program: &Path) -> bool {
    let real = program.canonicalize().unwrap_or_else(|_| program.into());
    let is_in_package = |package: &String| real.to_string_lossy().contains(&format!("/{package}/"));
    match &agent.package {
        Some(package) => is_in_package(package),
        None => {
            let mut others = known_agents().iter();
            !others.any(|other| other.package.as_ref().is_some_and(is_in_package))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn known_agent(id: &str) -> &'static KnownAgent {
        known_agents().iter().find(|agent| agent.id == id).unwrap()
    }

    fn create_program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn programs_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let path = std::env::join_paths([Path::new("relative"), &one, &two]).unwrap();
        let claude = known_agent("claude");
        assert_eq!(find_known_agent(claude, &path), None);
        create_program(&one.join("claude-code-acp"));
        assert_eq!(
            find_known_agent(claude, &path),
            Some(one.join("claude-code-acp"))
        );
        create_program(&two.join("claude-agent-acp"));
        assert_eq!(
            find_known_agent(claude, &path),
            Some(two.join("claude-agent-acp"))
        );
        // A file without execute permission is not a program.
        std::fs::write(one.join("claude-agent-acp"), "").unwrap();
        assert_eq!(
            find_known_agent(claude, &path),
            Some(two.join("claude-agent-acp"))
        );
        // This agent needs a second program.
        create_program(&one.join("pi-acp"));
        assert_eq!(find_known_agent(known_agent("pi"), &path), None);
        create_program(&two.join("pi"));
        assert_eq!(
            find_known_agent(known_agent("pi"), &path),
            Some(one.join("pi-acp"))
        );
    }

    #[test]
    fn a_program_of_an_npm_package_belongs_to_one_agent() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder
            .path()
            .join("lib/node_modules/@zed-industries/codex-acp");
        create_program(&package.join("bin/codex-acp.js"));
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(package.join("bin/codex-acp.js"), bin.join("codex-acp")).unwrap();
        let path = bin.as_os_str();
        assert_eq!(find_known_agent(known_agent("codex"), path), None);
        let zed = known_agent("codex-zed");
        assert_eq!(find_known_agent(zed, path), Some(bin.join("codex-acp")));
        std::fs::remove_file(bin.join("codex-acp")).unwrap();
        create_program(&bin.join("codex-acp"));
        let found = Some(bin.join("codex-acp"));
        assert_eq!(find_known_agent(known_agent("codex"), path), found);
        assert_eq!(find_known_agent(zed, path), None);
    }
}
