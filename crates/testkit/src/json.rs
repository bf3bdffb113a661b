//! Compares and normalizes JSON values.

use agenthost_protocol::wire::Json;
use serde_json::json;

/// Returns the same JSON with every whole number as an integer: `5.0` becomes `5`.
pub fn normalize(value: &Json) -> Json {
    match value {
        Json::Number(number) => match number.as_f64() {
            Some(float)
                if number.is_f64()
                    && float.fract() == 0.0
                    && float.abs() <= 9_007_199_254_740_992.0 =>
            {
                json!(float as i64)
            }
            _ => value.clone(),
        },
        Json::Array(items) => Json::Array(items.iter().map(normalize).collect()),
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), normalize(value)))
                .collect(),
        ),
        Json::Null | Json::Bool(_) | Json::String(_) => value.clone(),
    }
}

/// Returns the differences between two values, one line for each path that differs:
/// `turns[0].state: "error" -> (none)`.
pub fn diff(before: &Json, after: &Json) -> String {
    let mut lines = Vec::new();
    collect_differences(String::new(), Some(before), Some(after), &mut lines);
    lines.join("\n")
}

fn collect_differences(
    path: String,
    before: Option<&Json>,
    after: Option<&Json>,
    lines: &mut Vec<String>,
) {
    if before == after {
        return;
    }
    match (before, after) {
        (Some(Json::Object(old)), Some(Json::Object(new))) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                collect_differences(path, old.get(key), new.get(key), lines);
            }
        }
        (Some(Json::Array(old)), Some(Json::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                collect_differences(
                    format!("{path}[{index}]"),
                    old.get(index),
                    new.get(index),
                    lines,
                );
            }
        }
        _ => {
            let show = |value: Option<&Json>| {
                value.map_or("(none)".to_owned(), std::string::ToString::to_string)
            };
            lines.push(format!("{path}: {} -> {}", show(before), show(after)));
        }
    }
}
