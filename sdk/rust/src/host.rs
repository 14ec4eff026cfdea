use crate::imports;
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use std::fmt;

/// The reason why the host did not perform an operation.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct HostError {
    /// One of the constants below.
    pub code: String,
    pub message: String,
    /// A cause that a plugin can handle, such as `no_identity`; usually empty.
    #[serde(default)]
    pub reason: String,
}

impl HostError {
    /// The operation is not granted.
    pub const DENIED: &'static str = "denied";
    /// The operation or its parameters are malformed.
    pub const INVALID: &'static str = "invalid";
    /// This host does not support the operation.
    pub const UNAVAILABLE: &'static str = "unavailable";
    /// The operation was attempted and failed.
    pub const FAILED: &'static str = "failed";

    pub(crate) fn new(code: &str, message: impl fmt::Display) -> Self {
        HostError { code: code.into(), message: message.to_string(), reason: String::new() }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for HostError {}

#[derive(Serialize)]
struct HostRequest<'a, P> {
    op: &'a str,
    params: &'a P,
}

#[derive(Deserialize)]
#[serde(bound = "T: DeserializeOwned")]
struct HostResponse<T> {
    result: Option<T>,
    error: Option<HostError>,
}

/// Performs a host operation. The functions of this crate wrap the existing operations.
pub fn host_call<T: DeserializeOwned>(op: &str, params: &impl Serialize) -> Result<T, HostError> {
    decode(op, &imports::call_host(&encode(op, params)?))
}

pub(crate) fn encode(op: &str, params: &impl Serialize) -> Result<Vec<u8>, HostError> {
    serde_json::to_vec(&HostRequest { op, params }).map_err(|e| HostError::new(HostError::INVALID, format!("{op}: {e}")))
}

pub(crate) fn decode<T: DeserializeOwned>(op: &str, response: &[u8]) -> Result<T, HostError> {
    let invalid = |e: serde_json::Error| HostError::new(HostError::FAILED, format!("{op}: the host's response: {e}"));
    let response: HostResponse<T> = serde_json::from_slice(response).map_err(invalid)?;
    match (response.error, response.result) {
        (Some(e), _) if e.message.starts_with(op) => Err(e),
        (Some(e), _) => Err(HostError { message: format!("{op}: {}", e.message), ..e }),
        (None, Some(result)) => Ok(result),
        (None, None) => serde_json::from_str("null").map_err(invalid), // the operation has no result
    }
}

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Trace = 1,
    Debug = 2,
    Info = 3,
    Warn = 4,
    Error = 5,
}

/// Writes a line to the host's log, which its operator reads. To write to the client's log, use [`message`].
pub fn log(level: Level, line: impl fmt::Display) {
    imports::log(level as i32, &line.to_string());
}

pub(crate) fn notify(method: &str, params: &impl Serialize) -> Result<(), HostError> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        method: &'a str,
        params: &'a P,
    }
    host_call("notify", &Notification { method, params })
}

/// Sends data to the client's log under a logger's name, which may be empty. Level is one of MCP's: debug, info, notice, warning,
/// error, critical, alert, emergency. The client chooses the lowest level that it receives.
pub fn message(level: &str, logger: &str, data: &impl Serialize) -> Result<(), HostError> {
    #[derive(Serialize)]
    struct Message<'a, D> {
        level: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        logger: &'a str,
        data: &'a D,
    }
    notify("notifications/message", &Message { level, logger, data })
}

#[derive(Serialize)]
struct Empty {}

/// Notifies clients, when the call ends, that the list of prompts has changed. The manifest must set `list_changed` in `[offers]`.
pub fn prompts_changed() -> Result<(), HostError> {
    notify("notifications/prompts/list_changed", &Empty {})
}

/// Notifies clients, when the call ends, that the list of resources or of resource templates has changed. The manifest must set
/// `list_changed` in `[offers]`.
pub fn resources_changed() -> Result<(), HostError> {
    notify("notifications/resources/list_changed", &Empty {})
}

/// Notifies the clients that subscribed to the resource at `uri`, when the call ends, that the resource has changed. The manifest
/// must set `subscribe` in `[offers]`.
pub fn resource_updated(uri: &str) -> Result<(), HostError> {
    #[derive(Serialize)]
    struct Updated<'a> {
        uri: &'a str,
    }
    notify("notifications/resources/updated", &Updated { uri })
}

#[derive(Serialize)]
struct Lock<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<&'a str>,
}

/// Acquires the lock called `name` (1 to 256 bytes) and holds it until the call ends. It waits while another call of this plugin
/// holds the lock, in this host or in another host of the same user. The lock is reentrant within a call. Acquire it before reading
/// what the call will change.
pub fn lock(name: &str) -> Result<(), HostError> {
    host_call("lock", &Lock { name, folder: None })
}

/// Acquires the lock called `name`, and then locks the directory at the absolute path `folder`: all other calls that lock the same
/// directory wait, whatever their lock's name, plugin, host or user on this machine.
pub fn lock_folder(name: &str, folder: &str) -> Result<(), HostError> {
    host_call("lock", &Lock { name, folder: Some(folder) })
}

/// Names of prompts and URIs of resources.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct Claims {
    pub prompts: Vec<String>,
    pub resources: Vec<String>,
}

/// Returns which of the names and URIs (at most 10,000) the manifests of other plugins claim. Clients never see a prompt or resource
/// that another plugin claims.
pub fn claimed(names: &Claims) -> Result<Claims, HostError> {
    host_call("claims", names)
}
