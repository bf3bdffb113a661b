//! The files of the page, for the server.

use std::borrow::Cow;
use std::sync::Arc;

use agenthost_page::ASSETS;
use agenthost_server::PageAsset;

/// Returns the files that the build has embedded.
pub(crate) fn page_assets() -> Arc<[PageAsset]> {
    let assets = ASSETS.iter().map(|file| PageAsset {
        path: Cow::Borrowed(file.path.trim_start_matches('/')),
        content_type: Cow::Borrowed(file.content_type),
        body: Cow::Borrowed(file.body),
        gzip: (file.gzip.len() < file.body.len()).then_some(Cow::Borrowed(file.gzip)),
        etag: Cow::Borrowed(file.digest),
    });
    assets.collect()
}
