//! Conversion of zero-terminated path lists, as git reads and writes them.

/// Splits the output of git into paths.
pub(super) fn split_paths(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    let names = output.split(|byte| *byte == 0);
    names.filter(|name| !name.is_empty())
}

/// Joins paths for the input of git.
pub(super) fn join_paths<N: AsRef<[u8]>>(names: impl IntoIterator<Item = N>) -> Vec<u8> {
    let mut list = Vec::new();
    for name in names {
        list.extend_from_slice(name.as_ref());
        list.push(0);
    }
    list
}
