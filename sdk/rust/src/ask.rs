//! Questions to the client: see [`Call::ask`].

use crate::{Call, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// Something that a client can be asked.
#[derive(Clone, Debug, Serialize)]
pub struct Question {
    method: &'static str,
    params: Value,
}

impl Question {
    /// Asks the user to fill in a form. The schema is an object whose properties are strings, numbers, integers, booleans or choices.
    /// A form must not ask for a secret: see [`Question::link`].
    pub fn form(message: &str, schema: impl Serialize) -> Result<Self> {
        let schema = serde_json::to_value(schema)?;
        Ok(Question {
            method: "elicitation/create",
            params: json!({"mode": "form", "message": message, "requestedSchema": schema}),
        })
    }

    /// Asks the user to open a URL, which must contain nothing that identifies or authenticates the user.
    pub fn link(message: &str, url: &str) -> Self {
        Question { method: "elicitation/create", params: json!({"mode": "url", "message": message, "url": url}) }
    }

    /// Asks the client's model for a message, with the parameters of sampling/createMessage of MCP.
    pub fn sampling(params: impl Serialize) -> Result<Self> {
        Ok(Question { method: "sampling/createMessage", params: serde_json::to_value(params)? })
    }

    /// Asks for the client's roots.
    pub fn roots() -> Self {
        Question { method: "roots/list", params: json!({}) }
    }
}

/// What a client can be asked, as far as the plugin is granted to ask it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Client {
    pub elicitation: Option<Elicitation>,
    pub sampling: Option<Value>,
    pub roots: Option<Value>,
}

/// The modes of elicitation that a client supports: those that are not None.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Elicitation {
    pub form: Option<Value>,
    pub url: Option<Value>,
}

/// The answer to a form or link.
#[derive(Clone, Debug, Deserialize)]
pub struct FormAnswer {
    pub action: Action,
    /// The fields of the form. Clients may not validate them against the schema.
    #[serde(default)]
    pub content: Value,
}

impl FormAnswer {
    /// Returns whether the user accepted.
    pub fn accepted(&self) -> bool {
        self.action == Action::Accept
    }
}

/// What the user did with a form or link.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Accept,
    /// The user said no.
    Decline,
    /// The user did not decide.
    Cancel,
}

/// A root of the client.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Root {
    pub uri: String,
    #[serde(default)]
    pub name: String,
}

/// The client's answers by the ids of the questions.
#[derive(Debug, Default)]
pub struct Answers(BTreeMap<String, Box<RawValue>>);

impl Answers {
    /// Returns an answer: [`FormAnswer`], or a type of its own. If the client answered with an error, that is returned.
    pub fn get<T: DeserializeOwned>(&self, id: &str) -> Result<T> {
        #[derive(Deserialize)]
        struct Refusal {
            error: Option<ClientError>,
        }
        #[derive(Deserialize)]
        struct ClientError {
            code: i64,
            message: String,
        }
        let answer = self.0.get(id).ok_or_else(|| Error::msg(format!("there is no answer {id:?}")))?.get();
        let invalid = |e| Error::msg(format!("the answer {id:?}: {e}"));
        match serde_json::from_str::<Refusal>(answer).map_err(invalid)?.error {
            Some(e) => Err(Error::msg(format!("the client: {} ({})", e.message, e.code))),
            None => serde_json::from_str(answer).map_err(invalid),
        }
    }
}

/// What a call has asked the client so far, and asks it now.
#[derive(Default)]
pub(crate) struct Conversation {
    pub client: Option<Client>,
    pub answers: BTreeMap<String, Box<RawValue>>,
    pub state: String,
    pub ask: std::cell::RefCell<Ask>,
}

/// The third form of a response.
#[derive(Default, Serialize)]
pub(crate) struct Ask {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    requests: BTreeMap<String, Question>,
    #[serde(skip_serializing_if = "String::is_empty")]
    state: String,
}

impl Call {
    /// Asks the client several questions at once, each under an id that distinguishes it from all others of the call.
    ///
    /// Asking ends the run of the handler: until the client has answered, the error is one that the handler must return unchanged, as
    /// `?` does. Then the handler is run again from its start, and this method returns the answers. So a handler must ask the same
    /// questions under the same ids in each run, and what it does before a question is repeated. A call has at most 10 rounds.
    ///
    /// The manifest must name what is asked in `ask` of `[capabilities]`.
    pub fn ask(&self, questions: &[(&str, Question)]) -> Result<Answers> {
        if self.talk.client.is_none() {
            return Err(Error::msg(
                "the client cannot be asked: the manifest has no ask in [capabilities], or the config does not grant it",
            ));
        }
        let mut answers = Answers::default();
        let mut missing = questions.is_empty();
        for (id, question) in questions {
            match self.talk.answers.get(*id) {
                Some(answer) => {
                    answers.0.insert((*id).to_owned(), answer.clone());
                }
                None => {
                    missing = true;
                    self.talk.ask.borrow_mut().requests.insert((*id).to_owned(), question.clone());
                }
            }
        }
        if missing {
            return Err(Error { asking: true, ..Error::msg("the client is asked") });
        }
        Ok(answers)
    }

    /// Asks the user to fill in a form: see [`Call::ask`].
    pub fn elicit(&self, id: &str, message: &str, schema: impl Serialize) -> Result<FormAnswer> {
        self.ask(&[(id, Question::form(message, schema)?)])?.get(id)
    }

    /// Asks the user to open a URL: see [`Call::ask`].
    pub fn open_url(&self, id: &str, message: &str, url: &str) -> Result<FormAnswer> {
        self.ask(&[(id, Question::link(message, url))])?.get(id)
    }

    /// Asks the client's model for a message: see [`Call::ask`]. It returns the result of sampling/createMessage.
    pub fn sample(&self, id: &str, params: impl Serialize) -> Result<Value> {
        self.ask(&[(id, Question::sampling(params)?)])?.get(id)
    }

    /// Asks for the client's roots: see [`Call::ask`].
    pub fn list_roots(&self, id: &str) -> Result<Vec<Root>> {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        self.ask(&[(id, Question::roots())])?.get(id).map(|r: Roots| r.roots)
    }

    /// Returns what the client can be asked; None if it cannot be asked at all.
    pub fn client(&self) -> Option<&Client> {
        self.talk.client.as_ref()
    }

    /// Keeps a string for the next run of the handler, in which [`Call::state`] returns it. It has an effect only if this run asks.
    pub fn set_state(&self, state: impl Into<String>) {
        self.talk.ask.borrow_mut().state = state.into();
    }

    /// Returns the string of [`Call::set_state`] in the run before; empty in the first run.
    pub fn state(&self) -> &str {
        &self.talk.state
    }
}
