//! Generates code for enums: strings, and objects with a tag.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Error, Fields, Ident, Result, Token, Type, Variant};

use crate::attributes::{ContainerAttributes, MemberAttributes};
use crate::structs::encode_object;

struct VariantCase<'a> {
    identifier: &'a Ident,
    wire: String,
    payload: Option<&'a Type>,
}

struct VariantCases<'a> {
    known: Vec<VariantCase<'a>>,
    unknown: Option<&'a Ident>,
}

type Variants = Punctuated<Variant, Token![,]>;

fn read_variants<'a>(
    container: &ContainerAttributes,
    variants: &'a Variants,
) -> Result<VariantCases<'a>> {
    let mut cases = VariantCases {
        known: Vec::new(),
        unknown: None,
    };
    for variant in variants {
        let member = MemberAttributes::read(&variant.attrs)?;
        let payload = match &variant.fields {
            Fields::Unit => None,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                fields.unnamed.first().map(|field| &field.ty)
            }
            _ => {
                return Err(Error::new_spanned(
                    variant,
                    "a wire variant holds at most one value",
                ));
            }
        };
        if member.unknown {
            cases.unknown = Some(&variant.ident);
        } else {
            cases.known.push(VariantCase {
                identifier: &variant.ident,
                wire: member
                    .name
                    .unwrap_or_else(|| container.case.variant(&variant.ident.to_string())),
                payload,
            });
        }
    }
    Ok(cases)
}

pub(crate) fn expand_text(
    name: &Ident,
    container: &ContainerAttributes,
    variants: &Variants,
) -> Result<TokenStream> {
    let cases = read_variants(container, variants)?;
    if let Some(case) = cases.known.iter().find(|case| case.payload.is_some()) {
        return Err(Error::new_spanned(
            case.identifier,
            "a variant of a string enum holds nothing; did you mean `#[wire(tag = …)]`?",
        ));
    }
    let identifiers: Vec<_> = cases.known.iter().map(|case| case.identifier).collect();
    let wires: Vec<_> = cases.known.iter().map(|case| &case.wire).collect();
    let open = cases.unknown.is_some();
    let arms = index_arms(
        identifiers
            .iter()
            .map(|identifier| quote!(Self::#identifier)),
    );
    let decode = match cases.unknown {
        Some(unknown) => quote! {
            let text = node.text()?;
            let ::std::option::Option::Some(index) =
                ::agenthost_protocol::wire::name_index(&[#(#wires),*], &text)
            else {
                return ::std::result::Result::Ok(Self::#unknown(text.into()));
            };
        },
        None => quote! {
            let index = ::agenthost_protocol::wire::decode_name(node, &[#(#wires),*])?;
        },
    };
    let unknown_text = cases
        .unknown
        .map(|unknown| quote!(Self::#unknown(text) => text,));
    Ok(quote! {
        impl #name {
            /// Returns the value as written on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    #(Self::#identifiers => #wires,)*
                    #unknown_text
                }
            }
        }

        #[automatically_derived]
        impl ::agenthost_protocol::wire::Wire for #name {
            fn decode(
                node: ::agenthost_protocol::wire::Node<'_>,
            ) -> ::std::result::Result<Self, ::agenthost_protocol::wire::DecodeError> {
                #decode
                ::std::result::Result::Ok(match index { #arms })
            }

            fn shape() -> ::agenthost_protocol::wire::Shape {
                ::agenthost_protocol::wire::Shape::Choice {
                    values: &[#(#wires),*],
                    open: #open,
                }
            }
        }

        #[automatically_derived]
        impl ::serde::Serialize for #name {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    })
}

pub(crate) fn expand_union(
    name: &Ident,
    container: &ContainerAttributes,
    tag: &str,
    variants: &Variants,
) -> Result<TokenStream> {
    let cases = read_variants(container, variants)?;
    let wires: Vec<_> = cases.known.iter().map(|case| &case.wire).collect();
    let arms = index_arms(cases.known.iter().map(|case| {
        let identifier = case.identifier;
        match case.payload {
            Some(_) => quote! {
                ::agenthost_protocol::wire::Wire::decode(node).map(Self::#identifier)
            },
            None => quote!(::std::result::Result::Ok(Self::#identifier)),
        }
    }));
    let encode = cases.known.iter().map(|case| {
        let (identifier, wire) = (case.identifier, &case.wire);
        match case.payload {
            Some(_) => quote! {
                Self::#identifier(payload) => {
                    map.serialize_entry(#tag, #wire)?;
                    ::agenthost_protocol::wire::EncodeFields::encode_fields(payload, map)
                }
            },
            None => quote!(Self::#identifier => map.serialize_entry(#tag, #wire),),
        }
    });
    let shapes = cases.known.iter().map(|case| {
        let wire = &case.wire;
        match case.payload {
            Some(payload) => quote! {
                (#wire, <#payload as ::agenthost_protocol::wire::Wire>::shape as fn() -> _)
            },
            None => quote! {
                (#wire, ::agenthost_protocol::wire::empty_object_shape as fn() -> _)
            },
        }
    });
    let open = cases.unknown.is_some();
    let decode = match cases.unknown {
        Some(unknown) => quote! {
            let value = node.tag(#tag)?;
            let ::std::option::Option::Some(index) =
                ::agenthost_protocol::wire::name_index(&[#(#wires),*], &value)
            else {
                return ::std::result::Result::Ok(Self::#unknown(node.into()));
            };
        },
        None => quote! {
            let index = ::agenthost_protocol::wire::decode_tag(node, #tag, &[#(#wires),*])?;
        },
    };
    let encode_unknown = cases.unknown.map(|unknown| {
        quote! {
            Self::#unknown(raw) => ::agenthost_protocol::wire::EncodeFields::encode_fields(raw, map),
        }
    });
    let object = encode_object(
        name,
        &quote! {
            match self {
                #(#encode)*
                #encode_unknown
            }
        },
    );
    Ok(quote! {
        #[automatically_derived]
        impl ::agenthost_protocol::wire::Wire for #name {
            fn decode(
                node: ::agenthost_protocol::wire::Node<'_>,
            ) -> ::std::result::Result<Self, ::agenthost_protocol::wire::DecodeError> {
                #decode
                match index { #arms }
            }

            fn shape() -> ::agenthost_protocol::wire::Shape {
                ::agenthost_protocol::wire::Shape::Union {
                    name: ::std::stringify!(#name),
                    tag: #tag,
                    variants: ::std::vec![#(#shapes),*],
                    open: #open,
                }
            }
        }

        #object
    })
}

/// Generates the arms of a match on the index of a variant; the last variant has the arm `_`.
pub(crate) fn index_arms(values: impl ExactSizeIterator<Item = TokenStream>) -> TokenStream {
    let last = values.len().saturating_sub(1);
    let arms = values.enumerate().map(|(index, value)| {
        if index == last {
            quote!(_ => #value,)
        } else {
            quote!(#index => #value,)
        }
    });
    quote!(#(#arms)*)
}
