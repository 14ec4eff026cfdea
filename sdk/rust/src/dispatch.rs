use crate::ask::Conversation;
use crate::plugin::Members;
use crate::{error::WireError, Call, CompleteRequest, Error, Plugin, Result, ToolResult, CODE_METHOD_NOT_FOUND};
use serde::{de::DeserializeOwned, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

impl Plugin {
    /// Handles one request of ABI 1 and returns the response. Modules call it through [`serve!`](crate::serve), tests through
    /// [`testing`](crate::testing).
    pub fn dispatch(&self, request: &[u8]) -> Vec<u8> {
        #[derive(Serialize)]
        struct Failed<'a> {
            error: WireError<'a>,
        }
        self.handle(request).unwrap_or_else(|e| {
            let failed = Failed { error: WireError::from(&e) };
            serde_json::to_vec(&failed).expect("an error consists of strings, a number and JSON")
        })
    }

    fn handle(&self, request: &[u8]) -> Result<Vec<u8>> {
        let request: Members = serde_json::from_slice(request).map_err(|e| Error::msg(format!("request: {e}")))?;
        let params: Members = match request.get("params") {
            Some(params) => serde_json::from_str(params.get()).map_err(|e| Error::invalid_params(format!("params: {e}")))?,
            None => Members::new(),
        };
        let talk = Conversation {
            client: optional(&request, "client")?,
            answers: optional(&request, "answers")?.unwrap_or_default(),
            state: optional(&request, "state")?.unwrap_or_default(),
            ..Default::default()
        };
        let call = Call {
            deadline: optional(&request, "deadline")?.unwrap_or(0),
            meta: params.get("_meta").map(|&meta| meta.to_owned()),
            talk,
        };
        match self.result(&call, &member::<String>(&request, "method")?, &params) {
            Err(e) if e.asking => Ok(serde_json::to_vec(&BTreeMap::from([("ask", &*call.talk.ask.borrow())]))?),
            other => other,
        }
    }

    /// Returns the response with the result of a request.
    fn result(&self, call: &Call, method: &str, params: &Members) -> Result<Vec<u8>> {
        let none = || Error::rpc(CODE_METHOD_NOT_FOUND, format!("no handler for {method}"));
        match method {
            "tools/call" => encode(&self.call_tool(call, params)?),
            "bulkhead/describe" => encode(&self.describe()),
            "prompts/list" => encode_list("prompts", self.prompts.as_ref().ok_or_else(none)?.list(call)?),
            "prompts/get" => {
                let prompts = self.prompts.as_ref().ok_or_else(none)?;
                let name: String = member(params, "name")?;
                let arguments: BTreeMap<String, String> = optional(params, "arguments")?.unwrap_or_default();
                encode(&prompts.get(call, &name, &arguments)?)
            }
            "resources/list" => encode_list("resources", self.resources.as_ref().ok_or_else(none)?.list(call)?),
            "resources/templates/list" => {
                encode_list("resourceTemplates", self.resources.as_ref().ok_or_else(none)?.templates(call)?)
            }
            "resources/read" => {
                let resources = self.resources.as_ref().ok_or_else(none)?;
                let uri: String = member(params, "uri")?;
                encode_list("contents", resources.read(call, &uri)?)
            }
            "completion/complete" => {
                let complete = self.complete.as_ref().ok_or_else(none)?;
                let request = CompleteRequest {
                    reference: member(params, "ref")?,
                    argument: member(params, "argument")?,
                    context: optional(params, "context")?.unwrap_or_default(),
                };
                encode(&BTreeMap::from([("completion", complete(call, request)?)]))
            }
            _ => Err(none()),
        }
    }

    fn call_tool(&self, call: &Call, params: &Members) -> Result<ToolResult> {
        let name: String = member(params, "name")?;
        let handle = self.tools.get(&name).ok_or_else(|| Error::invalid_params(format!("no handler for tool {name:?}")))?;
        let arguments = params.get("arguments").map_or("{}", |raw| RawValue::get(raw));
        match handle(call, arguments) {
            Err(e) if e.code.is_none() && !e.asking => Ok(ToolResult::error(e.message)),
            other => other,
        }
    }
}

fn member<T: DeserializeOwned>(params: &Members, name: &str) -> Result<T> {
    optional(params, name)?.ok_or_else(|| Error::invalid_params(format!("{name} is missing")))
}

fn optional<T: DeserializeOwned>(params: &Members, name: &str) -> Result<Option<T>> {
    let decode = |raw: &&RawValue| serde_json::from_str(raw.get());
    params.get(name).map(decode).transpose().map_err(|e| Error::invalid_params(format!("{name}: {e}")))
}

fn encode(result: &impl Serialize) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Answered<'a, T> {
        result: &'a T,
    }
    Ok(serde_json::to_vec(&Answered { result })?)
}

fn encode_list<T: Serialize>(name: &str, items: Vec<T>) -> Result<Vec<u8>> {
    encode(&BTreeMap::from([(name, items)]))
}

#[cfg(test)]
mod tests {
    use crate::{Call, NoArguments, Plugin, ToolResult};
    use serde_json::json;

    fn invite(call: &Call, _: NoArguments) -> crate::Result<ToolResult> {
        call.set_state(format!("{}x", call.state()));
        let answer = call.elicit("name", "Who?", json!({"type": "object"}))?;
        Ok(ToolResult::text(if answer.accepted() { answer.content.to_string() } else { "nobody".into() }))
    }

    fn respond(request: &str) -> String {
        String::from_utf8(Plugin::new().tool("invite", invite).dispatch(request.as_bytes())).unwrap()
    }

    #[test]
    fn asks_until_there_is_an_answer() {
        let first = r#"{"method":"tools/call","params":{"name":"invite"},"client":{"elicitation":{"form":{}}},"state":"x"}"#;
        let want = concat!(
            r#"{"ask":{"requests":{"name":{"method":"elicitation/create","params":"#,
            r#"{"message":"Who?","mode":"form","requestedSchema":{"type":"object"}}}},"state":"xx"}}"#
        );
        assert_eq!(respond(first), want);
        let second = first.replace("\"state\"", r#""answers":{"name":{"action":"accept","content":{"name":"Ada"}}},"state""#);
        assert!(respond(&second).contains("Ada"), "{}", respond(&second));
        let refused = first.replace("\"state\"", r#""answers":{"name":{"error":{"code":-1,"message":"no"}}},"state""#);
        assert!(respond(&refused).contains("the client: no (-1)"), "{}", respond(&refused));
    }

    #[test]
    fn test_answers_questions() {
        let plugin = Plugin::new().tool("invite", invite);
        crate::testing::on_question(|id, question| {
            assert_eq!((id, &question["params"]["message"]), ("name", &json!("Who?")));
            json!({"action": "accept", "content": {"name": "Ada"}})
        });
        let result = crate::testing::call_tool(&plugin, "invite", json!({})).unwrap();
        assert_eq!(result["content"][0]["text"], r#"{"name":"Ada"}"#);
        crate::testing::on_question(|_, _| json!({"action": "decline"}));
        let result = crate::testing::call_tool(&plugin, "invite", json!({})).unwrap();
        assert_eq!(result["content"][0]["text"], "nobody");
    }

    #[test]
    fn test_answers_handler_without_state() {
        let plugin = Plugin::new().tool("ask", |call: &Call, _: NoArguments| {
            call.elicit("x", "Go on?", json!({"type": "object"})).map(|answer| answer.accepted().to_string())
        });
        crate::testing::on_question(|_, _| json!({"action": "accept", "content": {}}));
        let result = crate::testing::call_tool(&plugin, "ask", json!({})).unwrap();
        assert_eq!(result["content"][0]["text"], "true");
    }

    #[test]
    #[should_panic(expected = "more than 10 rounds")]
    fn test_fails_when_handler_asks_forever() {
        let plugin = Plugin::new().tool("ask", |call: &Call, _: NoArguments| {
            let round = format!("{}x", call.state());
            call.set_state(round.clone());
            call.elicit(&round, "Again?", json!({"type": "object"})).map(|_| "")
        });
        crate::testing::on_question(|_, _| json!({"action": "decline"}));
        let _ = crate::testing::call_tool(&plugin, "ask", json!({}));
    }

    #[test]
    fn call_without_client_fails() {
        let response = respond(r#"{"method":"tools/call","params":{"name":"invite"}}"#);
        assert!(response.contains("the client cannot be asked") && response.contains("isError"), "{response}");
    }
}
