package spec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// Encode returns the new content of the file: the known keys in the order of fields, then the unchanged unknown keys,
// then the Markdown. Comments on known keys are lost. If the front matter has aliases, all keys keep their order,
// anchors and aliases. Encode returns an error if Open could not parse the new content, or would read a different body
// from the new content.
func (d *Document) Encode() (string, error) {
	head, err := d.changed().encode()
	if err != nil {
		return "", err
	}
	content := "---\n" + head + "---\n" + d.Body
	again, err := Open(content)
	if err != nil {
		return "", fmt.Errorf("cannot be written: the new content would be invalid: %w", err)
	}
	if again.Body != strings.TrimSpace(d.Body) { // a line of dashes in a value ended the front matter early
		return "", errors.New("cannot be written: a value contains a line ---, which would end the front matter; remove it")
	}
	return content, nil
}

// changed returns the front matter with the current values of those fields of the spec that callers may change.
func (d *Document) changed() front {
	changed := d.front
	changed.known = maps.Clone(changed.known)
	changed.set("type", &d.Type)
	status := string(d.Status)
	changed.set("status", &status)
	changed.set("completed_at", d.CompletedAt)
	changed.set("model", d.Model)
	return changed
}

// set replaces the value of a string key if value differs from the current one. If value is nil, set removes the key.
func (f front) set(key string, value *string) {
	if value == nil {
		delete(f.known, key)
		return
	}
	if node := f.known[key]; node == nil || node.Text != *value {
		f.known[key] = &frontmatter.Node{Text: *value}
	}
}

func (f front) encode() (string, error) {
	mapping := &frontmatter.Node{Kind: frontmatter.Mapping}
	if f.linked != nil {
		mapping = f.relink()
	} else {
		mapping.Children = append(f.added(func(string) bool { return false }), f.unknown...)
	}
	head, err := frontmatter.Encode(mapping)
	if err != nil { // an empty scalar in a flow collection sometimes cannot be written without text
		change := writeNull
		if readsEmpty(mapping) { // written as null, the value would be read as the string "null"
			change = writeBlock
		}
		head, err = frontmatter.Encode(rewrite(mapping, change))
	}
	if err != nil {
		return "", fmt.Errorf("cannot encode the front matter as YAML: %w", err)
	}
	return head, nil
}

// added returns those known keys for which present returns false, each followed by its value, in the order of fields.
func (f front) added(present func(key string) bool) []*frontmatter.Node {
	var children []*frontmatter.Node
	for _, field := range fields {
		if value := f.known[field.key]; value != nil && !present(field.key) {
			children = append(children, &frontmatter.Node{Text: field.key}, normalize(field.kind, value))
		}
	}
	return children
}

// readsEmpty reports whether a known key reads a plain scalar without text as an empty string. To all other keys, such a
// scalar is null.
func readsEmpty(mapping *frontmatter.Node) bool {
	for key, value := range entries(mapping) {
		switch kind, _ := kindOf(key); kind {
		case kindType:
			if isEmpty(value) {
				return true
			}
		case kindList:
			if slices.ContainsFunc(listItems(value), isEmpty) {
				return true
			}
		}
	}
	return false
}

// rewrite returns a copy of a YAML tree with change applied to each node.
func rewrite(n *frontmatter.Node, change func(*frontmatter.Node)) *frontmatter.Node {
	node := *n
	change(&node)
	node.Children = make([]*frontmatter.Node, len(n.Children))
	for i, child := range n.Children {
		node.Children[i] = rewrite(child, change)
	}
	return &node
}

// writeNull replaces a scalar without text by null.
func writeNull(n *frontmatter.Node) {
	if isEmpty(n) && n.Tag == "" {
		n.Text = "null"
	}
}

// writeBlock changes a flow collection to block style, in which scalars without text can be written.
func writeBlock(n *frontmatter.Node) {
	if n.Style == frontmatter.Flow && len(n.Children) > 0 {
		n.Style = frontmatter.Plain
	}
}

// normalize returns the value of a known key in the form that Encode writes: strings are quoted if necessary, and a
// single string in place of a list becomes a list.
func normalize(kind kind, value *frontmatter.Node) *frontmatter.Node {
	switch kind {
	case kindString, kindType, kindStatus:
		return normalizeString(value)
	case kindList:
		list := &frontmatter.Node{Kind: frontmatter.Sequence}
		for _, item := range listItems(value) {
			list.Children = append(list.Children, normalizeString(item))
		}
		if len(list.Children) == 0 {
			list.Style = frontmatter.Flow
		}
		return list
	}
	return value
}

// numeric matches strings that some YAML parsers take for a number although frontmatter.Tag12 takes them for strings,
// such as 12e4567.
var numeric = regexp.MustCompile(`^[-+]?\.?[0-9][0-9_.:]*([eE][-+]?[0-9]+)?$`)

// normalizeString returns a scalar that every YAML parser takes for a string. A quoted value keeps its quotes. As an
// exception, a time is written without quotes, as the chant CLI writes times.
func normalizeString(value *frontmatter.Node) *frontmatter.Node {
	if value.Style == frontmatter.SingleQuoted || value.Style == frontmatter.DoubleQuoted {
		return &frontmatter.Node{Text: value.Text, Style: value.Style}
	}
	switch {
	case isTime(value.Text):
		return &frontmatter.Node{Text: value.Text}
	case numeric.MatchString(value.Text):
		return &frontmatter.Node{Text: value.Text, Style: frontmatter.SingleQuoted}
	}
	return frontmatter.String(value.Text)
}

func isTime(value string) bool {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if _, err := time.Parse(layout, value); err == nil {
			return true
		}
	}
	return false
}
