//! Many packages on a disk.

use agenthost_customizations::fetch::PluginSource;
use agenthost_customizations::{ConfiguredPlugin, CustomizationSettings};
use agenthost_testkit::packages::generate_package;

use crate::host::{Host, workspace, write};
use crate::render;

#[tokio::test]
async fn only_the_changed_package_is_read_again() {
    const COUNT: u64 = 100;
    let folder = workspace();
    let mut plugins = Vec::new();
    for number in 0..COUNT {
        let root = folder.path().join(format!("p{number}"));
        for (path, bytes) in generate_package(number) {
            write(&root, &path, std::str::from_utf8(&bytes).unwrap());
        }
        plugins.push(ConfiguredPlugin {
            source: PluginSource::Path(root),
            agents: None,
        });
    }
    let settings = CustomizationSettings {
        plugins,
        ..CustomizationSettings::default()
    };
    let mut host = Host::start_tracking(folder, settings).await;
    host.all_read().await;
    let before = host.customizations.read_count();
    let root = host.folder.path().join("p7/skills");
    write(&root, "skill-0/SKILL.md", "---\nname: other\n---\nOther.");
    host.until(|host| host.child("made-7", "other").is_some())
        .await;
    let text = host.find("made-7").map(render::container).unwrap();
    assert!(text.starts_with("made-7 loaded"), "{text}");
    let reads = host.customizations.read_count() - before;
    assert!((1..=2).contains(&reads), "{reads} containers were read");
}
