//! Stores an access scope under its name.

use agenthost_core::AccessScope;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(
    scope: &AccessScope,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(scope.name())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<AccessScope, D::Error> {
    let name = String::deserialize(deserializer)?;
    AccessScope::named(&name).ok_or_else(|| D::Error::custom("unknown scope"))
}
