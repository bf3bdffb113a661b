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

    /// Limits of the first load in bytes, compressed, by file. They may only fall: the goal is
    /// 420,000 for the core, and 560,000 for all.
    const SIZE_LIMITS: &[(&str, usize)] = &[
        ("/page.wasm", 707_000),
        ("/app.js", 80_000),
        ("/worker.js", 40_000),
        ("/app.css", 20_000),
    ];

    #[test]
    fn the_page_stays_within_its_limits() {
        for (path, limit) in SIZE_LIMITS {
            let file = ASSETS.iter().find(|file| file.path == *path).unwrap();
            let size = file.gzip.len();
            assert!(size <= *limit, "{path} has {size} bytes");
        }
    }

    #[test]
    fn the_page_has_no_inline_scripts() {
        let page = ASSETS
            .iter()
            .find(|file| file.path == "/index.html")
            .unwrap();
        let text = std::str::from_utf8(page.body).unwrap();
        for part in text.split("<script").skip(1) {
            assert!(part.starts_with(" type=\"module\" src=\"/"), "{part}");
        }
        assert!(!text.contains(" on"), "an inline event handler");
    }
}
