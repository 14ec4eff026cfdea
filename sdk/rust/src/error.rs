use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The result of a handler.
pub type Result<T> = std::result::Result<T, Error>;

/// The code of a JSON-RPC error for a method without a handler.
pub const CODE_METHOD_NOT_FOUND: i32 = -32601;
/// The code of a JSON-RPC error for invalid parameters, an unknown tool and an unknown prompt.
pub const CODE_INVALID_PARAMS: i32 = -32602;
/// The code of a JSON-RPC error without a more specific one.
pub const CODE_INTERNAL: i32 = -32603;
/// The code of a JSON-RPC error for a resource that does not exist.
pub const CODE_RESOURCE_NOT_FOUND: i32 = -32002;

/// The error of a handler. There are two kinds:
///
/// - A text, made by [`Error::msg`] or by `?` from any [`std::error::Error`]. As the error of a tool it becomes a result that the
///   model can read and react to; as that of another handler it is a JSON-RPC error with [`CODE_INTERNAL`].
/// - A JSON-RPC error, made by [`Error::rpc`]: the request fails.
#[derive(Debug)]
pub struct Error {
    pub(crate) code: Option<i32>,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
    pub(crate) asking: bool, // the handler ends because the client is asked
}

impl Error {
    /// Returns an error with a text.
    pub fn msg(text: impl fmt::Display) -> Self {
        Error { code: None, message: text.to_string(), data: None, asking: false }
    }

    /// Returns a JSON-RPC error, with which the request fails.
    pub fn rpc(code: i32, message: impl fmt::Display) -> Self {
        Error { code: Some(code), ..Error::msg(message) }
    }

    /// Returns the JSON-RPC error for invalid parameters, such as a prompt that does not exist.
    pub fn invalid_params(message: impl fmt::Display) -> Self {
        Error::rpc(CODE_INVALID_PARAMS, message)
    }

    /// Returns the JSON-RPC error for a resource that does not exist.
    pub fn resource_not_found(uri: &str) -> Self {
        Error::rpc(CODE_RESOURCE_NOT_FOUND, format!("there is no resource {uri}"))
    }

    /// Adds the data of a JSON-RPC error.
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} ({code})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

// Error does not implement std::error::Error, since this conversion would then conflict with From<T> for T.
impl<E: std::error::Error> From<E> for Error {
    fn from(cause: E) -> Self {
        Error::msg(cause)
    }
}

/// The JSON of an error in a response.
#[derive(Serialize)]
pub(crate) struct WireError<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

impl<'a> From<&'a Error> for WireError<'a> {
    fn from(e: &'a Error) -> Self {
        WireError { code: e.code.unwrap_or(CODE_INTERNAL), message: &e.message, data: e.data.as_ref() }
    }
}
