package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
)

// maxString is the maximum size of a string argument, in bytes.
const maxString = 4096

// arguments holds the values of the arguments of a call. An absent argument has its default value.
type arguments struct {
	repo, profile, target, machine string
	moduleID, scope, branch        string
	to, kind, confirmToken         string
	only                           []report.DriftKind
	diff, dryRun, adopt, yes       bool
}

// decoder decodes the value of one argument into a.
type decoder func(a *arguments, value json.RawMessage) error

// decoders holds the decoders of the arguments of all tools; the key is the name of the argument.
var decoders = map[string]decoder{
	"repo":          stringArgument(func(a *arguments) *string { return &a.repo }),
	"profile":       stringArgument(func(a *arguments) *string { return &a.profile }),
	"target":        stringArgument(func(a *arguments) *string { return &a.target }),
	"machine":       stringArgument(func(a *arguments) *string { return &a.machine }),
	"module_id":     stringArgument(func(a *arguments) *string { return &a.moduleID }),
	"branch":        nonEmptyArgument(func(a *arguments) *string { return &a.branch }),
	"to":            stringArgument(func(a *arguments) *string { return &a.to }),
	"confirm_token": stringArgument(func(a *arguments) *string { return &a.confirmToken }),
	"scope":         enumArgument(func(a *arguments) *string { return &a.scope }, "global", "machine", "project"),
	"kind":          enumArgument(func(a *arguments) *string { return &a.kind }, "plan", "diff", "status"),
	"diff":          boolArgument(func(a *arguments) *bool { return &a.diff }),
	"dry_run":       boolArgument(func(a *arguments) *bool { return &a.dryRun }),
	"adopt":         boolArgument(func(a *arguments) *bool { return &a.adopt }),
	"only":          decodeDriftKinds,
	// Only the boolean true is an approval. Any other value counts as absent instead of causing an error.
	"yes": func(a *arguments, value json.RawMessage) error { a.yes = string(value) == "true"; return nil },
}

func stringArgument(place func(*arguments) *string) decoder {
	return func(a *arguments, value json.RawMessage) error {
		read, err := decodeString(value)
		*place(a) = read
		return err
	}
}

func nonEmptyArgument(place func(*arguments) *string) decoder {
	return func(a *arguments, value json.RawMessage) error {
		read, err := decodeString(value)
		if err == nil && read == "" {
			err = errors.New("is empty: omit the argument for a generated name")
		}
		*place(a) = read
		return err
	}
}

func decodeString(value json.RawMessage) (string, error) {
	var read *string
	switch err := json.Unmarshal(value, &read); {
	case err != nil || read == nil:
		return "", fmt.Errorf("expected a string, got %.40s", value)
	case len(*read) > maxString:
		return "", fmt.Errorf("is longer than %d bytes", maxString)
	case strings.ContainsRune(*read, 0):
		return "", fmt.Errorf("contains a NUL byte")
	}
	return *read, nil
}

func enumArgument(place func(*arguments) *string, allowed ...string) decoder {
	return func(a *arguments, value json.RawMessage) error {
		read, err := decodeString(value)
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

func boolArgument(place func(*arguments) *bool) decoder {
	return func(a *arguments, value json.RawMessage) error {
		*place(a) = string(value) == "true"
		if !*place(a) && string(value) != "false" {
			return fmt.Errorf("expected true or false, got %.40s", value)
		}
		return nil
	}
}

func decodeDriftKinds(a *arguments, value json.RawMessage) error {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil || items == nil {
		return fmt.Errorf("expected a list, got %.40s", value)
	}
	allowed := []report.DriftKind{report.Missing, report.Modified, report.Extra}
	for _, item := range items {
		read, err := decodeString(item)
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

// read decodes the arguments of a call. If some arguments are invalid, read still decodes the valid ones, and the error
// is about the first invalid argument in alphabetical order.
func (t tool) read(raw json.RawMessage) (arguments, error) {
	read := arguments{profile: config.DefaultProfile, target: plan.AllTargets, scope: string(module.LayerGlobal)}
	values := map[string]json.RawMessage{}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && string(trimmed) != "null" {
		if err := json.Unmarshal(trimmed, &values); err != nil {
			return read, invalid("the arguments are not an object")
		}
	}
	names := make([]string, 0, len(values))
	for name, value := range values {
		if string(value) == "null" && slices.Contains(t.takes, name) {
			delete(values, name) // null counts as absent, unless the argument is required
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	var first error
	for _, name := range names {
		err := invalid("there is no argument %.80q; %s takes %s", name, t.name, strings.Join(t.takes, ", "))
		if slices.Contains(t.takes, name) {
			err = decoders[name](&read, values[name])
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
