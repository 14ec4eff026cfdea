package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// completionTime bounds how long a shell waits for completions that a plugin answers.
const completionTime = 5 * time.Second

// completion returns the completion for a word and its description. It returns "" for a word with characters that a shell would
// interpret: words are untrusted, and a shell may insert them without quotes.
func completion(word, description string) string {
	if word == "" || strings.ContainsFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.,:/@%+=", r))
	}) {
		return ""
	}
	return cobra.CompletionWithDesc(word, oneLine(visible.Bounded(firstLine(description), 200)))
}

// completions removes empty completions.
func completions(all []string) []string {
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// completePaths has a shell complete flags whose value the help calls a `directory`, or a `file` that is a config, for c and all commands
// below it. A shell completes other flags with files anyway.
func completePaths(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if value, _ := pflag.UnquoteUsage(f); value == "directory" {
			must(c.MarkFlagDirname(f.Name))
		} else if value == "file" && f.Name == "config" {
			must(c.MarkFlagFilename(f.Name, "toml"))
		}
	})
	for _, sub := range c.Commands() {
		completePaths(sub)
	}
}

// completeDirs has a shell complete the arguments of a command with directories.
func completeDirs(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
}

// completeModules completes with directories and files of modules.
func completeModules(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"wasm"}, cobra.ShellCompDirectiveFilterFileExt
}

// openToComplete opens the host that completions come from.
func (o *options) openToComplete() (*host.Host, error) {
	o.logLevel = "off"
	slices.Sort(o.env) // cobra parses the flags twice, so that each value occurs twice
	o.env = slices.Compact(o.env)
	return o.open()
}

// completeTools completes the names of the tools that the host offers with the other flags.
func (o *options) completeTools(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	if h, err := o.openToComplete(); err == nil {
		for _, p := range h.Plugins() {
			for _, t := range p.Tools {
				if t.Offered {
					names = append(names, completion(t.Name, t.Description))
				}
			}
		}
	}
	return completions(names), cobra.ShellCompDirectiveNoFileComp
}

// completeToolFlag completes the values of the flag --tool.
func (o *options) completeToolFlag(c *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	return o.completeTools(c, nil, text)
}

// argument is an argument of a tool or prompt, with the values that it can have, if they are known.
type argument struct {
	name, description string
	values            []string
}

// completeArgument completes name=value. given are the arguments that the command line already contains.
func completeArgument(all []argument, given []string, text string) ([]string, cobra.ShellCompDirective) {
	const asListed = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	var words []string
	if name, _, isValue := strings.Cut(text, "="); isValue {
		for _, a := range all {
			if a.name == name {
				for _, value := range a.values {
					words = append(words, completion(name+"="+value, ""))
				}
			}
		}
		return completions(words), asListed
	}
	for _, a := range all {
		if !slices.ContainsFunc(given, func(pair string) bool { return strings.HasPrefix(pair, a.name+"=") }) {
			words = append(words, completion(a.name+"=", a.description))
		}
	}
	return completions(words), asListed | cobra.ShellCompDirectiveNoSpace
}

// completeToolArgument completes the arguments of the tool that the command line names.
func (o *options) completeToolArgument(args, given []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		if h, err := o.openToComplete(); err == nil {
			if tool, ok := h.Tool(args[0]); ok {
				return completeArgument(toolArguments(tool.Input), given, text)
			}
		}
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// toolArguments returns the properties of a tool's input schema, the required ones first.
func toolArguments(schema json.RawMessage) []argument {
	var s struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Description string `json:"description"`
			property
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var all []argument
	for name, p := range s.Properties {
		all = append(all, argument{name: name, description: p.Description, values: p.pairValues()})
	}
	slices.SortFunc(all, func(a, b argument) int {
		if required := slices.Contains(s.Required, a.name); required != slices.Contains(s.Required, b.name) {
			if required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

// completeList completes with the items of a list that plugins supply. words converts the items to completions.
func (o *options) completeList(c *cobra.Command, list listRequest, words func(h *host.Host, items []listItem) ([]string, cobra.ShellCompDirective)) ([]string, cobra.ShellCompDirective) {
	h, err := o.openToComplete()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, stop := context.WithTimeout(c.Context(), completionTime)
	defer stop()
	defer h.Close(ctx)
	answer, err := h.Ask(ctx, list.method, map[string]string{}, host.Client{})
	var page map[string]json.RawMessage
	var items []listItem
	if err != nil || answer.Error != nil || json.Unmarshal(answer.Result, &page) != nil || json.Unmarshal(page[list.member], &items) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(h, items)
}

// listItem is an item of a list of prompts or resources.
type listItem struct {
	Name        string `json:"name"`
	URI         string `json:"uri"`
	Description string `json:"description"`
	Arguments   []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"arguments"`
}

// completePrompts completes the names of prompts.
func (o *options) completePrompts(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeList(c, listPrompts, func(_ *host.Host, items []listItem) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, item := range items {
			names = append(names, completion(item.Name, item.Description))
		}
		return completions(names), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeResources completes the URIs of resources.
func (o *options) completeResources(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeList(c, listResources, func(_ *host.Host, items []listItem) ([]string, cobra.ShellCompDirective) {
		var uris []string
		for _, item := range items {
			uris = append(uris, completion(item.URI, item.Name))
		}
		return completions(uris), cobra.ShellCompDirectiveNoFileComp
	})
}

// completePromptArgument completes the arguments of the prompt that the command line names, and their values, if its plugin
// completes them.
func (o *options) completePromptArgument(c *cobra.Command, args, given []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeList(c, listPrompts, func(h *host.Host, items []listItem) ([]string, cobra.ShellCompDirective) {
		var all []argument
		for _, item := range items {
			if item.Name == args[0] {
				for _, a := range item.Arguments {
					all = append(all, argument{name: a.Name, description: a.Description})
				}
			}
		}
		if name, value, isValue := strings.Cut(text, "="); isValue {
			i := slices.IndexFunc(all, func(a argument) bool { return a.name == name })
			if i >= 0 {
				all[i].values = promptValues(c.Context(), h, args[0], name, value)
			}
		}
		return completeArgument(all, given, text)
	})
}

// promptValues asks the plugin for values of a prompt's argument that begin with value.
func promptValues(ctx context.Context, h *host.Host, prompt, name, value string) []string {
	ctx, stop := context.WithTimeout(ctx, completionTime)
	defer stop()
	answer, err := h.Ask(ctx, abi.MethodComplete, map[string]any{
		"ref": map[string]string{"type": "ref/prompt", "name": prompt}, "argument": map[string]string{"name": name, "value": value},
	}, host.Client{})
	var r struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	if err != nil || answer.Error != nil || json.Unmarshal(answer.Result, &r) != nil {
		return nil
	}
	return r.Completion.Values
}
