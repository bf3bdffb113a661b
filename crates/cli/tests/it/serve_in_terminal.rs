//! The host, started by a person at a terminal and not by a program.

use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

#[test]
fn a_host_in_a_terminal_prints_only_its_address() {
    let directory = tempfile::tempdir().unwrap();
    let size = PtySize {
        rows: 24,
        cols: 200,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pty = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_agenthost"));
    command.args(["serve", "--data-dir"]);
    command.arg(directory.path());
    let mut host = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let shown = Arc::new(Mutex::new(String::new()));
    let mut reader = pty.master.try_clone_reader().unwrap();
    let reading = std::thread::spawn({
        let shown = Arc::clone(&shown);
        move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..count]);
                shown.lock().unwrap().push_str(&text);
            }
        }
    });
    for _ in 0..400 {
        if shown.lock().unwrap().contains("ws://127.0.0.1:") {
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    host.kill().unwrap();
    host.wait().unwrap();
    drop(pty.master);
    reading.join().unwrap();
    let shown = shown.lock().unwrap();
    assert!(shown.contains("ws://127.0.0.1:"), "{shown}");
    for complaint in ["panicked", "tracing", "warning", "\u{1b}["] {
        assert!(!shown.contains(complaint), "{shown}");
    }
}
