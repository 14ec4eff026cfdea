package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// ErrAsking is the error with which Ask, and the functions that call it, end a run of a handler whose question has no answer
// yet. The handler returns it, possibly wrapped. The host asks the client, and runs the handler again from its start.
var ErrAsking = errors.New("the client is asked")

// A Question is something that a client can be asked: a Form, a Link, a Sampling or a RootsQuestion.
type Question interface {
	request() (method string, params any)
}

// Ask asks the client several questions at once, each under an id that distinguishes it from all others of the call, and
// returns the answers. Elicit, OpenURL, Sample and ListRoots ask one question.
//
// Asking ends the run of the handler: until the client has answered, Ask returns ErrAsking, which the handler must return.
// Then the handler is run again from its start, in a new call, and Ask returns the answers. So a handler must ask the same
// questions under the same ids in each run, and what it does before a question is repeated: ask first, then change
// something. A call has at most 10 rounds of questions.
//
// Without questions, Ask ends the run, and the handler is run again: call SetState first.
//
// The manifest must name what is asked in ask of [capabilities]. If the client does not support a question, the call fails:
// see Client.
func Ask(ctx context.Context, questions map[string]Question) (Answers, error) {
	c, ok := ctx.Value(askKey{}).(*conversation)
	if !ok {
		return nil, errors.New("the client cannot be asked: the manifest has no ask in [capabilities], the config does not grant it, or the context is not that of a tool, prompt or resource")
	}
	out := Answers{}
	var missing []string
	for _, id := range slices.Sorted(maps.Keys(questions)) {
		if answer := c.answers[id]; answer != nil {
			out[id] = answer
			continue
		}
		missing = append(missing, id)
	}
	if len(missing) == 0 && len(questions) > 0 {
		return out, nil
	}
	for _, id := range missing {
		method, params := questions[id].request()
		raw, err := rawjson.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("question %q: %w", id, err)
		}
		if c.ask.Requests == nil {
			c.ask.Requests = map[string]abi.ClientRequest{}
		}
		c.ask.Requests[id] = abi.ClientRequest{Method: method, Params: raw}
	}
	return nil, ErrAsking
}

// Answers are the client's answers by the ids of the questions.
type Answers map[string]json.RawMessage

// Form returns the answer to a Form or Link. If the client answered with an error, it is a *ClientError.
func (a Answers) Form(id string) (*FormAnswer, error) { return decodeAnswer[FormAnswer](a, id) }

// Sampling returns the answer to a Sampling. If the client answered with an error, it is a *ClientError.
func (a Answers) Sampling(id string) (*SamplingAnswer, error) {
	return decodeAnswer[SamplingAnswer](a, id)
}

// Roots returns the answer to a RootsQuestion. If the client answered with an error, it is a *ClientError.
func (a Answers) Roots(id string) ([]Root, error) {
	answer, err := decodeAnswer[struct{ Roots []Root }](a, id)
	if err != nil {
		return nil, err
	}
	return answer.Roots, nil
}

func decodeAnswer[T any](a Answers, id string) (*T, error) {
	raw, ok := a[id]
	if !ok {
		return nil, fmt.Errorf("there is no answer %q", id)
	}
	var refusal struct{ Error *ClientError }
	if err := json.Unmarshal(raw, &refusal); err != nil {
		return nil, fmt.Errorf("the answer %q: %w", id, err)
	}
	if refusal.Error != nil {
		return nil, refusal.Error
	}
	answer := new(T)
	if err := json.Unmarshal(raw, answer); err != nil {
		return nil, fmt.Errorf("the answer %q: %w", id, err)
	}
	return answer, nil
}

// ClientError is the error with which a client answered, for example because its user rejected a Sampling.
type ClientError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *ClientError) Error() string { return fmt.Sprintf("the client: %s (%d)", e.Message, e.Code) }

// Client returns what the client can be asked, as far as the plugin is granted to ask it.
func Client(ctx context.Context) abi.Client {
	if c, ok := ctx.Value(askKey{}).(*conversation); ok {
		return c.client
	}
	return abi.Client{}
}

// SetState keeps a string for the next run of the handler, in which State returns it. It has an effect only if the run
// ends with ErrAsking. The host protects it: the client can neither read nor change it.
func SetState(ctx context.Context, state string) {
	if c, ok := ctx.Value(askKey{}).(*conversation); ok {
		c.ask.State = state
	}
}

// State returns the string of SetState in the run before; empty in the first run.
func State(ctx context.Context) string {
	if c, ok := ctx.Value(askKey{}).(*conversation); ok {
		return c.state
	}
	return ""
}

// conversation is what a call has asked the client so far, and asks it now.
type conversation struct {
	client  abi.Client
	answers map[string]json.RawMessage
	state   string  // of the run before
	ask     abi.Ask // of this run
}

type askKey struct{}

// decode decodes a member of the request. The host has encoded it, so it is valid.
func (c *conversation) decode(key string, value []byte) {
	switch key {
	case "client":
		_ = json.Unmarshal(value, &c.client)
	case "answers":
		c.answers = map[string]json.RawMessage{}
		for id, answer := range rawjson.Members(value) {
			c.answers[id] = answer
		}
	case "state":
		c.state, _ = rawjson.Unquote(value)
	}
}

// encodeAsk returns the response for the error of a handler, without its closing brace, if the handler asks the client;
// otherwise err.
func (c callContext) encodeAsk(err error) ([]byte, error) {
	if !errors.Is(err, ErrAsking) || c.talk == nil {
		return nil, err
	}
	ask, err := rawjson.Marshal(c.talk.ask)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"ask":`), ask...), nil
}
