package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxArguments is the maximum size of arguments read from stdin, in bytes. It equals the maximum size of an MCP message.
const maxArguments = 16 << 20

func newCall() *cobra.Command {
	o := options{Options: host.Options{AllTools: true}} // only a server hides the tools that have alone = false
	var pairs []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "call TOOL [JSON | -] [flags]",
		Short: "Make one call and print the result",
		Long: `Call a tool with the same grants and limits as the server.

Arguments are a JSON object, or - to read one from stdin. --arg adds single arguments:
the tool's schema decides whether a value is a string, or else JSON.

The text of the result goes to stdout; with --json the complete answer does. Progress
and log messages go to stderr.

If the call asks the user, the questions are put on the terminal. --answer ID=JSON gives
the answer to the question ID, as a result of MCP:

  --answer 'name={"action":"accept","content":{"name":"Ada"}}'

Without a terminal and an answer, a question is cancelled. A call can ask for a message
of a model, or for the client's directories, only if --answer gives it.

Exit codes: 1 the tool answered with an error; 2 unknown tool or invalid arguments;
3 the call failed (timeout, memory, crash).`,
		Example: `  bulkhead call chant_spec_list --arg status=ready --arg limit=5
  bulkhead call chant_search '{"query": "login"}' --json
  cat arguments.json | bulkhead call chant_add -`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: o.completeTools,
		RunE: func(c *cobra.Command, args []string) error {
			o.Requested = args[0]
			return o.withHost(c, asJSON, func(h opened) error {
				err := call(c, h, args, pairs, asJSON)
				if correctable := (*usage.Error)(nil); asJSON && errors.As(err, &correctable) {
					refusal := map[string]any{"code": abi.CodeInvalidParams, "message": correctable.Error()}
					err = errors.Join(err, printJSON(c.OutOrStdout(), map[string]any{"error": refusal}))
				}
				return err
			})
		},
	}
	o.add(c, "warn")
	o.addAnswers(c)
	c.Flags().StringArrayVar(&pairs, "arg", nil, "one argument: `name=value`, repeatable")
	must(c.RegisterFlagCompletionFunc("arg", func(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		return o.completeToolArgument(args, pairs, text)
	}))
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON: a CallToolResult, or {\"error\": {\"code\", \"message\"}}")
	return c
}

func call(c *cobra.Command, h opened, args, pairs []string, asJSON bool) error {
	name := args[0]
	tool, ok := h.Tool(name)
	if !ok {
		// The server refuses the call too, and records it in the audit log.
		if _, err := h.Call(c.Context(), name, nil, host.Client{}); err != nil {
			return fmt.Errorf("the call of %s failed: %w", name, err)
		}
		if why := h.Refusal(name); why != "" {
			return usage.Errorf("%s is not offered: %s", name, why)
		}
		return usage.Errorf("there is no tool %q: %s", name, usage.DidYouMean(name, offeredTools(h), "`bulkhead tools` lists all tools"))
	}
	arguments, err := readArguments(c.InOrStdin(), args[1:], pairs, tool.Input)
	if err != nil {
		return &usage.Error{Err: err}
	}
	answer, err := h.Call(c.Context(), name, arguments, h.client)
	h.shown.end()
	if err != nil {
		return fmt.Errorf("the call of %s failed: %w", name, err)
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

// offeredTools returns the names of the tools that clients are offered.
func offeredTools(h opened) []string {
	var names []string
	for _, p := range h.Plugins() {
		for _, t := range p.Tools {
			if t.Offered {
				names = append(names, t.Name)
			}
		}
	}
	return names
}

// exitCode returns the exit status for an answer that has been printed; nil for success.
func exitCode(a host.Answer) error {
	switch {
	case a.Failure == "invalid_arguments":
		return exitStatus(exitUsage)
	case a.Failure != "":
		return exitStatus(exitHost)
	case a.IsError || a.Error != nil:
		return exitStatus(exitTool)
	}
	return nil
}

func printAnswer(w io.Writer, a host.Answer) error {
	if a.Error != nil {
		return printJSON(w, map[string]any{"error": a.Error})
	}
	return printJSON(w, a.Result)
}

// printTexts prints the text content of a result, and a placeholder for content of other types.
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
		return fmt.Errorf("cannot parse the result: %w", err)
	}
	if a.IsError {
		w = os.Stderr
	}
	out := bufio.NewWriter(w)
	for _, item := range r.Content {
		switch {
		case item.Type == "text":
			fmt.Fprintln(out, sanitizeFor(w, item.Text))
		case item.Resource.Text != nil:
			fmt.Fprintln(out, sanitizeFor(w, *item.Resource.Text))
		default:
			fmt.Fprintf(out, "[%s %s: see it with --json]\n", oneLine(item.Type), oneLine(cmp.Or(item.MIMEType, item.URI, item.Resource.URI, "content")))
		}
	}
	return out.Flush()
}
