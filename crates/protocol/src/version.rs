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

    /// What it has words for.
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

    /// The release of a version that was agreed on, as it was written.
    pub fn named(version: &str) -> Option<Self> {
        Release::of(Version::parse(version)?)
    }
}

/// What a release can express. Whoever talks to a peer of an older one looks
/// here before it uses something that the peer has no word for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub struct ProtocolCapabilities {
    /// Messages name the channel that they are about.
    pub channels: bool,
    /// Views of file changes.
    pub changesets: bool,
    /// Servers of tools, and their states.
    pub tool_servers: bool,
    /// Several conversations in a session.
    pub chats: bool,
    /// Annotations of files.
    pub annotations: bool,
    /// More than one client that brings tools.
    pub several_active_clients: bool,
    /// What somebody is typing.
    pub drafts: bool,
    /// Long lists and long chats come in pages.
    pub pages: bool,
    /// Which files were reviewed.
    pub reviews: bool,
    /// Tools that wait for a token.
    pub tool_authentication: bool,
    /// More than one working directory.
    pub several_directories: bool,
    /// Customizations that are on or off by scope.
    pub enablement_by_scope: bool,
    /// Automations and their runs.
    pub automations: bool,
    /// Failed turns that go on.
    pub turn_resume: bool,
    /// Canvases.
    pub canvases: bool,
    /// Work in the background of a chat.
    pub background_work: bool,
    /// Chats that go to another session.
    pub moving_chats: bool,
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
