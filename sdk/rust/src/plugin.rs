use crate::{Call, CompleteRequest, Completion, Error, Prompts, Resources, Result, ToolResult};
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(crate) type ToolHandler = Box<dyn Fn(&Call, &str) -> Result<ToolResult>>;
pub(crate) type CompleteHandler = Box<dyn Fn(&Call, CompleteRequest) -> Result<Completion>>;

/// The handlers of one plugin.
#[derive(Default)]
pub struct Plugin {
    pub(crate) tools: BTreeMap<String, ToolHandler>,
    pub(crate) prompts: Option<Box<dyn Prompts>>,
    pub(crate) resources: Option<Box<dyn Resources>>,
    pub(crate) complete: Option<CompleteHandler>,
}

/// The arguments of a tool that has none.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NoArguments {}

/// The result of bulkhead/describe: what a module has handlers for.
#[derive(Serialize)]
pub(crate) struct Description<'a> {
    tools: Vec<&'a str>,
    prompts: bool,
    resources: bool,
    completions: bool,
}

impl Plugin {
    /// Returns a plugin without handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers the handler of the tool called `name`. The call's arguments are decoded into `A` by serde; absent ones are `{}`.
    /// With `A = Box<RawValue>` (of serde_json) the handler gets the JSON that the client sent.
    ///
    /// # Panics
    /// If the name is already registered.
    pub fn tool<A, R>(mut self, name: &str, handle: impl Fn(&Call, A) -> Result<R> + 'static) -> Self
    where
        A: DeserializeOwned,
        R: Into<ToolResult>,
    {
        let handler: ToolHandler = Box::new(move |call, arguments| {
            let arguments = serde_json::from_str(arguments).map_err(|e| Error::msg(format!("invalid arguments: {e}")))?;
            handle(call, arguments).map(Into::into)
        });
        let replaced = self.tools.insert(name.to_owned(), handler);
        assert!(replaced.is_none(), "the tool {name:?} is registered twice");
        self
    }

    /// Registers the handlers of prompts/list and prompts/get.
    pub fn prompts(mut self, prompts: impl Prompts + 'static) -> Self {
        self.prompts = Some(Box::new(prompts));
        self
    }

    /// Registers the handlers of resources/list, resources/templates/list and resources/read.
    pub fn resources(mut self, resources: impl Resources + 'static) -> Self {
        self.resources = Some(Box::new(resources));
        self
    }

    /// Registers the handler of completion/complete: it returns values that begin with what the user has typed.
    pub fn complete(mut self, complete: impl Fn(&Call, CompleteRequest) -> Result<Completion> + 'static) -> Self {
        self.complete = Some(Box::new(complete));
        self
    }

    pub(crate) fn describe(&self) -> Description<'_> {
        Description {
            tools: self.tools.keys().map(String::as_str).collect(),
            prompts: self.prompts.is_some(),
            resources: self.resources.is_some(),
            completions: self.complete.is_some(),
        }
    }
}

/// The members of a JSON object. Of duplicates it has the last one.
pub(crate) type Members<'a> = BTreeMap<String, &'a RawValue>;
