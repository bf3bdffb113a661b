use std::path::Path;

use tokio::io::AsyncReadExt;

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

#[tokio::test]
async fn an_agent_inherits_only_its_configured_environment() {
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
    let (process, mut pipes) = spawn_agent(
        &launch,
        &SessionEnvironment::default(),
        Path::new("/usr"),
        None,
    )
    .unwrap();
    let mut written = String::new();
    pipes.stdout.read_to_string(&mut written).await.unwrap();
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("/usr"));
    assert_eq!(lines.next(), Some("a b agenthost-acp none none path"));
    assert!(!written.contains("not-passed-on"), "{written}");
    drop(open);
    let stderr_tail = process.shutdown().await;
    assert_eq!(stderr_tail.last_line().unwrap(), "last [1mone");
    assert!(!format!("{launch:?}").contains("a b"), "{launch:?}");
}

#[tokio::test]
async fn a_missing_program_or_directory_is_named_in_the_error() {
    let refused = |launch: &AgentLaunch, folder: &str| {
        let refused = spawn_agent(
            launch,
            &SessionEnvironment::default(),
            Path::new(folder),
            None,
        );
        refused.map(drop).unwrap_err().to_string()
    };
    let missing = AgentLaunch {
        program: "no-such-agent".to_owned(),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let said = refused(&missing, "/");
    assert_eq!(said, "start `no-such-agent`: program not found");
    let said = refused(&missing, "/no/such/folder");
    assert_eq!(
        said,
        "start `no-such-agent`: the folder `/no/such/folder` does not exist"
    );
}
