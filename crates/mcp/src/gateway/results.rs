//! Converts the results of client tools to MCP.

use agenthost_protocol::chat::{ToolCallResult, ToolResultContent};
use agenthost_protocol::wire::Json;
use serde_json::json;

/// Converts the result of a client tool call to an MCP result. Without any content, the
/// past-tense message becomes the content.
pub(crate) fn to_mcp_result(result: &ToolCallResult) -> Json {
    let blocks = result.content.iter().flatten().enumerate();
    let mut content: Vec<Json> = blocks
        .filter_map(|(index, block)| crate::gateway::results::to_content(index, block))
        .collect();
    if !result.success {
        let message = result.error.as_ref().and_then(|error| error.get("message"));
        let message = message.and_then(Json::as_str);
        content.extend(message.map(text_content));
    }
    if content.is_empty() && result.structured_content.is_none() {
        content.push(text_content(result.past_tense_message.as_str()));
    }
    let mut answer = json!({"content": content, "isError": !result.success});
    if let (Some(answer), Some(data)) = (answer.as_object_mut(), &result.structured_content) {
        answer.insert("structuredContent".to_owned(), Json::Object(data.clone()));
    }
    answer
}

/// Returns the MCP result of a failed call, with the error as text.
pub(crate) fn error_result(message: &str) -> Json {
    json!({"content": [text_content(message)], "isError": true})
}

fn text_content(text: &str) -> Json {
    json!({"type": "text", "text": text})
}

fn to_content(index: usize, block: &ToolResultContent) -> Option<Json> {
    Some(match block {
        ToolResultContent::Text(one) => text_content(&one.text),
        ToolResultContent::EmbeddedResource(one) => {
            let kind = one.content_type.as_str();
            match kind.split('/').next() {
                Some("image") => json!({"type": "image", "data": one.data, "mimeType": kind}),
                Some("audio") => json!({"type": "audio", "data": one.data, "mimeType": kind}),
                Some(_) | None => json!({"type": "resource", "resource": {
                    "uri": format!("agenthost-result:/{index}"), "mimeType": kind, "blob": one.data,
                }}),
            }
        }
        ToolResultContent::Resource(one) => {
            let uri = one.uri.as_str();
            let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(uri);
            let mut link = json!({"type": "resource_link", "uri": uri, "name": name});
            if let (Some(link), Some(kind)) = (link.as_object_mut(), &one.content_type) {
                link.insert("mimeType".to_owned(), Json::from(kind.as_str()));
            }
            link
        }
        ToolResultContent::FileEdit(one) => match (&one.before, &one.after) {
            (None, Some(after)) => text_content(&format!("created {}", after.uri)),
            (Some(before), None) => text_content(&format!("deleted {}", before.uri)),
            (Some(before), Some(after)) if before.uri != after.uri => {
                text_content(&format!("moved {} to {}", before.uri, after.uri))
            }
            (Some(_), Some(after)) => text_content(&format!("changed {}", after.uri)),
            (None, None) => return None,
        },
        ToolResultContent::Terminal(one) => {
            let result = one.result.as_ref();
            let code = result.and_then(|result| result.exit_code);
            let output = result.and_then(|result| result.preview.as_deref());
            let ended = code.map(|code| format!("exit code {code}"));
            let parts: Vec<_> = output.map(str::to_owned).into_iter().chain(ended).collect();
            text_content(&parts.join("\n"))
        }
        ToolResultContent::Subagent(one) => text_content(&format!("worker: {}", one.title)),
        // The format is not known, so it can't be converted.
        ToolResultContent::Unknown(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use agenthost_protocol::wire;

    use super::*;

    fn answered(result: &Json) -> Json {
        to_mcp_result(&wire::from_str(&result.to_string()).unwrap())
    }

    #[test]
    fn results_are_converted_to_content_that_agents_support() {
        let rich = json!({
            "success": true, "pastTenseMessage": "Ran", "structuredContent": {"n": 1},
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "embeddedResource", "data": "aGk=", "contentType": "image/png"},
                {"type": "embeddedResource", "data": "aGk=", "contentType": "text/x"},
                {"type": "resource", "uri": "file:///a/b.txt", "contentType": "text/plain"},
                {"type": "someday"},
            ],
        });
        assert_eq!(
            answered(&rich),
            json!({
                "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                    {"type": "resource", "resource": {
                        "uri": "agenthost-result:/2", "mimeType": "text/x", "blob": "aGk=",
                    }},
                    {"type": "resource_link", "uri": "file:///a/b.txt", "name": "b.txt",
                     "mimeType": "text/plain"},
                ],
                "isError": false,
                "structuredContent": {"n": 1},
            })
        );
    }

    #[test]
    fn a_failed_result_has_its_error_message() {
        let failed = json!({
            "success": false, "pastTenseMessage": "Failed", "error": {"message": "no tests"},
        });
        assert_eq!(answered(&failed), error_result("no tests"));
        let bare = json!({"success": false, "pastTenseMessage": "Did not run"});
        assert_eq!(answered(&bare), error_result("Did not run"));
    }
}
