//! Counts lines and words of text files. Each kind of handler of a plugin is here once.

use bulkhead::fs::{Kind, Scan};
use bulkhead::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

bulkhead::serve!(plugin);

fn plugin() -> Plugin {
    Plugin::new().tool("rust_tally", count).prompts(Shorten).resources(Tallies).complete(complete)
}

/// The arguments of the tool. The host has validated them against the schema in plugin.toml.
#[derive(Deserialize)]
struct Files {
    paths: Vec<String>,
}

#[derive(Serialize)]
struct Tally<'a> {
    path: &'a str,
    lines: usize,
    words: usize,
    bytes: usize,
    sha256: String,
}

fn count(call: &Call, files: Files) -> Result<ToolResult> {
    let mut tallies = Vec::new();
    for (i, path) in files.paths.iter().enumerate() {
        tallies.push(tally(path, &read(path)?)?);
        call.progress((i + 1) as f64, files.paths.len() as f64, path)?;
    }
    log(Level::Info, format!("counted {} files", tallies.len()));
    ToolResult::structured(BTreeMap::from([("files", tallies)]))
}

fn tally<'a>(path: &'a str, text: &str) -> Result<Tally<'a>> {
    let mut digest = hash::Sha256::default();
    digest.update(text.as_bytes())?;
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    Ok(Tally { path, lines, words, bytes: text.len(), sha256: digest.sum()? })
}

/// Reads a file of the project. The model can read this error, and call the tool again with the name of another file.
fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(format!("{}/{path}", project())).map_err(|e| Error::msg(format!("{path}: {e}")))
}

fn project() -> String {
    std::env::var("BULKHEAD_PROJECT").unwrap_or_default()
}

/// Returns the names of the Markdown files at the top of the project.
fn names() -> Result<Vec<String>> {
    let entries = Scan::new(project()).entries()?;
    Ok(entries.into_iter().filter(|e| e.kind == Kind::Regular && e.path.ends_with(".md")).map(|e| e.path).collect())
}

struct Shorten;

impl Prompts for Shorten {
    fn list(&self, _: &Call) -> Result<Vec<Prompt>> {
        let path = PromptArgument { name: "path".into(), description: "A file of the project".into(), required: true };
        Ok(vec![Prompt {
            name: "rust_tally_shorten".into(),
            description: "Ask for a shorter version of a file".into(),
            arguments: vec![path],
            ..Default::default()
        }])
    }

    fn get(&self, _: &Call, name: &str, arguments: &BTreeMap<String, String>) -> Result<PromptResult> {
        if name != "rust_tally_shorten" {
            return Err(Error::invalid_params(format!("there is no prompt {name}")));
        }
        let path = arguments.get("path").ok_or_else(|| Error::invalid_params("the argument path is missing"))?;
        let text = read(path)?;
        let words = text.split_whitespace().count() / 2;
        let content = Content::text(format!("Say this in {words} words:\n\n{text}"));
        Ok(PromptResult { messages: vec![PromptMessage { role: Role::User, content }], ..Default::default() })
    }
}

struct Tallies;

const SCHEME: &str = "rust-tally:";

impl Resources for Tallies {
    fn list(&self, _: &Call) -> Result<Vec<Resource>> {
        let resource = |name| Resource { uri: format!("{SCHEME}{name}"), name, ..Default::default() };
        Ok(names()?.into_iter().map(resource).collect())
    }

    fn templates(&self, _: &Call) -> Result<Vec<ResourceTemplate>> {
        let uri_template = format!("{SCHEME}{{path}}");
        Ok(vec![ResourceTemplate { uri_template, name: "tally of a file".into(), ..Default::default() }])
    }

    fn read(&self, _: &Call, uri: &str) -> Result<Vec<ResourceContents>> {
        let path = uri.strip_prefix(SCHEME).unwrap_or_default();
        let text = crate::read(path).map_err(|_| Error::resource_not_found(uri))?;
        let (lines, words) = (text.lines().count(), text.split_whitespace().count());
        let text = format!("{lines} lines, {words} words");
        Ok(vec![ResourceContents::Text { uri: uri.into(), mime_type: "text/plain".into(), text }])
    }
}

fn complete(_: &Call, request: CompleteRequest) -> Result<Completion> {
    let values = names()?.into_iter().filter(|name| name.starts_with(&request.argument.value)).take(100).collect();
    Ok(Completion { values, ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead::testing;
    use serde_json::json;

    #[test]
    fn counts_files() {
        std::env::set_var("BULKHEAD_PROJECT", env!("CARGO_MANIFEST_DIR"));
        testing::on_host_call(|op, _, _| match op {
            "hash/sha256" => Ok(json!({"sum": "00", "state": ""})),
            _ => Ok(json!(null)),
        });
        let result = testing::call_tool(&plugin(), "rust_tally", json!({"paths": ["rustfmt.toml"]})).unwrap();
        assert_eq!(result["structuredContent"]["files"][0]["lines"], 2);
        assert_eq!(testing::take_log(Level::Info), ["counted 1 files"]);

        let missing = testing::call_tool(&plugin(), "rust_tally", json!({"paths": ["missing.md"]})).unwrap();
        assert_eq!(missing["isError"], true);
    }
}
