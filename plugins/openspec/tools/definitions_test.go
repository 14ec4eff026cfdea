package tools_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

// definition is the definition of a tool in plugin.toml.
type definition struct {
	Name, Title, Description, Access string
	Destructive, Alone               *bool
	Input                            struct {
		Type                 string
		AdditionalProperties *bool `toml:"additionalProperties"`
		Required             []string
		Properties           map[string]struct {
			Type, Description string
			Default           any
			Enum              []string
		}
	}
}

// TestToolDefinitions checks the names, the annotations and the closed schemas of the tools. In the expected arguments,
// "!" marks a required argument and "=" precedes a default. Tools beyond the contract must be hidden if a host serves
// only this plugin.
func TestToolDefinitions(t *testing.T) {
	var manifest struct{ Tools []definition }
	if _, err := toml.DecodeFile(filepath.Join("..", "plugin.toml"), &manifest); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"read openspec_list sort=recent type=changes",
		"read openspec_list_changes sort=recent",
		"read openspec_show diff format=json id name requirement requirements scenarios=true type",
		"read openspec_validate all archived changes name specs strict type",
		"read openspec_status change schema (not alone)",
		"read openspec_instructions artifact! change! schema (not alone)",
		"write destructive openspec_archive name! noValidate skipSpecs yes=true",
		"write openspec_init shouldMigrate tools",
		"write openspec_create_change description goal name! schema",
	}
	got := make([]string, len(manifest.Tools))
	for i, tool := range manifest.Tools {
		got[i] = tool.line()
		if tool.Description == "" || tool.Title == "" {
			t.Errorf("%s has no title or no description", tool.Name)
		}
		if tool.Input.Type != "object" || tool.Input.AdditionalProperties == nil || *tool.Input.AdditionalProperties {
			t.Errorf("%s accepts unknown arguments", tool.Name)
		}
		for name, argument := range tool.Input.Properties {
			if argument.Type == "" || argument.Description == "" {
				t.Errorf("%s: %s has no type or no description", tool.Name, name)
			}
			if _, ok := argument.Default.(string); ok && !slices.Contains(argument.Enum, argument.Default.(string)) {
				t.Errorf("%s: %s has a default that violates its schema", tool.Name, name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func (d definition) line() string {
	words := []string{d.Access, d.Name}
	if d.Destructive != nil && *d.Destructive {
		words = []string{d.Access, "destructive", d.Name}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Input.Properties)) {
		switch set := d.Input.Properties[name].Default.(type) {
		case string:
			name += "=" + set
		case bool:
			name += map[bool]string{true: "=true", false: "=false"}[set]
		}
		if slices.Contains(d.Input.Required, name) {
			name += "!"
		}
		words = append(words, name)
	}
	if d.Alone != nil && !*d.Alone {
		words = append(words, "(not alone)")
	}
	return strings.Join(words, " ")
}
