//! Tests for command detection in real shells (TER-6 to TER-9).

use std::fs;
use std::path::Path;

use agenthost_core::TerminalEvent;
use agenthost_workspace::ShellStartup;
use tempfile::TempDir;

use crate::bench::{Bench, ReportedCommand};

/// Enables bracketed paste: shells print it when they are ready for a line.
const PROMPT: &str = "\u{1b}[?2004h";

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Opens the shell under test in a fresh home directory with these files.
fn open(name: &str, startup: ShellStartup, files: &[(&str, &str)]) -> Option<(Bench, TempDir)> {
    let home = TempDir::new().unwrap();
    for (file, text) in files {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    // Without this file, zsh asks for its content.
    let rc = home.path().join(".zshrc");
    if !rc.exists() {
        fs::write(rc, "").unwrap();
    }
    let bench = Bench::shell(name, startup, home.path())?;
    bench.detected();
    Some((bench, home))
}

/// Returns the command line, the output without what the shell adds to it, and the exit code.
fn parts(told: &ReportedCommand) -> (&str, String, Option<i64>) {
    let mut plain = agenthost_protocol::terminal::PlainOutput::default();
    let mut output = plain.push(&told.output);
    output.push_str(&plain.finish());
    (&told.line, output.trim().to_owned(), told.exit_code)
}

#[track_caller]
fn check(bench: &Bench, line: &str, output: &str, exit_code: i64) {
    let told = bench.run(line);
    let expected = (line, output.to_owned(), Some(exit_code));
    assert_eq!(parts(&told), expected);
}

#[test]
fn commands_have_a_line_an_output_and_an_exit_code() {
    for name in SHELLS {
        let Some((bench, home)) = open(name, ShellStartup::Login, &[]) else {
            continue;
        };
        check(&bench, "echo hello; echo 50%", "hello\n50%", 0);
        // The same command again, which a shell may leave out of its history.
        check(&bench, "echo hello; echo 50%", "hello\n50%", 0);
        check(&bench, "false", "", 1);
        check(&bench, "sh -c 'echo oops >&2; exit 7'", "oops", 7);
        check(&bench, "true", "", 0);
        check(&bench, "printf 'a\\tb;é🦀\\n'", "a\tb;é🦀", 0);
        if name == "fish" {
            check(&bench, "begin; false; end", "", 1);
        } else {
            check(&bench, "(exit 9)", "", 9);
            check(&bench, "f() { return 4; }", "", 0);
            check(&bench, "f", "", 4);
        }
        fs::create_dir(home.path().join("a b")).unwrap();
        bench.type_line("cd 'a b'");
        while !matches!(
            bench.next(),
            TerminalEvent::DirectoryChanged(place) if place.as_str().ends_with("/a%20b")
        ) {}
        bench.type_line("exit 5");
        assert_eq!(bench.end().1.exit_code, Some(5), "{name}");
    }
}

#[test]
fn a_command_may_have_several_lines() {
    for name in SHELLS {
        let Some((bench, _home)) = open(name, ShellStartup::NonLogin, &[]) else {
            continue;
        };
        let (typed, expected) = match name {
            "fish" => ("for i in 1 2\recho n$i\rend\r", "for i in 1 2"),
            _ => ("for i in 1 2\rdo echo n$i\rdone\r", "for i in 1 2"),
        };
        bench.terminal.write(typed.to_owned()).unwrap();
        let told = bench.command();
        let (line, output, exit_code) = parts(&told);
        assert!(
            line.starts_with(expected) && line.contains("echo n$i"),
            "{name}: {told:?}"
        );
        assert!(
            output.ends_with("n1\nn2") && exit_code == Some(0),
            "{name}: {told:?}"
        );
        check(&bench, "echo after", "after", 0);
    }
}

/// Empty lines, interrupted input and syntax errors are not reported as commands.
#[test]
fn empty_or_interrupted_input_is_not_a_command() {
    for name in SHELLS {
        let Some((bench, _home)) = open(name, ShellStartup::NonLogin, &[]) else {
            continue;
        };
        bench
            .terminal
            .write("\r\recho given up".to_owned())
            .unwrap();
        bench.until("up");
        // Ctrl-C discards what was typed, also input that comes too early after it.
        bench.interrupt(if name == "fish" { "^C" } else { PROMPT });
        bench.terminal.write("echo )\r".to_owned()).unwrap();
        bench.until(if name == "fish" { "')'" } else { "error" });
        if name == "fish" {
            // fish leaves the line in place for correction.
            bench.terminal.write("\u{15}".to_owned()).unwrap();
        }
        check(&bench, "echo fine", "fine", 0);
    }
}

#[test]
fn a_very_long_line_is_cut() {
    for name in SHELLS {
        let Some((bench, home)) = open(name, ShellStartup::NonLogin, &[]) else {
            continue;
        };
        let script = home.path().join("long");
        let long = format!("echo {} | wc -c", "x".repeat(20_000));
        fs::write(&script, &long).unwrap();
        // A terminal does not accept such a line at once, so the shell reads it from a file.
        let told = bench.run(&format!(". {}", script.display()));
        assert!(told.output.contains("20001"), "{name}: {told:?}");
        bench.type_line(&format!("echo {}", "x".repeat(5_000)));
        let told = bench.command();
        assert!(
            told.line.len() >= 3_900 && told.line.len() <= 5_005,
            "{name}: {}",
            told.line.len()
        );
        check(&bench, "echo after", "after", 0);
    }
}

/// A program that prints a forged mark has no effect.
#[test]
fn forged_shell_marks_are_ignored() {
    for name in SHELLS {
        let Some((bench, _home)) = open(name, ShellStartup::NonLogin, &[]) else {
            continue;
        };
        let forged =
            r"printf '\033]633;D;;0\007\033]633;C;0;evil\007\033]133;D;0\007\033]633;D\007still\n'";
        check(&bench, forged, "still", 0);
        // No child process can see the secret of the marks.
        let told = bench.run("env | grep -c 'AGENTHOST_\\|__agenthost'");
        assert_eq!(parts(&told).1, "0", "{name}: {told:?}");
    }
}

/// A shell inside the shell, and one that replaces it, are reported as commands.
#[test]
fn a_nested_shell_is_reported_as_one_command() {
    let Some((bench, _home)) = open("bash", ShellStartup::NonLogin, &[]) else {
        return;
    };
    bench.type_line("bash --norc");
    bench.until("bash --norc");
    bench.terminal.write("echo in''side\r".to_owned()).unwrap();
    bench.terminal.write("exit 3\r".to_owned()).unwrap();
    let told = bench.command();
    assert_eq!((&*told.line, told.exit_code), ("bash --norc", Some(3)));
    assert!(told.output.contains("inside"), "{told:?}");
    bench.type_line("exec bash --norc");
    bench.type_line("echo repl''aced; exit 4");
    let (output, end) = bench.end();
    assert!(output.contains("replaced"), "{output:?}");
    assert_eq!(end.exit_code, Some(4));
}

/// A shell without support for command detection still works.
#[test]
fn a_shell_without_command_detection_works() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join(".profile"), "MINE=read\n").unwrap();
    let Some(bench) = Bench::shell("sh", ShellStartup::Login, home.path()) else {
        return;
    };
    bench.type_line("echo \"$MINE:$0\"; exit 2");
    let (output, end) = bench.end();
    assert!(output.contains("read:-sh"), "{output:?}");
    assert_eq!(end.exit_code, Some(2));
}

/// Returns all files below a folder, with their content.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap_or_default();
                all.push((path.display().to_string(), text));
            }
        }
    }
    all.sort();
    all
}

/// The user's startup files are read as usual, and not changed.
#[test]
fn startup_files_of_the_user_are_read_and_unchanged() {
    let cases = [
        ("bash", ShellStartup::NonLogin, ".bashrc", "MINE=rc"),
        ("bash", ShellStartup::Login, ".bash_profile", "MINE=profile"),
        ("bash", ShellStartup::Login, ".profile", "MINE=old"),
        ("zsh", ShellStartup::NonLogin, ".zshenv", "MINE=env"),
        ("zsh", ShellStartup::NonLogin, ".zshrc", "MINE=rc"),
        ("zsh", ShellStartup::Login, ".zprofile", "MINE=profile"),
        ("zsh", ShellStartup::Login, ".zlogin", "MINE=login"),
        (
            "fish",
            ShellStartup::NonLogin,
            ".config/fish/config.fish",
            "set -g MINE rc",
        ),
    ];
    for (name, startup, file, text) in cases {
        let text = format!("{text}\n");
        let Some((bench, home)) = open(name, startup, &[(file, &text)]) else {
            continue;
        };
        let expected = text.trim().rsplit(['=', ' ']).next().unwrap().to_owned();
        let told = bench.run("echo \"[$MINE]\"");
        assert_eq!(parts(&told).1, format!("[{expected}]"), "{name} {file}");
        if name == "zsh" {
            let told = bench.run("echo \"[$ZDOTDIR$AGENTHOST_ZDOTDIR]\"");
            assert_eq!(parts(&told).1, "[]", "{file}");
        }
        let kept = contents(home.path());
        let path = home.path().join(file).display().to_string();
        assert!(kept.contains(&(path, text)), "{name} {file}: {kept:?}");
    }
}

#[test]
fn zsh_respects_the_zdotdir_of_the_user() {
    let files = [
        (".zshenv", "ZDOTDIR=$HOME/elsewhere\n"),
        ("elsewhere/.zshrc", "MINE=there\n"),
    ];
    let Some((bench, _home)) = open("zsh", ShellStartup::NonLogin, &files) else {
        return;
    };
    let told = bench.run("echo \"[$MINE] ${ZDOTDIR:t}\"");
    assert_eq!(parts(&told).1, "[there] elsewhere");
}

/// The user's own hooks for prompts and commands still work.
#[test]
fn shell_hooks_of_the_user_still_run() {
    let bash = r#"
set -u
HISTCONTROL=ignoreboth
PROMPT_COMMAND='SEEN=$?'
PS0='before '
trap 'LAST=$BASH_COMMAND' DEBUG
"#;
    if let Some((bench, _home)) = open("bash", ShellStartup::NonLogin, &[(".bashrc", bash)]) {
        check(&bench, "sh -c 'exit 6'", "before", 6);
        check(&bench, "echo $SEEN", "before 6", 0);
        // The user's trap sees the same as without command detection.
        check(&bench, "echo $LAST", "before echo $LAST", 0);
        // A command that is repeated or kept out of the history still has its own line.
        check(&bench, "echo $LAST", "before echo $LAST", 0);
        let told = bench.run(" echo secret");
        assert_eq!(parts(&told).0, "echo secret");
        check(&bench, "echo $LAST", "before echo $LAST", 0);
        check(&bench, "history | grep -c secre[t]", "before 0", 1);
        check(&bench, "(exit 2)", "before", 2);
    }
    let array = "PROMPT_COMMAND=('A=$?' 'B=$?')\nset -o nounset\n";
    if let Some((bench, _home)) = open("bash", ShellStartup::NonLogin, &[(".bashrc", array)]) {
        check(&bench, "sh -c 'exit 6'", "", 6);
        check(&bench, "echo $A $B", "6 6", 0);
        check(&bench, "echo ${#PROMPT_COMMAND[@]}", "4", 0);
    }
    let zsh = r#"
setopt ksh_arrays no_unset hist_ignore_space
alias printf=false builtin=false
mine() { SEEN=$? }
before() { LAST=$1 }
precmd_functions=($precmd_functions mine)
preexec_functions=(before)
"#;
    if let Some((bench, _home)) = open("zsh", ShellStartup::NonLogin, &[(".zshrc", zsh)]) {
        check(&bench, "sh -c 'exit 6'", "", 6);
        check(&bench, "echo $SEEN $LAST", "6 echo $SEEN $LAST", 0);
        let told = bench.run(" echo secret");
        assert_eq!(parts(&told).0, " echo secret");
    }
    let fish = "function mine --on-event fish_postexec; set -g SEEN $status; end\n";
    let file = ".config/fish/config.fish";
    if let Some((bench, _home)) = open("fish", ShellStartup::NonLogin, &[(file, fish)]) {
        check(&bench, "sh -c 'exit 6'", "", 6);
        check(&bench, "echo $SEEN", "6", 0);
    }
}
