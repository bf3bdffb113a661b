//! Embeds the built files of the page, compressed.

#![expect(clippy::expect_used, reason = "a build script fails by panicking")]

use std::fmt::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

#[expect(unreachable_pub, reason = "the library exports this function")]
#[path = "src/content_type.rs"]
mod content_type;

use content_type::content_type;
use sha2::{Digest, Sha256};
use zopfli::{Format, Options};

fn main() {
    println!("cargo::rerun-if-changed=dist");
    // The WebAssembly core is one of the embedded files, and embeds none.
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "wasm32") {
        return;
    }
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let folder = Path::new(&manifest).join("dist");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let entries =
        std::fs::read_dir(&folder).expect("crates/page/dist exists; ./web/build makes it");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("read dist").path())
        .collect();
    files.sort();
    let mut code =
        String::from("/// The files of the page.\npub static ASSETS: &[PageFile] = &[\n");
    for file in files {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a file name");
        let Some(content_type) = content_type(name) else {
            continue;
        };
        println!("cargo::rerun-if-changed={}", file.display());
        let body = std::fs::read(&file).expect("read a file of dist");
        let gzip = out.join(format!("{name}.gz"));
        std::fs::write(&gzip, compress(&body)).expect("write a file");
        let digest = Sha256::digest(&body);
        let digest = digest
            .iter()
            .take(16)
            .fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").expect("write to a string");
                text
            });
        writeln!(
            code,
            "    PageFile {{ path: {:?}, content_type: {content_type:?}, body: include_bytes!({:?}), gzip: include_bytes!({:?}), digest: {digest:?} }},",
            format!("/{name}"),
            file.display().to_string(),
            gzip.display().to_string(),
        )
        .expect("write to a string");
    }
    code.push_str("];\n");
    std::fs::write(out.join("assets.rs"), code).expect("write assets.rs");
}

/// Compresses with Zopfli, whose gzip files are five percent smaller than those of zlib.
fn compress(body: &[u8]) -> Vec<u8> {
    let options = Options {
        iteration_count: NonZeroU64::new(5).expect("not zero"),
        ..Options::default()
    };
    let mut gzip = Vec::new();
    zopfli::compress(options, Format::Gzip, body, &mut gzip).expect("compress a file");
    gzip
}
