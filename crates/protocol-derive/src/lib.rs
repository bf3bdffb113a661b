//! `#[derive(Wire)]`: one line that makes a Rust type a wire type.
//!
//! The derive writes the `Wire` implementation of `agenthost-protocol`
//! (strict decoding and a description of the shape) and `serde::Serialize`
//! (canonical encoding) for three kinds of types:
//!
//! * a **struct** is a JSON object. Field names become camelCase; `meta`
//!   becomes `_meta`; an `Option` may be absent and is left out when `None`.
//! * an **enum without `tag`** is a JSON string, one value per variant.
//! * an **enum with `#[wire(tag = "kind")]`** is an object whose `kind` says
//!   which variant it is; a variant holds at most one struct.
//!
//! An enum with a variant marked `#[wire(unknown)]` is open: a value it does
//! not know is kept there as it came. All others refuse it.
//!
//! | attribute | on | meaning |
//! |---|---|---|
//! | `tag = "…"` | enum | the field that names the variant |
//! | `case = "kebab"`, `case = "snake"` | type | how names are written, instead of camelCase |
//! | `name = "…"` | field, variant | the exact name on the wire |
//! | `flatten` | field | its fields stand in the enclosing object |
//! | `default` | field | absence is read as the default of the type; the field is always written |
//! | `unknown` | variant | holds what this version does not know |
//!
//! It never looks at the types of fields: everything a field needs comes from
//! its own `Wire` implementation. Start reading in [`derive_wire`].

mod attributes;
mod enums;
mod structs;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Implements `Wire` and `serde::Serialize`; see the crate documentation.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &input.generics,
            "a wire type has no type parameters",
        ));
    }
    let container = attributes::ContainerAttributes::read(&input.attrs)?;
    match &input.data {
        Data::Struct(data) => structs::expand(&input.ident, &container, &data.fields),
        Data::Enum(data) => match &container.tag {
            Some(tag) => enums::expand_union(&input.ident, &container, tag, &data.variants),
            None => enums::expand_text(&input.ident, &container, &data.variants),
        },
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "a wire type is a struct or an enum",
        )),
    }
}
