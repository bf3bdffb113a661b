//! `agenthost pair`: creates a one-time code with which a device signs in to the page.

use std::process::ExitCode;

use agenthost_server::AccessScope;
use anyhow::Context;
use fast_qr::QRBuilder;

use crate::connect::HostOptions;
use crate::output;
use crate::page_link::{PageAddress, PageLink, PageReach};

/// Sign in a phone or another browser to the page of the host
///
/// Prints a code that is valid for ten minutes and for one device, the link to the page that
/// contains it, and the link as a QR code. Scan or open the link on the device, or open the
/// page there and type the code.
#[derive(clap::Args)]
#[command(after_help = PAIR_EXAMPLES)]
pub(crate) struct PairArgs {
    /// Name of the device in lists [default: the name that its browser reports]
    #[arg(long)]
    name: Option<String>,
    /// Rights of the device: see everything (read), also act (operate), also use
    /// terminals (terminal)
    #[arg(long, default_value = "terminal", value_parser = parse_scope)]
    scope: AccessScope,
    /// Address of the page, if devices reach it through a proxy or a tunnel
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    host: HostOptions,
}

const PAIR_EXAMPLES: &str = "\
Examples:
  agenthost pair --name phone
  agenthost pair --name tablet --scope read
  agenthost pair --url https://box.example   the page behind a proxy with TLS

`agenthost devices` lists devices and signs them out.";

pub(crate) async fn run(arguments: PairArgs) -> anyhow::Result<ExitCode> {
    let settings = arguments.host.resolve_settings()?;
    let directory = &settings.data_directory;
    let running = PageAddress::of_running_host(directory)?;
    let address = match &arguments.url {
        Some(url) => PageAddress::parse(url)?,
        None => running,
    };
    let PageLink { code, link } =
        address.create_link(directory, arguments.name, arguments.scope)?;
    output::print_data(&format!("code: {code}"))?;
    output::print_data(&format!("link: {link}"))?;
    output::print_data(&draw_qr_code(&link)?)?;
    output::print_note("the code is valid for ten minutes and for one device");
    if address.reach == PageReach::Local {
        output::print_note(
            "only this machine can open the link; for other devices, listen on an address of the \
             network with TLS, or pass the address of a proxy with --url",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses the name of a scope.
fn parse_scope(name: &str) -> Result<AccessScope, UnknownScope> {
    AccessScope::named(name).ok_or(UnknownScope)
}

/// The error of an argument that is not the name of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected read, operate or terminal")]
struct UnknownScope;

/// Draws a QR code with two modules per character, light on dark: most terminals are dark, and
/// cameras read the inverse as well.
fn draw_qr_code(text: &str) -> anyhow::Result<String> {
    const MARGIN: usize = 2;
    let code = QRBuilder::new(text).build();
    let code = code.ok().context("the link is too long for a QR code")?;
    let is_dark = |row: usize, column: usize| {
        let (row, column) = (row.checked_sub(MARGIN), column.checked_sub(MARGIN));
        let inside = row.zip(column);
        inside
            .filter(|(row, column)| *row < code.size && *column < code.size)
            .and_then(|(row, column)| code.data.get(row * code.size + column))
            .is_some_and(|module| module.value())
    };
    let size = code.size + 2 * MARGIN;
    let lines = (0..size).step_by(2).map(|row| {
        let symbols =
            (0..size).map(
                |column| match (is_dark(row, column), is_dark(row + 1, column)) {
                    (false, false) => '█',
                    (false, true) => '▀',
                    (true, false) => '▄',
                    (true, true) => ' ',
                },
            );
        symbols.collect::<String>()
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_fits_into_a_small_qr_code() {
        let drawn = draw_qr_code("http://127.0.0.1:8123/#code=0123-4567").unwrap();
        let lines: Vec<_> = drawn.lines().collect();
        let width = lines[0].chars().count();
        assert!(width < 60, "{width}");
        assert_eq!(lines.len(), width.div_ceil(2));
        assert!(lines.iter().all(|line| line.chars().count() == width));
        assert!(lines[0].chars().all(|symbol| symbol == '█'));
    }
}
