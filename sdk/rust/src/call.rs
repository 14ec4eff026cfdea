use crate::ask::Conversation;
use crate::host::notify;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The call that a handler handles.
#[derive(Default)]
pub struct Call {
    pub(crate) deadline: u64, // milliseconds since the Unix epoch; 0: none
    pub(crate) meta: Option<Box<RawValue>>,
    pub(crate) talk: Conversation,
}

impl Call {
    /// Returns when the host ends the call, without a chance to clean up.
    pub fn deadline(&self) -> Option<SystemTime> {
        (self.deadline > 0).then(|| SystemTime::UNIX_EPOCH + Duration::from_millis(self.deadline))
    }

    /// Returns the request's `_meta` as the client sent it.
    pub fn meta(&self) -> Option<&RawValue> {
        self.meta.as_deref()
    }

    /// Returns the token (a JSON string or number) for progress notifications, if the client asked for them.
    pub fn progress_token(&self) -> Option<&RawValue> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(self.meta()?.get()).ok()?;
        members.get("progressToken").copied()
    }

    /// Notifies the client of the call's progress: how much is done of the total (0.0 if that is unknown), with a message that may
    /// be empty. It does nothing if the client did not ask for progress.
    pub fn progress(&self, done: f64, total: f64, message: &str) -> Result<(), crate::HostError> {
        #[derive(Serialize)]
        struct Progress<'a> {
            #[serde(rename = "progressToken")]
            token: &'a RawValue,
            progress: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<f64>,
            #[serde(skip_serializing_if = "str::is_empty")]
            message: &'a str,
        }
        let Some(token) = self.progress_token() else { return Ok(()) };
        let total = (total != 0.0).then_some(total);
        notify("notifications/progress", &Progress { token, progress: done, total, message })
    }
}
