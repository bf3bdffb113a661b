//! Fuzz target for the output of git.

use super::{attributes, diff, git_content, path_list, tree};

/// Parses lists of names, conflicts and differences, and contents. Names must survive a round
/// trip. A difference must have at least one side, and each side a name.
pub fn git_output(data: &[u8]) {
    let listed: Vec<_> = path_list::split_paths(data).collect();
    let joined = path_list::join_paths(&listed);
    assert!(path_list::split_paths(&joined).eq(listed.iter().copied()));
    for name in tree::parse_unmerged(data) {
        let end = [b"\t", name.as_slice()].concat();
        assert!(listed.iter().any(|entry| entry.ends_with(&end)));
    }
    if let Some(blobs) = git_content::parse_batch(data) {
        let bytes: usize = blobs.values().map(Vec::len).sum();
        assert!(bytes <= data.len());
    }
    if let Some(converted) = attributes::parse_attributes(data) {
        let named = |name: &Vec<u8>| listed.iter().any(|entry| entry == name);
        assert!(converted.iter().all(named));
    }
    let Some(differences) = diff::parse_diff(data, "key") else {
        return;
    };
    for difference in &differences {
        for side in difference.before.iter().chain(&difference.after) {
            assert!(!side.name.contains(&0), "a name ends at a zero");
            assert_eq!(side.is_submodule(), side.mode == "160000");
        }
    }
    let summary = diff::summarize(&differences);
    assert_eq!(summary.files, Some(differences.len() as u64));
}
