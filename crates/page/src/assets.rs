//! The built files of the page, embedded in the binary.

#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Path of the file in its URL.
    pub path: &'static str,
    /// MIME type of the file.
    pub content_type: &'static str,
    pub body: &'static [u8],
    pub gzip: &'static [u8],
    /// Digest of the file, for `ETag`.
    pub digest: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits of the first load in bytes, compressed. The core has 30 kB more than its share of the
    /// budget: a third of it is the decoding of the protocol.
    const MAX_CORE: usize = 450_000;
    const MAX_SCRIPTS: usize = 95_000;
    const MAX_STYLES: usize = 20_000;

    /// Limit of all files that the page loads before the user does anything, in bytes.
    const MAX_FIRST_LOAD: usize = 560_000;

    fn file(path: &str) -> &'static PageFile {
        let found = ASSETS.iter().find(|file| file.path == path);
        found.unwrap_or_else(|| panic!("no file {path}"))
    }

    /// Adds a script and the ones that it imports statically; `import("…")` loads on demand.
    fn add_imports(path: &str, scripts: &mut Vec<String>) {
        if scripts.iter().any(|known| known == path) {
            return;
        }
        scripts.push(path.to_owned());
        let text = std::str::from_utf8(file(path).body).unwrap();
        for keyword in ["from\"./", "import\"./"] {
            for rest in text.split(keyword).skip(1) {
                let name = rest.split('"').next().unwrap();
                add_imports(&format!("/{name}"), scripts);
            }
        }
    }

    #[test]
    fn the_first_load_stays_within_its_limits() {
        let mut scripts = Vec::new();
        add_imports("/app.js", &mut scripts);
        assert!(scripts.len() > 1, "app.js imports no chunks");
        scripts.push("/worker.js".to_owned());
        let scripts = scripts.iter().map(|path| file(path).gzip.len()).sum();
        let [core, styles, page] =
            ["/page.wasm", "/app.css", "/index.html"].map(|path| file(path).gzip.len());
        for (name, size, limit) in [
            ("the core", core, MAX_CORE),
            ("the scripts", scripts, MAX_SCRIPTS),
            ("the styles", styles, MAX_STYLES),
            (
                "the first load",
                core + scripts + styles + page,
                MAX_FIRST_LOAD,
            ),
        ] {
            assert!(size <= limit, "{name}: {size} bytes");
        }
    }

    #[test]
    fn the_service_worker_keeps_all_that_the_page_loads_first() {
        let mut scripts = Vec::new();
        add_imports("/app.js", &mut scripts);
        let worker = std::str::from_utf8(file("/sw.js").body).unwrap();
        let line = |name: &str| {
            let lines = worker.lines().find(|line| line.starts_with(name));
            lines.unwrap_or_else(|| panic!("no {name}"))
        };
        let (shell, chunks) = (line("const SHELL_CHUNKS"), line("const ALL_CHUNKS"));
        for script in scripts.iter().filter(|script| *script != "/app.js") {
            assert!(shell.contains(&format!("\"{script}\"")), "{script}");
        }
        for file in ASSETS
            .iter()
            .filter(|file| file.path.starts_with("/chunk-"))
        {
            assert!(
                chunks.contains(&format!("\"{}\"", file.path)),
                "{}",
                file.path
            );
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
