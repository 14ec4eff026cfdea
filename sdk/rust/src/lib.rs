//! Plugins of the MCP host Bulkhead in Rust. [`Plugin`] and [`serve!`] are the two items to start with.
//!
//! A plugin is a library crate (`crate-type = ["cdylib"]`) next to a `plugin.toml` that describes the same tools to the host:
//!
//! ```
//! use bulkhead::{Call, Plugin, Result};
//!
//! #[derive(serde::Deserialize)]
//! struct Person {
//!     name: String,
//! }
//!
//! fn greet(_: &Call, who: Person) -> Result<String> {
//!     Ok(format!("Hello, {}", who.name))
//! }
//!
//! fn plugin() -> Plugin {
//!     Plugin::new().tool("greet", greet)
//! }
//!
//! bulkhead::serve!(plugin);
//! # fn main() {}
//! ```
//!
//! It is compiled for the target `wasm32-wasip1`. Files, clocks, random numbers and the environment are those of the standard
//! library, as far as the host grants them. Beyond WASI there are [`log`], [`Call::progress`], [`lock`], [`host_call`] and the
//! typed operations in [`git`], [`http`], [`fs`] and [`hash`]. On other targets host operations are answered by [`testing`], so
//! that `cargo test` calls the same handlers natively.
//!
//! At the start of a call, each variable of the module has either the value that it had after the plugin was made or the value
//! that an earlier call left: do not keep anything in a static that a later call needs.

mod ask;
mod base64;
mod call;
mod dispatch;
mod error;
#[doc(hidden)]
pub mod exports;
pub mod fs;
pub mod git;
pub mod hash;
mod host;
pub mod http;
mod imports;
mod plugin;
mod prompt;
mod resource;
pub mod testing;
mod tool;

pub use ask::{Action, Answers, Client, Elicitation, FormAnswer, Question, Root};
pub use base64::Bytes;
pub use call::Call;
pub use error::{Error, Result, CODE_INTERNAL, CODE_INVALID_PARAMS, CODE_METHOD_NOT_FOUND, CODE_RESOURCE_NOT_FOUND};
pub use host::{
    claimed, host_call, lock, lock_folder, log, message, prompts_changed, resource_updated, resources_changed, Claims, HostError,
    Level,
};
pub use plugin::{NoArguments, Plugin};
pub use prompt::{
    Argument, CompleteRequest, Completion, Context, Prompt, PromptArgument, PromptMessage, PromptResult, Prompts, Reference, Role,
};
pub use resource::{Resource, ResourceContents, ResourceTemplate, Resources};
pub use tool::{Content, ToolResult};
