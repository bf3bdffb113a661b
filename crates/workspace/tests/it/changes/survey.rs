//! Tests for edits of running turns, and that clients can undo them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use agenthost_core::{CheckpointId, ContentAddress, EditSurvey, SessionKey, SurveyScope, TurnRef};
use agenthost_protocol::common::{ContentRef, FileEdit, FileEditSide};
use agenthost_protocol::uri::Uri;
use agenthost_workspace::{ContentStore, is_whole_edit, path_of, uri_of};
use tempfile::TempDir;

use super::TrackedFolder;

/// A running turn in a folder.
struct RunningTurn {
    tracked_folder: TrackedFolder,
    contents: ContentStore,
    _store: TempDir,
}

fn turn(name: &str) -> TurnRef {
    TurnRef {
        chat: Uri::from("ahp-chat:/1"),
        turn: name.into(),
    }
}

impl RunningTurn {
    fn begin(tracked_folder: TrackedFolder) -> Self {
        let store = TempDir::new().unwrap();
        let running = RunningTurn {
            contents: ContentStore::open(store.path()).unwrap(),
            tracked_folder,
            _store: store,
        };
        running.take_checkpoint(&CheckpointId::SessionStart);
        running.take_checkpoint(&CheckpointId::BeforeTurn(turn("t")));
        running
    }

    fn take_checkpoint(&self, mark: &CheckpointId) {
        let folders = [uri_of(&self.tracked_folder.folder).unwrap()];
        let marked = self.tracked_folder.changes.take_checkpoint(
            &self.tracked_folder.session,
            &folders,
            mark,
            None,
        );
        marked.unwrap();
    }

    fn survey(&self, scope: SurveyScope, claimed: Vec<FileEdit>) -> Vec<FileEdit> {
        let survey = EditSurvey {
            turn: turn("t"),
            base: turn("t"),
            scope,
            claimed,
        };
        let folders = [uri_of(&self.tracked_folder.folder).unwrap()];
        let (changes, session) = (&self.tracked_folder.changes, &self.tracked_folder.session);
        let edits = changes.survey_edits(session, &folders, &survey, &self.contents);
        edits.unwrap()
    }

    fn all(&self) -> Vec<FileEdit> {
        self.survey(SurveyScope::All, Vec::new())
    }

    fn content(&self, content: &ContentRef) -> String {
        self.contents.read(&content.uri, None).unwrap().data
    }

    /// Renders edits with the contents before and after: `+` for created, `-` for deleted files.
    fn render_edits(&self, edits: &[FileEdit]) -> Vec<String> {
        let text = |side: &Option<FileEditSide>| {
            let text = side.as_ref().map(|side| self.content(&side.content));
            text.unwrap_or_default()
        };
        let told = edits.iter().map(|edit| {
            let kind = match (&edit.before, &edit.after) {
                (None, _) => "+",
                (_, None) => "-",
                _ => "",
            };
            let side = edit.after.as_ref().or(edit.before.as_ref()).unwrap();
            let path = path_of(&side.uri).unwrap();
            let name = path.strip_prefix(&self.tracked_folder.folder).unwrap();
            let (before, after) = (text(&edit.before), text(&edit.after));
            format!("{kind}{} {before:?} {after:?}", name.display())
        });
        told.collect()
    }
}

#[test]
fn each_survey_reports_the_edits_since_the_last_one() {
    let files = [("a.txt", "1\n"), ("b/c.txt", "c\n"), ("d.txt", "d\n")];
    let running = RunningTurn::begin(TrackedFolder::with(&files));
    assert_eq!(running.all(), []);
    running.tracked_folder.write("a.txt", "2\n");
    running.tracked_folder.write("ü (1)+.txt", "new\n");
    fs::rename(
        running.tracked_folder.folder.join("b/c.txt"),
        running.tracked_folder.folder.join("moved.txt"),
    )
    .unwrap();
    let edits = running.all();
    assert_eq!(
        running.render_edits(&edits),
        [
            "a.txt \"1\\n\" \"2\\n\"",
            "-b/c.txt \"c\\n\" \"\"",
            "+moved.txt \"\" \"c\\n\"",
            "+ü (1)+.txt \"\" \"new\\n\"",
        ]
    );
    let diff = edits.first().unwrap().diff.as_ref().unwrap();
    assert_eq!((diff.added, diff.removed), (Some(1), Some(1)));
    assert_eq!(running.all(), []);
    running.tracked_folder.write("a.txt", "3\n");
    assert_eq!(
        running.render_edits(&running.all()),
        ["a.txt \"2\\n\" \"3\\n\""]
    );
}

/// An edit that a client could not undo by writing text is not reported.
#[test]
fn edits_that_text_cannot_restore_are_omitted() {
    let tracked_folder = TrackedFolder::with(&[
        (
            ".gitattributes",
            "*.big filter=lfs\n*.bat eol=crlf\n*.u16 working-tree-encoding=UTF-16\n",
        ),
        (".gitignore", "ignored\n"),
        ("a.big", "pointer\n"),
        ("a.bat", "x\r\n"),
        ("mode.sh", "#!\n"),
        ("large.txt", "small\n"),
    ]);
    fs::write(tracked_folder.folder.join("latin1.txt"), b"gr\xfc\xdfe\n").unwrap();
    symlink("mode.sh", tracked_folder.folder.join("link")).unwrap();
    tracked_folder.commit("more");
    let running = RunningTurn::begin(tracked_folder);
    let folder = &running.tracked_folder.folder;
    running.tracked_folder.write("a.big", "other\n");
    running.tracked_folder.write("a.bat", "y\r\n");
    fs::write(folder.join("a.u16"), b"\xff\xfey\0").unwrap();
    running.tracked_folder.write("ignored", "y");
    running
        .tracked_folder
        .write("large.txt", &"x".repeat(3 * 1024 * 1024));
    fs::write(folder.join("latin1.txt"), b"gr\xfc\xdf\n").unwrap();
    fs::remove_file(folder.join("link")).unwrap();
    symlink("large.txt", folder.join("link")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("mode.sh"), mode).unwrap();
    // Undone by deleting the file, so the edit is reported.
    fs::write(folder.join("new.png"), [0x89, 0x50, 0x00]).unwrap();
    let edits = running.all();
    let names: Vec<_> = running.render_edits(&edits);
    let names: Vec<_> = names
        .iter()
        .map(|told| told.split(' ').next().unwrap())
        .collect();
    assert_eq!(names, ["+new.png"]);
}

/// Restores a checkpoint as VS Code does: of each file, it uses the first content before and the
/// last one after the edits, and writes the files one by one.
fn restore(running: &RunningTurn, surveys: &[Vec<FileEdit>]) {
    let mut files: BTreeMap<Uri, (Option<ContentRef>, bool)> = BTreeMap::new();
    for edit in surveys.iter().flatten() {
        let side = edit.after.as_ref().or(edit.before.as_ref()).unwrap();
        let before = edit.before.as_ref().map(|side| side.content.clone());
        let known = files.entry(side.uri.clone());
        let known = known.or_insert((before.clone(), false));
        known.1 = edit.after.is_none();
    }
    for (uri, (before, is_gone)) in files {
        let path = path_of(&uri).unwrap();
        match before {
            Some(content) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, running.content(&content)).unwrap();
            }
            None if is_gone => {}
            None => fs::remove_file(path).unwrap(),
        }
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for entry in fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let text = fs::read_to_string(&path).unwrap();
                    found.insert(path.display().to_string(), text);
                }
            }
        }
    }
    found
}

/// Finding 16: "Restore Checkpoint" restores the files.
#[test]
fn writing_back_the_contents_of_edits_restores_the_files() {
    let before = [
        ("a.txt", "1\n"),
        ("b/c.txt", "c\n"),
        ("d.txt", "d\n"),
        ("e.txt", "e\n"),
    ];
    for tracked_folder in [TrackedFolder::with(&before), TrackedFolder::plain()] {
        for (name, text) in before {
            tracked_folder.write(name, text);
        }
        let running = RunningTurn::begin(tracked_folder);
        let folder = running.tracked_folder.folder.clone();
        let expected = files(&folder);
        let mut surveys = Vec::new();
        running.tracked_folder.write("a.txt", "2\n");
        running.tracked_folder.write("short.txt", "made and gone\n");
        fs::rename(folder.join("b/c.txt"), folder.join("moved.txt")).unwrap();
        surveys.push(running.all());
        running.tracked_folder.write("a.txt", "3\n");
        running.tracked_folder.write("moved.txt", "edited\n");
        fs::remove_file(folder.join("short.txt")).unwrap();
        fs::remove_file(folder.join("d.txt")).unwrap();
        fs::remove_file(folder.join("e.txt")).unwrap();
        surveys.push(running.all());
        running.tracked_folder.write("e.txt", "again\n");
        fs::rename(folder.join("moved.txt"), folder.join("moved again.txt")).unwrap();
        surveys.push(running.all());
        assert_ne!(files(&folder), expected);
        restore(&running, &surveys);
        assert_eq!(files(&folder), expected);
    }
}

/// A worker reports the edits that it claims; the turn that it works for reports them as well.
#[test]
fn a_survey_of_claimed_edits_does_not_consume_those_of_the_turn() {
    let running = RunningTurn::begin(TrackedFolder::with(&[("a.txt", "1\n"), ("b.txt", "1\n")]));
    running.tracked_folder.write("a.txt", "2\n");
    running.tracked_folder.write("b.txt", "2\n");
    let claimed = FileEdit {
        before: None,
        after: Some(FileEditSide {
            uri: running.tracked_folder.uri("a.txt"),
            content: ContentRef {
                uri: Uri::from("agenthost-content:/part"),
                size_hint: None,
                content_type: None,
                nonce: None,
            },
        }),
        diff: None,
    };
    let told = running.render_edits(&running.survey(SurveyScope::Claimed, vec![claimed]));
    assert_eq!(told, ["a.txt \"1\\n\" \"2\\n\""]);
    assert_eq!(running.all().len(), 2);
}

#[test]
fn an_edit_is_complete_if_its_content_equals_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "one\ntwo\n").unwrap();
    let key = SessionKey::of(&Uri::from("shell:/1"));
    let side = |text: &str| FileEditSide {
        uri: uri_of(&path).unwrap(),
        content: ContentAddress::of(&key, text.as_bytes(), "a.txt").reference(text.len()),
    };
    let edit = |before: Option<&str>, after: &str| FileEdit {
        before: before.map(side),
        after: Some(side(after)),
        diff: None,
    };
    assert!(is_whole_edit(&edit(Some("one\n"), "one\ntwo\n")));
    // A part of a file, and a file that may have existed before.
    assert!(!is_whole_edit(&edit(Some("one"), "two")));
    assert!(!is_whole_edit(&edit(None, "one\ntwo\n")));
    fs::remove_file(&path).unwrap();
    assert!(!is_whole_edit(&edit(Some("one\n"), "one\ntwo\n")));
}
