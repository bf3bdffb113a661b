//! Generates code for structs, which are JSON objects.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Fields, Ident, Result, Type};

use crate::attributes::{ContainerAttributes, MemberAttributes};

struct Field<'a> {
    identifier: &'a Ident,
    kind: &'a Type,
    position: FieldPosition,
    /// `true` if `null` is rejected instead of decoded as absent.
    no_null: bool,
    /// `true` if absence is decoded as the default of the type.
    default: bool,
}

/// The position of a field on the wire.
enum FieldPosition {
    Named(String),
    Flat,
}

pub(crate) fn expand(
    name: &Ident,
    container: &ContainerAttributes,
    fields: &Fields,
) -> Result<TokenStream> {
    let fields = read_fields(name, container, fields)?;
    let decode = decode(&fields);
    let encode = fields.iter().map(|field| {
        let identifier = field.identifier;
        match &field.position {
            FieldPosition::Named(wire) => {
                quote!(::agenthost_protocol::wire::write_field(map, #wire, &self.#identifier)?;)
            }
            FieldPosition::Flat => {
                quote!(::agenthost_protocol::wire::EncodeFields::encode_fields(&self.#identifier, map)?;)
            }
        }
    });
    let shape = fields.iter().map(|field| {
        let kind = field.kind;
        match &field.position {
            FieldPosition::Named(wire) => {
                quote!(fields.push(::agenthost_protocol::wire::FieldShape::of::<#kind>(#wire));)
            }
            FieldPosition::Flat => {
                quote!(::agenthost_protocol::wire::flatten_shape::<#kind>(&mut fields);)
            }
        }
    });
    let object = encode_object(
        name,
        &quote! {
            #(#encode)*
            ::std::result::Result::Ok(())
        },
    );
    Ok(quote! {
        #[automatically_derived]
        impl ::agenthost_protocol::wire::Wire for #name {
            #decode

            fn shape() -> ::agenthost_protocol::wire::Shape {
                let mut fields = ::std::vec::Vec::new();
                #(#shape)*
                ::agenthost_protocol::wire::Shape::Object {
                    name: ::std::stringify!(#name),
                    fields,
                }
            }
        }

        #object
    })
}

fn read_fields<'a>(
    name: &Ident,
    container: &ContainerAttributes,
    fields: &'a Fields,
) -> Result<Vec<Field<'a>>> {
    let named = match fields {
        Fields::Named(named) => named.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(_) => {
            return Err(Error::new_spanned(name, "a wire struct has named fields"));
        }
    };
    named
        .into_iter()
        .map(|field| {
            let Some(identifier) = &field.ident else {
                return Err(Error::new_spanned(field, "a wire struct has named fields"));
            };
            let member = MemberAttributes::read(&field.attrs)?;
            let place = if member.flatten {
                FieldPosition::Flat
            } else {
                FieldPosition::Named(
                    member
                        .name
                        .unwrap_or_else(|| container.case.field(&identifier.to_string())),
                )
            };
            Ok(Field {
                identifier,
                kind: &field.ty,
                position: place,
                no_null: member.no_null,
                default: member.default,
            })
        })
        .collect()
}

fn decode(fields: &[Field<'_>]) -> TokenStream {
    let mut names = Vec::new();
    let mut slots = Vec::new();
    let values: Vec<_> = fields
        .iter()
        .map(|field| {
            let identifier = field.identifier;
            let FieldPosition::Named(wire) = &field.position else {
                return quote!(#identifier: ::agenthost_protocol::wire::Wire::decode(node)?,);
            };
            let slot = format_ident!("slot_{}", identifier.to_string().trim_start_matches("r#"));
            let node = if field.no_null {
                quote!(::agenthost_protocol::wire::reject_null(#slot, #wire)?)
            } else {
                quote!(#slot)
            };
            let decode = if field.default {
                quote!(decode_field_or_default)
            } else {
                quote!(decode_field)
            };
            names.push(wire);
            slots.push(slot);
            quote!(#identifier: ::agenthost_protocol::wire::#decode(#node, #wire)?,)
        })
        .collect();
    quote! {
        fn decode(
            node: ::agenthost_protocol::wire::Node<'_>,
        ) -> ::std::result::Result<Self, ::agenthost_protocol::wire::DecodeError> {
            let [#(#slots),*] = ::agenthost_protocol::wire::find_fields(node, &[#(#names),*])?;
            ::std::result::Result::Ok(Self { #(#values)* })
        }
    }
}

/// Generates the encoding of a type that is a JSON object; `fields` is code that encodes its
/// fields into `map`.
pub(crate) fn encode_object(name: &Ident, fields: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::agenthost_protocol::wire::EncodeFields for #name {
            fn encode_fields<M: ::serde::ser::SerializeMap>(
                &self,
                map: &mut M,
            ) -> ::std::result::Result<(), M::Error> {
                #fields
            }
        }

        #[automatically_derived]
        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                ::agenthost_protocol::wire::encode_object(self, serializer)
            }
        }
    }
}
