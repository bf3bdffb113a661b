//! Canvases: live pages that an extension shows beside a chat. Experimental in AHP 1.0.

use crate::action::actions;
use crate::outcome::Outcome;
use crate::uri::Uri;
use crate::wire::Wire;

/// A reference from a chat to a canvas.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CanvasReference {
    /// URI of the canvas channel.
    pub resource: Uri,
}

/// The state of a canvas channel.
#[derive(Clone, PartialEq, Wire)]
pub struct CanvasState {
    /// Id of this instance of the canvas.
    pub instance_id: String,
    /// Id of the extension that shows the canvas.
    pub extension_id: String,
    /// Display name of the extension.
    pub extension_name: Option<String>,
    /// Id of the canvas type.
    pub canvas_id: String,
    /// Title for the user interface.
    pub title: Option<String>,
    /// Status text for the user interface.
    pub status: Option<String>,
    /// URL of the live page while it exists. Never logged, and not valid after a restart of the
    /// host (CAN-4).
    pub url: Option<Uri>,
}

/// Omits the URL and the optional fields.
impl std::fmt::Debug for CanvasState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CanvasState")
            .field("instance_id", &self.instance_id)
            .field("extension_id", &self.extension_id)
            .field("canvas_id", &self.canvas_id)
            .finish_non_exhaustive()
    }
}

actions! {
    /// An action on a canvas.
    pub enum CanvasAction on Canvas {
        /// Replaces the state of the canvas.
        StateChanged(Box<CanvasStateChanged>) = "canvas/stateChanged", Host, V1_0;
    }
}

/// The state of a canvas changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CanvasStateChanged {
    /// The complete new state.
    pub canvas: CanvasState,
}

impl CanvasState {
    /// Applies an action to the canvas.
    pub fn reduce(&mut self, action: &CanvasAction) -> Outcome {
        match action {
            CanvasAction::StateChanged(action) => {
                self.clone_from(&action.canvas);
                Outcome::Applied
            }
        }
    }
}
