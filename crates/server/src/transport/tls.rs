//! TLS for the TCP listener, with a certificate that is reloaded when its files change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use agenthost_stdx::sync::lock;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Paths of the certificate and its key, in PEM format.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, with its chain of intermediate certificates.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

/// An error that keeps TLS from being set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read as PEM.
    #[error("`{}`: {problem}", path.display())]
    Pem {
        /// The path of the file.
        path: PathBuf,
        /// The error of the parser or of the system.
        problem: String,
    },
    /// The key does not belong to the certificate, or is not supported.
    #[error("certificate and key: {0}")]
    Mismatch(#[from] tokio_rustls::rustls::Error),
}

/// The certificate of the host, reloaded when its files have changed.
#[derive(Clone)]
pub(crate) struct CertificateStore(Arc<CertificateState>);

struct CertificateState {
    files: TlsFiles,
    loaded: Mutex<LoadedCertificate>,
}

struct LoadedCertificate {
    acceptor: TlsAcceptor,
    /// The contents of the files when they were read last, even if they are invalid; `None` if
    /// they could not be read.
    contents: Option<TlsContents>,
}

/// The contents of both files. They are compared instead of modification times, which are too
/// coarse to detect two changes in a row.
#[derive(PartialEq)]
struct TlsContents {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl CertificateStore {
    /// Loads the certificate for the first time.
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        let contents = TlsContents::read(files)?;
        let acceptor = contents.acceptor(files)?;
        Ok(CertificateStore(Arc::new(CertificateState {
            files: files.clone(),
            loaded: Mutex::new(LoadedCertificate {
                acceptor,
                contents: Some(contents),
            }),
        })))
    }

    /// Returns the acceptor for a handshake, with the certificate that is in the files now. If
    /// that one is invalid, the previous one stays in use.
    pub(crate) async fn acceptor(&self) -> TlsAcceptor {
        let state = Arc::clone(&self.0);
        let refreshed = tokio::task::spawn_blocking(move || state.refresh()).await;
        refreshed.unwrap_or_else(|error| {
            tracing::error!(%error, "failed to check the TLS certificate for changes");
            self.0.lock().acceptor.clone()
        })
    }
}

impl CertificateState {
    fn refresh(&self) -> TlsAcceptor {
        let read = TlsContents::read(&self.files);
        let mut loaded = self.lock();
        // Invalid files are reported once, not for every handshake.
        match read {
            Ok(contents) if loaded.contents.as_ref() == Some(&contents) => {}
            Ok(contents) => {
                match contents.acceptor(&self.files) {
                    Ok(acceptor) => {
                        tracing::info!("reloaded the TLS certificate");
                        loaded.acceptor = acceptor;
                    }
                    Err(error) => warn_not_reloaded(&error),
                }
                loaded.contents = Some(contents);
            }
            Err(error) => {
                if loaded.contents.take().is_some() {
                    warn_not_reloaded(&error);
                }
            }
        }
        loaded.acceptor.clone()
    }

    fn lock(&self) -> MutexGuard<'_, LoadedCertificate> {
        lock(&self.loaded)
    }
}

impl TlsContents {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let read = |path: &Path| {
            let contents = std::fs::read(path);
            contents.map_err(|error: io::Error| pem_error(path, &pem::Error::Io(error)))
        };
        Ok(TlsContents {
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
        })
    }

    fn acceptor(&self, files: &TlsFiles) -> Result<TlsAcceptor, TlsError> {
        let certificates = CertificateDer::pem_slice_iter(&self.certificate);
        let certificates = certificates
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| pem_error(&files.certificate, &error))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key);
        let key = key.map_err(|error| pem_error(&files.key, &error))?;
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

fn pem_error(path: &Path, problem: &pem::Error) -> TlsError {
    TlsError::Pem {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}

fn warn_not_reloaded(error: &TlsError) {
    tracing::warn!(%error, "failed to reload the TLS certificate, keeping the old one");
}
