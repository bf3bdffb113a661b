//! The page of the host: its files, the pairing of devices, and their rights.

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthost_server::{
    AccessScope, DeviceDirectory, PageAsset, PairingRequest, Server, create_pairing_code, serve,
};
use expect_test::expect;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::raw_messages::Raw;
use crate::test_server::{SESSION, chat_uri, config, create_session, folder, join};

const INDEX: &str = "<!doctype html><style nonce=\"__NONCE__\"></style>";

fn asset(path: &'static str, content_type: &'static str, body: &'static str) -> PageAsset {
    PageAsset {
        path: Cow::Borrowed(path),
        content_type: Cow::Borrowed(content_type),
        body: Cow::Borrowed(body.as_bytes()),
        gzip: (path == "app.js").then_some(Cow::Borrowed(b"(packed)".as_slice())),
        etag: Cow::Borrowed("abc"),
    }
}

/// A host with a page.
async fn start(directory: &Path) -> Server {
    let mut config = config(directory);
    let assets = [
        asset("index.html", "text/html", INDEX),
        asset("app.js", "text/javascript", "let a = 1;"),
        asset("icons/a.svg", "image/svg+xml", "<svg/>"),
    ];
    config.page = Some(assets.into());
    serve(config).await.unwrap()
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The cookie of the answer, as a request has it.
    fn cookie(&self) -> String {
        let cookie = self.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }
}

/// Sends a request with these headers, which have to name the host.
async fn exchange(server: &Server, start: &str, headers: &[String], body: &str) -> Answer {
    let mut stream = TcpStream::connect(server.address.unwrap()).await.unwrap();
    let mut request = format!("{start} HTTP/1.1\r\n");
    for header in headers {
        request += &format!("{header}\r\n");
    }
    if !body.is_empty() {
        request += &format!("Content-Length: {}\r\n", body.len());
    }
    request += &format!("\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn host(server: &Server) -> String {
    format!("Host: {}", server.address.unwrap())
}

fn origin(server: &Server) -> String {
    format!("Origin: http://{}", server.address.unwrap())
}

async fn get(server: &Server, path: &str, headers: &[&str]) -> Answer {
    let mut all = vec![host(server)];
    all.extend(headers.iter().map(|header| (*header).to_owned()));
    exchange(server, &format!("GET {path}"), &all, "").await
}

async fn post(server: &Server, path: &str, headers: &[String], body: &str) -> Answer {
    let mut all = vec![host(server)];
    all.extend_from_slice(headers);
    exchange(server, &format!("POST {path}"), &all, body).await
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

fn code_at(directory: &Path, scope: AccessScope, now: u64) -> String {
    let request = PairingRequest { name: None, scope };
    let code = create_pairing_code(directory, request, now).unwrap();
    code.to_string()
}

fn code(directory: &Path, scope: AccessScope) -> String {
    code_at(directory, scope, now())
}

async fn try_code(server: &Server, code: &str) -> Answer {
    let body = json!({"code": code, "name": "phone"}).to_string();
    post(server, "/pair", &[origin(server)], &body).await
}

/// Pairs a device; its cookie.
async fn pair(server: &Server, directory: &Path, scope: AccessScope) -> String {
    let answer = try_code(server, &code(directory, scope)).await;
    assert_eq!(answer.status, 204, "{}", answer.body);
    answer.cookie()
}

/// Opens a WebSocket with a cookie, or returns the status of the refusal.
async fn open(server: &Server, cookie: &str, origin: Option<&str>) -> Result<Raw, u16> {
    let mut request = server.url().unwrap().into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("cookie", cookie.parse().unwrap());
    if let Some(origin) = origin {
        headers.insert("origin", origin.parse().unwrap());
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => Ok(Raw(socket)),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

async fn open_own(server: &Server, cookie: &str) -> Result<Raw, u16> {
    let own = format!("http://{}", server.address.unwrap());
    open(server, cookie, Some(&own)).await
}

async fn initialize(raw: &mut Raw, name: &str) {
    let hello = json!({"channel": "ahp-root://", "clientId": name, "protocolVersions": ["1.0.0"]});
    let answer = raw.call(1, "initialize", &hello).await;
    assert_eq!(answer["result"]["protocolVersion"], "1.0.0", "{answer}");
}

#[tokio::test]
async fn the_page_has_exact_headers_and_a_fresh_nonce() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let first = get(&server, "/", &[]).await;
    let nonce = first.body.split('"').nth(1).unwrap();
    assert_eq!(nonce.len(), 22, "{}", first.body);
    let plain = first.head.replace(nonce, "NONCE");
    let lines = plain.lines().filter(|line| !line.starts_with("date: "));
    let mut lines: Vec<_> = lines.collect();
    lines[1..].sort_unstable();
    expect![[r#"
        HTTP/1.1 200 OK
        cache-control: no-cache
        connection: close
        content-length: 61
        content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'nonce-NONCE'; connect-src 'self'; img-src 'self' blob: data:; worker-src 'self'; manifest-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html agenthost-worker
        content-type: text/html; charset=utf-8
        cross-origin-opener-policy: same-origin
        cross-origin-resource-policy: same-origin
        referrer-policy: no-referrer
        x-content-type-options: nosniff"#]]
    .assert_eq(&lines.join("\n"));
    let second = get(&server, "/", &[]).await;
    assert_ne!(first.body, second.body);
    for path in ["/app.js", "/healthz", "/nowhere", "/device"] {
        let answer = get(&server, path, &[]).await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("style-src 'self'; "), "{path} {policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn files_are_compressed_and_cached() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let plain = get(&server, "/app.js", &[]).await;
    assert_eq!((plain.status, plain.body.as_str()), (200, "let a = 1;"));
    assert_eq!(plain.header("content-type"), Some("text/javascript"));
    assert_eq!(plain.header("cache-control"), Some("no-cache"));
    assert_eq!(plain.header("etag"), Some("\"abc\""));
    let packed = get(&server, "/app.js", &["Accept-Encoding: gzip"]).await;
    assert_eq!(packed.body, "(packed)");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let stored = ["Accept-Encoding: gzip", "If-None-Match: \"abc-gzip\""];
    let stored = get(&server, "/app.js", &stored).await;
    assert_eq!((stored.status, stored.body.as_str()), (304, ""));
    let image = get(&server, "/icons/a.svg", &["Accept-Encoding: gzip"]).await;
    assert_eq!(image.body, "<svg/>");
    let head = exchange(&server, "HEAD /app.js", &[host(&server)], "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), Some("10"));
    for start in [
        "GET /nowhere",
        "GET /icons",
        "GET /../token",
        "GET /%2e%2e/token",
        "POST /app.js",
        "DELETE /app.js",
    ] {
        let answer = exchange(&server, start, &[host(&server)], "").await;
        assert_eq!(answer.status, 404, "{start}");
    }
    server.stop().await.unwrap();
}

/// The frame of an MCP App has an origin of its own, and only the domains that the page names.
#[tokio::test]
async fn the_frame_of_an_app_is_a_sandbox() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let frame = get(&server, "/app-frame", &[]).await;
    assert_eq!(frame.status, 200);
    assert_eq!(
        frame.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(frame.header("x-dns-prefetch-control"), Some("off"));
    assert_eq!(frame.header("set-cookie"), None);
    expect![[r#"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; worker-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"#]]
    .assert_eq(frame.header("content-security-policy").unwrap());
    let query = "connect=api.example&socket=live.example:8443&resource=*.cdn.example";
    let frame = get(&server, &format!("/app-frame?{query}"), &[]).await;
    let policy = frame.header("content-security-policy").unwrap();
    for directive in [
        "connect-src https://api.example wss://live.example:8443;",
        "script-src 'unsafe-inline' https://*.cdn.example;",
        "sandbox allow-scripts;",
    ] {
        assert!(policy.contains(directive), "{policy}");
    }
    for wrong in [
        "connect=a.example;sandbox",
        "connect=a.example%3B%20sandbox%20allow-same-origin",
        "connect=a.example,b",
        "connect=*",
        "other=a.example",
        "connect=a.example%0d%0aset-cookie:%20a=b",
    ] {
        let refused = get(&server, &format!("/app-frame?{wrong}"), &[]).await;
        assert_eq!(refused.status, 400, "{wrong}");
        let policy = refused.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(refused.header("set-cookie"), None);
    }
    let posted = post(&server, "/app-frame", &[], "").await;
    assert_eq!(posted.status, 405);
    server.stop().await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let pageless = serve(config(other.path())).await.unwrap();
    assert_eq!(get(&pageless, "/app-frame", &[]).await.status, 404);
    pageless.stop().await.unwrap();
}

/// A foreign domain name that leads to this machine (DNS rebinding) gets nothing.
#[tokio::test]
async fn the_page_is_not_served_under_a_foreign_name() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let cookie = pair(&server, directory.path(), AccessScope::Terminal).await;
    let port = server.address.unwrap().port();
    let foreign = format!("Host: evil.example:{port}");
    for path in [
        "/",
        "/index.html",
        "/app.js",
        "/app-frame",
        "/nowhere",
        "/device",
    ] {
        let headers = [foreign.clone(), format!("Cookie: {cookie}")];
        let answer = exchange(&server, &format!("GET {path}"), &headers, "").await;
        assert_eq!(answer.status, 403, "{path}");
    }
    let code = code(directory.path(), AccessScope::Read);
    let body = json!({ "code": code }).to_string();
    let headers = [foreign, format!("Origin: http://evil.example:{port}")];
    let answer = exchange(&server, "POST /pair", &headers, &body).await;
    assert_eq!(answer.status, 403);
    // The code was not used up.
    assert_eq!(try_code(&server, &code).await.status, 204);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_code_is_exchanged_for_a_cookie_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let code = code(directory.path(), AccessScope::Operate);
    let answer = try_code(&server, &code.to_lowercase().replace('-', "")).await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    let cookie = answer.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once(';').unwrap();
    let (name, secret) = pair.split_once('=').unwrap();
    let port = server.address.unwrap().port();
    assert_eq!(name, format!("agenthost-{port}"));
    assert_eq!(secret.len(), 64);
    assert_eq!(
        attributes,
        " HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"
    );
    let device = get(&server, "/device", &[&format!("Cookie: {pair}")]).await;
    let device: Value = serde_json::from_str(&device.body).unwrap();
    assert_eq!(device["name"], "phone");
    assert_eq!(device["scope"], "operate");
    assert_eq!(get(&server, "/device", &[]).await.status, 401);
    let again = try_code(&server, &code).await;
    assert_eq!(again.status, 403);
    assert_eq!(again.body, "the code is wrong, was used or has expired\n");
    assert_eq!(again.header("set-cookie"), None);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_code_expires() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let minutes = |count: u64| now() - count * 60_000;
    let old = code_at(directory.path(), AccessScope::Read, minutes(11));
    assert_eq!(try_code(&server, &old).await.status, 403);
    let young = code_at(directory.path(), AccessScope::Read, minutes(9));
    assert_eq!(try_code(&server, &young).await.status, 204);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn five_wrong_codes_void_the_right_one() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let code = code(directory.path(), AccessScope::Read);
    let wrong = if code == "0000-0000" {
        "0000-0001"
    } else {
        "0000-0000"
    };
    for _ in 0..5 {
        assert_eq!(try_code(&server, wrong).await.status, 403);
    }
    let locked = try_code(&server, &code).await;
    assert_eq!(locked.status, 429);
    let seconds: u64 = locked.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    let codes = std::fs::read_to_string(directory.path().join("devices/codes.json")).unwrap();
    assert_eq!(codes, "[]");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn only_the_page_itself_can_pair() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let code = code(directory.path(), AccessScope::Read);
    let body = json!({ "code": code }).to_string();
    for headers in [
        vec![],
        vec!["Origin: https://evil.example".to_owned()],
        vec!["Origin: null".to_owned()],
        vec!["Origin: vscode-file://vscode-app".to_owned()],
        vec![origin(&server), "Origin: https://evil.example".to_owned()],
    ] {
        let answer = post(&server, "/pair", &headers, &body).await;
        assert_eq!(answer.status, 403, "{headers:?}");
        let answer = post(&server, "/unpair", &headers, "").await;
        assert_eq!(answer.status, 403, "{headers:?}");
    }
    let large = json!({"code": code, "name": "x".repeat(4_096)}).to_string();
    let answer = post(&server, "/pair", &[origin(&server)], &large).await;
    assert_eq!(answer.status, 413);
    for malformed in ["{", "[]", "{\"code\": 1}"] {
        let answer = post(&server, "/pair", &[origin(&server)], malformed).await;
        assert_eq!(answer.status, 400, "{malformed}");
    }
    assert_eq!(get(&server, "/pair", &[]).await.status, 405);
    assert_eq!(try_code(&server, &code).await.status, 204);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn pairing_again_replaces_the_device_of_the_browser() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let before = pair(&server, directory.path(), AccessScope::Terminal).await;
    let body = json!({"code": code(directory.path(), AccessScope::Read), "name": "phone"});
    let headers = [origin(&server), format!("Cookie: {before}")];
    let answer = post(&server, "/pair", &headers, &body.to_string()).await;
    assert_eq!(answer.status, 204);
    assert_eq!(open_own(&server, &before).await.err(), Some(401));
    assert!(open_own(&server, &answer.cookie()).await.is_ok());
    let devices = DeviceDirectory::open(directory.path()).unwrap();
    assert_eq!(devices.read_devices().unwrap().len(), 1);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_cookie_opens_a_socket_only_for_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.allowed_origins = vec!["https://allowed.example".to_owned()];
    let server = serve(config).await.unwrap();
    let cookie = pair(&server, directory.path(), AccessScope::Terminal).await;
    assert!(open_own(&server, &cookie).await.is_ok());
    for foreign in [
        None,
        Some("https://evil.example"),
        Some("vscode-file://vscode-app"),
        Some("https://allowed.example"),
        Some("null"),
    ] {
        let refused = open(&server, &cookie, foreign).await.err();
        assert_eq!(refused, Some(403), "{foreign:?}");
    }
    let wrong = format!("{}{}", &cookie[..cookie.len() - 4], "0000");
    assert_eq!(open_own(&server, &wrong).await.err(), Some(401));
    // Without a page, the address answers as it did without devices.
    assert_eq!(get(&server, "/", &[]).await.status, 401);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_read_only_device_cannot_dispatch() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let owner = join(&server, "owner").await;
    create_session(&owner).await;
    let cookie = pair(&server, directory.path(), AccessScope::Read).await;
    let mut raw = open_own(&server, &cookie).await.unwrap();
    initialize(&mut raw, "phone").await;
    let chat = json!({"channel": chat_uri()});
    let shown = raw.call(2, "subscribe", &chat).await;
    assert_eq!(shown["result"]["snapshot"]["state"]["turns"], json!([]));
    let created = json!({"channel": "ahp-session:/s2", "workingDirectories": [folder()]});
    let refused = raw.call(3, "createSession", &created).await;
    let reason = refused["error"]["message"].as_str().unwrap();
    assert!(reason.contains("needs the scope `operate`"), "{reason}");
    let draft =
        json!({"type": "chat/draftChanged", "draft": {"text": "x", "origin": {"kind": "user"}}});
    let params = json!({"channel": chat_uri(), "clientSeq": 1, "action": draft});
    let dispatch = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
    raw.send(&dispatch.to_string()).await;
    // Actions of the session that has just been created may come first.
    let reason = loop {
        let message = raw.receive().await.unwrap();
        if let Some(reason) = message["params"]["rejectionReason"].as_str() {
            break reason.to_owned();
        }
    };
    assert!(reason.contains("needs the scope `operate`"), "{reason}");
    server.stop().await.unwrap();
}

/// Waits until the host closes a connection; the code and the reason.
async fn closed(raw: &mut Raw) -> (u16, String) {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(10), raw.0.next());
        match next.await.unwrap().unwrap().unwrap() {
            Message::Close(Some(frame)) => return (frame.code.into(), frame.reason.to_string()),
            _ => continue,
        }
    }
}

#[tokio::test]
async fn a_revoked_device_is_disconnected_and_the_other_stays() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let phone = pair(&server, directory.path(), AccessScope::Read).await;
    let devices = DeviceDirectory::open(directory.path()).unwrap();
    let id = devices.read_devices().unwrap()[0].id.clone();
    let desk = pair(&server, directory.path(), AccessScope::Terminal).await;
    let mut phone_socket = open_own(&server, &phone).await.unwrap();
    let mut second_socket = open_own(&server, &phone).await.unwrap();
    let mut desk_socket = open_own(&server, &desk).await.unwrap();
    initialize(&mut phone_socket, "phone").await;
    initialize(&mut desk_socket, "desk").await;
    assert!(devices.revoke(&id).unwrap());
    let signed_out = (1008, "the device was signed out".to_owned());
    assert_eq!(closed(&mut phone_socket).await, signed_out);
    assert_eq!(closed(&mut second_socket).await, signed_out);
    assert_eq!(open_own(&server, &phone).await.err(), Some(401));
    let device = get(&server, "/device", &[&format!("Cookie: {phone}")]).await;
    assert_eq!(device.status, 401);
    let ping = json!({"channel": "ahp-root://"});
    let answer = desk_socket.call(9, "ping", &ping).await;
    assert_eq!(answer["id"], 9);

    // A device signs itself out.
    let headers = [origin(&server), format!("Cookie: {desk}")];
    let answer = post(&server, "/unpair", &headers, "").await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    assert_eq!(closed(&mut desk_socket).await, signed_out);
    assert_eq!(post(&server, "/unpair", &headers, "").await.status, 401);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_restart_keeps_devices_and_their_rights() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let port = server.address.unwrap().port();
    let cookie = pair(&server, directory.path(), AccessScope::Operate).await;
    server.stop().await.unwrap();
    let mut config = config(directory.path());
    config.listen = Some(([127, 0, 0, 1], port).into());
    let server = serve(config).await.unwrap();
    let mut raw = open_own(&server, &cookie).await.unwrap();
    initialize(&mut raw, "phone").await;
    let session = json!({"channel": SESSION, "workingDirectories": [folder()]});
    let created = raw.call(2, "createSession", &session).await;
    assert!(created.get("error").is_none(), "{created}");
    server.stop().await.unwrap();
}

/// The cookie is set again when the page is loaded a day later.
#[tokio::test]
async fn a_page_load_renews_an_old_cookie() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    let cookie = pair(&server, directory.path(), AccessScope::Read).await;
    let header = format!("Cookie: {cookie}");
    let page = get(&server, "/", &[&header]).await;
    assert_eq!(page.header("set-cookie"), None);
    let file = directory.path().join("devices/devices.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut devices: Value = serde_json::from_str(&text).unwrap();
    devices[0]["renewedAt"] = json!(now() - 25 * 60 * 60 * 1_000);
    std::fs::write(&file, devices.to_string()).unwrap();
    let page = get(&server, "/", &[&header]).await;
    assert_eq!(page.cookie(), cookie);
    let page = get(&server, "/", &[&header]).await;
    assert_eq!(page.header("set-cookie"), None);
    server.stop().await.unwrap();
}
