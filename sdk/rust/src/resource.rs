use crate::{Bytes, Call, Result};
use serde::Serialize;

/// Handles resources/list, resources/templates/list and resources/read.
pub trait Resources {
    /// Returns all resources: the host paginates.
    fn list(&self, call: &Call) -> Result<Vec<Resource>>;
    /// Returns all templates: the host paginates.
    fn templates(&self, _call: &Call) -> Result<Vec<ResourceTemplate>> {
        Ok(Vec::new())
    }
    /// Returns the contents of a resource; [`Error::resource_not_found`](crate::Error::resource_not_found) for a URI that does not
    /// exist.
    fn read(&self, call: &Call, uri: &str) -> Result<Vec<ResourceContents>>;
}

/// An item of resources/list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(rename = "mimeType", skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// The size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// An item of resources/templates/list; its URI template is as in RFC 6570.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResourceTemplate {
    #[serde(rename = "uriTemplate")]
    pub uri_template: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(rename = "mimeType", skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
}

/// The content of a resource. MIME types may be empty.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ResourceContents {
    Text {
        uri: String,
        #[serde(rename = "mimeType", skip_serializing_if = "String::is_empty")]
        mime_type: String,
        text: String,
    },
    Blob {
        uri: String,
        #[serde(rename = "mimeType", skip_serializing_if = "String::is_empty")]
        mime_type: String,
        blob: Bytes,
    },
}
