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
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
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
		Name        string
		Input       map[string]any
		InputJSON   string `toml:"input_json"`
		Output      map[string]any
		OutputJSON  string `toml:"output_json"`
		Returns     map[string]any
		ReturnsJSON string `toml:"returns_json"`
	}
	schemas map[string]toolSchemas
}

// toolSchemas are the schemas of a tool.
type toolSchemas struct {
	input   *jsonschema.Schema
	output  *jsonschema.Schema // of the structured content; nil: any
	returns *jsonschema.Schema // of what a script gets; nil: anything
}

func load(file string) (*manifest, error) {
	m := &manifest{schemas: map[string]toolSchemas{}}
	if _, err := toml.DecodeFile(file, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, tool := range m.Tools {
		var schemas toolSchemas
		if tool.Input == nil && tool.InputJSON == "" {
			tool.InputJSON = `{"type":"object"}`
		}
		for _, s := range []struct {
			key   string
			table map[string]any
			text  string
			into  **jsonschema.Schema
		}{
			{"input", tool.Input, tool.InputJSON, &schemas.input},
			{"output", tool.Output, tool.OutputJSON, &schemas.output},
			{"returns", tool.Returns, tool.ReturnsJSON, &schemas.returns},
		} {
			var err error
			if *s.into, err = compile(s.table, s.text); err != nil {
				return nil, fmt.Errorf("%s: tool %q: %s: %w", file, tool.Name, s.key, err)
			}
		}
		m.schemas[tool.Name] = schemas
	}
	return m, nil
}

// compile compiles a schema that is a table, or JSON in a string; nil if both are empty.
func compile(table map[string]any, text string) (*jsonschema.Schema, error) {
	raw := []byte(text)
	if table != nil {
		var err error
		if raw, err = json.Marshal(table); err != nil {
			return nil, err
		}
	}
	if len(raw) == 0 {
		return nil, nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	const name = "schema"
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
		if _, ok := m.schemas[name]; !ok {
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
	schemas, ok := m.schemas[tool]
	if !ok {
		return fmt.Errorf("unknown tool: %s", tool)
	}
	if m.Plugin.Validate == "plugin" {
		return nil
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := validate(schemas.input, arguments); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return nil
}

// validateResult checks the result of a call that succeeded by the tool's output schema, or by what it returns.
func (m *manifest) validateResult(tool string, r *Result) error {
	schemas := m.schemas[tool]
	switch {
	case r.IsError:
		return nil
	case schemas.output != nil:
		if err := validate(schemas.output, r.Structured); err != nil {
			return fmt.Errorf("the result of %s does not match its output schema: %w", tool, err)
		}
	case schemas.returns != nil:
		value := r.Structured
		switch isText := schemas.returns.Types != nil && slices.Equal(schemas.returns.Types.ToStrings(), []string{"string"}); {
		case value != nil:
		case !isText && len(r.Texts) > 0 && json.Valid([]byte(r.Texts[0])):
			value = json.RawMessage(r.Texts[0])
		default:
			value = rawjson.Quote(r.Text())
		}
		if err := validate(schemas.returns, value); err != nil {
			return fmt.Errorf("the result of %s does not match the key returns of its table: %w", tool, err)
		}
	}
	return nil
}

func validate(schema *jsonschema.Schema, raw json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
