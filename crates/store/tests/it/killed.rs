//! Tests that acknowledged changes survive `kill -9`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::driver::Driver;

const DIRECTORY: &str = "AGENTHOST_STORE_TEST_DIRECTORY";

/// Not a test by itself: the process that gets killed. It streams to a chat, and prints each word
/// after it was appended.
#[test]
fn writer() {
    let Ok(directory) = std::env::var(DIRECTORY) else {
        return;
    };
    let mut driver = Driver::open(directory.as_ref());
    driver.connect(1);
    if driver.store.load_host().unwrap().sessions.is_empty() {
        drop(driver);
        driver = Driver::ready(directory.as_ref());
    } else {
        driver.request(1, "subscribe", crate::driver::chat().as_str(), "{}");
    }
    let turn = format!("t{}", fastrand::u64(..));
    driver.start_turn(&turn);
    let mut stdout = std::io::stdout().lock();
    for n in 0..100_000 {
        let word = format!("w{}-{n};", std::process::id());
        driver.stream(&turn, &word);
        writeln!(stdout, "seen {word}").unwrap();
    }
}

#[test]
fn acknowledged_changes_survive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::writer", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Stops in the middle of a batch, at a different place in each round.
        let wanted = 20 + round * 7;
        let mut count = 0;
        while count < wanted {
            let line = lines.next().unwrap().unwrap();
            if let Some(word) = line.strip_prefix("seen ") {
                seen.push(word.to_owned());
                count += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines that are already in the pipe count as acknowledged, too.
        let rest = lines.map_while(Result::ok);
        seen.extend(rest.filter_map(|line| Some(line.strip_prefix("seen ")?.to_owned())));
    }
    let mut driver = Driver::open(directory.path());
    driver.check_stored();
    let text = driver.chat_text();
    for word in &seen {
        assert!(text.contains(word.as_str()), "{word} was seen and is lost");
    }
    assert!(seen.len() >= 12 * 20);
}
