//! Canvases: live pages that an extension shows beside a chat. Experimental.

use crate::action::actions;
use crate::outcome::Outcome;
use crate::uri::Uri;
use crate::wire::Wire;

/// A canvas that a chat shows.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CanvasReference {
    /// The canvas channel.
    pub resource: Uri,
}

/// A live canvas.
#[derive(Clone, PartialEq, Wire)]
pub struct CanvasState {
    /// Which one of its kind it is.
    pub instance_id: String,
    /// The extension that shows it.
    pub extension_id: String,
    /// Name of the extension for people.
    pub extension_name: Option<String>,
    /// What kind of canvas it is.
    pub canvas_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its status, in words.
    pub status: Option<String>,
    /// Where it is, as long as it is there. Never logged, never used again
    /// after a restart (CAN-4).
    pub url: Option<Uri>,
}

/// Shows all but the address.
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
    /// Something that happened to a canvas.
    pub enum CanvasAction on Canvas {
        /// The canvas changed.
        StateChanged(Box<CanvasStateChanged>) = "canvas/stateChanged", Host, V1_0;
    }
}

/// The canvas changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct CanvasStateChanged {
    /// All of it.
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
