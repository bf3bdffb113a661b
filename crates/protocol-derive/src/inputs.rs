//! Generates code for types that are only decoded.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Result, Variant};

use crate::attributes::{camel, lower_first};
use crate::enums::index_arms;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let read = match &input.data {
        Data::Struct(data) => read_fields(&quote!(Self), &data.fields)?,
        Data::Enum(data) => {
            let names = data.variants.iter();
            let names: Vec<_> = names
                .map(|variant| lower_first(&variant.ident.to_string()))
                .collect();
            let values = data.variants.iter().map(read_variant);
            let arms = index_arms(values.collect::<Result<Vec<_>>>()?.into_iter());
            quote! {
                let (index, node) = ::agenthost_protocol::wire::read_variant(node, &[#(#names),*])?;
                match index { #arms }
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(name, "an input is a struct or an enum")),
    };
    Ok(quote! {
        #[automatically_derived]
        impl ::agenthost_protocol::wire::Input for #name {
            fn read(
                node: ::agenthost_protocol::wire::Node<'_>,
            ) -> ::std::result::Result<Self, ::agenthost_protocol::wire::DecodeError> {
                #read
            }
        }
    })
}

fn read_variant(variant: &Variant) -> Result<TokenStream> {
    let identifier = &variant.ident;
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            Ok(quote!(::agenthost_protocol::wire::Input::read(node).map(Self::#identifier)))
        }
        fields => read_fields(&quote!(Self::#identifier), fields).map(|read| quote!({ #read })),
    }
}

/// Generates the decoding of an object with named fields.
fn read_fields(constructor: &TokenStream, fields: &Fields) -> Result<TokenStream> {
    let Fields::Named(fields) = fields else {
        return Err(Error::new_spanned(fields, "an input has named fields"));
    };
    let identifiers: Vec<_> = fields.named.iter().flat_map(|field| &field.ident).collect();
    let names: Vec<_> = identifiers
        .iter()
        .map(|identifier| camel(&identifier.to_string()))
        .collect();
    let slots: Vec<_> = identifiers
        .iter()
        .map(|identifier| format_ident!("slot_{identifier}"))
        .collect();
    Ok(quote! {
        let [#(#slots),*] = ::agenthost_protocol::wire::find_fields(node, &[#(#names),*])?;
        ::std::result::Result::Ok(#constructor {
            #(#identifiers: ::agenthost_protocol::wire::read_field(#slots, #names)?,)*
        })
    })
}
