package change

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/yamlvalue"
)

// Metadata is the content of the file .openspec.yaml of a change. The zero value stands for an absent file.
type Metadata struct {
	Schema             string
	SkipSpecs          bool // the change has no deltas, and its author has declared that as intended
	RetireCapabilities bool // the change may remove the last requirement of a capability, which deletes the spec of the capability
}

// Invalid is the reason why the plugin ignores a metadata file.
type Invalid struct {
	Reason string
	// SkipSpecs and Retire report whether the ignored file sets the keys skip_specs and retire_capabilities.
	SkipSpecs, Retire bool
	// Cause is the reason why the schema that a valid file names is unusable; nil if the file itself is invalid.
	// Unknown reports whether that schema does not exist.
	Cause   error
	Unknown bool
}

func (i *Invalid) Error() string { return i.Reason }

// ParseMetadata parses the source of a metadata file. The error is an *Invalid. The caller must check whether the
// schema exists.
func ParseMetadata(source string) (Metadata, error) {
	root, err := yamlvalue.Parse(source)
	if err != nil {
		return Metadata{}, &Invalid{Reason: reason(err), SkipSpecs: mentions(source, skipSpecs), Retire: mentions(source, retireCapabilities)}
	}
	if problem := fault(root); problem != "" {
		return Metadata{}, &Invalid{Reason: Printable(problem), SkipSpecs: isSet(root.Get(skipSpecs)), Retire: isSet(root.Get(retireCapabilities))}
	}
	return Metadata{
		Schema:             root.Get("schema").Text(),
		SkipSpecs:          root.Get(skipSpecs).IsTrue(),
		RetireCapabilities: root.Get(retireCapabilities).IsTrue(),
	}, nil
}

// The keys of a metadata file whose values are markers, which are booleans.
const (
	skipSpecs          = "skip_specs"
	retireCapabilities = "retire_capabilities"
)

// reason returns the text of an error. It removes the position from a YAML syntax error, because the openspec CLI does
// not print the position.
func reason(err error) string {
	if errors.Is(err, yamlvalue.ErrSyntax) {
		return yamlvalue.ErrSyntax.Error()
	}
	return err.Error()
}

// isSet reports whether a marker is present and not false. A marker with an invalid value counts as set, because the
// author of the file may rely on the marker.
func isSet(marker yamlvalue.Value) bool {
	return marker.Kind() != yamlvalue.Absent && !marker.IsFalse()
}

// mentions reports whether a line of source begins with a key, which may be quoted. It is used for files that are not
// valid YAML.
func mentions(source, key string) bool {
	for line := range strings.SplitSeq(markdown.Normalize(source), "\n") {
		rest := markdown.TrimLeft(line)
		for _, quote := range []string{"", "'", `"`} {
			if after, ok := strings.CutPrefix(rest, quote+key+quote); ok && strings.HasPrefix(markdown.TrimLeft(after), ":") {
				return true
			}
		}
	}
	return false
}

// Printable returns text with each ASCII control character replaced by a question mark.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return '?'
		}
		return r
	}, text)
}

var (
	date  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	kebab = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
)

// fault returns the first error in a metadata file, in the wording of the openspec CLI; "" if the file is valid.
func fault(root yamlvalue.Value) string {
	if root.Kind() != yamlvalue.Map {
		return root.Want(yamlvalue.Map)
	}
	check := func(name, kind string) string {
		value := root.Get(name)
		if got := value.Kind(); got == kind || got == yamlvalue.Absent && name != "schema" {
			return ""
		}
		return name + ": " + value.Want(kind)
	}
	created := root.Get("created")
	return cmp.Or(
		check("schema", yamlvalue.String),
		unless(root.Get("schema").Text() != "", "schema: schema is required"),
		check("created", yamlvalue.String),
		unless(created.Kind() == yamlvalue.Absent || date.MatchString(created.Text()), "created: created must be YYYY-MM-DD format"),
		check("goal", yamlvalue.String),
		unless(!isEmpty(root.Get("goal")), "goal: "+tooShort),
		check("affected_areas", yamlvalue.List),
		areasFault(root.Get("affected_areas").Items()),
		check("initiative", yamlvalue.Map),
		initiativeFault(root.Get("initiative")),
		check(skipSpecs, yamlvalue.Bool),
		check(retireCapabilities, yamlvalue.Bool),
	)
}

const tooShort = "Too small: expected string to have >=1 characters"

func unless(fine bool, problem string) string {
	if fine {
		return ""
	}
	return problem
}

func isEmpty(value yamlvalue.Value) bool {
	return value.Kind() == yamlvalue.String && value.Text() == ""
}

func areasFault(areas []yamlvalue.Value) string {
	for i, area := range areas {
		switch {
		case area.Kind() != yamlvalue.String:
			return fmt.Sprintf("affected_areas.%d: %s", i, area.Want(yamlvalue.String))
		case isEmpty(area):
			return fmt.Sprintf("affected_areas.%d: %s", i, tooShort)
		}
	}
	return ""
}

// initiativeFault returns the first error in the value of the key initiative; "" if the value is valid. Other versions
// of the openspec CLI write this key.
func initiativeFault(link yamlvalue.Value) string {
	if link.Kind() == yamlvalue.Absent {
		return ""
	}
	for _, member := range []struct{ name, label string }{{"store", "Store id"}, {"id", "Initiative id"}} {
		value := link.Get(member.name)
		switch {
		case value.Kind() != yamlvalue.String:
			return "initiative." + member.name + ": " + value.Want(yamlvalue.String)
		case !kebab.MatchString(value.Text()):
			return "initiative." + member.name + ": " + member.label + " must be kebab-case with lowercase letters, numbers, and single hyphen separators"
		}
	}
	var unknown []string
	for key := range link.Pairs() {
		if key != "store" && key != "id" {
			unknown = append(unknown, `"`+key+`"`)
		}
	}
	switch len(unknown) {
	case 0:
		return ""
	case 1:
		return "initiative: Unrecognized key: " + unknown[0]
	}
	return "initiative: Unrecognized keys: " + strings.Join(unknown, ", ")
}
