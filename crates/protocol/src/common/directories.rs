//! Changes to a list of directories.

use crate::outcome::Outcome;
use crate::uri::Uri;

/// Adds a directory to a list that may not be there yet.
pub(crate) fn add_directory(list: &mut Option<Vec<Uri>>, directory: &Uri) -> Outcome {
    let list = list.get_or_insert_default();
    if list.contains(directory) {
        return Outcome::NoOp;
    }
    list.push(directory.clone());
    Outcome::Applied
}

/// Takes a directory off a list; an empty list stays a list.
pub(crate) fn remove_directory(list: &mut Option<Vec<Uri>>, directory: &Uri) -> Outcome {
    let Some(list) = list else {
        return Outcome::NoOp;
    };
    let Some(index) = list.iter().position(|entry| entry == directory) else {
        return Outcome::NoOp;
    };
    list.remove(index);
    Outcome::Applied
}
