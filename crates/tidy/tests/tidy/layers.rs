//! Dependencies between the crates of the workspace, and the dependency tree of `protocol`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::workspace_root;

/// The crates that each crate may depend on. ARCHITECTURE.md has the same table.
const LAYERS: &[Layer] = &[
    Layer {
        name: "stdx",
        uses: &[],
        tests: &[],
    },
    Layer {
        name: "process",
        uses: &["stdx"],
        tests: &[],
    },
    Layer {
        name: "protocol-derive",
        uses: &[],
        tests: &[],
    },
    Layer {
        name: "protocol",
        uses: &["protocol-derive"],
        tests: &["testkit"],
    },
    Layer {
        name: "core",
        uses: &["protocol"],
        tests: &["testkit"],
    },
    Layer {
        name: "versions",
        uses: &["protocol"],
        tests: &["testkit"],
    },
    Layer {
        name: "oracles",
        uses: &[],
        tests: &["protocol", "versions", "testkit", "server", "client"],
    },
    Layer {
        name: "workspace",
        uses: &["stdx", "process", "protocol", "core"],
        tests: &[],
    },
    Layer {
        name: "agents",
        uses: &["stdx", "process", "protocol", "core", "workspace"],
        tests: &[],
    },
    Layer {
        name: "acp",
        uses: &["stdx", "process", "protocol", "core", "workspace", "agents"],
        tests: &["testkit"],
    },
    Layer {
        name: "net",
        uses: &["stdx"],
        tests: &[],
    },
    Layer {
        name: "mcp",
        uses: &["stdx", "process", "protocol", "core", "net"],
        tests: &["testkit"],
    },
    Layer {
        name: "customizations",
        uses: &["stdx", "process", "protocol", "core", "workspace"],
        tests: &["testkit"],
    },
    Layer {
        name: "server",
        uses: &[
            "stdx",
            "process",
            "protocol",
            "versions",
            "core",
            "net",
            "store",
            "workspace",
            "agents",
            "mcp",
            "customizations",
        ],
        tests: &["acp", "testkit"],
    },
    Layer {
        name: "store",
        uses: &["stdx", "protocol", "versions", "core"],
        tests: &[],
    },
    Layer {
        name: "client",
        uses: &["protocol"],
        tests: &[],
    },
    Layer {
        name: "view",
        uses: &["protocol"],
        tests: &[],
    },
    Layer {
        name: "frontend",
        uses: &["protocol", "client", "view"],
        tests: &[],
    },
    Layer {
        name: "page",
        uses: &["protocol", "frontend"],
        tests: &[],
    },
    Layer {
        name: "tui",
        uses: &["protocol", "client", "view", "frontend"],
        tests: &[],
    },
    Layer {
        name: "cli",
        uses: &[
            "stdx",
            "process",
            "protocol",
            "core",
            "agents",
            "acp",
            "mcp",
            "customizations",
            "store",
            "workspace",
            "server",
            "client",
            "view",
            "page",
            "tui",
        ],
        tests: &["testkit"],
    },
    Layer {
        name: "testkit",
        uses: &["protocol", "core", "agents"],
        tests: &[],
    },
    Layer {
        name: "tidy",
        uses: &[],
        tests: &[],
    },
];

struct Layer {
    name: &'static str,
    uses: &'static [&'static str],
    /// Dev-dependencies.
    tests: &'static [&'static str],
}

/// The complete dependency tree of `protocol`: no clock, no randomness, no runtime, and none of the
/// official crates.
const PROTOCOL_TREE: &[&str] = &[
    "agenthost-protocol",
    "agenthost-protocol-derive",
    "base64",
    "equivalent",
    "foldhash",
    "hashbrown",
    "indexmap",
    "itoa",
    "jiff",
    "jiff-core",
    "memchr",
    "proc-macro2",
    "quote",
    "serde",
    "serde_core",
    "serde_derive",
    "serde_json",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
    "zmij",
];

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace_root())
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn dependencies_point_inward() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--no-deps"])).unwrap();
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let name = name
            .strip_prefix("agenthost-")
            .expect("packages are named agenthost-*");
        let mut edges = [BTreeSet::new(), BTreeSet::new()];
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            if let Some(to) = to.strip_prefix("agenthost-") {
                let dev = dependency["kind"].as_str() == Some("dev");
                edges[usize::from(dev)].insert(to.to_owned());
            }
        }
        found.insert(name.to_owned(), edges);
    }
    let names: BTreeSet<_> = LAYERS.iter().map(|layer| layer.name).collect();
    let packages: BTreeSet<_> = found.keys().map(String::as_str).collect();
    assert_eq!(
        packages, names,
        "every crate has a row, and every row a crate"
    );
    for layer in LAYERS {
        let [uses, tests] = &found[layer.name];
        for (edges, allowed) in [(uses, layer.uses), (tests, layer.tests)] {
            for edge in edges {
                assert!(
                    allowed.contains(&edge.as_str()),
                    "{} may not use {edge}: see the table in ARCHITECTURE.md",
                    layer.name
                );
            }
        }
    }
}

#[test]
fn architecture_md_has_the_same_dependencies() {
    let text = std::fs::read_to_string(workspace_root().join("ARCHITECTURE.md")).unwrap();
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `crates/"));
    let documented: BTreeMap<String, Vec<BTreeSet<String>>> = rows
        .map(|row| {
            let (name, rest) = row.split_once('`').unwrap();
            let cells: Vec<_> = rest.trim_matches(['|', ' ']).split(" | ").collect();
            let names = |cell: &&str| cell.split(", ").map(str::to_owned).collect();
            (name.to_owned(), cells[1..].iter().map(names).collect())
        })
        .collect();
    let cell = |names: &[&str]| match names {
        [] => BTreeSet::from(["-".to_owned()]),
        names => names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let allowed: BTreeMap<_, _> = LAYERS
        .iter()
        .map(|layer| {
            (
                layer.name.to_owned(),
                vec![cell(layer.uses), cell(layer.tests)],
            )
        })
        .collect();
    assert_eq!(documented, allowed, "ARCHITECTURE.md and LAYERS differ");
}

#[test]
fn the_protocol_crate_has_only_the_listed_dependencies() {
    let tree = cargo(&[
        "tree",
        "-p",
        "agenthost-protocol",
        "-e",
        "normal",
        "--prefix",
        "none",
    ]);
    let found: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let allowed: BTreeSet<_> = PROTOCOL_TREE.iter().copied().collect();
    let new: Vec<_> = found.difference(&allowed).collect();
    assert!(
        new.is_empty(),
        "new in the tree of agenthost-protocol: {new:?}"
    );
}
