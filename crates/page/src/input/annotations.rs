//! Commands on comments on lines of the changes.

use serde::Deserialize;

/// A command on comments on lines of the changes; the page names it `annotation.VARIANT`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "fields are named like those of the protocol")]
pub enum AnnotationCommand {}
