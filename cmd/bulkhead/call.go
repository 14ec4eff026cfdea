package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxArguments bounds what is read from stdin, in bytes: the size of a message.
const maxArguments = 16 << 20

func newCall() *cobra.Command {
	o := options{Options: host.Options{AllTools: true}} // the identity that they would disturb is a server's
	var pairs []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "call TOOL [JSON | -] [flags]",
		Short: "Make one call and print the result",
		Long: `Call a tool in the way that the server does, with the same grants and limits.

Arguments are a JSON object, or - to read one from stdin; --arg adds single ones, whose
values are read as the tool's schema has them: a string as it stands, all else as JSON.

Texts of the result go to stdout; with --json the whole answer does. Progress and log
messages go to stderr.

Exit codes: 1 the tool answered with an error; 2 there is no such tool, or the arguments
are wrong; 3 the call failed (time, memory, a crash).`,
		Example: `  bulkhead call chant_spec_list --arg status=ready --arg limit=5
  bulkhead call chant_search '{"query": "login"}' --json
  cat arguments.json | bulkhead call chant_add -`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: o.completeTools,
		RunE: func(c *cobra.Command, args []string) error {
			return o.asking(c, func(h *host.Host) error {
				err := call(c, h, args, pairs, asJSON)
				if refused := (*host.UsageError)(nil); asJSON && errors.As(err, &refused) {
					refusal := map[string]any{"code": abi.CodeInvalidParams, "message": refused.Error()}
					err = errors.Join(err, printJSON(c.OutOrStdout(), map[string]any{"error": refusal}))
				}
				return err
			})
		},
	}
	o.add(c, "warn")
	c.Flags().StringArrayVar(&pairs, "arg", nil, "one argument: `name=value`, repeatable")
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON: a CallToolResult, or {\"error\": {\"code\", \"message\"}}")
	return c
}

func call(c *cobra.Command, h *host.Host, args, pairs []string, asJSON bool) error {
	name := args[0]
	tool, ok := h.Tool(name)
	if !ok {
		if why := h.Refusal(name); why != "" {
			return usage("%s is not offered: %s", name, why)
		}
		return usage("there is no tool %q: `bulkhead tools` lists what there is", name)
	}
	arguments, err := readArguments(c.InOrStdin(), args[1:], pairs, tool.Input)
	if err != nil {
		return &host.UsageError{Err: err}
	}
	answer, err := h.Call(c.Context(), name, arguments, printNotice)
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	if asJSON {
		err = printAnswer(c.OutOrStdout(), answer)
	} else {
		err = printTexts(c.OutOrStdout(), answer)
	}
	if err != nil {
		return err
	}
	return exitCode(answer)
}

// exitCode says by a code what the printed answer was.
func exitCode(a host.Answer) error {
	switch {
	case a.Failure == "invalid_arguments":
		return silent(exitUsage)
	case a.Failure != "":
		return silent(exitHost)
	case a.IsError || a.Error != nil:
		return silent(exitTool)
	}
	return nil
}

func printAnswer(w io.Writer, a host.Answer) error {
	if a.Error != nil {
		return printJSON(w, map[string]any{"error": a.Error})
	}
	return printJSON(w, a.Result)
}

// printTexts prints the texts of a result, and says what else is in it.
func printTexts(w io.Writer, a host.Answer) error {
	if a.Error != nil {
		fmt.Fprintf(os.Stderr, "bulkhead: the tool answered with error %d: %s\n", a.Error.Code, visible.Text(a.Error.Message))
		return nil
	}
	var r struct {
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MIMEType string `json:"mimeType"`
			URI      string `json:"uri"`
			Resource struct {
				URI  string  `json:"uri"`
				Text *string `json:"text"`
			} `json:"resource"`
		} `json:"content"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	if a.IsError {
		w = os.Stderr
	}
	out := bufio.NewWriter(w)
	for _, item := range r.Content {
		switch {
		case item.Type == "text":
			fmt.Fprintln(out, shownTo(w, item.Text))
		case item.Resource.Text != nil:
			fmt.Fprintln(out, shownTo(w, *item.Resource.Text))
		default:
			fmt.Fprintf(out, "[%s %s: see it with --json]\n", line(item.Type), line(firstOf(item.MIMEType, item.URI, item.Resource.URI)))
		}
	}
	return out.Flush()
}

// terminal tells whether a person may be looking at w.
func terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// uncontrolled replaces the control characters of a result, which could move a terminal's cursor or colour
// its text. Unlike visible.Text it keeps what only changes how its neighbours look, such as the selectors of
// emojis: a result is data, and nobody decides by it what a plugin may do.
func uncontrolled(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && !(r >= 0x80 && r < 0xa0) {
			return r
		}
		return '·'
	}, text)
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return "content"
}

// printNotice shows a notification to whoever waits for the answer.
func printNotice(method string, params json.RawMessage) {
	fmt.Fprintf(os.Stderr, "%s\n", visible.Text(notice(method, params)))
}

// notice words a notification for a person.
func notice(method string, params json.RawMessage) string {
	var p struct {
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
		Level    string          `json:"level"`
		Data     json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &p) != nil {
		return method
	}
	switch {
	case p.Level != "":
		return fmt.Sprintf("%s: %s", p.Level, p.Data)
	case p.Total > 0:
		return strings.TrimSpace(fmt.Sprintf("%g of %g %s", p.Progress, p.Total, p.Message))
	}
	return strings.TrimSpace(fmt.Sprintf("%g %s", p.Progress, p.Message))
}

// completeTools offers the names of the tools that the flags find.
func (o *options) completeTools(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	o.logLevel = "off"
	var names []string
	if h, err := o.open(); err == nil {
		for _, p := range h.Plugins() {
			for _, t := range p.Tools {
				if t.Offered {
					names = append(names, cobra.CompletionWithDesc(t.Name, visible.Text(firstLine(t.Description))))
				}
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
