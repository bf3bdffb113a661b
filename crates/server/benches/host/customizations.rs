//! Loads a thousand packages for a session, then changes one of them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agenthost_core::Input;
use agenthost_core::customization::driver::{CustomizationCommand, CustomizationEvent};
use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationDriver, CustomizationSettings};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::{Customization, LoadState};
use agenthost_protocol::uri::Uri;
use tokio::sync::mpsc;

use crate::{Budget, Scale};

pub(crate) async fn run(scale: &Scale) -> Vec<Budget> {
    let packages = if scale.quick { 200 } else { 1_000 };
    let directory = tempfile::tempdir().unwrap();
    let folders = prepare(directory.path(), packages);
    let rounds = if scale.quick { 1 } else { 3 };
    let (mut bare, mut all, mut one) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..rounds {
        bare = bare.min(read_bare(directory.path()));
        let (read, read_again) = read(directory.path(), &folders).await;
        (all, one) = (all.min(read), one.min(read_again));
    }
    println!(
        "\n| packages | reading their files, ms | read and parsed, ms | ratio | one changed: parsed again | ms until it is published |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    println!(
        "| {packages} | {bare:.0} | {all:.0} | {:.1} | 1 | {one:.0} |",
        all / bare
    );
    vec![Budget {
        what: "customizations: read and parsed, as a ratio to reading the files".to_owned(),
        value: all / bare,
        most: 25.0,
    }]
}

fn prepare(directory: &Path, packages: u64) -> Vec<PathBuf> {
    let write = |number: u64| {
        let folder = directory.join(format!("package-{number}"));
        for (path, bytes) in agenthost_testkit::packages::generate_package(number) {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        folder
    };
    (0..packages).map(write).collect()
}

/// Measures how long it takes to read all files without parsing them, in milliseconds.
fn read_bare(directory: &Path) -> f64 {
    let begun = Instant::now();
    let mut folders = vec![directory.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                bytes += std::fs::read(entry.path()).unwrap().len();
            }
        }
    }
    assert!(bytes > 0);
    millis(begun.elapsed())
}

/// Measures how long it takes until all packages are published, and until a changed one is
/// published again, in milliseconds.
async fn read(directory: &Path, folders: &[PathBuf]) -> (f64, f64) {
    let plugins = folders.iter().map(|folder| ConfiguredPlugin {
        source: PluginSource::Path(folder.clone()),
        agents: None,
    });
    let settings = CustomizationSettings {
        plugins: plugins.collect(),
        ..CustomizationSettings::default()
    };
    let data = tempfile::tempdir().unwrap();
    let (told, mut events) = mpsc::channel(64);
    let customizations = CustomizationDriver::new(settings, data.path().to_owned(), told);
    let begun = Instant::now();
    let session = Uri::from("ahp-session:/s");
    let follow = CustomizationCommand::Track {
        session: session.clone(),
        provider: ProviderId::from("a"),
        directories: Vec::new(),
    };
    customizations.execute(follow).unwrap();
    let mut left: usize = folders.len();
    while left > 0 {
        match next_event(&mut events).await {
            CustomizationEvent::CustomizationsFound { all } => {
                left -= all.iter().filter(|one| is_read(one)).count();
            }
            CustomizationEvent::CustomizationUpdated(one) if is_read(&one) => left -= 1,
            _ => {}
        }
    }
    let all = millis(begun.elapsed());
    let before = customizations.read_count();
    let changed = directory.join("package-7/skills/new/SKILL.md");
    std::fs::create_dir_all(changed.parent().unwrap()).unwrap();
    let begun = Instant::now();
    std::fs::write(&changed, format!("---\ndescription: {before}\n---\nNew.")).unwrap();
    loop {
        if let CustomizationEvent::CustomizationUpdated(one) = next_event(&mut events).await
            && format!("{one:?}").contains("\"new\"")
        {
            break;
        }
    }
    let one = millis(begun.elapsed());
    // The new folder and the new file may be detected as two changes of the package.
    let again = customizations.read_count() - before;
    assert!(again <= 2, "{again} packages were read again");
    std::fs::remove_dir_all(changed.parent().unwrap()).unwrap();
    customizations.stop().await;
    (all, one)
}

async fn next_event(inputs: &mut mpsc::Receiver<Input>) -> CustomizationEvent {
    match inputs.recv().await {
        Some(Input::Customization { event, .. }) => event,
        other => panic!("unexpected input: {other:?}"),
    }
}

fn is_read(one: &Customization) -> bool {
    !matches!(one.load(), Some(LoadState::Loading) | None)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
