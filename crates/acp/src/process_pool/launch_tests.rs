use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use agenthost_workspace::kill_leftovers;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::*;

fn script(text: &str, environment: &[(&str, &str)]) -> AgentLaunch {
    let pairs = environment.iter();
    AgentLaunch {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), text.to_owned()],
        environment: pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

fn start(text: &str) -> (ManagedChild, ChildPipes) {
    ManagedChild::spawn(&script(text, &[]), Path::new("/"), None).unwrap()
}

async fn numbers(pipes: &mut ChildPipes, count: usize) -> Vec<i32> {
    let mut lines = BufReader::new(&mut pipes.stdout).lines();
    let mut numbers = Vec::new();
    for _ in 0..count {
        let line = lines.next_line().await.unwrap().unwrap();
        numbers.push(line.trim().parse().unwrap());
    }
    numbers
}

/// Whether a process is there and not just waited for by nobody.
fn runs(id: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
}

async fn are_gone(ids: &[i32]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while ids.iter().copied().any(runs) {
        assert!(Instant::now() < deadline, "still there: {ids:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn it_gets_what_was_chosen_and_nothing_else() {
    let text = "pwd; echo \"$GIVEN $OTHER ${CARGO_MANIFEST_DIR-none} ${MISSING-none} ${PATH:+path}\"; \
        ls -l /proc/$$/fd; echo complaint >&2; echo 'last \u{1b}[1mone' >&2";
    let launch = script(
        text,
        &[
            ("GIVEN", "a b"),
            ("OTHER", "$CARGO_PKG_NAME"),
            ("MISSING", "$NOT_SET_ANYWHERE"),
        ],
    );
    // Something that it would see if descriptors were passed on.
    let open = tempfile::NamedTempFile::with_prefix("not-passed-on").unwrap();
    let (process, mut pipes) = ManagedChild::spawn(&launch, Path::new("/usr"), None).unwrap();
    let mut written = String::new();
    pipes.stdout.read_to_string(&mut written).await.unwrap();
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("/usr"));
    assert_eq!(lines.next(), Some("a b agenthost-acp none none path"));
    assert!(!written.contains("not-passed-on"), "{written}");
    drop(open);
    assert_eq!(process.shutdown().await.as_deref(), Some("last [1mone"));
    assert!(!format!("{launch:?}").contains("a b"), "{launch:?}");
}

#[tokio::test]
async fn what_can_not_start_says_why() {
    let refused = |launch: &AgentLaunch, folder: &str| {
        let refused = ManagedChild::spawn(launch, Path::new(folder), None);
        refused.map(drop).unwrap_err().to_string()
    };
    let missing = AgentLaunch {
        program: "no-such-agent".to_owned(),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let said = refused(&missing, "/");
    assert_eq!(said, "start `no-such-agent`: there is no such program");
    let said = refused(&missing, "/no/such/folder");
    assert_eq!(
        said,
        "start `no-such-agent`: the folder `/no/such/folder` is not there"
    );
}

/// Goose and codex do not care that nobody talks to them any more; others
/// leave something behind, some of it in a group of its own.
#[tokio::test]
async fn nothing_outlives_its_end() {
    let stubborn = "trap '' TERM; sleep 1000 & echo $!; setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & \
        echo $$; while :; do sleep 1000; done";
    let (process, mut pipes) = start(stubborn);
    let ids = numbers(&mut pipes, 3).await;
    drop(pipes);
    assert!(ids.iter().copied().all(runs));
    process.shutdown().await;
    are_gone(&ids).await;

    let polite = "sleep 1000 & echo $!; echo $$; read line; exit 0";
    let (process, mut pipes) = start(polite);
    let ids = numbers(&mut pipes, 2).await;
    drop(pipes);
    let began = Instant::now();
    process.shutdown().await;
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "nobody had to be killed"
    );
    are_gone(&ids).await;
}

#[tokio::test]
async fn dropped_it_is_gone() {
    let (process, mut pipes) = start("sleep 1000 & echo $!; echo $$; wait");
    let ids = numbers(&mut pipes, 2).await;
    drop(process);
    are_gone(&ids).await;
}

/// What left its group, its session and its parents is gone, too.
#[tokio::test]
async fn what_went_its_own_way_is_gone() {
    let daemons = "(setsid sh -c 'echo $$; exec sleep 1000' 2>/dev/null &); \
        (setsid sh -c '(setsid sh -c \"echo \\$\\$; exec sleep 1000\" 2>/dev/null &)'); echo $$; read line";
    let (process, mut pipes) = start(daemons);
    let ids = numbers(&mut pipes, 3).await;
    drop(pipes);
    process.shutdown().await;
    are_gone(&ids).await;

    let notes = tempfile::tempdir().unwrap();
    let (process, mut pipes) =
        ManagedChild::spawn(&script(daemons, &[]), Path::new("/usr"), Some(notes.path())).unwrap();
    let ids = numbers(&mut pipes, 3).await;
    // As if the host was killed.
    std::mem::forget(process);
    kill_leftovers(notes.path());
    are_gone(&ids).await;
}

/// A host that is killed leaves its notes; by these the next one ends what is
/// left, also if the agent itself has gone.
#[tokio::test]
async fn what_a_killed_host_left_is_swept_up() {
    let notes = tempfile::tempdir().unwrap();
    let spawn = |text: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", text]).process_group(0);
        command.stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut there = spawn("exec sleep 1000");
    let mut gone = spawn("sleep 1000 > /dev/null & echo; wait");
    let mut said = [0];
    std::io::Read::read_exact(gone.stdout.as_mut().unwrap(), &mut said).unwrap();
    let group = i32::try_from(gone.id()).unwrap();
    for id in [there.id(), gone.id()] {
        std::mem::forget(PidFile::create(notes.path(), id, None).unwrap());
    }
    gone.kill().unwrap();
    gone.wait().unwrap();
    let left = || {
        let entries = std::fs::read_dir("/proc").unwrap();
        let stats = entries
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok());
        let of_it = stats.filter(|stat| {
            let fields: Vec<_> = stat
                .rsplit_once(')')
                .unwrap()
                .1
                .split_whitespace()
                .collect();
            fields[2] == group.to_string() && fields[0] != "Z"
        });
        of_it.count()
    };
    assert!(left() > 0);
    assert_eq!(kill_leftovers(notes.path()), 2);
    there.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while left() > 0 {
        assert!(Instant::now() < deadline);
        tokio::task::yield_now().await;
    }
    assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
}
