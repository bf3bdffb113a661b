//! Reducer functions for lists of working directories.

use crate::outcome::Outcome;
use crate::uri::Uri;

/// Adds a directory to a list; creates the list if it is absent.
pub(crate) fn add_directory(list: &mut Option<Vec<Uri>>, directory: &Uri) -> Outcome {
    let list = list.get_or_insert_default();
    if list.contains(directory) {
        return Outcome::NoOp;
    }
    list.push(directory.clone());
    Outcome::Applied
}

/// Removes a directory from a list. An empty list stays present, because an absent list has
/// another meaning.
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
