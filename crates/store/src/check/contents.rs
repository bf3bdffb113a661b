//! Finds the content that rows refer to.

use agenthost_core::ContentAddress;
use agenthost_core::resource::uris::CONTENT_SCHEME;
use agenthost_protocol::uri::Uri;

use super::{DatabaseCheck, RowKind, RowProblem};

impl DatabaseCheck<'_> {
    /// Records the content whose URIs are strings in the text of a row.
    pub(super) fn find_contents(
        &mut self,
        session: Option<Uri>,
        kind: RowKind,
        name: &str,
        text: &str,
    ) {
        // Inside of a string, JSON escapes the quotation mark, and a URI has none.
        let begin = format!("\"{CONTENT_SCHEME}:");
        for (at, _) in text.match_indices(&begin) {
            let rest = text.get(at + 1..).unwrap_or_default();
            let uri = Uri::from(rest.split('"').next().unwrap_or_default());
            // A prompt can contain anything, so a malformed URI is no damage.
            if let Some(Ok(_)) = ContentAddress::parse(&uri) {
                let row = || RowProblem {
                    kind: RowKind::Content,
                    name: uri.to_string(),
                    session: session.clone(),
                    problem: format!("{} refers to it", describe(kind, name)),
                };
                self.report.contents.entry(uri.clone()).or_insert_with(row);
            }
        }
    }
}

fn describe(kind: RowKind, name: &str) -> String {
    match kind {
        RowKind::Channel => format!("the state of {name}"),
        _ => name.to_owned(),
    }
}
