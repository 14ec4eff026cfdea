//! A plugin for version 1 of hyper-mcp's interface: tools that use the kernel of Extism.

use extism_pdk::*;
use serde_json::{json, Value};

#[plugin_fn]
pub fn describe() -> FnResult<Json<Value>> {
    let object = json!({"type": "object"});
    Ok(Json(json!({"tools": [
        {"name": "count", "description": "Count the calls that a variable remembers", "inputSchema": object},
        {"name": "config", "description": "Read a configuration value", "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}},
        {"name": "fetch", "description": "Get a page", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}},
        {"name": "fail", "description": "Fail", "inputSchema": object},
        {"name": "echo", "description": "Return a text", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
    ]})))
}

#[plugin_fn]
pub fn call(Json(input): Json<Value>) -> FnResult<Json<Value>> {
    let params = &input["params"];
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default().to_string();
    let text = match params["name"].as_str().unwrap_or_default() {
        "count" => {
            let before: Option<i64> = var::get("calls")?;
            var::set("calls", before.unwrap_or(0) + 1)?;
            let after: Option<i64> = var::get("calls")?;
            format!("{}", after.unwrap_or(0))
        }
        "config" => config::get(argument("key"))?.unwrap_or("unset".to_string()),
        "fetch" => {
            let request = HttpRequest::new(argument("url")).with_method("POST").with_header("X-Tea", "green");
            let response = http::request(&request, Some("ein Gruß"))?;
            let kind = response.header("content-type").unwrap_or("none").to_string();
            format!("{} {} {}", response.status_code(), kind, String::from_utf8(response.body())?)
        }
        "echo" => argument("text"),
        "fail" => return Err(WithReturnCode::new(Error::msg("there is no tea"), 3)),
        other => return Err(WithReturnCode::new(Error::msg(format!("unknown tool {other}")), 1)),
    };
    info!("called {}", params["name"]);
    Ok(Json(json!({"content": [{"type": "text", "text": text, "annotations": null}]})))
}
