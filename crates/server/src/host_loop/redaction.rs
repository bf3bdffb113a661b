//! Masks secrets in what leaves the states of sessions: the audit log and the wire log.

use std::borrow::Cow;

use agenthost_core::StoreWrite;
use agenthost_protocol::wire::Json;
use agenthost_stdx::redaction::SecretRedactor;

/// Masks the secrets in all strings of a JSON value. Names of members stay.
pub(crate) fn redact_json(redactor: &SecretRedactor, value: &mut Json) {
    match value {
        Json::String(text) => {
            if let Cow::Owned(redacted) = redactor.redact(text) {
                *text = redacted;
            }
        }
        Json::Array(values) => {
            for value in values {
                redact_json(redactor, value);
            }
        }
        Json::Object(members) => {
            for (_, value) in members {
                redact_json(redactor, value);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Masks the secrets in the details of audit entries. Other writes stay as they are.
pub(crate) fn redact_entries<'a>(
    redactor: &SecretRedactor,
    writes: &'a [StoreWrite],
) -> Cow<'a, [StoreWrite]> {
    let is_entry = |write: &StoreWrite| matches!(write, StoreWrite::Audit(_));
    if !writes.iter().any(is_entry) {
        return Cow::Borrowed(writes);
    }
    let mut writes = writes.to_vec();
    for write in &mut writes {
        if let StoreWrite::Audit(entry) = write {
            for (_, value) in &mut entry.details {
                redact_json(redactor, value);
            }
        }
    }
    Cow::Owned(writes)
}

#[cfg(test)]
mod tests {
    use agenthost_core::{AuditActor, AuditEntry, AuditKind};
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_in_audit_entries_are_masked() {
        let details =
            json!({"title": "curl https://me:hunter2@host", "list": [{"url": "a://b:c@d"}]});
        let entry = AuditEntry {
            kind: AuditKind::ToolCallDecided,
            actor: AuditActor::Host,
            session: None,
            details: details.as_object().unwrap().clone(),
        };
        let writes = [StoreWrite::Audit(Box::new(entry))];
        let redacted = redact_entries(&SecretRedactor::default(), &writes);
        let [StoreWrite::Audit(entry)] = &*redacted else {
            panic!("expected an entry");
        };
        let expected = json!({"title": "curl https://me:[redacted]@host", "list": [{"url": "a://b:[redacted]@d"}]});
        assert_eq!(Json::Object(entry.details.clone()), expected);
    }
}
