package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// fail records that the expectation at a key is not met.
func (r *run) fail(t *tomlfile.Table, key, what string, diff ...string) {
	for i, line := range diff {
		diff[i] = r.places.insertShown(line)
	}
	r.failures = append(r.failures, Failure{Line: cmp.Or(t.LineOf(key), r.scenario.table.Line()), Key: t.Path(key), Problem: r.places.insertShown(what), Diff: diff})
}

// check compares the response to a step with the expected one.
func (r *run) check(s *step, got response) {
	t := s.table
	for _, id := range got.unanswered {
		r.fail(t, "answers", fmt.Sprintf("there is no answer to the question %s: %s", tomlfile.Quote(id), jsonvalue.Show(got.asked[id])))
	}
	if len(got.unanswered) > 0 {
		return
	}
	r.checkQuestions(s, got)
	r.checkHost(s, got)
	switch {
	case got.Failure != s.failure && s.failure != "":
		r.fail(t, "failure", fmt.Sprintf("the call has the failure %q, want %q: %s", got.Failure, s.failure, body(got)))
	case got.Failure != s.failure && s.rpcError == nil && !s.isError:
		r.fail(t, s.kind, fmt.Sprintf("the host ended the request (%s): %s", got.Failure, body(got)))
	case s.failure != "" && got.Error == nil: // the kind of the failure decides whether the result has isError
		r.checkResult(s, got)
	case s.rpcError != nil && got.Error == nil:
		r.fail(t, "error", "the request succeeds: "+body(got))
	case s.rpcError != nil:
		r.checkError(s.rpcError, got)
	case got.Error != nil && s.failure == "":
		r.fail(t, s.kind, fmt.Sprintf("the response is the error %d: %s", got.Error.Code, got.Error.Message))
	case got.Error != nil:
	case got.IsError != s.isError && s.isError:
		r.fail(t, "is_error", "the result is no error: "+body(got))
	case got.IsError != s.isError:
		r.fail(t, s.kind, "the result is an error: "+body(got))
	default:
		r.checkResult(s, got)
	}
}

// checkResult compares the result with the expected one.
func (r *run) checkResult(s *step, got response) {
	if s.text != nil {
		r.compareText(s.table, "text", "the text", got.text, r.places.expand(*s.text))
	}
	r.checkTexts(s.table, "", "the text", got.text, s.texts)
	if s.structured != nil {
		object, _ := got.result.(map[string]any)
		if difference := jsonvalue.Equal(object["structuredContent"], r.places.expandAll(s.structured)); difference != "" {
			r.fail(s.table, jsonKey(s.table, "structured"), "the structured content differs: "+difference)
		}
	}
	if s.result != nil {
		if difference := jsonvalue.Contains(got.result, r.places.expandAll(s.result)); difference != "" {
			r.fail(s.table, jsonKey(s.table, "result"), "the result differs: "+difference)
		}
	}
}

// jsonKey returns the key at which a table has an object: key, or key_json if the object is a string in JSON.
func jsonKey(t *tomlfile.Table, key string) string {
	if t.Has(key) {
		return key
	}
	return key + "_json"
}

func (r *run) checkError(want *rpcError, got response) {
	if want.code != nil && int64(got.Error.Code) != *want.code {
		r.fail(want.table, "code", fmt.Sprintf("the code is %d, want %d: %s", got.Error.Code, *want.code, got.Error.Message))
	}
	if want.message != nil {
		r.compareText(want.table, "message", "the message", got.Error.Message, r.places.expand(*want.message))
	}
	r.checkTexts(want.table, "", "the message", got.Error.Message, want.texts)
}

func (r *run) checkQuestions(s *step, got response) {
	for _, id := range slices.Sorted(maps.Keys(s.asked)) {
		asked, ok := got.asked[id]
		if !ok {
			r.fail(s.table, "asked", fmt.Sprintf("the question %s is not asked", tomlfile.Quote(id)))
		} else if difference := jsonvalue.Contains(asked, r.places.expandAll(s.asked[id])); difference != "" {
			r.fail(s.table, "asked", fmt.Sprintf("the question %s differs: %s", tomlfile.Quote(id), difference))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.answers)) {
		if _, ok := got.asked[id]; !ok {
			r.fail(s.table, "answers", fmt.Sprintf("the question %s is not asked", tomlfile.Quote(id)))
		}
	}
}

// checkHost compares denied operations, log lines and notifications of the request with the expected ones.
func (r *run) checkHost(s *step, got response) {
	t := s.table
	if s.denied != nil {
		var want []string
		for _, operation := range s.denied {
			want = append(want, r.places.expand(operation))
		}
		unexpected, missing := matchDenied(got.recorded.Denied, want)
		for _, operation := range unexpected {
			r.fail(t, "denied", "the plugin is denied "+operation)
		}
		for _, operation := range missing {
			r.fail(t, "denied", fmt.Sprintf("the plugin is not denied %s; it is denied: %s", operation, cmp.Or(strings.Join(got.recorded.Denied, ", "), "nothing")))
		}
	}
	for _, line := range s.log {
		if !strings.Contains(got.log, r.places.expand(line)) {
			r.fail(t, "log", fmt.Sprintf("the log lacks %q", line))
		}
	}
	if s.notifications == nil {
		return
	}
	if len(got.notifications) != len(s.notifications) {
		r.fail(t, "notifications", fmt.Sprintf("there are %d notifications, want %d: %s", len(got.notifications), len(s.notifications), showNotifications(got.notifications)))
		return
	}
	for i, want := range s.notifications {
		n := got.notifications[i]
		if n.method != want.method {
			r.fail(t, "notifications", fmt.Sprintf("notification %d is %s, want %s", i+1, n.method, want.method))
		} else if difference := jsonvalue.Contains(n.params, r.places.expandAll(want.params)); want.params != nil && difference != "" {
			r.fail(t, "notifications", fmt.Sprintf("notification %d differs: %s", i+1, difference))
		}
	}
}

func showNotifications(all []received) string {
	var shown []string
	for _, n := range all {
		shown = append(shown, n.method+" "+jsonvalue.Show(n.params))
	}
	return cmp.Or(strings.Join(shown, ", "), "none")
}

// checkTexts checks the conditions for a string. what names the string in messages.
func (r *run) checkTexts(t *tomlfile.Table, key, what, got string, want texts) {
	at := func(condition string) string { return cmp.Or(key, condition) }
	for _, part := range want.contains {
		if !strings.Contains(got, r.places.expand(part)) {
			r.fail(t, at("contains"), fmt.Sprintf("%s does not contain %q", what, part), found(got)...)
		}
	}
	if want.matches == "" {
		return
	}
	pattern, err := regexp.Compile(r.places.expandPattern(want.matches))
	if err != nil || !pattern.MatchString(got) {
		r.fail(t, at("matches"), fmt.Sprintf("%s does not match %q", what, want.matches), found(got)...)
	}
}

// compareText compares a string with the expected one.
func (r *run) compareText(t *tomlfile.Table, key, what, got, want string) {
	if got != want {
		r.fail(t, key, what+" differs", diff(got, want)...)
	}
}

// body shows a response in a message.
func body(got response) string {
	panicked := ""
	if got.panicked != "" {
		panicked = ": " + got.panicked
	}
	if got.Error != nil {
		return fmt.Sprintf("error %d: %s", got.Error.Code, got.Error.Message) + panicked
	}
	if got.onlyText && got.text != "" {
		return visible.Truncate(got.text, maxLine) + panicked
	}
	return jsonvalue.Show(json.RawMessage(got.Result))
}
