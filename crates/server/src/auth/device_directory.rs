//! The files with paired devices and open pairing codes, in a directory of the data directory.
//!
//! The host and the command line write these files from different processes. A lock file orders
//! their changes, and each change replaces a file as a whole. The host reads the files whenever
//! a device presents its cookie, so a revoked device is refused at once.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use agenthost_core::AccessScope;
use agenthost_protocol::label::clean_label;
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::private_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::pairing_code::OpenCode;
use super::scope_name;

/// Name of the directory in the data directory.
const DIRECTORY: &str = "devices";

/// Name of the file with the paired devices.
pub(crate) const DEVICES_FILE: &str = "devices.json";
const CODES_FILE: &str = "codes.json";
const LOCK_FILE: &str = "lock";

/// Time without a renewal after which a device has to be paired again.
pub(crate) const COOKIE_LIFETIME_MS: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Limit on paired devices. When it is reached, the one that was seen least recently is
/// removed.
const MAX_DEVICES: usize = 100;

/// Maximum length of a device name in characters.
const MAX_NAME_CHARS: usize = 60;

/// A device that was paired with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PairedDevice {
    /// Identifies the device among those of the host.
    pub id: String,
    /// The name that the user gave it.
    pub name: String,
    /// The requests that it may send.
    #[serde(with = "scope_name")]
    pub scope: AccessScope,
    /// SHA-256 of the secret in its cookie, in hexadecimal.
    pub(crate) secret_hash: String,
    /// Time of the pairing, in milliseconds since 1970.
    pub created_at: u64,
    /// Time of the last page load or connection, in milliseconds since 1970.
    pub last_seen_at: u64,
    /// Time at which its cookie was last set, in milliseconds since 1970.
    pub(crate) renewed_at: u64,
}

/// The directory with the files of devices and codes.
#[derive(Debug, Clone)]
pub struct DeviceDirectory {
    path: PathBuf,
}

impl PairedDevice {
    /// Creates a device with a random id. Returns it with the secret for its cookie.
    pub(crate) fn create(
        name: &str,
        scope: AccessScope,
        now_ms: u64,
    ) -> io::Result<(Self, String)> {
        let secret = random_hex::<32>()?;
        let device = PairedDevice {
            id: random_hex::<4>()?,
            name: clean_name(name),
            scope,
            secret_hash: hash_secret(&secret),
            created_at: now_ms,
            last_seen_at: now_ms,
            renewed_at: now_ms,
        };
        Ok((device, secret))
    }

    /// Returns `true` if the cookie of the device has expired.
    pub(crate) fn is_expired(&self, now_ms: u64) -> bool {
        now_ms >= self.renewed_at.saturating_add(COOKIE_LIFETIME_MS)
    }
}

impl DeviceDirectory {
    /// Opens the directory in a data directory, and creates it if necessary.
    ///
    /// # Errors
    ///
    /// If the directory cannot be created, or belongs to another user.
    pub fn open(data_directory: &Path) -> io::Result<Self> {
        let path = data_directory.join(DIRECTORY);
        private_file::create_directory(&path)?;
        Ok(DeviceDirectory { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all devices, the oldest first.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is malformed.
    pub fn read_devices(&self) -> io::Result<Vec<PairedDevice>> {
        self.read(DEVICES_FILE)
    }

    /// Finds the device of a secret. The comparison takes the same time for every secret.
    pub(crate) fn find_device(
        &self,
        secret: &str,
        now_ms: u64,
    ) -> io::Result<Option<PairedDevice>> {
        let hash = hash_secret(secret);
        let mut found = None;
        for device in self.read_devices()? {
            if bool::from(device.secret_hash.as_bytes().ct_eq(hash.as_bytes())) {
                found = Some(device);
            }
        }
        Ok(found.filter(|device| !device.is_expired(now_ms)))
    }

    /// Adds a device. Expired devices, and the device `replaced`, are removed.
    pub(crate) fn add(
        &self,
        device: PairedDevice,
        replaced: Option<&str>,
        now_ms: u64,
    ) -> io::Result<()> {
        self.change_devices(|devices| {
            devices
                .retain(|other| !other.is_expired(now_ms) && Some(other.id.as_str()) != replaced);
            if devices.len() >= MAX_DEVICES {
                let oldest = devices.iter().enumerate();
                let oldest = oldest.min_by_key(|(_, other)| other.last_seen_at);
                if let Some(index) = oldest.map(|(index, _)| index) {
                    devices.remove(index);
                }
            }
            devices.push(device);
        })
    }

    /// Changes the stored device of an id. A device that was revoked is not stored again.
    pub(crate) fn update(
        &self,
        id: &str,
        change: impl FnOnce(&mut PairedDevice),
    ) -> io::Result<()> {
        self.change_devices(|devices| {
            if let Some(device) = devices.iter_mut().find(|device| device.id == id) {
                change(device);
            }
        })
    }

    /// Removes a device. The host closes its connections and refuses its cookie. Returns
    /// `false` if there is no device of this id.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub fn revoke(&self, id: &str) -> io::Result<bool> {
        self.change_devices(|devices| {
            let before = devices.len();
            devices.retain(|device| device.id != id);
            devices.len() < before
        })
    }

    /// Changes the open codes. The file is replaced as a whole.
    pub(crate) fn change_codes<T>(
        &self,
        change: impl FnOnce(&mut Vec<OpenCode>) -> T,
    ) -> io::Result<T> {
        self.change(CODES_FILE, change)
    }

    fn change_devices<T>(&self, change: impl FnOnce(&mut Vec<PairedDevice>) -> T) -> io::Result<T> {
        self.change(DEVICES_FILE, change)
    }

    fn change<E: DeserializeOwned + Serialize + PartialEq + Clone, T>(
        &self,
        name: &str,
        change: impl FnOnce(&mut Vec<E>) -> T,
    ) -> io::Result<T> {
        let _lock = self.lock()?;
        let before = self.read(name)?;
        let mut entries = before.clone();
        let result = change(&mut entries);
        if entries != before {
            let text = serde_json::to_vec_pretty(&entries)?;
            private_file::replace(&self.path.join(name), &text)?;
        }
        Ok(result)
    }

    fn read<E: DeserializeOwned>(&self, name: &str) -> io::Result<Vec<E>> {
        match private_file::read_to_string(&self.path.join(name)) {
            Ok(text) => Ok(serde_json::from_str(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process or task changes the files.
    fn lock(&self) -> io::Result<File> {
        let file = private_file::open_read_write(&self.path.join(LOCK_FILE))?;
        file.lock()?;
        Ok(file)
    }
}

/// Returns the SHA-256 of a secret in hexadecimal.
pub(crate) fn hash_secret(secret: &str) -> String {
    encode_hex(&Sha256::digest(secret.as_bytes()))
}

/// Removes invisible characters from the name of a device, and limits its length.
fn clean_name(name: &str) -> String {
    let mut name = name.trim().to_owned();
    clean_label(&mut name);
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    if name.is_empty() {
        "device".to_owned()
    } else {
        name
    }
}

fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(encode_hex(&bytes))
}

#[cfg(test)]
#[path = "device_directory_tests.rs"]
mod tests;
