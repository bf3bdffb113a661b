//! Icons.

use crate::uri::Uri;
use crate::wire::Wire;

/// A picture for display. SVG may carry scripts: clients decide whom they
/// trust (SEC-10).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Icon {
    /// An `http(s)` or `data` URI.
    pub src: Uri,
    /// MIME type, where the source's own is missing or vague.
    pub content_type: Option<String>,
    /// Sizes it is made for, such as `48x48` or `any`.
    pub sizes: Option<Vec<String>>,
    /// `light` or `dark`, if it is made for one.
    pub theme: Option<String>,
}
