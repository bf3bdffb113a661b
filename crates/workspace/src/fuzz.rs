//! Re-exports the fuzz targets of this crate.

pub use crate::change_tracker::fuzz::git_output;
pub use crate::terminal::fuzz::terminal_output;

#[cfg(test)]
#[path = "../../../fuzz/seeds.rs"]
mod seeds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_of_the_corpus_passes() {
        seeds::check_seeds("git_output", git_output);
        seeds::check_seeds("terminal_output", terminal_output);
    }
}
