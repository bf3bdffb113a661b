//! Tests with random repositories, compared with git itself.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use agenthost_core::{CheckpointId, DiffEndpoint};

use super::{TrackedFolder, all_files, git, turn};

/// Returns what git reports for a copy of the folder: lines added, lines removed, names.
fn numstat(tracked_folder: &TrackedFolder, copy: &Path) -> BTreeSet<String> {
    fs::create_dir(copy).unwrap();
    let from = format!("{}/.", tracked_folder.folder.display());
    let copied = std::process::Command::new("cp")
        .args(["-a", &from, &copy.display().to_string()])
        .status();
    assert!(copied.unwrap().success());
    git(copy, &["add", "--all"]);
    let raw = git(
        copy,
        &[
            "diff",
            "--cached",
            "--numstat",
            "-z",
            "-M",
            "-l1000",
            "--no-ext-diff",
            "HEAD",
        ],
    );
    let mut fields = raw.split('\0').filter(|field| !field.is_empty());
    let mut found = BTreeSet::new();
    while let Some(entry) = fields.next() {
        let mut parts = entry.splitn(3, '\t');
        let (added, removed) = (parts.next().unwrap(), parts.next().unwrap());
        let names = match parts.next().unwrap_or_default() {
            "" => format!("{} -> {}", fields.next().unwrap(), fields.next().unwrap()),
            name => name.to_owned(),
        };
        let count = match added {
            "-" => "binary".to_owned(),
            added => format!("+{added} -{removed}"),
        };
        found.insert(format!("{names} {count}"));
    }
    found
}

struct Chance(fastrand::Rng);

impl Chance {
    fn text(&mut self) -> Vec<u8> {
        if self.0.u8(..) < 40 {
            return (0..self.0.usize(1..3_000)).map(|_| self.0.u8(..)).collect();
        }
        let end = if self.0.u8(..) < 60 { "\r\n" } else { "\n" };
        let lines = (0..self.0.usize(0..40)).map(|_| format!("line {}{end}", self.0.u8(..)));
        let mut text: String = lines.collect();
        if self.0.u8(..) < 40 {
            text.push_str("no end of line");
        }
        text.into_bytes()
    }

    fn edit(&mut self, text: &mut Vec<u8>) {
        let at = self.0.usize(..=text.len());
        text.splice(at..at, *b"inserted\n");
    }

    fn name(&mut self) -> String {
        let folder = ["", "src/", "src/deep/", "with space/", "ünï/"];
        let folder = folder[self.0.usize(..folder.len())];
        let end = [".txt", ".rs", "", ".bin"];
        let end = end[self.0.usize(..end.len())];
        format!("{folder}f{}{end}", self.0.u8(..40))
    }
}

fn files(tracked_folder: &TrackedFolder) -> Vec<String> {
    let listed = tracked_folder.git(&[
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let names = listed.split('\0').filter(|name| !name.is_empty());
    let there = names.filter(|name| {
        let path = tracked_folder.folder.join(name);
        path.is_file() && !path.is_symlink()
    });
    there.map(ToOwned::to_owned).collect()
}

fn change(tracked_folder: &TrackedFolder, chance: &mut Chance) {
    let names = files(tracked_folder);
    let one = names.get(chance.0.usize(..names.len().max(1))).cloned();
    let path = |name: &str| tracked_folder.folder.join(name);
    let make = |name: &str| {
        for parent in Path::new(name).ancestors().skip(1) {
            // Removes a file that is in the way.
            if path(parent.to_str().unwrap()).is_file() {
                fs::remove_file(tracked_folder.folder.join(parent)).unwrap();
            }
        }
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
    };
    match (chance.0.u8(..12), one) {
        (0..3, Some(name)) => {
            let mut text = fs::read(path(&name)).unwrap();
            chance.edit(&mut text);
            fs::write(path(&name), text).unwrap();
        }
        (3, Some(name)) => fs::remove_file(path(&name)).unwrap(),
        (4 | 5, Some(name)) => {
            let to = chance.name();
            make(&to);
            if !path(&to).is_dir() {
                // Making room for the target may have removed the file.
                fs::rename(path(&name), path(&to)).unwrap_or_default();
            }
        }
        (6, Some(name)) => {
            let mode = fs::metadata(path(&name)).unwrap().permissions().mode() ^ 0o100;
            fs::set_permissions(path(&name), PermissionsExt::from_mode(mode)).unwrap();
        }
        (7, _) => {
            let name = chance.name();
            make(&name);
            if !path(&name).exists() {
                symlink("somewhere", path(&name)).unwrap_or_default();
            }
        }
        (10, _) => {
            // Replaces a folder by a file, or the other way round.
            let name = *["src", "with space"].get(chance.0.usize(..2)).unwrap();
            if path(name).is_dir() {
                fs::remove_dir_all(path(name)).unwrap();
                fs::write(path(name), chance.text()).unwrap();
            } else {
                fs::remove_file(path(name)).unwrap_or_default();
                fs::create_dir(path(name)).unwrap();
            }
        }
        (8, _) => fs::write(path(".gitignore"), "*.bin\n").unwrap(),
        (9, _) => fs::write(path(".gitattributes"), "*.txt text\n*.rs -diff\n").unwrap(),
        _ => {
            let name = chance.name();
            make(&name);
            if !path(&name).is_dir() {
                fs::remove_file(path(&name)).unwrap_or_default();
                fs::write(path(&name), chance.text()).unwrap();
            }
        }
    }
}

#[test]
fn diffs_of_random_repositories_agree_with_git() {
    let count = std::env::var("REPOSITORIES").map_or(8, |count| count.parse().unwrap());
    for seed in 0..count {
        let mut chance = Chance(fastrand::Rng::with_seed(seed));
        let tracked_folder = TrackedFolder::with(&[("README", "a\nb\nc\n")]);
        if seed % 3 == 0 {
            tracked_folder.git(&["config", "core.autocrlf", "input"]);
        }
        for _ in 0..25 {
            change(&tracked_folder, &mut chance);
        }
        tracked_folder.commit("second");
        // Stages some changes, and changes some files again.
        for _ in 0..10 {
            change(&tracked_folder, &mut chance);
        }
        tracked_folder.git(&["add", "--all"]);
        for _ in 0..15 {
            change(&tracked_folder, &mut chance);
        }
        let git_dir = tracked_folder.folder.join(".git");
        let status = tracked_folder.git(&["status", "--porcelain=v2"]);
        let untouched = all_files(&git_dir);
        for step in 0..3 {
            tracked_folder.take_checkpoint(&CheckpointId::BeforeTurn(turn(&step.to_string())));
            let compared = tracked_folder
                .compare(DiffEndpoint::Head, DiffEndpoint::WorkingTree)
                .unwrap();
            let strip = |line: String| {
                let line = line.trim_start_matches("new ").trim_start_matches("gone ");
                percent_encoding::percent_decode_str(line)
                    .decode_utf8()
                    .unwrap()
                    .into_owned()
            };
            let ours: BTreeSet<_> = tracked_folder
                .lines(&compared.files)
                .into_iter()
                .map(strip)
                .collect();
            let copy = tracked_folder.folder.with_extension(format!("copy{step}"));
            assert_eq!(
                ours,
                numstat(&tracked_folder, &copy),
                "seed {seed}, step {step}"
            );
            if step == 0 {
                assert!(all_files(&git_dir) == untouched, "seed {seed}");
                assert_eq!(tracked_folder.git(&["status", "--porcelain=v2"]), status);
            }
            for _ in 0..5 {
                change(&tracked_folder, &mut chance);
            }
        }
    }
}
