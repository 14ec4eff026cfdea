//! Requests to web servers whose origins the plugin is granted.

use crate::{host_call, Bytes, HostError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Header values by name.
pub type Headers = BTreeMap<String, Vec<String>>;

/// A request to a web server. Only `url` is required.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Request {
    /// An absolute URL of a granted origin, without a user name.
    pub url: String,
    /// In upper case; empty means GET.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub method: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: Headers,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Redirect>,
    /// Bounds the whole operation; 0 means the host's own limit, 30 s.
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_ms: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What the host does with a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Redirect {
    /// Follows up to 10 redirects, each of which has to point to a granted origin. This is the default.
    Follow,
    /// Returns the redirect itself.
    Manual,
}

/// The server's response.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Response {
    pub status: u16,
    /// The URL of the request or of the last redirect.
    pub url: String,
    /// Names are in lower case.
    #[serde(default)]
    pub headers: Headers,
    #[serde(default)]
    pub body: Bytes,
}

/// Sends a GET request.
pub fn get(url: &str) -> Result<Response, HostError> {
    fetch(&Request { url: url.to_owned(), ..Default::default() })
}

/// Sends a request. Any status is a response, not an error; an origin that is not granted is [`HostError::DENIED`].
pub fn fetch(request: &Request) -> Result<Response, HostError> {
    host_call("http/fetch", request)
}
