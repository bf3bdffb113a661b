//! One-time codes for pairing a device with the host.
//!
//! A code has 40 bits, is valid for ten minutes and for one device. `agenthost pair` creates it
//! in a process of its own and shows it to the user. The file in the data directory has only
//! its SHA-256, with the name and the scope that the device will have.

use std::io;
use std::path::Path;

use agenthost_core::AccessScope;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::device_directory::{DeviceDirectory, hash_secret};
use super::scope_name;

/// Symbols of Crockford's base 32: no letter can be confused with a digit.
const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Number of symbols in a code, five bits each.
const CODE_SYMBOLS: usize = 8;

/// Time for which a code can be used.
pub(crate) const CODE_LIFETIME_MS: u64 = 10 * 60 * 1_000;

/// Limit on open codes. When it is reached, the oldest one is dropped.
const MAX_OPEN_CODES: usize = 16;

/// A one-time code as the user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingCode {
    symbols: String,
}

/// A code that no device has used yet, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OpenCode {
    /// SHA-256 of the symbols, in hexadecimal.
    hash: String,
    /// Time after which the code is refused, in milliseconds since 1970.
    expires_at: u64,
    /// The name of the device, if the user has chosen one.
    pub(crate) name: Option<String>,
    /// The scope of the device.
    #[serde(with = "scope_name")]
    pub(crate) scope: AccessScope,
}

/// The device that a new code is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequest {
    /// The name of the device. Without one, the device chooses it.
    pub name: Option<String>,
    /// The scope of the device.
    pub scope: AccessScope,
}

impl PairingCode {
    /// Creates a random code.
    fn random() -> io::Result<Self> {
        let mut bytes = [0; CODE_SYMBOLS];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let symbol = |byte: &u8| SYMBOLS.get(usize::from(byte % 32)).copied();
        let symbols = bytes.iter().filter_map(symbol).map(char::from).collect();
        Ok(PairingCode { symbols })
    }

    /// Parses a code that a user typed: in any case, with or without the hyphen, and with
    /// letters in place of the digits that they resemble.
    pub fn parse(text: &str) -> Option<Self> {
        let mut symbols = String::with_capacity(CODE_SYMBOLS);
        for letter in text.chars() {
            let symbol = match letter.to_ascii_uppercase() {
                '-' | ' ' => continue,
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            };
            let known = u8::try_from(symbol).is_ok_and(|byte| SYMBOLS.contains(&byte));
            if !known || symbols.len() == CODE_SYMBOLS {
                return None;
            }
            symbols.push(symbol);
        }
        (symbols.len() == CODE_SYMBOLS).then_some(PairingCode { symbols })
    }

    fn hash(&self) -> String {
        hash_secret(&self.symbols)
    }
}

impl std::fmt::Display for PairingCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, symbol) in self.symbols.chars().enumerate() {
            if index == CODE_SYMBOLS / 2 {
                formatter.write_str("-")?;
            }
            write!(formatter, "{symbol}")?;
        }
        Ok(())
    }
}

/// Creates a code for the host of a data directory, which may run in another process.
///
/// # Errors
///
/// If the file with the open codes cannot be read or written.
pub fn create_pairing_code(
    data_directory: &Path,
    request: PairingRequest,
    now_ms: u64,
) -> io::Result<PairingCode> {
    let code = PairingCode::random()?;
    let directory = DeviceDirectory::open(data_directory)?;
    directory.change_codes(|codes| {
        codes.retain(|open| open.expires_at > now_ms);
        let excess = (codes.len() + 1).saturating_sub(MAX_OPEN_CODES);
        codes.drain(..excess);
        codes.push(OpenCode {
            hash: code.hash(),
            expires_at: now_ms.saturating_add(CODE_LIFETIME_MS),
            name: request.name,
            scope: request.scope,
        });
    })?;
    Ok(code)
}

/// Removes a code from the open codes and returns it, if it is valid. The comparison takes the
/// same time for every code.
pub(crate) fn take_code(
    codes: &mut Vec<OpenCode>,
    code: &PairingCode,
    now_ms: u64,
) -> Option<OpenCode> {
    let hash = code.hash();
    codes.retain(|open| open.expires_at > now_ms);
    let mut found = None;
    for (index, open) in codes.iter().enumerate() {
        if bool::from(open.hash.as_bytes().ct_eq(hash.as_bytes())) {
            found = Some(index);
        }
    }
    found.map(|index| codes.remove(index))
}

#[cfg(test)]
#[path = "pairing_code_tests.rs"]
mod tests;
