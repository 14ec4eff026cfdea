package change

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// MaxMetadata bounds a metadata or config file, in bytes.
const MaxMetadata = 64 << 10

// maxDepth bounds the nesting of lists and maps in one.
const maxDepth = 32

// Metadata is the content of a change's .openspec.yaml. The zero value is that of an absent file.
type Metadata struct {
	Schema             string
	SkipSpecs          bool // the change intentionally has no deltas
	RetireCapabilities bool // a capability may lose its last requirement and then its spec
}

// Invalid is the reason why a metadata file is ignored.
type Invalid struct {
	Reason string
	// SkipSpecs says that the file sets skip_specs, which is ignored as well.
	SkipSpecs bool
}

func (i *Invalid) Error() string { return i.Reason }

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// ParseMetadata parses a metadata file. The error is an *Invalid. HasSchema reports whether a workflow schema exists.
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

// setsSkipSpecs searches for the marker in a file that is not valid YAML.
func setsSkipSpecs(source string) bool {
	for line := range strings.Lines(source) {
		if rest, ok := strings.CutPrefix(line, "skip_specs:"); ok && strings.HasPrefix(strings.TrimSpace(rest), "true") {
			return true
		}
	}
	return false
}

// expected has the types of the known fields, in the order in which they are checked.
var expected = []struct{ name, kind string }{
	{"schema", "string"}, {"created", "string"}, {"goal", "string"}, {"affected_areas", "array"},
	{"skip_specs", "boolean"}, {"retire_capabilities", "boolean"},
}

// fault returns the first error in a file's fields, with the wording of the command line; "": none.
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

// field is one value of a YAML mapping; the zero value is an absent one.
type field struct{ node *frontmatter.Node }

func (f field) text() string {
	if f.kind() != "string" {
		return ""
	}
	return f.node.Text
}

func (f field) isTrue() bool {
	return f.kind() == "boolean" && strings.EqualFold(f.node.Text, "true")
}

// isSet reports whether the value could mean true.
func (f field) isSet() bool {
	kind := f.kind()
	return kind != "undefined" && kind != "null" && (kind != "boolean" || f.isTrue())
}

// kind returns the JSON name of a value's type.
func (f field) kind() string {
	if f.node == nil {
		return "undefined"
	}
	switch f.node.Kind {
	case frontmatter.Alias:
		return "alias"
	case frontmatter.Mapping:
		return "object"
	case frontmatter.Sequence:
		return "array"
	}
	switch f.node.Tag12() {
	case "!!bool":
		return "boolean"
	case "!!int", "!!float":
		return "number"
	case "!!null":
		return "null"
	}
	return "string" // including unquoted dates
}

// errNotYAML says that a file is not valid YAML.
var errNotYAML = errors.New("the file is not valid YAML")

// parseFields parses the top level of a YAML mapping. It refuses invalid YAML, deep nesting and a second document, as
// the command line does. An alias has a kind that no field expects.
func parseFields(source string) (map[string]field, error) {
	if len(source) > MaxMetadata {
		return nil, fmt.Errorf("the file is larger than %d KiB", MaxMetadata>>10)
	}
	root, err := frontmatter.Parse(source, frontmatter.Options{Depth: maxDepth, Aliases: true})
	if err != nil {
		return nil, errNotYAML
	}
	if root == nil {
		return map[string]field{}, nil
	}
	if root.Kind != frontmatter.Mapping {
		return nil, fmt.Errorf("the file holds %s and not keys", article(field{root}.kind()))
	}
	fields := map[string]field{}
	for key, value := range root.Pairs() {
		fields[key.Text] = field{value}
	}
	return fields, nil
}

// article adds a or an to a word.
func article(word string) string {
	if strings.IndexByte("aeiou", word[0]) >= 0 {
		return "an " + word
	}
	return "a " + word
}

// ConfigSchema returns the default workflow schema in a project's config file; "" if it is unset or the
// file is unreadable.
func ConfigSchema(source string) string {
	fields, err := parseFields(source)
	if err != nil {
		return ""
	}
	return fields["schema"].text()
}
