package spec

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

type kind int

const (
	text     kind = iota
	list          // of texts; a single one is read as a list of one
	count         // an integer from 0 on
	flag          // true or false
	approval      // a map
	retry         // a map
)

type field struct {
	key  string
	kind kind
}

// fields are the keys that the format knows, in the order in which they are written.
var fields = []field{
	{"type", text}, {"status", text},
	{"depends_on", list}, {"labels", list}, {"target_files", list}, {"context", list},
	{"prompt", text}, {"branch", text},
	{"commits", list}, {"completed_at", text}, {"model", text},
	{"tracks", list}, {"informed_by", list}, {"origin", list},
	{"schedule", text}, {"source_branch", text}, {"target_branch", text},
	{"conflicting_files", list}, {"blocked_specs", list},
	{"original_spec", text}, {"last_verified", text}, {"verification_status", text},
	{"verification_failures", list},
	{"replayed_at", text}, {"replay_count", count}, {"original_completed_at", text},
	{"derived_fields", list},
	{"approval", approval}, {"members", list}, {"output_schema", text}, {"public", flag},
	{"retry_state", retry},
}

func kindOf(key string) (kind, bool) {
	for _, field := range fields {
		if field.key == key {
			return field.kind, true
		}
	}
	return 0, false
}

// shape checks a known key's value and returns it as it is written: nil for a null, which is as good as
// no key.
func shape(kind kind, node *yaml.Node) (*yaml.Node, error) {
	if isNull(node) {
		return nil, nil
	}
	switch kind {
	case text:
		return textNode(node)
	case list:
		return listNode(node)
	case count:
		return node, checkCount(node)
	case flag:
		return node, checkFlag(node)
	case approval:
		return node, checkApproval(node)
	default:
		return node, checkRetry(node)
	}
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

func textNode(node *yaml.Node) (*yaml.Node, error) {
	if node.Kind != yaml.ScalarNode {
		return nil, errors.New("must be a single text")
	}
	shaped := newText(node.Value, node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle))
	shaped.Line = node.Line
	return shaped, nil
}

func listNode(node *yaml.Node) (*yaml.Node, error) {
	entries := node.Content
	switch node.Kind {
	case yaml.ScalarNode:
		entries = []*yaml.Node{node}
	case yaml.MappingNode:
		return nil, errors.New("must be a list of texts")
	}
	shaped := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if len(entries) == 0 {
		shaped.Style = yaml.FlowStyle
	}
	for _, entry := range entries {
		item, err := textNode(entry)
		if err != nil {
			return nil, errors.New("must be a list of texts")
		}
		shaped.Content = append(shaped.Content, item)
	}
	return shaped, nil
}

// numeric matches what some reader of YAML takes for a number, also where this one does not: 12e4567.
var numeric = regexp.MustCompile(`^[-+]?\.?[0-9][0-9_.:]*([eE][-+]?[0-9]+)?$`)

// newText returns a scalar that reads back as text. A time is written plain, as every spec file has it.
func newText(value string, style yaml.Style) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: style}
	switch {
	case style != 0:
	case isTime(value):
		node.Tag = "!!timestamp"
	case numeric.MatchString(value):
		node.Style = yaml.SingleQuotedStyle
	}
	return node
}

func isTime(value string) bool {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if _, err := time.Parse(layout, value); err == nil {
			return true
		}
	}
	return false
}

func checkCount(node *yaml.Node) error {
	digits := node.Value
	if strings.HasPrefix(digits, "0o") || strings.HasPrefix(digits, "0x") {
		if _, err := strconv.ParseUint(digits, 0, 64); err == nil && node.ShortTag() == "!!int" {
			return nil
		}
	}
	if _, err := strconv.ParseUint(digits, 10, 64); err != nil || node.ShortTag() != "!!int" {
		return errors.New("must be a whole number from 0 on")
	}
	return nil
}

func checkFlag(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
		return errors.New("must be true or false")
	}
	return nil
}
