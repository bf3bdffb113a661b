//! Benchmarks of the host against baselines without one, measured in the same run.
//!
//! `cargo bench -p agenthost-server` prints the tables of `docs/performance.md` and fails if a
//! budget is exceeded. Machines are noisy, so most budgets are ratios: both contenders alternate,
//! and the best round of each counts. `-- --quick` is short enough for every test run and allows
//! budgets to be exceeded by up to a factor of two. `-- --smoke` is as short and ignores budgets,
//! for builds without optimization. `-- changes` and the like measure one subject.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and may panic"
)]

mod acp;
mod agent;
mod bare;
mod cat;
mod catalogue;
mod changes;
mod clients;
mod customizations;
mod fan_out;
mod history;
mod latency;
mod memory;
mod versions;

use std::path::PathBuf;

/// Size of the measurement.
pub(crate) struct Scale {
    pub(crate) quick: bool,
}

impl Scale {
    /// A short run on a busy machine can only detect large regressions.
    fn slack(&self) -> f64 {
        if self.quick { 2.0 } else { 1.0 }
    }
}

/// A measured value and its upper bound.
pub(crate) struct Budget {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) most: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // The benchmark also runs itself as an agent, which exits at the end of its input.
    agenthost_testkit::acp_agent::run_as_agent();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // The benchmark runs itself as a host in a separate process to measure its memory.
    if let [_, word, directory] = &arguments[..]
        && word == "host"
    {
        runtime.block_on(memory::host(PathBuf::from(directory)));
        return;
    }
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let smoke = has("--smoke");
    let scale = Scale {
        quick: smoke || has("--quick"),
    };
    let named: Vec<_> = arguments
        .into_iter()
        .filter(|argument| SUBJECTS.contains(&argument.as_str()))
        .collect();
    // A busy machine may exceed a budget once; three attempts in a row are a regression.
    for attempt in 1..=3 {
        let budgets = runtime.block_on(run(&scale, &named));
        let missed: Vec<_> = budgets
            .iter()
            .filter(|budget| budget.value > budget.most * scale.slack())
            .map(|budget| {
                format!(
                    "{}: {:.2}, at most {}",
                    budget.what,
                    budget.value,
                    budget.most * scale.slack()
                )
            })
            .collect();
        if missed.is_empty() || smoke {
            return;
        }
        println!("\nattempt {attempt}, missed:\n{}", missed.join("\n"));
    }
    std::process::exit(1);
}

/// Subjects, in the order of `docs/performance.md`.
const SUBJECTS: [&str; 10] = [
    "fan-out",
    "latency",
    "catalogue",
    "history",
    "memory",
    "changes",
    "cat",
    "acp",
    "customizations",
    "versions",
];

/// Measures the named subjects, or all of them.
async fn run(scale: &Scale, named: &[String]) -> Vec<Budget> {
    let mut budgets = Vec::new();
    for subject in SUBJECTS {
        if !named.is_empty() && !named.iter().any(|named| named == subject) {
            continue;
        }
        budgets.extend(match subject {
            "fan-out" => fan_out::run(scale).await,
            "latency" => latency::run(scale).await,
            "catalogue" => catalogue::run(scale).await,
            "history" => history::run(scale).await,
            "memory" => memory::run(scale).await,
            "changes" => changes::run(scale),
            "cat" => cat::run(scale).await,
            "acp" => acp::run(scale).await,
            "customizations" => customizations::run(scale).await,
            _ => versions::run(scale).await,
        });
    }
    budgets
}
