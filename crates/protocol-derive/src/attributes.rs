//! Parses `#[wire(…)]` attributes and converts names to their wire format.

use syn::{Attribute, LitStr, Result};

/// The case of names on the wire.
#[derive(Clone, Copy)]
pub(crate) enum NameCase {
    Camel,
    Kebab,
    Snake,
}

/// The `#[wire(…)]` attributes of a type.
pub(crate) struct ContainerAttributes {
    pub(crate) tag: Option<String>,
    pub(crate) case: NameCase,
}

/// The `#[wire(…)]` attributes of a field or variant.
#[derive(Default)]
pub(crate) struct MemberAttributes {
    pub(crate) name: Option<String>,
    pub(crate) flatten: bool,
    pub(crate) unknown: bool,
    pub(crate) no_null: bool,
    pub(crate) default: bool,
}

impl ContainerAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut container = ContainerAttributes {
            tag: None,
            case: NameCase::Camel,
        };
        for attribute in attributes.iter().filter(|a| a.path().is_ident("wire")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("tag") {
                    container.tag = Some(meta.value()?.parse::<LitStr>()?.value());
                    Ok(())
                } else if meta.path.is_ident("case") {
                    let case = meta.value()?.parse::<LitStr>()?;
                    container.case = match case.value().as_str() {
                        "kebab" => NameCase::Kebab,
                        "snake" => NameCase::Snake,
                        _ => return Err(meta.error("expected `kebab` or `snake`")),
                    };
                    Ok(())
                } else {
                    Err(meta.error("expected `tag` or `case`"))
                }
            })?;
        }
        Ok(container)
    }
}

impl MemberAttributes {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut member = MemberAttributes::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("wire")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    member.name = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("flatten") {
                    member.flatten = true;
                } else if meta.path.is_ident("unknown") {
                    member.unknown = true;
                } else if meta.path.is_ident("no_null") {
                    member.no_null = true;
                } else if meta.path.is_ident("default") {
                    member.default = true;
                } else {
                    let expected = "expected `name`, `flatten`, `no_null`, `default` or `unknown`";
                    return Err(meta.error(expected));
                }
                Ok(())
            })?;
        }
        Ok(member)
    }
}

impl NameCase {
    /// Returns the wire name of a `snake_case` field.
    pub(crate) fn field(self, identifier: &str) -> String {
        let name = identifier.trim_start_matches("r#");
        if name == "meta" {
            return "_meta".to_owned();
        }
        match self {
            NameCase::Snake => name.to_owned(),
            NameCase::Kebab => name.replace('_', "-"),
            NameCase::Camel => camel(name),
        }
    }

    /// Returns the wire name of a `PascalCase` variant.
    pub(crate) fn variant(self, identifier: &str) -> String {
        let separator = match self {
            NameCase::Camel => return lower_first(identifier),
            NameCase::Kebab => '-',
            NameCase::Snake => '_',
        };
        let mut name = String::new();
        for (position, letter) in identifier.char_indices() {
            if position > 0 && letter.is_uppercase() {
                name.push(separator);
            }
            name.extend(letter.to_lowercase());
        }
        name
    }
}

pub(crate) fn camel(snake: &str) -> String {
    let mut name = String::new();
    let mut raise = false;
    for letter in snake.chars() {
        match letter {
            '_' => raise = true,
            _ if raise => {
                name.extend(letter.to_uppercase());
                raise = false;
            }
            _ => name.push(letter),
        }
    }
    name
}

pub(crate) fn lower_first(pascal: &str) -> String {
    let mut letters = pascal.chars();
    letters
        .next()
        .map(|first| first.to_lowercase().chain(letters).collect())
        .unwrap_or_default()
}
