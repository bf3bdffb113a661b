//! The files of the page, for the server.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use agenthost_page::{ASSETS, content_type};
use agenthost_server::PageAsset;
use anyhow::Context;

/// Names a folder with a built page, which is served instead of the embedded one.
const WEB_FOLDER_VARIABLE: &str = "AGENTHOST_WEB";

/// Returns the files that the build has embedded, or those of `AGENTHOST_WEB`.
pub(crate) fn page_assets() -> anyhow::Result<Arc<[PageAsset]>> {
    if let Some(folder) = std::env::var_os(WEB_FOLDER_VARIABLE) {
        let folder = Path::new(&folder);
        return read_assets(folder)
            .with_context(|| format!("read {WEB_FOLDER_VARIABLE} `{}`", folder.display()));
    }
    let assets = ASSETS.iter().map(|file| PageAsset {
        path: Cow::Borrowed(file.path.trim_start_matches('/')),
        content_type: Cow::Borrowed(file.content_type),
        body: Cow::Borrowed(file.body),
        gzip: (file.gzip.len() < file.body.len()).then_some(Cow::Borrowed(file.gzip)),
        etag: Cow::Borrowed(file.digest),
    });
    Ok(assets.collect())
}

/// Reads the files of a page while it is developed. They are read once, at the start.
fn read_assets(folder: &Path) -> anyhow::Result<Arc<[PageAsset]>> {
    let mut assets = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some((name, content_type)) = name.and_then(|name| Some((name, content_type(name)?)))
        else {
            continue;
        };
        let body = std::fs::read(&path)?;
        let changed = path.metadata()?.modified()?;
        let changed = changed.duration_since(std::time::UNIX_EPOCH)?.as_millis();
        assets.push(PageAsset {
            path: Cow::Owned(name.to_owned()),
            content_type: Cow::Borrowed(content_type),
            etag: Cow::Owned(format!("{}-{changed}", body.len())),
            body: Cow::Owned(body),
            gzip: None,
        });
    }
    Ok(assets.into())
}
