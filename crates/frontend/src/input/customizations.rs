//! Commands on customizations, and on the tokens that they require.

use agenthost_protocol::wire::{DecodeError, Input, Node, Wire};
use agenthost_view::customizations::{CustomizationKind, DecisionScope};

/// A command on customizations; the page names it `customization.VARIANT`.
#[derive(Debug, Input)]
pub enum CustomizationCommand {
    /// Shows the customizations of the selected session that match a filter.
    Watch {
        filter: String,
        kind: Option<CustomizationKind>,
    },
    Unwatch {},
    /// Turns a customization on or off.
    Decide {
        session: String,
        key: String,
        scope: DecisionScope,
        enabled: bool,
    },
    StartServer {
        session: String,
        key: String,
    },
    StopServer {
        session: String,
        key: String,
    },
    /// Lets messages no longer wait for a server that starts.
    ContinueWithout {
        session: String,
        key: String,
    },
    /// Reads the code of a container, for a decision.
    Review {
        session: String,
        key: String,
    },
    CloseReview {},
    /// Approves the code that the open review shows.
    Allow {
        code: String,
    },
    /// Turns the container of the open review off in its session.
    Deny {},
    /// Withdraws the approval of a container.
    Revoke {
        session: String,
        key: String,
    },
    /// Sends a token for a resource to the host.
    SignIn {
        resource: String,
        token: Secret,
        /// Seconds until the token expires.
        expires_in: Option<u64>,
    },
    /// Withdraws the token of a resource.
    SignOut {
        resource: String,
    },
}

/// A text of the user that must not be logged or kept.
pub struct Secret(pub(crate) String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: String) -> Self {
        Secret(text)
    }
}

impl Input for Secret {
    fn read(node: Node<'_>) -> Result<Self, DecodeError> {
        String::decode(node).map(Secret)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
