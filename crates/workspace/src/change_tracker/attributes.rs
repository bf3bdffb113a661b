//! Finds files that git converts when it reads or writes them.

use std::collections::BTreeSet;

use super::repository::ShadowRepository;
use super::{ChangesError, path_list};

/// Attributes with which the content in git differs from the content on disk.
const CONVERTING_ATTRIBUTES: [&str; 4] = ["filter", "working-tree-encoding", "ident", "eol"];

/// Returns the files whose content on disk differs from that in git, because of a filter, an
/// encoding or line endings.
pub(super) fn find_converted<'n>(
    repository: &ShadowRepository,
    files: impl Iterator<Item = &'n [u8]>,
) -> Result<BTreeSet<Vec<u8>>, ChangesError> {
    let files: BTreeSet<_> = files.collect();
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let git = repository.shadow.in_directory(&repository.top);
    for (setting, value) in [("core.autocrlf", "true"), ("core.eol", "crlf")] {
        if git.try_read_line(["config", "--get", setting])?.as_deref() == Some(value) {
            return Ok(files.into_iter().map(<[u8]>::to_vec).collect());
        }
    }
    let arguments = ["check-attr", "-z", "--stdin"];
    let arguments = arguments.iter().chain(&CONVERTING_ATTRIBUTES);
    let output = git
        .run(arguments, &path_list::join_paths(&files))?
        .into_stdout()?;
    parse_attributes(&output).ok_or_else(|| {
        let words = "unexpected output".to_owned();
        ChangesError::Git(words)
    })
}

/// Parses the output of `git check-attr -z`: name, attribute and value of each.
pub(super) fn parse_attributes(output: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut converted = BTreeSet::new();
    while let Some(name) = fields.next().filter(|name| !name.is_empty()) {
        let (attribute, value) = (fields.next()?, fields.next()?);
        let off = matches!(value, b"unspecified" | b"unset");
        let plain = attribute == b"eol" && value == b"lf";
        if !off && !plain {
            converted.insert(name.to_vec());
        }
    }
    Some(converted)
}
