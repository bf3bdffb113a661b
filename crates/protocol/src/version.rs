//! Protocol versions.

use std::fmt;

/// A published version of the protocol.
///
/// Here to say when an action was introduced; which versions are spoken, and
/// how one is agreed on, is decided by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Breaking changes from 1.0 on.
    pub major: u32,
    /// Breaking changes before 1.0, additions after.
    pub minor: u32,
    /// Additions before 1.0, corrections after.
    pub patch: u32,
}

impl Version {
    /// The version that this crate's types are.
    pub const CURRENT: Version = Version::new(1, 0, 0);

    /// A version by its three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Version {
            major,
            minor,
            patch,
        }
    }

    /// Reads `MAJOR.MINOR.PATCH`: three whole numbers without leading zeros,
    /// and nothing else (HSK-7).
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|part| {
            let plain = part.bytes().all(|byte| byte.is_ascii_digit());
            let padded = part.len() > 1 && part.starts_with('0');
            (plain && !padded).then(|| part.parse().ok()).flatten()
        });
        let version = Version {
            major: numbers.next()??,
            minor: numbers.next()??,
            patch: numbers.next()??,
        };
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The releases in which actions were introduced.
pub(crate) mod released {
    use super::Version;

    pub(crate) const V0_1: Version = Version::new(0, 1, 0);
    pub(crate) const V0_2: Version = Version::new(0, 2, 0);
    pub(crate) const V0_3: Version = Version::new(0, 3, 0);
    pub(crate) const V0_4: Version = Version::new(0, 4, 0);
    pub(crate) const V0_5: Version = Version::new(0, 5, 0);
    pub(crate) const V0_5_1: Version = Version::new(0, 5, 1);
    pub(crate) const V0_5_2: Version = Version::new(0, 5, 2);
    pub(crate) const V0_6: Version = Version::new(0, 6, 0);
    pub(crate) const V0_7: Version = Version::new(0, 7, 0);
    pub(crate) const V0_8: Version = Version::new(0, 8, 0);
    pub(crate) const V0_9: Version = Version::new(0, 9, 0);
    pub(crate) const V1_0: Version = Version::new(1, 0, 0);
}
