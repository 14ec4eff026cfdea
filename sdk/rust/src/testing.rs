//! Calls the handlers of a plugin natively, in `cargo test`:
//!
//! ```
//! use bulkhead::{testing, Call, NoArguments, Plugin};
//!
//! let plugin = Plugin::new().tool("hi", |_: &Call, _: NoArguments| Ok("Hi!"));
//! let result = testing::call_tool(&plugin, "hi", serde_json::json!({})).unwrap();
//! assert_eq!(result["content"][0]["text"], "Hi!");
//! ```
//!
//! The arguments are not validated against the manifest, as the host would. Host operations are answered by [`on_host_call`], questions
//! to the client by [`on_question`].

use crate::Plugin;
#[cfg(not(target_os = "wasi"))]
use crate::{HostError, Level};
use serde_json::{json, Map, Value};
use std::cell::RefCell;

const ROUNDS: usize = 10; // of a call that asks

/// Calls a tool. The error is the JSON-RPC error of the response.
pub fn call_tool(plugin: &Plugin, name: &str, arguments: Value) -> Result<Value, Value> {
    request(plugin, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// Makes one request, such as `prompts/get`. The error is the JSON-RPC error of the response.
///
/// A handler that asks the client is run again with the answers of [`on_question`].
pub fn request(plugin: &Plugin, method: &str, params: Value) -> Result<Value, Value> {
    let mut request = json!({"method": method, "params": params});
    if CLIENT.with(|client| client.borrow().is_some()) {
        request["client"] = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
    }
    let mut answers = Map::new();
    for _ in 0..ROUNDS {
        let mut response: Value =
            serde_json::from_slice(&plugin.dispatch(request.to_string().as_bytes())).expect("the response is JSON");
        if let Some(asked) = response["ask"]["requests"].as_object() {
            for (id, question) in asked {
                let answer = CLIENT.with(|client| client.borrow_mut().as_mut().map(|answer| answer(id, question)));
                answers.insert(id.clone(), answer.unwrap_or_default());
            }
            request["answers"] = Value::Object(answers.clone());
            request["state"] = json!(response["ask"]["state"].as_str().unwrap_or_default());
            continue;
        }
        return match response["error"].take() {
            Value::Null => Ok(response["result"].take()),
            error => Err(error),
        };
    }
    panic!("the handler asked in more than {ROUNDS} rounds");
}

type Client = Box<dyn FnMut(&str, &Value) -> Value>;

thread_local! {
    static CLIENT: RefCell<Option<Client>> = const { RefCell::new(None) };
}

/// Answers the questions of this thread's requests: `answer` gets the id of a question, and its method and parameters. It returns the
/// client's result, such as `{"action": "decline"}` for a form. Until it is set, the client cannot be asked.
pub fn on_question(answer: impl FnMut(&str, &Value) -> Value + 'static) {
    CLIENT.with(|client| *client.borrow_mut() = Some(Box::new(answer)));
}

#[cfg(not(target_os = "wasi"))]
type Answer = Box<dyn FnMut(&str, &Value, &[u8]) -> Result<Value, HostError>>;

#[cfg(not(target_os = "wasi"))]
thread_local! {
    static ANSWER: RefCell<Option<Answer>> = const { RefCell::new(None) };
    static LINES: RefCell<Vec<(i32, String)>> = const { RefCell::new(Vec::new()) };
}

/// Answers the host operations of this thread: `answer` gets the operation, its parameters, and the bytes behind the request. Until
/// it is set, notifications are dropped and other operations are unavailable.
#[cfg(not(target_os = "wasi"))]
pub fn on_host_call(answer: impl FnMut(&str, &Value, &[u8]) -> Result<Value, HostError> + 'static) {
    ANSWER.with(|a| *a.borrow_mut() = Some(Box::new(answer)));
}

/// Returns the lines that this thread has logged with at least this level since the last call, and forgets them.
#[cfg(not(target_os = "wasi"))]
pub fn take_log(level: Level) -> Vec<String> {
    let lines = LINES.with(|lines| lines.take());
    lines.into_iter().filter(|(severity, _)| *severity >= level as i32).map(|(_, line)| line).collect()
}

#[cfg(not(target_os = "wasi"))]
pub(crate) fn log(level: i32, line: &str) {
    LINES.with(|lines| lines.borrow_mut().push((level, line.to_owned())));
}

#[cfg(not(target_os = "wasi"))]
pub(crate) fn call_host(request: &[u8]) -> Vec<u8> {
    let end = request.iter().position(|&b| b == 0).unwrap_or(request.len());
    let bytes = request.get(end + 1..).unwrap_or_default();
    let request: Value = serde_json::from_slice(&request[..end]).expect("the request is JSON");
    let op = request["op"].as_str().expect("the request has an operation");
    let result = ANSWER.with(|answer| match answer.borrow_mut().as_mut() {
        Some(answer) => answer(op, &request["params"], bytes),
        None if op == "notify" => Ok(Value::Null),
        None => Err(HostError::new(HostError::UNAVAILABLE, "there is no host")),
    });
    let response = match result {
        Ok(result) => json!({"result": result}),
        Err(e) => json!({"error": {"code": e.code, "message": e.message, "reason": e.reason}}),
    };
    response.to_string().into_bytes()
}
