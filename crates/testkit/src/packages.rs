//! Generates random customization packages, and breaks them.

use fastrand::Rng;

/// A file of a package: its path and its contents.
pub type GeneratedFile = (String, Vec<u8>);

/// Generates a package with a manifest and items of several kinds. The same number
/// generates the same package.
pub fn generate_package(number: u64) -> Vec<GeneratedFile> {
    let mut rng = Rng::with_seed(number);
    let manifest = [
        "plugin.json",
        ".plugin/plugin.json",
        ".claude-plugin/plugin.json",
    ];
    let manifest = rng.choice(manifest).unwrap_or("plugin.json");
    let mut files = vec![(
        manifest.to_owned(),
        format!(r#"{{"name": "made-{number}", "version": "1.{number}.0"}}"#),
    )];
    for skill in 0..rng.usize(1..6) {
        files.push((
            format!("skills/skill-{skill}/SKILL.md"),
            format!(
                "---\nname: skill-{skill}\ndescription: {}\n---\n{}",
                random_words(&mut rng, 8),
                random_words(&mut rng, 120)
            ),
        ));
    }
    for agent in 0..rng.usize(0..4) {
        let text = format!(
            "---\ndescription: {}\ntools: [Read, Write]\nmodel: small\n---\n{}",
            random_words(&mut rng, 5),
            random_words(&mut rng, 60)
        );
        files.push((format!("agents/agent-{agent}.md"), text));
    }
    for command in 0..rng.usize(0..4) {
        let text = format!(
            "---\ndescription: x\n---\nDo $ARGUMENTS with {}.",
            random_words(&mut rng, 9)
        );
        files.push((format!("commands/command-{command}.md"), text));
    }
    for rule in 0..rng.usize(0..4) {
        let text = format!(
            "---\nglobs: \"**/*.{{ts,rs}}\"\nalwaysApply: {}\n---\n{}",
            rng.bool(),
            random_words(&mut rng, 30)
        );
        files.push((format!("rules/rule-{rule}.mdc"), text));
    }
    if rng.bool() {
        let text = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
        files.push(("hooks/hooks.json".to_owned(), text.to_owned()));
    }
    if rng.bool() {
        let text = r#"{"mcpServers": {"a": {"command": "serve", "args": ["-x"]}, "b": {"url": "https://example.org/mcp"}}}"#;
        files.push((".mcp.json".to_owned(), text.to_owned()));
    }
    files
        .into_iter()
        .map(|(path, text)| (path, text.into_bytes()))
        .collect()
}

/// Breaks one of the files in a random way.
pub fn mutate(rng: &mut Rng, files: &mut Vec<GeneratedFile>) {
    let count = files.len();
    if count == 0 {
        return;
    }
    let Some((path, bytes)) = files.get_mut(rng.usize(..count)) else {
        return;
    };
    match rng.usize(..12) {
        0 => bytes.truncate(rng.usize(..=bytes.len())),
        1 => {
            for _ in 0..rng.usize(1..8) {
                let length = bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(rng.usize(..length)) {
                    *byte = rng.u8(..);
                }
            }
        }
        2 => {
            let at = rng.usize(..=bytes.len());
            let strange: &[&[u8]] = &[b"\0", b"\xff", b"---\n", b"{", b"\"", b": ", b"&a *a", b"\t", b"/*"];
            let piece = rng.choice(strange).copied().unwrap_or_default();
            bytes.splice(at..at, piece.iter().copied());
        }
        3 => bytes.extend_from_within(..),
        4 => *bytes = vec![b'x'; 1024 * 1024 + rng.usize(..2)],
        5 => *bytes = format!("---\na: {}\n---\n", "[".repeat(rng.usize(1..5_000))).into_bytes(),
        6 => *bytes = "[".repeat(rng.usize(1..5_000)).into_bytes(),
        7 => *bytes = b"---\nname: [1]\ndescription: {a: b}\nglobs: 7\ntools: true\nmodel: {}\n---\n".to_vec(),
        8 => *path = format!("{}{path}", "deep/".repeat(rng.usize(1..12))),
        9 => *bytes = br#"{"name": 7, "skills": ["../..", 3, {}], "agents": {"paths": "x"}, "hooks": 1, "mcpServers": {"a": 1, "": {}}}"#.to_vec(),
        10 => bytes.clear(),
        _ => {
            let copy = (path.replace('.', "-copy."), bytes.clone());
            files.push(copy);
        }
    }
}

fn random_words(rng: &mut Rng, count: usize) -> String {
    let words = [
        "when",
        "the",
        "tests",
        "fail",
        "read",
        "them: first",
        "and",
        "say",
        "why",
        "#1",
    ];
    let mut text = String::new();
    for _ in 0..count {
        text.push_str(rng.choice(words).unwrap_or_default());
        text.push(' ');
    }
    text
}
