use super::*;

fn gate() -> UpgradeGuard {
    UpgradeGuard {
        token: "secret".to_owned(),
        address: "127.0.0.1:8080".parse().unwrap(),
        is_tls: false,
        allowed_origins: vec!["https://allowed.example".to_owned()],
        allowed_hosts: vec!["host.example:8080".to_owned()],
    }
}

fn check(uri: &str, headers: &[(&str, &str)]) -> Result<RequestCredential, UpgradeRejection> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name: header::HeaderName = name.parse().unwrap();
        map.insert(name, value.parse().unwrap());
    }
    gate().check(&uri.parse().unwrap(), &map)
}

/// SEC-3, TRN-7: only the exact token is accepted.
#[test]
fn only_the_exact_token_is_accepted() {
    let host = ("host", "127.0.0.1:8080");
    assert_eq!(check("/?tkn=secret", &[host]), Ok(RequestCredential::Token));
    assert_eq!(
        check("/?a=b&tkn=secret", &[host]),
        Ok(RequestCredential::Token)
    );
    let bearer = ("authorization", "Bearer secret");
    assert_eq!(check("/", &[host, bearer]), Ok(RequestCredential::Token));
    for uri in [
        "/",
        "/?tkn=",
        "/?tkn=secre",
        "/?tkn=secrets",
        "/?tkn=SECRET",
    ] {
        assert_eq!(
            check(uri, &[host]),
            Err(UpgradeRejection::InvalidToken),
            "{uri}"
        );
    }
    let basic = ("authorization", "Basic secret");
    assert_eq!(
        check("/", &[host, basic]),
        Err(UpgradeRejection::InvalidToken)
    );
}

#[test]
fn foreign_origins_are_rejected() {
    let host = ("host", "localhost:8080");
    let with = |origin| check("/?tkn=secret", &[host, ("origin", origin)]);
    assert_eq!(with("http://127.0.0.1:8080"), Ok(RequestCredential::Token));
    assert_eq!(with("http://localhost:8080"), Ok(RequestCredential::Token));
    assert_eq!(
        with("vscode-file://vscode-app"),
        Ok(RequestCredential::Token)
    );
    assert_eq!(
        with("https://allowed.example"),
        Ok(RequestCredential::Token)
    );
    for origin in [
        "https://evil.example",
        "null",
        "http://127.0.0.1:9",
        "http://localhost:8080.evil.example",
    ] {
        assert_eq!(
            with(origin),
            Err(UpgradeRejection::ForeignOrigin),
            "{origin}"
        );
    }
}

/// A page can point its own domain name at this machine (DNS rebinding).
#[test]
fn foreign_host_names_are_rejected() {
    let with = |host| check("/?tkn=secret", &[("host", host)]);
    for host in [
        "127.0.0.1:8080",
        "localhost",
        "LOCALHOST:1",
        "[::1]:8080",
        "127.9.9.9",
        "host.example:8080",
    ] {
        assert_eq!(with(host), Ok(RequestCredential::Token), "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:8080",
        "192.0.2.1:8080",
        "localhost.evil.example",
        "",
    ] {
        assert_eq!(with(host), Err(UpgradeRejection::UnknownHost), "{host}");
    }
    assert_eq!(
        check("/?tkn=secret", &[]),
        Err(UpgradeRejection::UnknownHost)
    );
}

#[test]
fn the_token_is_made_once_and_private() {
    let directory = tempfile::tempdir().unwrap();
    let first = load_or_create_token(directory.path()).unwrap();
    assert_eq!(first.len(), 64);
    assert_eq!(load_or_create_token(directory.path()).unwrap(), first);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = directory
            .path()
            .join("token")
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

fn secret() -> String {
    "5".repeat(64)
}

/// The cookie comes by itself with any request of a browser, so the page's own
/// origin has to come with it.
#[test]
fn a_cookie_counts_only_with_the_origin_of_the_page() {
    let cookie = format!("agenthost-8080={}", secret());
    let cookie = ("cookie", cookie.as_str());
    let host = ("host", "localhost:8080");
    let with = |origin| check("/", &[host, cookie, ("origin", origin)]);
    let own = RequestCredential::Cookies(vec![CookieSecret {
        cookie: DeviceCookie {
            port: 8080,
            transport: CookieTransport::Plain,
        },
        secret: secret(),
    }]);
    assert_eq!(with("http://localhost:8080"), Ok(own));
    // Allowed for programs with a token, and not the page.
    for origin in [
        "vscode-file://vscode-app",
        "https://allowed.example",
        "http://127.0.0.1:8080",
    ] {
        assert_eq!(
            with(origin),
            Err(UpgradeRejection::ForeignCookie),
            "{origin}"
        );
    }
    for origin in ["https://evil.example", "null", "http://localhost:9"] {
        assert_eq!(
            with(origin),
            Err(UpgradeRejection::ForeignOrigin),
            "{origin}"
        );
    }
    assert_eq!(
        check("/", &[host, cookie]),
        Err(UpgradeRejection::ForeignCookie)
    );
    let rebound = ("host", "evil.example:8080");
    let origin = ("origin", "http://evil.example:8080");
    assert_eq!(
        check("/", &[rebound, cookie, origin]),
        Err(UpgradeRejection::UnknownHost)
    );
    // A wrong token is not made up for by a cookie.
    let origin = ("origin", "http://localhost:8080");
    assert_eq!(
        check("/?tkn=wrong", &[host, cookie, origin]),
        Err(UpgradeRejection::InvalidToken)
    );
}

/// A proxy ends TLS before a host name that the user has configured.
#[test]
fn a_page_behind_a_proxy_has_a_secure_cookie() {
    let cookie = format!("__Host-agenthost-8080={}", secret());
    let headers = [
        ("host", "host.example:8080"),
        ("origin", "https://host.example:8080"),
        ("cookie", cookie.as_str()),
    ];
    let RequestCredential::Cookies(found) = check("/", &headers).unwrap() else {
        panic!("expected a cookie");
    };
    assert_eq!(found[0].cookie.transport, CookieTransport::Secure);
    let mut map = HeaderMap::new();
    map.insert(header::ORIGIN, headers[1].1.parse().unwrap());
    assert_eq!(gate().cookie_for(&map).transport, CookieTransport::Secure);
    let other = [
        ("host", "localhost:8080"),
        ("origin", "https://localhost:8080"),
    ];
    assert_eq!(
        check("/?tkn=secret", &other),
        Err(UpgradeRejection::ForeignOrigin)
    );
}

/// With TLS, neither a cookie from a plain page nor a plain origin counts.
#[test]
fn a_host_with_tls_accepts_only_secure_cookies() {
    let guard = UpgradeGuard {
        is_tls: true,
        ..gate()
    };
    let credential = |name: &str, origin: &'static str| {
        let mut map = HeaderMap::new();
        map.insert(header::HOST, "localhost:8080".parse().unwrap());
        map.insert(header::ORIGIN, origin.parse().unwrap());
        let cookie = format!("{name}={}", secret());
        map.insert(header::COOKIE, cookie.parse().unwrap());
        guard.check(&"/".parse().unwrap(), &map)
    };
    let (plain, secure) = ("agenthost-8080", "__Host-agenthost-8080");
    assert!(credential(secure, "https://localhost:8080").is_ok());
    assert_eq!(
        credential(plain, "https://localhost:8080"),
        Err(UpgradeRejection::InvalidToken)
    );
    assert_eq!(
        credential(secure, "http://localhost:8080"),
        Err(UpgradeRejection::ForeignOrigin)
    );
    let cookie = guard.cookie_for(&HeaderMap::new());
    assert_eq!(cookie.transport, CookieTransport::Secure);
}
