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

    /// Limits of the first load in bytes, compressed: the core, scripts and styles.
    const SIZE_LIMITS: &[(&[&str], usize)] = &[
        (&["/page.wasm"], 420_000),
        (&["/app.js", "/worker.js"], 110_000),
        (&["/app.css"], 20_000),
    ];

    /// Limit of all files that the page loads before the user does anything, in bytes.
    const MAX_FIRST_LOAD: usize = 560_000;

    /// Files that the page loads when they are needed.
    const LAZY_FILES: &[&str] = &["/highlight.js", "/terminal.js"];

    #[test]
    fn the_page_stays_within_its_limits() {
        let size = |paths: &[&str]| -> usize {
            let files = ASSETS.iter().filter(|file| paths.contains(&file.path));
            files.map(|file| file.gzip.len()).sum()
        };
        let all: Vec<_> = ASSETS.iter().map(|file| file.path).collect();
        for (paths, limit) in SIZE_LIMITS {
            assert!(paths.iter().all(|path| all.contains(path)), "{paths:?}");
            let size = size(paths);
            assert!(size <= *limit, "{paths:?} have {size} bytes");
        }
        let first = size(&all) - size(LAZY_FILES);
        assert!(first <= MAX_FIRST_LOAD, "the first load has {first} bytes");
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
