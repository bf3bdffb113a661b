//! Descriptions of the JSON of wire types, as data.
//!
//! The derive generates them from the same definition as the decoder and encoder, so that
//! generators of test values and checks against other implementations can't diverge from the
//! types.

use super::Wire;

/// A description of the JSON of a type.
#[derive(Debug, Clone)]
pub enum Shape {
    /// A JSON string, with the meaning of its text.
    Text(TextKind),
    /// A boolean: `true` or `false`.
    Boolean,
    /// An integer with a lower bound.
    Integer {
        /// Minimum value of the integer.
        least: i64,
    },
    /// Milliseconds: an integer, rounded when decoded.
    Milliseconds,
    /// Any number that is finite.
    Number,
    /// Any value except `null`.
    Any,
    /// Any JSON object, without defined fields.
    AnyObject,
    /// The value `null`, always.
    Null,
    /// A string out of a list.
    Choice {
        /// Strings that this version defines.
        values: &'static [&'static str],
        /// `true` if other strings are retained and not rejected.
        open: bool,
    },
    /// An array of items with this shape.
    List(fn() -> Shape),
    /// An object used as a map, with values of this shape.
    Map(fn() -> Shape),
    /// An object with defined fields.
    Object {
        /// Name of the type; empty if the object has no type of its own.
        name: &'static str,
        /// Fields of the object.
        fields: Vec<FieldShape>,
    },
    /// An object whose `tag` field determines its other fields.
    Union {
        /// Name of the type.
        name: &'static str,
        /// Name of the field that identifies the variant.
        tag: &'static str,
        /// Variants that this version defines.
        variants: Vec<NamedShape>,
        /// `true` if other variants are retained and not rejected.
        open: bool,
    },
    /// One of several shapes that can be distinguished by their structure.
    Either(Vec<fn() -> Shape>),
}

/// A shape with a name: a variant, an action type, a method.
pub type NamedShape = (&'static str, fn() -> Shape);

/// The meaning of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Text for users or models.
    Free,
    /// An identifier; contains the name of its type.
    Id(&'static str),
    /// A URI of any scheme.
    Uri,
    /// A timestamp (RFC 3339).
    Timestamp,
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub struct FieldShape {
    /// Name of the field on the wire.
    pub name: &'static str,
    /// `true` if the field may be absent.
    pub optional: bool,
    /// Shape of the value.
    pub shape: fn() -> Shape,
}

impl FieldShape {
    /// Creates a required field.
    pub fn new(name: &'static str, shape: fn() -> Shape) -> Self {
        FieldShape {
            name,
            optional: false,
            shape,
        }
    }

    /// Creates a field of type `T`; optional if the type can be absent.
    pub fn of<T: Wire>(name: &'static str) -> Self {
        FieldShape {
            name,
            optional: T::absent().is_some(),
            shape: T::shape,
        }
    }
}

/// Adds the fields of a flattened struct to those of the enclosing struct.
#[doc(hidden)]
pub fn flatten_shape<T: Wire>(fields: &mut Vec<FieldShape>) {
    if let Shape::Object { fields: inner, .. } = T::shape() {
        fields.extend(inner);
    }
}

/// Returns the shape of a variant without a payload.
#[doc(hidden)]
pub fn empty_object_shape() -> Shape {
    Shape::Object {
        name: "",
        fields: Vec::new(),
    }
}
