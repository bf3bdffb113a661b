//! `docs/cli.md` has the help of every command, as the binary prints it.

use std::process::Command;

use expect_test::expect_file;

const INTRODUCTION: &str = "\
# Commands

Every command of `agenthost`, as `--help` prints it. [usage.md](usage.md) explains how they work
together, [configuration.md](configuration.md) has the keys of the configuration file.

This page is generated. A test compares it with the binary;
`UPDATE_EXPECT=1 cargo test -p agenthost-cli --test it reference` writes it again.
";

/// Returns the output of `agenthost COMMAND --help`.
fn help_of(command: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_agenthost"))
        .args(command)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Parses the names in the section `Commands:` of a help text. Hidden commands are not in it.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let entries = lines.take_while(|line| !line.is_empty());
    let names = entries.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty() && *name != "help");
    names.map(str::to_owned).collect()
}

/// Appends the section of a command and of all commands below it.
fn write_section(page: &mut String, command: &[String]) {
    let help = help_of(command);
    let title = [&["agenthost".to_owned()], command].concat().join(" ");
    let text: Vec<_> = help.lines().map(str::trim_end).collect();
    let text = text.join("\n");
    page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", text.trim()));
    for name in subcommands(&help) {
        write_section(page, &[command, &[name]].concat());
    }
}

#[test]
fn the_reference_has_every_command() {
    let mut page = INTRODUCTION.to_owned();
    write_section(&mut page, &[]);
    expect_file!["../../../../docs/cli.md"].assert_eq(&page);
}

#[test]
fn subcommands_are_parsed_from_a_help_text() {
    let help = "About\n\nCommands:\n  serve   Run it\n  run-it  Run\n          more of it\n  help    Print\n\nOptions:\n";
    assert_eq!(subcommands(help), ["serve", "run-it"]);
}
