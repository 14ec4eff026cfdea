package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// response is the response to a request, with what the host recorded and sent while it ran.
type response struct {
	host.Answer
	result        any    // the decoded result without _meta; nil if the response is an error
	text          string // the texts of the result, one per line
	onlyText      bool   // text has the complete content
	recorded      scratch.Outcome
	notifications []received
	asked         map[string]any // the parameters of the questions
	unanswered    []string       // the IDs of questions for which the step has no answer
	log           string
	panicked      string // text of the panic that ended the call
}

// received is a notification.
type received struct {
	method string
	params any
}

// do makes the request of a step.
func (r *run) do(ctx context.Context, s *step) (response, error) {
	var request scratch.Request
	request.Method, request.Params = s.method(r.places)
	if s.answers != nil {
		request.Answer = func(q host.Question) (json.RawMessage, error) { return s.answer(r.places, q.ID) }
	}
	exchanged, err := r.session.Exchange(ctx, request)
	got := response{Answer: exchanged.Answer, asked: map[string]any{}}
	for _, n := range exchanged.Notifications {
		v, _ := jsonvalue.Decode(n.Params) // the host sends valid JSON
		got.notifications = append(got.notifications, received{n.Method, v})
	}
	for _, q := range exchanged.Questions {
		got.asked[q.ID], _ = jsonvalue.Decode(q.Params)
		if _, ok := s.answers[q.ID].(map[string]any); !ok {
			got.unanswered = append(got.unanswered, q.ID)
		}
	}
	if err != nil && len(got.unanswered) == 0 {
		return got, err
	}
	got.log, got.panicked = r.session.Logged(), panicOf(got.Answer)
	if records, err := r.session.Records(); err != nil {
		return got, err
	} else if got.recorded = scratch.Summarize(records); got.Result == nil {
		return got, nil
	}
	if got.result, err = jsonvalue.Decode(got.Result); err != nil {
		return got, err
	}
	if object, ok := got.result.(map[string]any); ok {
		delete(object, "_meta")
	}
	got.text, got.onlyText = textOf(s, got.result)
	return got, nil
}

// panicOf returns the text of the panic that ended a call; empty if none did.
func panicOf(a host.Answer) string {
	type failure struct {
		Failure struct{ Panic string } `json:"bulkhead/error"`
	}
	var of failure
	meta := struct {
		Meta *failure `json:"_meta"`
	}{&of}
	switch {
	case a.Failure == "":
		return ""
	case a.Error != nil:
		_ = json.Unmarshal(a.Error.Data, &of) // the host sends valid JSON
	default:
		_ = json.Unmarshal(a.Result, &meta)
	}
	return of.Failure.Panic
}

// answer returns the client's answer to a question.
func (s *step) answer(p *places, id string) (json.RawMessage, error) {
	given, ok := s.answers[id].(map[string]any)
	if !ok {
		return nil, errors.New("the scenario has no answer to the question " + id)
	}
	refusal, ok := given["error"].(map[string]any)
	if !ok {
		return json.Marshal(p.expandAll(given))
	}
	e := &abi.Error{Message: fmt.Sprint(refusal["message"])}
	if code, ok := refusal["code"].(json.Number); ok {
		n, err := code.Int64()
		if err != nil {
			return nil, err
		}
		e.Code = int(n)
	}
	return nil, e
}

// textOf returns the texts of a result: those of its content, messages or contents, the names of its items, or the values of a
// completion. It returns false if the result has other content too, such as an image.
func textOf(s *step, result any) (string, bool) {
	object, _ := result.(map[string]any)
	var texts []string
	all := true
	add := func(v any) {
		text, ok := v.(string)
		if ok {
			texts = append(texts, text)
		}
		all = all && ok
	}
	member := func(v any, names ...string) any {
		for _, name := range names {
			o, _ := v.(map[string]any)
			v = o[name]
		}
		return v
	}
	items := func(v any) []any { list, _ := v.([]any); return list }
	switch s.kind {
	case kindTool:
		for _, item := range items(object["content"]) {
			all = all && member(item, "type") == "text"
			add(member(item, "text"))
		}
	case kindPrompt:
		for _, message := range items(object["messages"]) {
			all = all && member(message, "content", "type") == "text"
			add(member(message, "content", "text"))
		}
	case kindResource:
		for _, part := range items(object["contents"]) {
			add(member(part, "text"))
		}
	case kindComplete:
		for _, value := range items(member(object, "completion", "values")) {
			add(value)
		}
	case kindList:
		for _, l := range lists {
			if l.name == s.name {
				for _, item := range items(object[l.member]) {
					add(member(item, l.key))
				}
			}
		}
	}
	return strings.Join(texts, "\n"), all
}

// matchDenied returns the operations that were denied but not expected, and those that were expected but not denied. An expected
// operation may leave out the target.
func matchDenied(got, want []string) (unexpected, missing []string) {
	matches := func(denied, want string) bool { return denied == want || strings.HasPrefix(denied, want+" ") }
	for _, denied := range got {
		if !slices.ContainsFunc(want, func(w string) bool { return matches(denied, w) }) {
			unexpected = append(unexpected, denied)
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(denied string) bool { return matches(denied, w) }) {
			missing = append(missing, w)
		}
	}
	return unexpected, missing
}
