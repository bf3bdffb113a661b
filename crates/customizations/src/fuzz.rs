//! The fuzz targets of this crate: archives, front matter and manifests.

pub use crate::fetch::fuzz::archives;
pub use crate::parse::fuzz::{front_matter, manifests};

#[cfg(test)]
#[path = "../../../fuzz/seeds.rs"]
mod seeds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_of_the_corpus_passes() {
        seeds::check_seeds("archives", archives);
        seeds::check_seeds("front_matter", front_matter);
        seeds::check_seeds("manifests", manifests);
    }
}
