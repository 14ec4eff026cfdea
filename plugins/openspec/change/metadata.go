package change

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// MaxMetadata bounds a metadata or config file, in bytes.
const MaxMetadata = 64 << 10

// maxDepth bounds the nesting of lists and maps in one.
const maxDepth = 32

// Metadata is what a change's .openspec.yaml says. The zero value says nothing, as a missing file does.
type Metadata struct {
	Schema             string
	SkipSpecs          bool // the change has no deltas, on purpose
	RetireCapabilities bool // a capability may lose its last requirement, and its spec with it
}

// Invalid says why a metadata file does not count. What it sets is told all the same.
type Invalid struct {
	Reason string
	// SkipSpecs says that the file sets skip_specs, which is then not heeded.
	SkipSpecs bool
}

func (i *Invalid) Error() string { return i.Reason }

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// ParseMetadata reads a metadata file. The error is an *Invalid. HasSchema tells whether the project knows
// a workflow schema.
func ParseMetadata(source string, hasSchema func(name string) bool) (Metadata, error) {
	fields, err := parseFields(source)
	if err != nil {
		return Metadata{}, &Invalid{Reason: err.Error(), SkipSpecs: setsSkipSpecs(source)}
	}
	meta := Metadata{
		Schema:             fields["schema"].text(),
		SkipSpecs:          fields["skip_specs"].isTrue(),
		RetireCapabilities: fields["retire_capabilities"].isTrue(),
	}
	if reason := fault(fields, hasSchema); reason != "" {
		return Metadata{}, &Invalid{Reason: reason, SkipSpecs: fields["skip_specs"].isSet()}
	}
	return meta, nil
}

// setsSkipSpecs looks for the marker in a file that is no YAML.
func setsSkipSpecs(source string) bool {
	for line := range strings.Lines(source) {
		if rest, ok := strings.CutPrefix(line, "skip_specs:"); ok && strings.HasPrefix(strings.TrimSpace(rest), "true") {
			return true
		}
	}
	return false
}

// expected is what the known fields hold, in the order in which they are checked.
var expected = []struct{ name, kind string }{
	{"schema", "string"}, {"created", "string"}, {"goal", "string"}, {"affected_areas", "array"},
	{"skip_specs", "boolean"}, {"retire_capabilities", "boolean"},
}

// fault says what is wrong first with a file's fields, in the command line's words; "" for nothing.
func fault(fields map[string]field, hasSchema func(string) bool) string {
	for _, want := range expected {
		value := fields[want.name]
		optional := want.name != "schema"
		switch got := value.kind(); {
		case got == "undefined" && optional:
		case got != want.kind:
			return fmt.Sprintf("%s: Invalid input: expected %s, received %s", want.name, want.kind, got)
		case want.name == "schema" && value.text() == "":
			return "schema: schema is required"
		case want.name == "created" && !date.MatchString(value.text()):
			return "created: created must be YYYY-MM-DD format"
		}
	}
	if schema := fields["schema"].text(); !hasSchema(schema) {
		return fmt.Sprintf("schema: unknown schema '%s'", schema)
	}
	return ""
}

// field is one value of a YAML mapping; the zero value is one that is not there.
type field struct{ node *yaml.Node }

func (f field) text() string {
	if f.kind() != "string" {
		return ""
	}
	return f.node.Value
}

func (f field) isTrue() bool {
	var set bool
	return f.kind() == "boolean" && f.node.Decode(&set) == nil && set
}

// isSet tells whether there is a value that could be meant as yes.
func (f field) isSet() bool {
	kind := f.kind()
	return kind != "undefined" && kind != "null" && (kind != "boolean" || f.isTrue())
}

// kind names what a value is, in JSON's words.
func (f field) kind() string {
	if f.node == nil {
		return "undefined"
	}
	switch f.node.Kind {
	case yaml.AliasNode:
		return "alias"
	case yaml.MappingNode:
		return "object"
	case yaml.SequenceNode:
		return "array"
	}
	switch f.node.ShortTag() {
	case "!!bool":
		return "boolean"
	case "!!int", "!!float":
		return "number"
	case "!!null":
		return "null"
	}
	return "string" // an unquoted date among them
}

// errNotYAML is a file that cannot be read at all.
var errNotYAML = errors.New("the file is not valid YAML")

// parseFields reads the top level of a YAML mapping. What is no YAML, nested deeper than any of these files
// or repeats itself by aliases is refused.
func parseFields(source string) (map[string]field, error) {
	if len(source) > MaxMetadata {
		return nil, fmt.Errorf("the file is larger than %d KiB", MaxMetadata>>10)
	}
	loader, err := yaml.NewLoader(strings.NewReader(source),
		yaml.WithV4Defaults(), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	err = loader.Load(&document)
	if errors.Is(err, io.EOF) {
		return map[string]field{}, nil
	}
	if err != nil || len(document.Content) != 1 {
		return nil, errNotYAML
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("the file holds %s and not keys", article(field{root}.kind()))
	}
	fields := map[string]field{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		fields[root.Content[i].Value] = field{root.Content[i+1]}
	}
	return fields, nil
}

// article puts a or an before a word.
func article(word string) string {
	if strings.IndexByte("aeiou", word[0]) >= 0 {
		return "an " + word
	}
	return "a " + word
}

// ConfigSchema returns the default workflow schema that a project's config file names; "" if it names none
// or cannot be read.
func ConfigSchema(source string) string {
	fields, err := parseFields(source)
	if err != nil {
		return ""
	}
	return fields["schema"].text()
}
