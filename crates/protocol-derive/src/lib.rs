//! The derive macros `Wire` for the types of the protocol, and `Input` for the commands of a page.
//!
//! `Wire` generates the `Wire` implementation of `agenthost-protocol` (strict decoding and a
//! description of the shape), `serde::Serialize` (canonical encoding) and `serde::Deserialize`
//! (the same decoding, as a part of another JSON text) for three kinds of types:
//!
//! * a **struct** is a JSON object. Field names become camelCase; `meta` becomes `_meta`; an
//!   `Option` may be absent and is omitted when `None`.
//! * an **enum without `tag`** is a JSON string, one value per variant.
//! * an **enum with `#[wire(tag = "kind")]`** is an object whose field `kind` identifies the
//!   variant; a variant has at most one payload struct.
//!
//! An enum with a variant marked `#[wire(unknown)]` is open: an unknown value is stored in that
//! variant unchanged. All other enums reject unknown values.
//!
//! | attribute | on | meaning |
//! |---|---|---|
//! | `tag = "…"` | enum | name of the field that identifies the variant |
//! | `case = "kebab"`, `case = "snake"` | type | case of names, instead of camelCase |
//! | `name = "…"` | field, variant | exact name on the wire |
//! | `flatten` | field | the fields of the value are part of the enclosing object |
//! | `no_null` | field | `null` is rejected; without it, `null` is decoded as absent |
//! | `default` | field | absence is decoded as the default value; always encoded |
//! | `unknown` | variant | contains values that this version does not define |
//!
//! The macros never inspect the types of fields: all code for a field comes from its own `Wire` or
//! `Input` implementation. Start reading in [`derive_wire`].
//!
//! `Input` generates decoding alone, for structs and for enums whose values are objects with one
//! field, named like the variant: `{"rename": {"uri": "a", "name": "b"}}`.

mod attributes;
mod enums;
mod inputs;
mod structs;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Ident, parse_macro_input};

/// Derives `Wire`, `serde::Serialize` and `serde::Deserialize`; see the crate documentation.
#[proc_macro_derive(Wire, attributes(wire))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

/// Derives `Input`; see the crate documentation.
#[proc_macro_derive(Input)]
pub fn derive_input(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    inputs::expand(&input)
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
    let wire = match &input.data {
        Data::Struct(data) => structs::expand(&input.ident, &container, &data.fields),
        Data::Enum(data) => match &container.tag {
            Some(tag) => enums::expand_union(&input.ident, &container, tag, &data.variants),
            None => enums::expand_text(&input.ident, &container, &data.variants),
        },
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "a wire type is a struct or an enum",
        )),
    };
    let deserialize = expand_deserialize(&input.ident);
    let wire = wire?;
    Ok(quote! {
        #wire
        #deserialize
    })
}

/// Generates `serde::Deserialize`, which decodes with the `Wire` implementation.
fn expand_deserialize(name: &Ident) -> proc_macro2::TokenStream {
    quote! {
        #[automatically_derived]
        impl<'de> ::serde::Deserialize<'de> for #name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::agenthost_protocol::wire::deserialize(deserializer)
            }
        }
    }
}
