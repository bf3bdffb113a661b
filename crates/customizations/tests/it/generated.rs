//! Packages made and broken by chance.

use agenthost_customizations::package::Package;
use agenthost_customizations::parse::{ContainerFrame, ContainerLayout, parse};
use agenthost_protocol::session::LoadState;
use agenthost_protocol::uri::Uri;
use agenthost_testkit::packages::{GeneratedFile, generate_package, mutate};
use fastrand::Rng;

fn frame(number: u64) -> ContainerFrame {
    ContainerFrame {
        uri: Uri::from(format!("made:/{number}")),
        owner: String::new(),
        layout: ContainerLayout::Plugin,
    }
}

fn gathered(files: Vec<GeneratedFile>) -> Package {
    let mut package = Package::default();
    for (path, bytes) in files {
        package.add_file(&path, bytes);
    }
    package
}

#[test]
fn generated_packages_are_loaded() {
    for number in 0..200 {
        let parsed = parse(&gathered(generate_package(number)), &frame(number));
        assert_eq!(parsed.load_state(None), LoadState::Loaded, "{number}");
        assert!(!parsed.items.is_empty());
    }
}

/// `PACKAGES=100000` for a long run.
#[test]
fn damaged_packages_have_a_state_and_a_problem() {
    let count = std::env::var("PACKAGES").map_or(2_000, |count| count.parse().unwrap());
    let mut rng = Rng::with_seed(7);
    for number in 0..count {
        let mut files = generate_package(number);
        for _ in 0..rng.usize(1..4) {
            mutate(&mut rng, &mut files);
        }
        let parsed = parse(&gathered(files), &frame(number));
        match parsed.load_state(None) {
            LoadState::Loaded => {}
            LoadState::Loading => panic!("{number}: it is read"),
            LoadState::Degraded(problem) | LoadState::Error(problem) => {
                assert!(problem.message.len() > 10, "{number}: {}", problem.message);
                assert!(
                    problem.message.len() < 4_000,
                    "{number}: {}",
                    problem.message
                );
            }
        }
        let mut ids: Vec<_> = parsed
            .items
            .iter()
            .map(|item| item.child.id().unwrap())
            .collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), parsed.items.len(), "{number}: CUS-2");
        for item in &parsed.items {
            assert!(
                !item.name.is_empty() && item.name.chars().count() <= 400,
                "{number}"
            );
        }
    }
}
