//go:build !wasip1

package sdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// manifest is the part of a plugin.toml with which handlers must agree. `bulkhead plugin check` validates the whole file.
type manifest struct {
	Plugin struct {
		Validate string
	}
	Offers struct {
		Prompts     any
		Resources   any
		Completions bool
	}
	Capabilities struct {
		Ask []string
	}
	Tools []struct {
		Name      string
		Input     map[string]any
		InputJSON string `toml:"input_json"`
	}
	schemas map[string]*jsonschema.Schema
}

func load(file string) (*manifest, error) {
	m := &manifest{schemas: map[string]*jsonschema.Schema{}}
	if _, err := toml.DecodeFile(file, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, tool := range m.Tools {
		raw := []byte(tool.InputJSON)
		if tool.Input != nil {
			var err error
			if raw, err = json.Marshal(tool.Input); err != nil {
				return nil, fmt.Errorf("%s: tool %q: input: %w", file, tool.Name, err)
			}
		}
		if len(raw) == 0 {
			raw = []byte(`{"type":"object"}`)
		}
		schema, err := compile(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: tool %q: input: %w", file, tool.Name, err)
		}
		m.schemas[tool.Name] = schema
	}
	return m, nil
}

func compile(raw []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "input"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

// compare returns the differences between the handlers in has and what the manifest declares.
func (m *manifest) compare(has abi.Description) error {
	var faults []error
	for _, tool := range m.Tools {
		if !slices.Contains(has.Tools, tool.Name) {
			faults = append(faults, fmt.Errorf("tool %q has no handler", tool.Name))
		}
	}
	for _, name := range has.Tools {
		if m.schemas[name] == nil {
			faults = append(faults, fmt.Errorf("the handler of tool %q has no [[tools]] table", name))
		}
	}
	for _, offer := range []struct {
		name          string
		declared, has bool
	}{
		{"prompts", isOffered(m.Offers.Prompts), has.Prompts},
		{"resources", isOffered(m.Offers.Resources), has.Resources},
		{"completions", m.Offers.Completions, has.Completions},
	} {
		if offer.declared != offer.has {
			faults = append(faults, fmt.Errorf("offers.%s: declared in the manifest: %t; handled by the plugin: %t", offer.name, offer.declared, offer.has))
		}
	}
	return errors.Join(faults...)
}

// isOffered reports whether the value of a key in [offers] is true, or is a list of claimed names that is not empty.
func isOffered(offer any) bool {
	switch offer := offer.(type) {
	case bool:
		return offer
	case []any:
		return len(offer) > 0
	}
	return false
}

// validate checks the arguments of a call as the host would.
func (m *manifest) validate(tool string, arguments json.RawMessage) error {
	schema, ok := m.schemas[tool]
	if !ok {
		return fmt.Errorf("unknown tool: %s", tool)
	}
	if m.Plugin.Validate == "plugin" {
		return nil
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return schema.Validate(value)
}
