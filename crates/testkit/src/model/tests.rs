//! Tests of the fake model in all APIs.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::FakeModel;

/// Asks the model, and gives back all that it answers.
async fn ask(model: &FakeModel, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let address = model.url().replace("http://", "");
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let length = body.len();
    let call = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(call.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn completion(messages: Value) -> Value {
    let shell = json!({"type": "object", "properties": {"command": {"type": "string"}, "why": {"type": "string"}}, "required": ["command", "why"]});
    let tool =
        json!({"type": "function", "function": {"name": "developer__shell", "parameters": shell}});
    json!({"model": "fake-model", "stream": true, "messages": messages, "tools": [tool]})
}

#[tokio::test]
async fn the_last_instruction_of_the_user_is_executed() {
    let model = FakeModel::start(None).await.unwrap();
    let path = "/v1/chat/completions";
    let said = completion(json!([
        {"role": "user", "content": "say: first"},
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": [{"type": "text", "text": "<context>\nsay: second"}]},
    ]));
    let answer = ask(&model, path, &said).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""content":"second""#), "{answer}");
    assert!(answer.ends_with("data: [DONE]\n\n"), "{answer}");

    let run = json!({"role": "user", "content": "run: ls -l"});
    let answer = ask(&model, path, &completion(json!([run]))).await;
    let arguments = r#"{\"command\":\"ls -l\",\"why\":\"as the user said\"}"#;
    assert!(answer.contains(arguments), "{answer}");
    assert!(answer.contains("developer__shell"), "{answer}");
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "total 0"});
    let answer = ask(&model, path, &completion(json!([run, result]))).await;
    assert!(answer.contains("total "), "{answer}");

    let fail = json!({"role": "user", "content": "fail: 503"});
    let answer = ask(&model, path, &completion(json!([fail]))).await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
}

#[tokio::test]
async fn the_model_remembers_only_the_messages_of_the_request() {
    let model = FakeModel::start(None).await.unwrap();
    let path = "/v1/chat/completions";
    let recall = json!({"role": "user", "content": "recall: heron"});
    let answer = ask(&model, path, &completion(json!([recall]))).await;
    assert!(answer.contains("never "), "{answer}");
    let before = json!({"role": "user", "content": "say: heron"});
    let answer = ask(&model, path, &completion(json!([before, recall]))).await;
    assert!(answer.contains("remember "), "{answer}");
}

#[tokio::test]
async fn each_api_has_text_reasoning_and_tool_calls() {
    let model = FakeModel::start(None).await.unwrap();
    let schema = json!({"type": "object", "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}});
    for (order, wanted) in [
        ("say: well then", "then"),
        ("think: twice", "twice"),
        ("write: a.txt", "a.txt"),
    ] {
        let text = json!([{"type": "text", "text": order}]);
        let asked = [
            (
                "/v1/responses",
                json!({
                    "stream": true, "input": [{"type": "message", "role": "user", "content": text}],
                    "tools": [{"type": "custom", "name": "apply_patch"}],
                }),
                "response.completed",
            ),
            (
                "/v1/messages?beta=true",
                json!({
                    "stream": true, "messages": [{"role": "user", "content": text}],
                    "tools": [{"name": "Write", "input_schema": schema}],
                }),
                "message_stop",
            ),
            (
                "/v1beta/models/any:streamGenerateContent?alt=sse",
                json!({
                    "contents": [{"role": "user", "parts": text}],
                    "tools": [{"functionDeclarations": [{"name": "write_file", "parametersJsonSchema": schema}]}],
                }),
                "STOP",
            ),
        ];
        for (path, body, end) in asked {
            let answer = ask(&model, path, &body).await;
            assert!(answer.contains(wanted), "{path} {order}: {answer}");
            assert!(answer.contains(end), "{path} {order}: {answer}");
        }
    }
}
