//! `pair`, `devices` and `open`, as a person uses them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::{Host, agenthost, err, out, run};

/// The value of a line of the output.
fn line<'a>(output: &'a str, name: &str) -> &'a str {
    let mut lines = output.lines();
    let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no {name} in {output}"))
}

/// Splits a link into the address of the page and the code.
fn split(link: &str) -> (&str, &str) {
    let (page, code) = link.split_once("/#code=").unwrap();
    (page.strip_prefix("http://").unwrap(), code)
}

fn exchange(address: &str, start: &str, headers: &str, body: &str) -> String {
    // Browsers resolve names below `localhost` themselves; the system may not.
    let (name, port) = address.rsplit_once(':').unwrap();
    assert_eq!(name, format!("agenthost-{port}.localhost"));
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    let length = body.len();
    let request = format!(
        "{start} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Signs in with a code; the cookie.
fn sign_in(address: &str, code: &str) -> String {
    let body = json!({"code": code, "name": "browser"}).to_string();
    let answer = exchange(address, "POST /pair", "", &body);
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    let cookie = answer.split("set-cookie: ").nth(1).unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

fn status(address: &str, cookie: &str) -> String {
    let answer = exchange(address, "GET /device", &format!("Cookie: {cookie}\r\n"), "");
    answer.split(' ').nth(1).unwrap().to_owned()
}

fn token(directory: &Path) -> String {
    std::fs::read_to_string(directory.join("data/agenthost/token")).unwrap()
}

#[test]
fn a_device_is_paired_listed_and_signed_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let paired = run(path, &["pair", "--name", "phone", "--scope", "read"], "");
    assert_eq!(paired.status.code(), Some(0), "{}", err(&paired));
    let shown = out(&paired);
    let (address, code) = split(line(&shown, "link"));
    assert_eq!(code, line(&shown, "code"));
    assert_eq!(code.len(), 9);
    assert!(shown.lines().count() > 12 && shown.contains('█'), "{shown}");
    assert!(!shown.contains(token(path).trim()), "{shown}");
    assert!(err(&paired).contains("only this machine can open the link"));
    let cookie = sign_in(address, code);
    assert_eq!(status(address, &cookie), "200");

    let listed = out(&run(path, &["devices"], ""));
    assert!(listed.contains("  read      20"), "{listed}");
    assert!(listed.ends_with("  phone\n"), "{listed}");
    let listed = out(&run(path, &["devices", "--json"], ""));
    let device: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(device["name"], "phone");
    assert_eq!(device["scope"], "read");
    assert!(device["createdAt"].as_str().unwrap().ends_with('Z'));
    assert!(device.get("secretHash").is_none());

    let unknown = run(path, &["devices", "revoke", "tablet"], "");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(err(&unknown).contains("there is no device `tablet`"));
    let revoked = run(path, &["devices", "revoke", "phone"], "");
    assert_eq!(revoked.status.code(), Some(0));
    assert!(err(&revoked).contains("signed out phone"));
    assert_eq!(status(address, &cookie), "401");
    let left = run(path, &["devices"], "");
    assert_eq!(out(&left), "");
    assert!(err(&left).contains("no device is paired"));
}

#[test]
fn devices_with_the_same_name_are_distinguished_by_id() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let mut cookies = Vec::new();
    let mut page = String::new();
    for _ in 0..2 {
        let shown = out(&run(path, &["pair", "--name", "phone"], ""));
        let (address, code) = split(line(&shown, "link"));
        cookies.push(sign_in(address, code));
        address.clone_into(&mut page);
    }
    let refused = run(path, &["devices", "revoke", "phone"], "");
    assert!(err(&refused).contains("several devices have the name"));
    let listed = out(&run(path, &["devices", "--json"], ""));
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let id = first["id"].as_str().unwrap();
    let revoked = run(path, &["devices", "revoke", id], "");
    assert_eq!(revoked.status.code(), Some(0));
    assert_eq!(status(&page, &cookies[0]), "401");
    assert_eq!(status(&page, &cookies[1]), "200");
}

#[test]
fn pairing_needs_a_running_host() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = "error: no host is running\nhint: start one with `agenthost start`\n";
    for command in ["pair", "open"] {
        let refused = run(path, &[command], "");
        assert_eq!(refused.status.code(), Some(1));
        assert_eq!(err(&refused), expected);
    }
    // A killed host leaves the file with its address behind.
    Host::start(path, &[]).kill(path);
    assert!(path.join("data/agenthost/host.json").exists());
    assert_eq!(err(&run(path, &["pair"], "")), expected);
    let socket = path.join("socket");
    let _host = Host::start(path, &["--socket", socket.to_str().unwrap()]);
    let refused = err(&run(path, &["pair"], ""));
    assert!(refused.contains("no address for a browser"), "{refused}");
}

#[test]
fn pair_accepts_the_address_of_a_proxy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let paired = run(path, &["pair", "--url", "https://box.example/"], "");
    let shown = out(&paired);
    let link = line(&shown, "link");
    assert!(link.starts_with("https://box.example/#code="), "{link}");
    assert!(!err(&paired).contains("only this machine"));
    let refused = run(path, &["pair", "--url", "box.example"], "");
    assert!(err(&refused).contains("is not the address of a page"));
    let refused = run(path, &["pair", "--scope", "all"], "");
    assert!(err(&refused).contains("expected read, operate or terminal"));
}

/// Other users can see the arguments of programs, so the code is not in them.
#[test]
fn the_browser_is_opened_without_a_code_in_its_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let _host = Host::start(path, &[]);
    let programs = path.join("programs");
    std::fs::create_dir(&programs).unwrap();
    let opener = programs.join("xdg-open");
    std::fs::write(&opener, "#!/bin/sh\necho \"$@\" > opened\n").unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = agenthost(path);
    command
        .arg("open")
        .env("PATH", &search)
        .env("DISPLAY", ":0");
    let opened = command.output().unwrap();
    let link = out(&opened);
    let (address, code) = split(link.trim());
    assert!(err(&opened).contains("opened the page"), "{}", err(&opened));
    let argument = std::fs::read_to_string(path.join("opened")).unwrap();
    assert!(!argument.contains(code), "{argument}");
    let file = Path::new(argument.trim());
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let forward = std::fs::read_to_string(file).unwrap();
    assert!(forward.contains(link.trim()), "{forward}");
    assert!(!forward.contains(token(path).trim()));
    sign_in(address, code);
    let listed = out(&run(path, &["devices"], ""));
    assert!(listed.contains("  terminal  ") && listed.ends_with("  browser\n"));

    let mut command = agenthost(path);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"] {
        command.env_remove(name);
    }
    let printed = command.arg("open").output().unwrap();
    assert_eq!(printed.status.code(), Some(0));
    assert!(err(&printed).contains("there is no browser here"));
    assert!(out(&printed).contains("/#code="));
}
