/** The call that a handler handles. */

import { PluginError } from "./errors.js";
import { notify } from "./host.js";

/** Thrown to end the run of a handler until the client has answered. */
export class Asking {
  constructor() {
    this.message = "the client is asked";
  }
}

export class Call {
  #answers;
  #questions = {};
  #asking = false;
  #state = "";

  constructor(request) {
    /** When the host ends the call, in milliseconds since 1970; undefined: never. */
    this.deadline = request.deadline;
    /** The parameters of the request, as in MCP. */
    this.params = request.params ?? {};
    /** What the client can be asked: see docs/abi.md. It is undefined if the client cannot be asked. */
    this.client = request.client;
    /** The string of setState in the run before; empty in the first run. */
    this.state = request.state ?? "";
    this.#answers = request.answers ?? {};
  }

  get meta() {
    return this.params._meta ?? {};
  }

  /** Notifies the client of the call's progress, if the client asked for that. The total and the message can be absent. */
  progress(progress, total, message) {
    const progressToken = this.meta.progressToken;
    if (progressToken !== undefined) notify("notifications/progress", { progressToken, progress, total, message });
  }

  /**
   * Asks the client, and returns the answers by id. Questions are objects with a method of MCP and its parameters, by ids that
   * distinguish them from all others of the call.
   *
   * Until the client has answered, this throws: do not catch it. Then the handler is run again from its start, and gets the answers.
   * So a handler must ask the same questions under the same ids in each run, and what it does before a question is repeated. A call
   * has at most 10 rounds. The manifest must name what is asked in `ask` of `[capabilities]`.
   */
  ask(questions) {
    if (this.client === undefined) {
      throw new Error("the client cannot be asked: the manifest has no ask in [capabilities], or the config does not grant it");
    }
    const answers = {};
    let complete = true;
    for (const [id, question] of Object.entries(questions)) {
      if (Object.hasOwn(this.#answers, id)) {
        answers[id] = this.#answers[id];
      } else {
        this.#questions[id] = question;
        complete = false;
      }
    }
    if (!complete) {
      this.#asking = true;
      throw new Asking();
    }
    for (const [id, { error } = {}] of Object.entries(answers)) {
      if (error) throw new Error(`the client did not answer ${JSON.stringify(id)}: ${error.message} (${error.code})`);
    }
    return answers;
  }

  /** Asks the user to fill in a form, which must not ask for a secret. It returns {action, content}. */
  elicit(id, message, requestedSchema) {
    const params = { mode: "form", message, requestedSchema };
    return this.ask({ [id]: { method: "elicitation/create", params } })[id];
  }

  /** Asks the user to open a URL. It returns {action}. */
  openUrl(id, message, url) {
    return this.ask({ [id]: { method: "elicitation/create", params: { mode: "url", message, url } } })[id];
  }

  /** Asks the client's model for a message, with the parameters of sampling/createMessage. */
  sample(id, params) {
    return this.ask({ [id]: { method: "sampling/createMessage", params } })[id];
  }

  /** Returns the client's roots. */
  roots(id) {
    return this.ask({ [id]: { method: "roots/list", params: {} } })[id].roots ?? [];
  }

  /** Keeps a string for the next run of the handler. It has an effect only if this run asks. */
  setState(state) {
    if (typeof state !== "string") throw PluginError.invalidParams("the state of a call is not a string");
    this.#state = state;
  }

  /** The ask of the response; undefined if the handler asked nothing. */
  get pendingAsk() {
    if (!this.#asking) return undefined;
    return this.#state === "" ? { requests: this.#questions } : { requests: this.#questions, state: this.#state };
  }
}
