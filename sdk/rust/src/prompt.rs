use crate::{Call, Content, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Handles prompts/list and prompts/get.
pub trait Prompts {
    /// Returns all prompts: the host paginates.
    fn list(&self, call: &Call) -> Result<Vec<Prompt>>;
    /// Returns a prompt; [`Error::invalid_params`](crate::Error::invalid_params) for a name that does not exist.
    fn get(&self, call: &Call, name: &str, arguments: &BTreeMap<String, String>) -> Result<PromptResult>;
}

/// An item of prompts/list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Prompt {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub required: bool,
}

/// The result of prompts/get.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PromptResult {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub messages: Vec<PromptMessage>,
}

/// One message of a prompt.
#[derive(Clone, Debug, Serialize)]
pub struct PromptMessage {
    pub role: Role,
    pub content: Content,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// The parameters of completion/complete.
#[derive(Clone, Debug)]
pub struct CompleteRequest {
    pub reference: Reference,
    pub argument: Argument,
    pub context: Context,
}

/// What an argument belongs to.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(tag = "type")]
pub enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    /// The URI is that of the resource's template.
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

/// The argument that is completed, and what the user has typed.
#[derive(Clone, Debug, Deserialize)]
pub struct Argument {
    pub name: String,
    pub value: String,
}

/// The arguments that the user has already entered.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Context {
    pub arguments: BTreeMap<String, String>,
}

/// The result of completion/complete, with at most 100 values.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    pub values: Vec<String>,
    /// The number of all matching values, also of those that are omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_more: bool,
}
