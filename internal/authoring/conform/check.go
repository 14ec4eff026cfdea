package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxShown bounds a value in a difference, in bytes.
const maxShown = 200

// check returns how a response differs from the expected one; "" if it does not.
func (s *scenario) check(got scratch.Response) string {
	var rpcError, asked json.RawMessage
	if got.Error != nil {
		rpcError, _ = rawjson.Marshal(got.Error) // it was decoded from JSON
	}
	if n := len(got.Questions); n > 0 {
		asked = got.Questions[n-1].Params
	}
	body := bounded(cmp.Or(string(rpcError), string(got.Result)))
	switch {
	case s.fails && !got.IsError && rpcError == nil:
		return fmt.Sprintf("the request succeeds with %s, want an error", body)
	case s.fails:
		return ""
	case s.asked != nil && !contains(asked, s.asked):
		return fmt.Sprintf("the client is asked %s, want %s: %s", orNone(asked), s.asked, body)
	case got.Failure != s.failure:
		return fmt.Sprintf("the call has the failure %q, want %q: %s", got.Failure, s.failure, body)
	case s.failure != "":
		return ""
	case s.rpcError != nil && rpcError == nil:
		return fmt.Sprintf("the request succeeds with %s, want the error %s", body, s.rpcError)
	case rpcError != nil && (s.rpcError == nil || !contains(rpcError, s.rpcError)):
		return fmt.Sprintf("the error is %s, want %s", body, orNone(s.rpcError))
	case rpcError != nil:
		return ""
	case got.IsError != s.isError:
		return fmt.Sprintf("isError is %v, want %v: %s", got.IsError, s.isError, body)
	}
	if difference := s.checkText(got.Result); difference != "" {
		return difference
	}
	if s.result != nil && !contains(got.Result, s.result) {
		return fmt.Sprintf("the result is %s, want %s", body, bounded(string(s.result)))
	}
	return s.checkProgress(got.Notifications)
}

func (s *scenario) checkText(result json.RawMessage) string {
	if s.text == nil && s.textJSON == nil {
		return ""
	}
	var r struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 || r.Content[0].Type != "text" {
		return fmt.Sprintf("the result does not have exactly one text: %s", bounded(string(result)))
	}
	got := r.Content[0].Text
	if s.text != nil && got != *s.text {
		at := 0
		for at < len(got) && at < len(*s.text) && got[at] == (*s.text)[at] {
			at++
		}
		return fmt.Sprintf("the text has %d bytes and differs at byte %d: %q, want %d bytes: %q", len(got), at, bounded(got[at:]), len(*s.text), bounded((*s.text)[at:]))
	}
	if s.textJSON != nil && !contains([]byte(got), s.textJSON) {
		return fmt.Sprintf("the text is %q, want the JSON %s", bounded(got), s.textJSON)
	}
	return ""
}

func (s *scenario) checkProgress(notifications []scratch.Notification) string {
	if s.progress == nil {
		return ""
	}
	var progress []json.RawMessage
	for _, n := range notifications {
		if n.Method == "notifications/progress" {
			progress = append(progress, n.Params)
		}
	}
	if len(progress) != len(s.progress) {
		return fmt.Sprintf("there are %d notifications of progress, want %d: %s", len(progress), len(s.progress), progress)
	}
	for i, want := range s.progress {
		if !contains(progress[i], want) {
			return fmt.Sprintf("notification %d is %s, want %s", i+1, bounded(string(progress[i])), want)
		}
	}
	return ""
}

// checkLog returns the first line that a log lacks; "" if it has all.
func (s *scenario) checkLog(log string) string {
	for _, line := range s.log {
		level, text, _ := strings.Cut(line, ": ")
		if !strings.Contains(log, fmt.Sprintf("[%s]", strings.ToUpper(level))) || !strings.Contains(log, ": "+text+"\n") {
			return fmt.Sprintf("the log does not have %q with the level %s", text, level)
		}
	}
	return ""
}

// contains reports whether a JSON value has everything that another one has: all members of its objects, and equal arrays and
// scalars.
func contains(got, want json.RawMessage) bool {
	g, err := jsonvalue.Decode(got)
	w, werr := jsonvalue.Decode(want)
	return err == nil && werr == nil && jsonvalue.Contains(g, w) == ""
}

func orNone(raw json.RawMessage) string {
	if raw == nil {
		return "none"
	}
	return string(raw)
}

func bounded(text string) string { return visible.Truncate(text, maxShown) }
