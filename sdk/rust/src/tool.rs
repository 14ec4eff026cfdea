use crate::{Bytes, Resource, ResourceContents};
use serde::Serialize;
use serde_json::{Map, Value};

/// The result of a tool. A `String` or `&str` is converted into a result with one text item.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub content: Vec<Content>,
    /// The result as a JSON object, for tools with an output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Tells the model that the tool failed; the content has the reason.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

impl ToolResult {
    /// Returns a result with one text item.
    pub fn text(text: impl Into<String>) -> Self {
        ToolResult { content: vec![Content::Text { text: text.into() }], ..Default::default() }
    }

    /// Returns an error result with one text item.
    pub fn error(text: impl Into<String>) -> Self {
        ToolResult { is_error: true, ..ToolResult::text(text) }
    }

    /// Returns a result with a value for programs, and its JSON as text for the model.
    pub fn structured(value: impl Serialize) -> crate::Result<Self> {
        let value = serde_json::to_value(value)?;
        Ok(ToolResult { structured_content: Some(value.clone()), ..ToolResult::text(value.to_string()) })
    }
}

impl From<String> for ToolResult {
    fn from(text: String) -> Self {
        ToolResult::text(text)
    }
}

impl From<&str> for ToolResult {
    fn from(text: &str) -> Self {
        ToolResult::text(text)
    }
}

/// One item of a result.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Text for the model.
    Text { text: String },
    Image {
        data: Bytes,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    Audio {
        data: Bytes,
        #[serde(rename = "mimeType")]
        mime_type: String,
    },
    /// A resource that the client may read.
    ResourceLink(Resource),
    /// The content of a resource in the result itself.
    Resource { resource: ResourceContents },
}

impl Content {
    /// Returns a text item.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text { text: text.into() }
    }
}
