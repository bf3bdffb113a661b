use agenthost_protocol::wire;
use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::samples::check;

fn form(properties: &Value, values: &Value) -> SettingsForm {
    let config = json!({
        "schema": {"type": "object", "properties": properties}, "values": values,
    });
    let config: RootConfigState = wire::from_str(&config.to_string()).unwrap();
    SettingsForm::compute(&config)
}

fn field(schema: &Value, value: &Value) -> SettingField {
    let values = match value {
        Value::Null => json!({}),
        value => json!({"key": value}),
    };
    form(&json!({"key": schema}), &values).fields.remove(0)
}

#[test]
fn a_choice_has_labels_and_can_be_reset() {
    let schema = json!({
        "type": "string", "title": "Agent", "description": "For new sessions",
        "enum": ["a", "b"], "enumLabels": ["Agent A"], "enumDescriptions": ["The first"], "default": "a",
    });
    check(
        &field(&schema, &json!("b")),
        expect![[r#"
            {
              "key": "key",
              "label": "Agent",
              "description": "For new sessions",
              "kind": "choice",
              "options": [
                {
                  "value": "a",
                  "label": "Agent A",
                  "description": "The first"
                },
                {
                  "value": "b",
                  "label": "b"
                }
              ],
              "value": "b",
              "text": "b",
              "entries": [],
              "defaultText": "Agent A",
              "readOnly": false,
              "truncated": false
            }
        "#]],
    );
    // The default needs no reset, chosen or not.
    for value in [json!("a"), Value::Null] {
        let field = field(&schema, &value);
        assert_eq!((field.default_text, field.text), (None, "Agent A".into()));
    }
}

#[test]
fn the_schema_decides_how_a_value_is_edited() {
    let text = json!({"type": "string", "title": "T"});
    for (schema, value, kind, item_kind) in [
        (
            json!({"type": "boolean", "title": "T"}),
            json!(true),
            SettingKind::Boolean,
            None,
        ),
        (
            json!({"type": "number", "title": "T"}),
            json!(1.5),
            SettingKind::Number,
            None,
        ),
        (
            json!({"type": "integer", "title": "T"}),
            json!(1),
            SettingKind::Integer,
            None,
        ),
        (text.clone(), Value::Null, SettingKind::Text, None),
        (
            json!({"type": "array", "title": "T", "items": text}),
            json!(["x"]),
            SettingKind::List,
            Some(SettingKind::Text),
        ),
        (
            json!({"type": "object", "title": "T", "additionalProperties": text}),
            json!({"a": "x"}),
            SettingKind::Map,
            Some(SettingKind::Text),
        ),
        (
            json!({"type": "object", "title": "T"}),
            json!({}),
            SettingKind::Json,
            None,
        ),
        (
            json!({"type": "array", "title": "T"}),
            json!([[1]]),
            SettingKind::Json,
            None,
        ),
        (
            json!({"type": "newer", "title": "T"}),
            json!(1),
            SettingKind::Json,
            None,
        ),
        // A value that does not fit the schema stays visible.
        (
            json!({"type": "boolean", "title": "T"}),
            json!("yes"),
            SettingKind::Json,
            None,
        ),
    ] {
        let field = field(&schema, &value);
        assert_eq!((field.kind, field.item_kind), (kind, item_kind), "{schema}");
    }
}

#[test]
fn texts_of_peers_have_no_invisible_characters() {
    let list = json!({
        "type": "array", "title": "Trusted\u{202e}edoc", "items": {"type": "string", "title": "T"},
    });
    let field = field(&list, &json!(["safe\u{202e}txt", "<b>"]));
    assert_eq!(field.label, r"Trusted\u{202e}edoc");
    let texts: Vec<_> = field.entries.iter().map(|entry| &*entry.text).collect();
    assert_eq!(texts, [r"safe\u{202e}txt", "<b>"]);
    // The value is sent back as it is.
    assert_eq!(
        field.entries.first().map(|entry| &entry.value),
        Some(&json!("safe\u{202e}txt"))
    );
    let map = json!({
        "type": "object", "title": "M", "additionalProperties": {"type": "string", "title": "T"},
    });
    let field = super::tests::field(&map, &json!({"a\u{200b}": "1"}));
    assert_eq!(
        field.entries.first().map(|entry| &*entry.text),
        Some(r"a\u{200b}: 1")
    );
}

#[test]
fn huge_settings_are_bounded() {
    let text = json!({"type": "string", "title": "T"});
    let huge = field(&text, &json!("x".repeat(MAX_VALUE_BYTES)));
    assert!(huge.truncated && huge.read_only && huge.value.is_none() && huge.text.is_empty());
    let list = json!({"type": "array", "title": "T", "items": text});
    let items: Vec<_> = (0..=MAX_ENTRIES).collect();
    let long = field(&list, &json!(items));
    assert!(long.truncated && long.read_only);
    assert_eq!(long.entries.len(), MAX_ENTRIES);
    let properties: serde_json::Map<_, _> = (0..MAX_FIELDS + 3)
        .map(|index| (format!("k{index}"), text.clone()))
        .collect();
    let form = form(&properties.into(), &json!({}));
    assert_eq!((form.fields.len(), form.omitted), (MAX_FIELDS, 3));
}

#[test]
fn a_read_only_setting_is_marked() {
    let schema = json!({"type": "string", "title": "T", "readOnly": true});
    assert!(field(&schema, &json!("x")).read_only);
}
