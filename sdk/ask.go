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

// ErrAsking is the error that ends a run of a handler whose question has no answer yet. Ask and the functions that call it return it, and
// the handler returns it too, possibly wrapped. The host then asks the client, and runs the handler again from its start.
var ErrAsking = errors.New("the client is asked")

// A Question is something that a client can be asked: a Form, a Link, a Sampling or a RootsQuestion.
type Question interface {
	request() (method string, params any)
}

// Ask asks the client several questions at once, and returns the answers. Each question has an id that no other question of the call has.
// Elicit, OpenURL, Sample and ListRoots ask one question.
//
// Asking ends the run of the handler: as long as the client has not answered, Ask returns ErrAsking, which the handler must return. After
// that, the handler is run again from its start, in a new call, and Ask returns the answers. A handler must therefore ask the same
// questions under the same ids in each run. What it does before a question is repeated, so ask first, then change something. A call has at
// most 10 rounds of questions.
//
// If questions is empty, Ask ends the run, and the handler is run again. Call SetState before that, so that the runs differ.
//
// The key ask of [capabilities] in the manifest must name what is asked. If the client does not support a question, the call fails: call
// Client to find out what the client supports.
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

// Answers are the client's answers, keyed by the ids of the questions.
type Answers map[string]json.RawMessage

// Form returns the answer to a Form or Link. If the client answered with an error, the returned error is a *ClientError.
func (a Answers) Form(id string) (*FormAnswer, error) { return decodeAnswer[FormAnswer](a, id) }

// Sampling returns the answer to a Sampling. If the client answered with an error, the returned error is a *ClientError.
func (a Answers) Sampling(id string) (*SamplingAnswer, error) {
	return decodeAnswer[SamplingAnswer](a, id)
}

// Roots returns the answer to a RootsQuestion. If the client answered with an error, the returned error is a *ClientError.
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

// ClientError is an error with which a client answered a question, for example because its user rejected a Sampling.
type ClientError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *ClientError) Error() string { return fmt.Sprintf("the client: %s (%d)", e.Message, e.Code) }

// Client states what the client can be asked, as far as the plugin is granted to ask it.
func Client(ctx context.Context) abi.Client {
	if c, ok := ctx.Value(askKey{}).(*conversation); ok {
		return c.client
	}
	return abi.Client{}
}

// SetState keeps a string for the next run of the handler, in which State returns that string. SetState has an effect only if the run ends
// with ErrAsking. The host protects the string: the client can neither read nor change it.
func SetState(ctx context.Context, state string) {
	if c, ok := ctx.Value(askKey{}).(*conversation); ok {
		c.ask.State = state
	}
}

// State returns the string that SetState kept in the previous run; empty in the first run.
func State(ctx context.Context) string {
	if c, ok := ctx.Value(askKey{}).(*conversation); ok {
		return c.state
	}
	return ""
}

// conversation has what a call has asked the client in earlier runs, and what it asks in this run.
type conversation struct {
	client  abi.Client
	answers map[string]json.RawMessage
	state   string  // string that SetState kept in the previous run
	ask     abi.Ask // what this run asks the client
}

type askKey struct{}

// decode decodes a member of the request. The member is valid, since the host has encoded it.
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

// encodeAsk returns the response for a handler that asks the client, without the closing brace. If err, the error of the handler, is not
// ErrAsking, encodeAsk returns err.
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
