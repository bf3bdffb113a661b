//! The built files of the page, embedded in the binary.

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Path of the file in its URL.
    pub path: &'static str,
    /// MIME type of the file.
    pub content_type: &'static str,
    /// The file.
    pub body: &'static [u8],
    /// The file, compressed.
    pub gzip: &'static [u8],
    /// Digest of the file, for `ETag`.
    pub digest: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    /// Budgets of the first load, compressed.
    #[test]
    fn the_page_is_small() {
        let size = |path: &str| {
            let file = ASSETS.iter().find(|file| file.path == path);
            file.map(|file| file.gzip.len()).unwrap()
        };
        let (wasm, script, style) = (
            size("/page.wasm"),
            size("/app.js") + size("/worker.js"),
            size("/app.css"),
        );
        assert!(wasm <= 420_000, "page.wasm has {wasm} bytes");
        assert!(script <= 110_000, "the scripts have {script} bytes");
        assert!(style <= 20_000, "app.css has {style} bytes");
        let total: usize = ASSETS.iter().map(|file| file.gzip.len()).sum();
        assert!(total <= 560_000, "the page has {total} bytes");
    }
}
