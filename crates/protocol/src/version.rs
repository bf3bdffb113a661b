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

macro_rules! releases {
    ($($(#[$doc:meta])* $name:ident = $major:literal, $minor:literal, $patch:literal;)*) => {
        /// A release of the protocol, oldest first. Between two of them the
        /// wire differs; other versions are spoken as one of these.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release {
            $($(#[$doc])* $name,)*
        }

        impl Release {
            /// All of them, oldest first.
            pub const ALL: &'static [Release] = &[$(Release::$name),*];

            /// The version that it was published as.
            pub fn version(self) -> Version {
                match self {
                    $(Release::$name => Version::new($major, $minor, $patch),)*
                }
            }
        }
    };
}

releases! {
    /// Before channels.
    V0_1 = 0, 1, 0;
    /// Channels, a tree of customizations, changesets.
    V0_2 = 0, 2, 0;
    /// Messages with an origin, servers of tools.
    V0_3 = 0, 3, 0;
    /// Sessions have chats, and annotations.
    V0_4 = 0, 4, 0;
    /// Several active clients, times as text.
    V0_5_0 = 0, 5, 0;
    /// Turns are loaded by actions.
    V0_5_1 = 0, 5, 1;
    /// Children of customizations can be off.
    V0_5_2 = 0, 5, 2;
    /// Questions are parts of the answer.
    V0_6 = 0, 6, 0;
    /// Several working directories.
    V0_7 = 0, 7, 0;
    /// Customizations are on and off by scope.
    V0_8 = 0, 8, 0;
    /// Errors are parts of the answer; automations.
    V0_9 = 0, 9, 0;
    /// Canvases, background work, chats that move.
    V1_0 = 1, 0, 0;
}

impl Release {
    /// The newest: what this crate's types are.
    pub const CURRENT: Release = Release::V1_0;

    /// The release that a version is spoken as; `None` if it is not spoken.
    ///
    /// A patch changes nothing but in 0.5, where three differ; 0.10 was
    /// never published and is what became 1.0.
    pub fn of(version: Version) -> Option<Self> {
        Some(match (version.major, version.minor, version.patch) {
            (1, ..) | (0, 10, _) => Release::V1_0,
            (0, 9, _) => Release::V0_9,
            (0, 8, _) => Release::V0_8,
            (0, 7, _) => Release::V0_7,
            (0, 6, _) => Release::V0_6,
            (0, 5, 0) => Release::V0_5_0,
            (0, 5, 1) => Release::V0_5_1,
            (0, 5, _) => Release::V0_5_2,
            (0, 4, _) => Release::V0_4,
            (0, 3, _) => Release::V0_3,
            (0, 2, _) => Release::V0_2,
            (0, 1, _) => Release::V0_1,
            _ => return None,
        })
    }

    /// The release of a version that was agreed on, as it was written.
    pub fn named(version: &str) -> Option<Self> {
        Release::of(Version::parse(version)?)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version().fmt(f)
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
