package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// questions answers what a call asks: with the answers of --answer, and otherwise by asking the user on the terminal.
type questions struct {
	stdin    io.Reader
	terminal bool // stdin is a terminal
	to       io.Writer
	before   func() // called before the user is asked
	given    map[string]json.RawMessage
}

// addAnswers adds the flag --answer.
func (o *options) addAnswers(c *cobra.Command) {
	c.Flags().StringArrayVar(&o.answers, "answer", nil, "answer of the client to a question of the call: `ID=JSON`, repeatable")
}

// newQuestions parses the values of --answer.
func newQuestions(stdin io.Reader, answers []string, before func()) (*questions, error) {
	q := &questions{stdin: stdin, terminal: term.IsTerminal(stdin), to: os.Stderr, before: before, given: map[string]json.RawMessage{}}
	for _, answer := range answers {
		id, value, ok := strings.Cut(answer, "=")
		if !ok || id == "" || !rawjson.Valid([]byte(value)) || rawjson.Kind([]byte(value)) != '{' {
			return nil, usage.Errorf(`--answer %s: write ID=JSON, where JSON is the result of MCP, such as name={"action":"accept","content":{"name":"Ada"}}`, oneLine(answer))
		}
		q.given[id] = json.RawMessage(value)
	}
	return q, nil
}

// capabilities returns what can be asked: elicitation by the terminal, and whatever the given answers answer.
func (q *questions) capabilities() json.RawMessage {
	can := abi.Client{Elicitation: &abi.Elicitation{Form: &struct{}{}, URL: &struct{}{}}}
	for _, answer := range q.given {
		switch {
		case rawjson.Member(answer, "role") != nil, rawjson.Member(answer, "error") != nil:
			can.Sampling = &abi.Sampling{Tools: &struct{}{}, Context: &struct{}{}}
		case rawjson.Member(answer, "roots") != nil:
			can.Roots = &struct{}{}
		}
	}
	text, _ := json.Marshal(can) // a struct of empty structs always encodes
	return text
}

// answer implements host.Client.Answer.
func (q *questions) answer(ctx context.Context, asked host.Question) (json.RawMessage, error) {
	if given := q.given[asked.ID]; given != nil {
		return refusalOf(given)
	}
	if asked.Method != abi.MethodElicit {
		return nil, fmt.Errorf("there is no answer: pass --answer %s=JSON", oneLine(asked.ID))
	}
	q.before()
	var params struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(asked.Params, &params); err != nil {
		return nil, err
	}
	fmt.Fprintf(q.to, "\nThe plugin asks (%s): %s\n", oneLine(asked.ID), questionText(params.Message))
	if !q.terminal {
		fmt.Fprintf(q.to, "This is no terminal, so the question is cancelled: pass --answer %s=JSON\n", oneLine(asked.ID))
		return actionOf(abi.ActionCancel), nil
	}
	if params.Mode == "url" {
		return actionOf(q.link(ctx, params.URL)), nil
	}
	action, content := q.form(ctx, params.Schema)
	if action != abi.ActionAccept {
		return actionOf(action), nil
	}
	return json.Marshal(map[string]any{"action": action, "content": content})
}

// approver returns the function that asks whether a call may run that needs approval; nil if the user cannot be asked. The flag --answer does
// not approve: a program that writes the command line of a call could then approve it.
func (q *questions) approver() func(ctx context.Context, text string) (host.Decision, error) {
	if !q.terminal {
		return nil
	}
	return func(ctx context.Context, text string) (host.Decision, error) {
		q.before()
		// Terminals ignore the isolates around text from right to left. The text is shown completely: it is bounded.
		fmt.Fprintf(q.to, "\n%s\n", visible.Text(strings.NewReplacer("\u2068", "", "\u2069", "").Replace(text)))
		answer, err := q.line(ctx, "Approve this call? [y/N] ")
		switch yes := strings.ToLower(answer); {
		case errors.Is(err, errDecline):
			return host.Declined, nil
		case err != nil:
			return host.Cancelled, nil
		case yes == "y" || yes == "yes":
			return host.Approved, nil
		}
		return host.Declined, nil
	}
}

// refusalOf returns a given answer; one with a member error is a refusal.
func refusalOf(given json.RawMessage) (json.RawMessage, error) {
	refusal := rawjson.Member(given, "error")
	if refusal == nil {
		return given, nil
	}
	e := &abi.Error{}
	if err := json.Unmarshal(refusal, e); err != nil {
		return nil, fmt.Errorf("--answer: error: %w", err)
	}
	return nil, e
}

func actionOf(action string) json.RawMessage { return json.RawMessage(`{"action":"` + action + `"}`) }

// errCancel reports that the input has ended, which cancels a question; errDecline that the user has declined it.
var (
	errCancel  = errors.New("the question was cancelled")
	errDecline = errors.New("the question was declined")
)

// maxLine is the maximum size of an answer on the terminal, in bytes.
const maxLine = 64 << 10

// maxQuestion is the maximum length of a text of a question, in code points.
const maxQuestion = 4000

// questionText makes a text of a question fit to be shown.
func questionText(text string) string { return shortened(text, maxQuestion, "") }

// line prompts for a line.
func (q *questions) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(q.to, prompt)
	text := ask(ctx, q.stdin, maxLine, "")
	if !strings.HasSuffix(text, "\n") {
		return "", errCancel
	}
	text = strings.TrimSpace(text)
	if text == "!" {
		return "", errDecline
	}
	return text, nil
}

// actionFor returns the action for an error of line; to accept for nil.
func actionFor(err error) string {
	switch {
	case err == nil:
		return abi.ActionAccept
	case errors.Is(err, errDecline):
		return abi.ActionDecline
	}
	return abi.ActionCancel
}

// link asks the user to open a URL. It is not opened: the user must see it first.
func (q *questions) link(ctx context.Context, link string) string {
	u, err := url.Parse(link)
	if link == "" || err != nil {
		return abi.ActionCancel
	}
	fmt.Fprintf(q.to, "Open this address of %s in a browser, if you trust it:\n  %s\n", visible.Quote(u.Host), visible.Text(oneLine(link)))
	text, err := q.line(ctx, "Have you opened it? [y/N] ")
	if yes := strings.ToLower(text); err == nil && yes != "y" && yes != "yes" {
		err = errDecline
	}
	return actionFor(err)
}
