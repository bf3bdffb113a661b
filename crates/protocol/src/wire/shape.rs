//! What the JSON of a type looks like, as data.
//!
//! Written by the derive from the same definition that decodes and encodes,
//! so a generator of test values, or a check against another implementation,
//! can't drift from the types.

use super::Wire;

/// The JSON that a type reads and writes.
#[derive(Debug, Clone)]
pub enum Shape {
    /// A string.
    Text(TextKind),
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer {
        /// The least value allowed.
        least: i64,
    },
    /// Milliseconds: a whole number, rounded when read.
    Milliseconds,
    /// Any number.
    Number,
    /// Any value but `null`.
    Any,
    /// Any object.
    AnyObject,
    /// `null`, always.
    Null,
    /// One of several strings.
    Choice {
        /// The strings that this version knows.
        values: &'static [&'static str],
        /// Whether others are kept rather than refused.
        open: bool,
    },
    /// An array.
    List(fn() -> Shape),
    /// An object used as a map.
    Map(fn() -> Shape),
    /// An object with known fields.
    Object {
        /// What its type is called; empty if it has no type of its own.
        name: &'static str,
        /// What it holds.
        fields: Vec<FieldShape>,
    },
    /// An object whose `tag` says which fields it has.
    Union {
        /// What its type is called.
        name: &'static str,
        /// The field that names the variant.
        tag: &'static str,
        /// The variants this version knows.
        variants: Vec<NamedShape>,
        /// Whether others are kept rather than refused.
        open: bool,
    },
    /// One of several shapes that tell themselves apart.
    Either(Vec<fn() -> Shape>),
}

/// A shape that goes by a name: a variant, an action, a method.
pub type NamedShape = (&'static str, fn() -> Shape);

/// What a string stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Words for people or models.
    Free,
    /// An identifier; the name says of what.
    Id(&'static str),
    /// A URI.
    Uri,
    /// A point in time (RFC 3339).
    Timestamp,
}

/// One field of an object.
#[derive(Debug, Clone, Copy)]
pub struct FieldShape {
    /// Its name on the wire.
    pub name: &'static str,
    /// Whether it may be absent.
    pub optional: bool,
    /// What it holds.
    pub shape: fn() -> Shape,
}

impl FieldShape {
    /// A field that has to be there.
    pub fn new(name: &'static str, shape: fn() -> Shape) -> Self {
        FieldShape {
            name,
            optional: false,
            shape,
        }
    }

    /// A field of a type, optional if the type may be absent.
    pub fn of<T: Wire>(name: &'static str) -> Self {
        FieldShape {
            name,
            optional: T::absent().is_some(),
            shape: T::shape,
        }
    }
}

/// Adds the fields of a flattened struct to those of the enclosing one.
#[doc(hidden)]
pub fn flatten_shape<T: Wire>(fields: &mut Vec<FieldShape>) {
    if let Shape::Object { fields: inner, .. } = T::shape() {
        fields.extend(inner);
    }
}

/// The shape of a variant that holds nothing but its tag.
#[doc(hidden)]
pub fn empty_object_shape() -> Shape {
    Shape::Object {
        name: "",
        fields: Vec::new(),
    }
}
