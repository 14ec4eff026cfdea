//! The module of the Rust SDK for the conformance kit.

use bulkhead::*;
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

bulkhead::serve!(plugin);

fn plugin() -> Plugin {
    Plugin::new()
        .tool("echo", |_: &Call, input: Text| Ok(input.text))
        .tool("fail", |_: &Call, input: Message| Err::<String, _>(Error::msg(input.message)))
        .tool("error", error)
        .tool("progress", progress)
        .tool("log", write_log)
        .tool("print", |_: &Call, input: Text| {
            print!("{}", input.text);
            Ok("done")
        })
        .tool("read_file", |_: &Call, input: File| Ok(std::fs::read_to_string(input.path)?))
        .tool("operate", operate)
        .tool("count", |_: &Call, _: NoArguments| Ok((CALLS.fetch_add(1, Ordering::Relaxed) + 1).to_string()))
        .tool("ask", ask)
        .tool("spin", spin)
        .tool("crash", |_: &Call, _: NoArguments| -> Result<String> { panic!("this is wanted") })
        .prompts(Offers)
        .resources(Offers)
        .complete(complete)
}

static CALLS: AtomicU32 = AtomicU32::new(0);

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Deserialize)]
struct File {
    path: String,
}

#[derive(Deserialize)]
struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

fn error(_: &Call, input: RpcError) -> Result<String> {
    let error = Error::rpc(input.code, input.message);
    Err(match input.data {
        Some(data) => error.with_data(data),
        None => error,
    })
}

#[derive(Deserialize)]
struct Steps {
    steps: u32,
}

fn progress(call: &Call, input: Steps) -> Result<&'static str> {
    for step in 1..=input.steps {
        call.progress(step.into(), input.steps.into(), &format!("step {step}"))?;
    }
    Ok("done")
}

#[derive(Deserialize)]
struct Line {
    level: u32,
    text: String,
}

fn write_log(_: &Call, input: Line) -> Result<&'static str> {
    let level = [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error][input.level as usize - 1];
    log(level, input.text);
    Ok("done")
}

#[derive(Deserialize)]
struct Operation {
    op: String,
    params: Value,
}

fn operate(_: &Call, input: Operation) -> Result<String> {
    match host_call::<Value>(&input.op, &input.params) {
        Ok(result) => Ok(result.to_string()),
        Err(refused) => Err(Error::msg(refused.code)),
    }
}

fn ask(call: &Call, input: Message) -> Result<String> {
    call.set_state("asked");
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let answer = call.elicit("name", &input.message, schema)?;
    let action = format!("{:?}", answer.action).to_lowercase();
    let text = if answer.accepted() { answer.content["name"].as_str().unwrap_or_default() } else { &action };
    Ok(format!("{}: {text}", call.state()))
}

fn spin(_: &Call, _: NoArguments) -> Result<String> {
    loop {
        std::hint::black_box(0);
    }
}

struct Offers;

impl Prompts for Offers {
    fn list(&self, _: &Call) -> Result<Vec<Prompt>> {
        let text = PromptArgument { name: "text".into(), required: true, ..Default::default() };
        let (name, description) = ("conform_prompt".into(), "Says a text".into());
        Ok(vec![Prompt { name, description, arguments: vec![text], ..Default::default() }])
    }

    fn get(&self, _: &Call, name: &str, arguments: &BTreeMap<String, String>) -> Result<PromptResult> {
        if name != "conform_prompt" {
            return Err(Error::invalid_params("there is no such prompt"));
        }
        let content = Content::text(arguments.get("text").cloned().unwrap_or_default());
        Ok(PromptResult { messages: vec![PromptMessage { role: Role::User, content }], ..Default::default() })
    }
}

impl Resources for Offers {
    fn list(&self, _: &Call) -> Result<Vec<Resource>> {
        let text =
            Resource { uri: "conform:text".into(), name: "text".into(), mime_type: "text/plain".into(), ..Default::default() };
        Ok(vec![text, Resource { uri: "conform:bytes".into(), name: "bytes".into(), ..Default::default() }])
    }

    fn templates(&self, _: &Call) -> Result<Vec<ResourceTemplate>> {
        Ok(vec![ResourceTemplate { uri_template: "conform:{name}".into(), name: "by name".into(), ..Default::default() }])
    }

    fn read(&self, _: &Call, uri: &str) -> Result<Vec<ResourceContents>> {
        let contents = match uri {
            "conform:text" => ResourceContents::Text { uri: uri.into(), mime_type: "text/plain".into(), text: "größer".into() },
            "conform:bytes" => {
                ResourceContents::Blob { uri: uri.into(), mime_type: "".into(), blob: Bytes(vec![0, 1, 0xfe, 0xff]) }
            }
            _ => return Err(Error::resource_not_found(uri)),
        };
        Ok(vec![contents])
    }
}

fn complete(_: &Call, request: CompleteRequest) -> Result<Completion> {
    let all = ["alpha", "beta", "büro"];
    let values = all.into_iter().filter(|value| value.starts_with(&request.argument.value)).map(String::from).collect();
    Ok(Completion { values, ..Default::default() })
}
