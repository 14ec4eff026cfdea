package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxShown bounds a value in a difference, in bytes.
const maxShown = 200

// session is a client's side of a session with one request. Each Write is one message of the host.
type session struct {
	answer json.RawMessage // the client's answer to a question
	client *io.PipeWriter  // the client's answers; closed after the response

	asked    json.RawMessage // the parameters of the last question
	result   json.RawMessage
	rpcError json.RawMessage // nil: there is none
	isError  bool            // the result is an error
	failure  string          // the code of the host's failure
	progress []json.RawMessage
}

// Write implements io.Writer.
func (a *session) Write(line []byte) (int, error) {
	type failure struct {
		Failure struct{ Code string } `json:"bulkhead/error"`
	}
	var m struct {
		ID            json.RawMessage
		Method        string
		Params        json.RawMessage
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, fmt.Errorf("cannot read the answer: %w", err)
	}
	switch {
	case dispatch.IsStartReport(m.Method, m.Params):
		return len(line), nil
	case m.Method == "notifications/progress":
		a.progress = append(a.progress, m.Params)
		return len(line), nil
	case m.Method == abi.MethodElicit:
		a.asked = m.Params
		go fmt.Fprintf(a.client, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, a.answer) // the host reads when it has written
		return len(line), nil
	case m.Method != "" || string(m.ID) == initializeID:
		return len(line), nil
	}
	defer a.client.Close()
	a.result, a.rpcError = m.Result, m.Error
	var result struct {
		IsError bool
		Meta    failure `json:"_meta"`
	}
	var rpcError struct{ Data failure }
	// A result or data of a different form has no code.
	_ = json.Unmarshal(m.Result, &result)
	_ = json.Unmarshal(m.Error, &rpcError)
	a.isError, a.failure = result.IsError, cmp.Or(result.Meta.Failure.Code, rpcError.Data.Failure.Code)
	return len(line), nil
}

// body returns the result or the error.
func (a *session) body() json.RawMessage {
	if a.rpcError != nil {
		return a.rpcError
	}
	return a.result
}

// check returns how an answer differs from the expected one; "" if it does not.
func (s *scenario) check(a *session) string {
	if s.fails {
		if !a.isError && a.rpcError == nil {
			return fmt.Sprintf("the request succeeds with %s, want an error", bounded(a.result))
		}
		return ""
	}
	if s.asked != nil && !contains(a.asked, s.asked) {
		return fmt.Sprintf("the client is asked %s, want %s: %s", orNone(a.asked), s.asked, bounded(a.body()))
	}
	if a.failure != s.failure {
		return fmt.Sprintf("the call has the failure %q, want %q: %s", a.failure, s.failure, bounded(a.body()))
	}
	if s.failure != "" {
		return ""
	}
	if s.rpcError != nil || a.rpcError != nil {
		return s.checkError(a)
	}
	if a.isError != s.isError {
		return fmt.Sprintf("isError is %v, want %v: %s", a.isError, s.isError, bounded(a.result))
	}
	if difference := s.checkText(a.result); difference != "" {
		return difference
	}
	if s.result != nil && !contains(a.result, s.result) {
		return fmt.Sprintf("the result is %s, want %s", bounded(a.result), bounded(s.result))
	}
	return s.checkProgress(a.progress)
}

func (s *scenario) checkError(a *session) string {
	if a.rpcError == nil {
		return fmt.Sprintf("the request succeeds with %s, want the error %s", bounded(a.result), s.rpcError)
	}
	if s.rpcError == nil || !contains(a.rpcError, s.rpcError) {
		return fmt.Sprintf("the error is %s, want %s", bounded(a.rpcError), orNone(s.rpcError))
	}
	return ""
}

func (s *scenario) checkText(result json.RawMessage) string {
	if s.text == nil && s.textJSON == nil {
		return ""
	}
	var r struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) != 1 || r.Content[0].Type != "text" {
		return fmt.Sprintf("the result does not have exactly one text: %s", bounded(result))
	}
	got := r.Content[0].Text
	if s.text != nil && got != *s.text {
		at := 0
		for at < len(got) && at < len(*s.text) && got[at] == (*s.text)[at] {
			at++
		}
		return fmt.Sprintf("the text has %d bytes and differs at byte %d: %q, want %d bytes: %q", len(got), at, visible.Truncate(got[at:], maxShown), len(*s.text), visible.Truncate((*s.text)[at:], maxShown))
	}
	if s.textJSON != nil && !contains([]byte(got), s.textJSON) {
		return fmt.Sprintf("the text is %q, want the JSON %s", visible.Truncate(got, maxShown), s.textJSON)
	}
	return ""
}

func (s *scenario) checkProgress(progress []json.RawMessage) string {
	if s.progress == nil {
		return ""
	}
	if len(progress) != len(s.progress) {
		return fmt.Sprintf("there are %d notifications of progress, want %d: %s", len(progress), len(s.progress), progress)
	}
	for i, want := range s.progress {
		if !contains(progress[i], want) {
			return fmt.Sprintf("notification %d is %s, want %s", i+1, bounded(progress[i]), want)
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

func bounded(raw []byte) string { return visible.Truncate(string(raw), maxShown) }
