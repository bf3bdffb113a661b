//! Icons for the user interface.

use crate::uri::Uri;
use crate::wire::Wire;

/// An icon for the user interface. SVG can contain scripts, so clients decide which sources
/// they trust (SEC-10).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Icon {
    /// An `http(s)` or `data` URI.
    pub src: Uri,
    /// MIME type, which overrides a missing or generic type of the source.
    pub content_type: Option<String>,
    /// Sizes that the icon is made for, such as `48x48` or `any`.
    pub sizes: Option<Vec<String>>,
    /// Theme that the icon is made for: `light` or `dark`.
    pub theme: Option<String>,
}
