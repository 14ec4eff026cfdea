package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
)

// maxText is the size limit of a string argument, in bytes.
const maxText = 4096

// arguments are those of a call. Absent ones have their defaults.
type arguments struct {
	repo, profile, target, machine string
	moduleID, scope, branch        string
	to, kind, confirmToken         string
	only                           []report.DriftKind
	diff, dryRun, adopt, yes       bool
}

// reader decodes an argument's value.
type reader func(a *arguments, value json.RawMessage) error

// readers are the decoders of all arguments by name. Each tool accepts a subset.
var readers = map[string]reader{
	"repo":          text(func(a *arguments) *string { return &a.repo }),
	"profile":       text(func(a *arguments) *string { return &a.profile }),
	"target":        text(func(a *arguments) *string { return &a.target }),
	"machine":       text(func(a *arguments) *string { return &a.machine }),
	"module_id":     text(func(a *arguments) *string { return &a.moduleID }),
	"branch":        text(func(a *arguments) *string { return &a.branch }),
	"to":            text(func(a *arguments) *string { return &a.to }),
	"confirm_token": text(func(a *arguments) *string { return &a.confirmToken }),
	"scope":         word(func(a *arguments) *string { return &a.scope }, "global", "machine", "project"),
	"kind":          word(func(a *arguments) *string { return &a.kind }, "plan", "diff", "status"),
	"diff":          flag(func(a *arguments) *bool { return &a.diff }),
	"dry_run":       flag(func(a *arguments) *bool { return &a.dryRun }),
	"adopt":         flag(func(a *arguments) *bool { return &a.adopt }),
	"only":          kinds,
	// Only the boolean true is an approval. Anything else counts as absent, not as an error.
	"yes": func(a *arguments, value json.RawMessage) error { a.yes = string(value) == "true"; return nil },
}

func text(place func(*arguments) *string) reader {
	return func(a *arguments, value json.RawMessage) error {
		read, err := readText(value)
		*place(a) = read
		return err
	}
}

func readText(value json.RawMessage) (string, error) {
	var read *string
	switch err := json.Unmarshal(value, &read); {
	case err != nil || read == nil:
		return "", fmt.Errorf("expected a string, got %.40s", value)
	case len(*read) > maxText:
		return "", fmt.Errorf("is longer than %d bytes", maxText)
	case strings.ContainsRune(*read, 0):
		return "", fmt.Errorf("contains a NUL byte")
	}
	return *read, nil
}

func word(place func(*arguments) *string, allowed ...string) reader {
	return func(a *arguments, value json.RawMessage) error {
		read, err := readText(value)
		if err == nil && !slices.Contains(allowed, read) {
			err = fmt.Errorf("expected one of %s, got %.40q", strings.Join(allowed, ", "), read)
		}
		if err != nil {
			return err
		}
		*place(a) = read
		return nil
	}
}

func flag(place func(*arguments) *bool) reader {
	return func(a *arguments, value json.RawMessage) error {
		*place(a) = string(value) == "true"
		if !*place(a) && string(value) != "false" {
			return fmt.Errorf("expected true or false, got %.40s", value)
		}
		return nil
	}
}

func kinds(a *arguments, value json.RawMessage) error {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil || items == nil {
		return fmt.Errorf("expected a list, got %.40s", value)
	}
	allowed := []report.DriftKind{report.Missing, report.Modified, report.Extra}
	for _, item := range items {
		read, err := readText(item)
		if err == nil && !slices.Contains(allowed, report.DriftKind(read)) {
			err = fmt.Errorf("expected missing, modified or extra, got %.40q", read)
		}
		if err != nil {
			return err
		}
		if !slices.Contains(a.only, report.DriftKind(read)) {
			a.only = append(a.only, report.DriftKind(read))
		}
	}
	return nil
}

// read decodes a call's arguments as far as possible. The error is about the first invalid one, by name.
func (t tool) read(raw json.RawMessage) (arguments, error) {
	read := arguments{profile: config.DefaultProfile, target: plan.AllTargets, scope: string(module.LayerGlobal)}
	values := map[string]json.RawMessage{}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && string(trimmed) != "null" {
		if err := json.Unmarshal(trimmed, &values); err != nil {
			return read, invalid("the arguments are not an object")
		}
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var first error
	for _, name := range names {
		err := invalid("there is no argument %.80q; %s takes %s", name, t.name, strings.Join(t.takes, ", "))
		if slices.Contains(t.takes, name) {
			err = readers[name](&read, values[name])
			if err != nil {
				err = invalid("argument %s: %w", name, err)
			}
		}
		if first == nil {
			first = err
		}
	}
	for _, name := range t.needs {
		if _, ok := values[name]; !ok && first == nil {
			first = invalid("argument %s is missing", name)
		}
	}
	return read, first
}

func invalid(format string, arguments ...any) error {
	return fault.New(fault.Unexpected, nil, format, arguments...)
}
