//! `agenthost open`: opens the page of the running host in the browser.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use agenthost_server::AccessScope;
use agenthost_stdx::private_file;
use anyhow::Context;

use crate::connect::HostOptions;
use crate::output;
use crate::page_link::PageAddress;

/// Open the page of the running host in the browser, signed in
///
/// Prints the link if there is no browser.
#[derive(clap::Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    host: HostOptions,
}

/// Name of the file in the data directory that forwards the browser to the page.
const FORWARD_FILE: &str = "open.html";

pub(crate) async fn run(arguments: OpenArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    let address = PageAddress::of_running_host(directory)?;
    let link = address.create_link(directory, None, AccessScope::Terminal)?;
    let link = link.link;
    let file = write_forward_file(directory, &link)?;
    if open_browser(&file) {
        output::print_note("opened the page in the browser; the link works once:");
    } else {
        output::print_note("there is no browser here; open this link, which works once:");
    }
    output::print_data(&link)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a private file that forwards to a link. Other users can see the arguments of a
/// program, so the browser gets the path of this file in place of the link with its code.
fn write_forward_file(directory: &Path, link: &str) -> anyhow::Result<PathBuf> {
    let path = directory.join(FORWARD_FILE);
    // A link has none of the characters that HTML would interpret.
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" \
         content=\"0;url={link}\"><title>agenthost</title><a href=\"{link}\">Open the page</a>\n"
    );
    private_file::replace(&path, page.as_bytes())
        .with_context(|| format!("write `{}`", path.display()))?;
    Ok(path)
}

/// Opens a file in the browser. Returns `false` if there is none.
fn open_browser(file: &Path) -> bool {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if has_display() {
        "xdg-open"
    } else {
        return false;
    };
    let status = Command::new(program)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Returns `true` if there is a screen. Without one, `xdg-open` may start a browser in this
/// terminal.
fn has_display() -> bool {
    let names = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"];
    let mut values = names.iter().filter_map(std::env::var_os);
    values.any(|value| !value.is_empty())
}
