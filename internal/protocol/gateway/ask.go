package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Codes of the failures of a call that asks its client.
const (
	failureClient  = "client_unable"  // the client does not support what the call asks for
	failureAsks    = "too_many_asks"  // a bound of the asks of a call or of a session is exceeded
	failureAnswer  = "invalid_answer" // the client's answer does not conform to MCP
	failureTimeout = "ask_timeout"    // the client did not answer in time
)

// codeMissingCapability is the error code of MCP for a request that needs a capability which the client has not declared.
const codeMissingCapability = -32021

// interact sets the Interaction of a request: what the client can be asked, and what it answers. Only a client of the modern
// era answers in a request.
func (c *clientRequest) interact(m *message) *abi.Error {
	r := &c.Request
	if !c.meta.modern {
		r.Interaction.Client, r.Interaction.Approver = c.session.can, c.session.canApprove()
		return nil
	}
	r.Interaction.Client = interaction.ParseClient(m.params.meta.capabilities)
	r.Interaction.Approver = r.Interaction.Client.Form
	responses, state := m.params.responses, m.params.state
	if responses == nil && state == nil {
		return nil
	}
	for _, name := range []string{interaction.MemberResponses, interaction.MemberState} {
		r.Params = rawjson.Replace(r.Params, name, nil)
	}
	if responses != nil && rawjson.Kind(responses) != '{' {
		return invalidParams(interaction.MemberResponses + " must be an object")
	}
	if state == nil {
		c.ahead = responses // every ask has a state, so nothing was asked yet
		return nil
	}
	token, ok := rawjson.Unquote(state)
	if !ok {
		return invalidParams(interaction.MemberState + " must be a string")
	}
	before, err := c.session.g.sealer.Open(token, c.binding(), time.Now())
	expired := errors.Is(err, interaction.ErrExpired)
	if r.Interaction.Approval = decided(before.Approval, responses, expired); err != nil && r.Interaction.Approval == nil {
		return invalidParams(interaction.MemberState + ": " + err.Error() + ": make the call again without it")
	}
	r.Interaction.Round, r.Interaction.PluginVersion, r.Interaction.State = before.Round, before.Plugin, before.Module
	var why string
	r.Interaction.Answers, why = merge(before, responses)
	if why != "" {
		return invalidParams(interaction.MemberResponses + ": " + why)
	}
	return nil
}

// merge adds the answers of the client to the earlier ones. It ignores answers to what was not asked.
func merge(before interaction.State, responses []byte) (answers map[string]json.RawMessage, why string) {
	answers = maps.Clone(before.Answers)
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	for id, answer := range rawjson.Members(responses) {
		kind, asked := before.Asked[id]
		if !asked {
			continue
		}
		if why := interaction.CheckAnswer(kind, answer); why != "" {
			return nil, fmt.Sprintf("%s: %s", visible.Name(id), why)
		}
		answers[id] = bytes.Clone(answer)
	}
	if size := sizeOf(answers); size > abi.MaxAskAnswers {
		return nil, fmt.Sprintf("all answers have %d bytes, and the limit is %d", size, abi.MaxAskAnswers)
	}
	return answers, ""
}

func sizeOf(answers map[string]json.RawMessage) int64 {
	size := 0
	for id, answer := range answers {
		size += len(id) + len(answer)
	}
	return int64(size)
}

// binding returns what the state of the request is bound to.
func (c *clientRequest) binding() []byte {
	return interaction.Bind(c.session.view.scope+c.Principal.ID, c.Method, c.Name, c.Params)
}

// checkAsk returns the failure of a call that may not ask its client this; nil if it may.
func (c *clientRequest) checkAsk(queued Queued, ask *Ask) *Failure {
	i := &c.Interaction
	missing := i.Client.Missing(ask.Ask)
	fail := func(code, format string, args ...any) *Failure {
		return c.failure(queued, code, fmt.Sprintf(format, args...))
	}
	switch {
	case i.Round >= abi.MaxAskRounds:
		return fail(failureAsks, "asked the client more than %d times", abi.MaxAskRounds)
	case missing != (interaction.Client{}) && !c.meta.modern:
		return fail(failureClient, "needs a client that supports %s", missing)
	}
	return nil
}

// ask asks the client, or has it asked by the result. again is set if the answers are there, so that the request is executed again.
func (c *clientRequest) ask(ctx context.Context, queued Queued, ask *Ask) (result []byte, again bool, err *abi.Error) {
	if ask.Approval != nil {
		return c.askApproval(ctx, queued, ask)
	}
	failure := c.checkAsk(queued, ask)
	switch {
	case failure == nil && c.meta.modern:
		if again, err = c.takeAhead(ask); !again && err == nil {
			result, err = c.inputRequired(ask)
		}
		return result, again, err
	case failure == nil:
		if failure, err = c.askClient(ctx, queued, ask); failure == nil {
			return nil, err == nil, err
		}
	}
	result, err = c.report(failure)
	return result, false, err
}

// takeAhead prepares the next round with the answers that a client of the modern era sent in its first request, before it was
// asked. It returns false if they are not all that the ask needs: then the client is asked. An answer is used once.
func (c *clientRequest) takeAhead(ask *Ask) (bool, *abi.Error) {
	i := &c.Interaction
	if c.ahead == nil || len(ask.Requests) == 0 || i.Client.Missing(ask.Ask) != (interaction.Client{}) {
		return false, nil
	}
	before := interaction.State{Asked: map[string]interaction.Kind{}, Answers: i.Answers}
	for _, r := range ask.Requests {
		before.Asked[r.ID] = r.Kind
	}
	answers, why := merge(before, c.ahead)
	if why != "" {
		return false, invalidParams(interaction.MemberResponses + ": " + why)
	}
	for id := range before.Asked {
		if answers[id] == nil || i.Answers[id] != nil {
			return false, nil
		}
	}
	c.notifier.repeat()
	i.Round, i.PluginVersion, i.Answers, i.State = i.Round+1, ask.PluginVersion, answers, ask.State
	return true, nil
}

// missingCapability returns the error of the modern era for a client that lacks features.
func missingCapability(message string, missing interaction.Client) *abi.Error {
	return &abi.Error{Code: codeMissingCapability, Message: message, Data: fmt.Appendf(nil, `{"requiredCapabilities":%s}`, missing.JSON())}
}

// missing refuses an ask that the client does not support; nil if it supports it.
func (c *clientRequest) missing(ask *Ask) *abi.Error {
	missing := c.Interaction.Client.Missing(ask.Ask)
	if missing == (interaction.Client{}) {
		return nil
	}
	return missingCapability(fmt.Sprintf("%s needs a client that supports %s", what(&c.Request), missing), missing)
}

// inputRequired encodes the result that asks a client of the modern era.
func (c *clientRequest) inputRequired(ask *Ask) ([]byte, *abi.Error) {
	i := &c.Interaction
	if err := c.missing(ask); err != nil {
		return nil, err
	}
	state := interaction.State{
		Round: i.Round + 1, Plugin: ask.PluginVersion, Asked: map[string]interaction.Kind{}, Answers: i.Answers, Module: ask.State,
		Approval: i.Approval.Sealed(), Expires: time.Now().Add(ask.Timeout).UnixMilli(),
	}
	if ask.Approval != nil { // the round of the module has not begun
		state.Round, state.Module, state.Approval = i.Round, i.State, ask.Approval.Sealed()
	}
	out := fmt.Appendf(nil, `{"resultType":"input_required","_meta":{%s}`, c.meta.served.info)
	for n, r := range ask.Requests {
		if ask.Approval == nil {
			state.Asked[r.ID] = r.Kind
		}
		separator := `,`
		if n == 0 {
			separator = `,"inputRequests":{`
		}
		out = fmt.Appendf(out, `%s%s:{"method":"%s","params":%s}`, separator, rawjson.Quote(r.ID), r.Method, r.Params)
	}
	if len(ask.Requests) > 0 {
		out = append(out, '}')
	}
	token, err := c.session.g.sealer.Seal(state, c.binding())
	if err != nil {
		return nil, &abi.Error{Code: abi.CodeInternal, Message: "the state of the call cannot be encoded: " + err.Error()}
	}
	return withoutBreaks(fmt.Appendf(out, `,"requestState":"%s"}`, token)), nil
}

// askClient asks a client of the legacy era, or a local one, waits for its answers, and prepares the next round. The failure
// is the call's; the error is that of a call that has ended.
func (c *clientRequest) askClient(ctx context.Context, queued Queued, ask *Ask) (*Failure, *abi.Error) {
	s, i := c.session, &c.Interaction
	answers := maps.Clone(i.Answers)
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	before := sizeOf(answers)
	c.notifier.repeat()
	s.calls.pause(c.entry)
	defer func() { s.calls.resume(c.entry, sizeOf(answers)-before) }()
	collect := c.exchange
	if s.local != nil {
		collect = c.askLocal
	}
	if failure, err := collect(ctx, queued, ask, answers); failure != nil || err != nil {
		return failure, err
	}
	i.Round, i.PluginVersion, i.Answers, i.State = i.Round+1, ask.PluginVersion, answers, ask.State
	return nil, nil
}

// askLocal adds the answers of a local client.
func (c *clientRequest) askLocal(ctx context.Context, queued Queued, ask *Ask, answers map[string]json.RawMessage) (*Failure, *abi.Error) {
	limited, cancel := context.WithTimeout(ctx, ask.Timeout)
	defer cancel()
	for _, r := range ask.Requests {
		answer, err := c.session.local.Answer(limited, r)
		var refused *abi.Error
		switch {
		case ctx.Err() != nil:
			return nil, shuttingDown()
		case limited.Err() != nil:
			return c.failure(queued, failureTimeout, fmt.Sprintf("asked the client, which did not answer within %s: see limits.ask", ask.Timeout)), nil
		case errors.As(err, &refused):
			answer = interaction.Refusal(refused)
		case err != nil:
			return c.failure(queued, failureAnswer, fmt.Sprintf("asked the client for %s (%s), which failed: %v", r.Kind, visible.Name(r.ID), err)), nil
		default:
			why := "it is not JSON"
			if rawjson.Valid(answer) {
				why = interaction.CheckAnswer(r.Kind, answer)
			}
			if why != "" {
				return c.failure(queued, failureAnswer, fmt.Sprintf("asked the client for %s (%s), and its answer is invalid: %s", r.Kind, visible.Name(r.ID), why)), nil
			}
		}
		if answers[r.ID] = answer; sizeOf(answers) > abi.MaxAskAnswers {
			return c.tooLarge(queued), nil
		}
	}
	return nil, nil
}

// tooLarge returns the failure of a call whose answers exceed their bound.
func (c *clientRequest) tooLarge(queued Queued) *Failure {
	return c.failure(queued, failureAsks, fmt.Sprintf("got answers of its client of more than %d bytes", abi.MaxAskAnswers))
}

// beginQuestion counts a call that waits for its client until end is called. why is the reason why it may not wait; empty if it may.
func (c *clientRequest) beginQuestion() (end func(), why string) {
	if b, ok := c.session.view.backend.(QuestionBounder); ok {
		return b.BeginQuestion(c.Principal)
	}
	return func() {}, ""
}

// exchange sends requests to the client and adds its answers.
func (c *clientRequest) exchange(ctx context.Context, queued Queued, ask *Ask, answers map[string]json.RawMessage) (*Failure, *abi.Error) {
	s := c.session
	end, why := c.beginQuestion()
	if why != "" {
		return c.failure(queued, failureAsks, "cannot ask the client: "+why), nil
	}
	defer end()
	w, why := s.asks.begin(ask.Requests, c.entry.size+sizeOf(answers))
	if why != "" {
		return c.failure(queued, failureAsks, why), nil
	}
	defer s.asks.end(w)
	timeout := time.NewTimer(ask.Timeout)
	defer timeout.Stop()
	for _, id := range w.ids {
		if s.asks.isClosed() {
			break
		}
		if c.notifier.send(ctx, legacyRequest(id, w.open[id])) != nil {
			return nil, shuttingDown()
		}
	}
	fail := func(code, format string, args ...any) (*Failure, *abi.Error) {
		c.withdraw(ctx, w)
		return c.failure(queued, code, fmt.Sprintf(format, args...)), nil
	}
	for len(w.open) > 0 {
		select {
		case <-ctx.Done():
			return nil, shuttingDown() // not sent if the client cancelled the call
		case <-s.asks.closed:
			return nil, &abi.Error{Code: codeServerError, Message: "the client ended its session before it answered what the call had asked"}
		case <-timeout.C:
			return fail(failureTimeout, "asked the client, which did not answer within %s: see limits.ask", ask.Timeout)
		case r := <-w.replies:
			q := w.open[string(r.id)]
			delete(w.open, string(r.id))
			answer, why := r.answer(q.Kind)
			if why != "" {
				return fail(failureAnswer, "asked the client for %s (%s), and its answer is invalid: %s", q.Kind, visible.Name(q.ID), why)
			}
			if answers[q.ID] = answer; sizeOf(answers) > abi.MaxAskAnswers {
				c.withdraw(ctx, w)
				return c.tooLarge(queued), nil
			}
		}
	}
	return nil, nil
}

// legacyRequest encodes a request to a client of the legacy era, in which elicitation by a URL needs an id of its own.
func legacyRequest(id string, r interaction.Request) []byte {
	params := r.Params
	if r.Needs.URL && rawjson.Member(params, "elicitationId") == nil {
		params = rawjson.Replace(params, "elicitationId", []byte(id))
	}
	return withoutBreaks(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, r.Method, params))
}

// withdraw tells the client that requests which it has not answered are not needed any more.
func (c *clientRequest) withdraw(ctx context.Context, w *waiting) {
	for _, id := range w.ids {
		if _, open := w.open[id]; !open {
			continue
		}
		_ = c.notifier.send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)) // the call ends anyway
	}
}
