package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// newPrompt lists prompts, or gets one.
func newPrompt() *cobra.Command {
	o := options{Options: host.Options{AllTools: true}}
	var pairs []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "prompt [NAME] [flags]",
		Short: "List the prompts that plugins offer, or get one",
		Long: `Without a name, list the prompts that clients are offered. With one, print the
messages of that prompt, as the server sends them to clients.`,
		Example: `  bulkhead prompt
  bulkhead prompt proposal --arg description="dark mode"
  bulkhead prompt apply --json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completePrompts,
		RunE: func(c *cobra.Command, args []string) error {
			arguments, err := promptArguments(pairs)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				o.Requested = args[0]
			}
			return o.withHost(c, asJSON, func(h opened) error {
				if len(args) == 0 {
					return printList(c, h, asJSON, listPrompts)
				}
				return getPrompt(c, h, args[0], arguments, asJSON)
			})
		},
	}
	o.add(c, "warn")
	o.addAnswers(c)
	c.Flags().StringArrayVar(&pairs, "arg", nil, "one argument: `name=value`, repeatable")
	must(c.RegisterFlagCompletionFunc("arg", func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		return o.completePromptArgument(c, args, pairs, text)
	}))
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: the array of prompts, or MCP's GetPromptResult")
	return c
}

func getPrompt(c *cobra.Command, h opened, name string, arguments map[string]string, asJSON bool) error {
	answer, err := request(c.Context(), h, abi.MethodPromptsGet, map[string]any{"name": name, "arguments": arguments})
	switch {
	case err != nil:
		return err
	case answer.Error != nil:
		return reportNotGot(c.Context(), h, answer, listPrompts, name, "`bulkhead prompt`")
	case asJSON:
		return printJSON(c.OutOrStdout(), answer.Result)
	}
	var r struct {
		Messages []struct {
			Role    string `json:"role"`
			Content struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(answer.Result, &r); err != nil {
		return fmt.Errorf("cannot parse the prompt: %w", err)
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for _, m := range r.Messages {
		text := m.Content.Text
		if m.Content.Type != "text" {
			text = "[" + m.Content.Type + ": see it with --json]"
		}
		fmt.Fprintf(out, "%s:\n%s\n", oneLine(m.Role), sanitizeFor(c.OutOrStdout(), text))
	}
	return out.Flush()
}

// promptArguments parses name=value pairs. In MCP the arguments of a prompt are strings.
func promptArguments(pairs []string) (map[string]string, error) {
	arguments := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage.Errorf("--arg %s: write name=value", pair)
		}
		arguments[name] = value
	}
	return arguments, nil
}
