//! TLS: a client that trusts one certificate, and certificates that change.

use std::io;
use std::path::Path;
use std::sync::Arc;

use agenthost_server::{Server, ServerConfig, TlsFiles, serve};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// A client that trusts one certificate.
pub(crate) struct TlsClient(WebSocketStream<TlsStream<TcpStream>>);

impl TlsClient {
    /// Fails if the host shows another certificate.
    pub(crate) async fn connect(
        server: &Server,
        certificate: &CertificateDer<'static>,
    ) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let client = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(client));
        let port = server.address.unwrap().port();
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = connector.connect(name, stream).await?;
        let url = format!("wss://localhost:{port}/?tkn={}", server.token);
        let (socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
        Ok(TlsClient(socket))
    }

    pub(crate) async fn ping(&mut self) {
        let ping = r#"{"jsonrpc":"2.0","id":"tls","method":"ping"}"#;
        self.0.send(Message::text(ping)).await.unwrap();
        loop {
            if let Message::Text(text) = self.0.next().await.unwrap().unwrap() {
                assert!(text.contains(r#""id":"tls""#), "{text}");
                return;
            }
        }
    }
}

/// Writes a new certificate and its key.
pub(crate) fn write_certificate(directory: &Path) -> (TlsFiles, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = TlsFiles {
        certificate: directory.join("cert.pem"),
        key: directory.join("key.pem"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    (files, made.cert.der().clone())
}

/// Certificates are renewed every few weeks; the host must not have to be restarted for that.
#[tokio::test]
async fn a_renewed_certificate_is_used_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (files, first) = write_certificate(directory.path());
    let config = ServerConfig {
        tls: Some(files.clone()),
        ..ServerConfig::new(directory.path().join("data"))
    };
    let server = serve(config).await.unwrap();
    let mut before = TlsClient::connect(&server, &first).await.unwrap();
    let (_, second) = write_certificate(directory.path());
    let mut after = TlsClient::connect(&server, &second).await.unwrap();
    assert!(TlsClient::connect(&server, &first).await.is_err());
    // Connections that are open stay open.
    before.ping().await;
    after.ping().await;

    // Files that can't be used leave the host with the certificate that it has.
    std::fs::write(&files.certificate, "not a certificate").unwrap();
    TlsClient::connect(&server, &second).await.unwrap();
    std::fs::remove_file(&files.key).unwrap();
    TlsClient::connect(&server, &second).await.unwrap();
    let (_, third) = write_certificate(directory.path());
    TlsClient::connect(&server, &third).await.unwrap();
    server.stop().await.unwrap();
}
