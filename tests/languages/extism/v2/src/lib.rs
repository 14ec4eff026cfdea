//! A plugin for version 2 of hyper-mcp's interface: tools that talk to the client, a prompt, resources and completion.

use extism_pdk::*;
use serde_json::{json, Value};
use std::collections::HashMap;

#[host_fn]
extern "ExtismHost" {
    fn create_elicitation(input: Json<Value>) -> Json<Value>;
    fn create_message(input: Json<Value>) -> Json<Value>;
    fn list_roots() -> Json<Value>;
    fn notify_progress(input: Json<Value>);
    fn notify_logging_message(input: Json<Value>);
    fn notify_resource_updated(input: Json<Value>);
    fn notify_tool_list_changed();
}

#[plugin_fn]
pub fn list_tools(_: Json<Value>) -> FnResult<Json<Value>> {
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
    Ok(Json(json!({"tools": [
        tool("invite", "Ask the user whom to invite, and the model for a text"),
        tool("roots", "Count the directories of the client"),
        tool("report", "Send notifications"),
    ]})))
}

#[plugin_fn]
pub fn call_tool(Json(input): Json<Value>) -> FnResult<Json<Value>> {
    let text = match input["request"]["name"].as_str().unwrap_or_default() {
        "invite" => invite()?,
        "roots" => {
            let Json(answer) = unsafe { list_roots()? };
            format!("{} roots", answer["roots"].as_array().map_or(0, Vec::len))
        }
        "report" => {
            unsafe {
                notify_progress(Json(json!({"progress": 0.5, "progressToken": ""})))?;
                notify_logging_message(Json(json!({"level": "warning", "data": "the tea is getting cold"})))?;
                notify_resource_updated(Json(json!({"uri": "tea:green"})))?;
                notify_tool_list_changed()?;
            }
            "reported".to_string()
        }
        other => return Err(Error::msg(format!("unknown tool {other}")).into()),
    };
    Ok(Json(json!({"content": [{"type": "text", "text": text}], "isError": null})))
}

fn invite() -> Result<String, Error> {
    // The order of a HashMap differs from run to run.
    let fields: HashMap<String, Value> = ["name", "day", "hour", "place"].map(|name| (name.to_string(), json!({"type": "string"}))).into();
    let Json(answer) = unsafe { create_elicitation(Json(json!({"message": "Whom?", "requestedSchema": {"type": "object", "properties": fields}})))? };
    if answer["action"] != "accept" {
        return Ok(format!("nobody: {}", answer["action"]));
    }
    let name = answer["content"]["name"].as_str().unwrap_or_default().to_string();
    let message = json!({"messages": [{"role": "user", "content": {"type": "text", "text": format!("Invite {name}")}}], "maxTokens": 100});
    let Json(answer) = unsafe { create_message(Json(message))? };
    Ok(format!("{}: {}", name, answer["content"]["text"].as_str().unwrap_or_default()))
}

#[plugin_fn]
pub fn list_prompts(_: Json<Value>) -> FnResult<Json<Value>> {
    Ok(Json(json!({"prompts": [{"name": "letter", "arguments": [{"name": "to", "required": true}]}]})))
}

#[plugin_fn]
pub fn get_prompt(Json(input): Json<Value>) -> FnResult<Json<Value>> {
    if input["request"]["name"] != "letter" {
        return Err(Error::msg("no such prompt").into());
    }
    let text = format!("Write to {}", input["request"]["arguments"]["to"].as_str().unwrap_or_default());
    Ok(Json(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "description": null})))
}

#[plugin_fn]
pub fn list_resources(_: Json<Value>) -> FnResult<Json<Value>> {
    Ok(Json(json!({"resources": [{"uri": "tea:green", "name": "Green tea"}]})))
}

#[plugin_fn]
pub fn list_resource_templates(_: Json<Value>) -> FnResult<Json<Value>> {
    Ok(Json(json!({"resourceTemplates": [{"uriTemplate": "tea:{kind}", "name": "Teas"}]})))
}

#[plugin_fn]
pub fn read_resource(Json(input): Json<Value>) -> FnResult<Json<Value>> {
    Ok(Json(json!({"contents": [{"uri": input["request"]["uri"], "text": "80 °C", "mimeType": null}]})))
}

#[plugin_fn]
pub fn complete(Json(input): Json<Value>) -> FnResult<Json<Value>> {
    let (kind, start) = (&input["request"]["ref"]["type"], input["request"]["argument"]["value"].as_str().unwrap_or_default());
    let values: Vec<String> = ["green", "black"].iter().filter(|tea| tea.starts_with(start)).map(|tea| format!("{}:{tea}", kind.as_str().unwrap_or_default())).collect();
    Ok(Json(json!({"completion": {"values": values, "total": null}})))
}
