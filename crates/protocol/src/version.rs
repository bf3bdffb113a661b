//! Protocol versions, releases and their capabilities.

use std::fmt;

/// A published version of the protocol.
///
/// Used here to state when an action was introduced. The supported versions and the negotiation
/// are defined elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Incremented for breaking changes from 1.0 on.
    pub major: u32,
    /// Incremented for breaking changes before 1.0, and for additions after it.
    pub minor: u32,
    /// Incremented for additions before 1.0, and for corrections after it.
    pub patch: u32,
}

impl Version {
    /// Protocol version that this crate implements.
    pub const CURRENT: Version = Version::new(1, 0, 0);

    /// Creates a version from its three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Version {
            major,
            minor,
            patch,
        }
    }

    /// Parses `MAJOR.MINOR.PATCH`: three integers without leading zeros, and no suffix (HSK-7).
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
        /// A release of the protocol, in ascending order. The wire format differs between
        /// releases; every other version uses the format of one of these.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Release {
            $($(#[$doc])* $name,)*
        }

        impl Release {
            /// All releases in ascending order.
            pub const ALL: &'static [Release] = &[$(Release::$name),*];

            /// Returns the version number of the release.
            pub fn version(self) -> Version {
                match self {
                    $(Release::$name => Version::new($major, $minor, $patch),)*
                }
            }
        }
    };
}

releases! {
    /// The first release, without channels.
    V0_1 = 0, 1, 0;
    /// Channels, a customization tree, changesets.
    V0_2 = 0, 2, 0;
    /// Message origins, MCP servers.
    V0_3 = 0, 3, 0;
    /// Chats in a session, annotations.
    V0_4 = 0, 4, 0;
    /// Several active clients, timestamps as text.
    V0_5_0 = 0, 5, 0;
    /// Turns loaded by actions.
    V0_5_1 = 0, 5, 1;
    /// Children of customizations that can be disabled.
    V0_5_2 = 0, 5, 2;
    /// Input requests as response parts.
    V0_6 = 0, 6, 0;
    /// Several working directories per session.
    V0_7 = 0, 7, 0;
    /// Enablement of customizations by scope.
    V0_8 = 0, 8, 0;
    /// Errors as response parts, automations.
    V0_9 = 0, 9, 0;
    /// Canvases, background work, chats that can be moved.
    V1_0 = 1, 0, 0;
}

impl Release {
    /// The latest release, which this crate implements.
    pub const CURRENT: Release = Release::V1_0;

    /// Returns the release whose wire format a version uses; `None` if the version is not
    /// supported.
    ///
    /// Patch versions have the same format, except for 0.5, where three formats exist. 0.10 was
    /// never published; it became 1.0.
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

    /// Returns the features that the release can express.
    pub fn capabilities(self) -> ProtocolCapabilities {
        ProtocolCapabilities {
            channels: self >= Release::V0_2,
            changesets: self >= Release::V0_2,
            tool_servers: self >= Release::V0_3,
            chats: self >= Release::V0_4,
            annotations: self >= Release::V0_4,
            several_active_clients: self >= Release::V0_5_0,
            drafts: self >= Release::V0_5_0,
            pages: self >= Release::V0_5_1,
            reviews: self >= Release::V0_5_2,
            tool_authentication: self >= Release::V0_6,
            several_directories: self >= Release::V0_7,
            enablement_by_scope: self >= Release::V0_8,
            automations: self >= Release::V0_9,
            turn_resume: self >= Release::V0_9,
            canvases: self >= Release::V1_0,
            background_work: self >= Release::V1_0,
            moving_chats: self >= Release::V1_0,
        }
    }

    /// Returns the release of a negotiated version string.
    pub fn named(version: &str) -> Option<Self> {
        Release::of(Version::parse(version)?)
    }
}

/// The features that a release can express. Code that sends messages to a legacy peer checks
/// them before it uses a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub struct ProtocolCapabilities {
    /// Messages name the channel that they belong to.
    pub channels: bool,
    /// Changesets can be subscribed to.
    pub changesets: bool,
    /// MCP servers and their states are published.
    pub tool_servers: bool,
    /// A session can have several chats.
    pub chats: bool,
    /// Files can be annotated.
    pub annotations: bool,
    /// Several clients can offer tools to a session.
    pub several_active_clients: bool,
    /// The draft message of a chat is shared.
    pub drafts: bool,
    /// Long lists and chats are loaded in pages.
    pub pages: bool,
    /// Files of a changeset have a reviewed flag.
    pub reviews: bool,
    /// Tool calls can wait for a token.
    pub tool_authentication: bool,
    /// A session can have several working directories.
    pub several_directories: bool,
    /// Customizations are enabled or disabled by scope.
    pub enablement_by_scope: bool,
    /// Automations and their runs are published.
    pub automations: bool,
    /// Failed turns can be resumed.
    pub turn_resume: bool,
    /// Chats can show canvases.
    pub canvases: bool,
    /// Background work of a chat is published.
    pub background_work: bool,
    /// Chats can be moved to another session.
    pub moving_chats: bool,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version().fmt(f)
    }
}

/// The versions in which actions were introduced.
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
