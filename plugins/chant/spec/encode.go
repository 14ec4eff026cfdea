package spec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// Encode returns the file's new content: known keys in the format's order, then the others as they were, then the
// Markdown. Comments of known keys are lost. The error is about content that could not be read back.
func (d *Document) Encode() (string, error) {
	head, err := d.changed().encode()
	if err != nil {
		return "", err
	}
	content := "---\n" + head + "---\n" + d.Body
	again, err := Open(content)
	if err != nil {
		return "", fmt.Errorf("the new content could not be read back: %w", err)
	}
	if again.Body != strings.TrimSpace(d.Body) { // so dashes in a value have ended the front matter
		return "", errors.New("the new content would not read back as it was meant")
	}
	return content, nil
}

// changed returns the keys with the values of the fields that may have been changed.
func (d *Document) changed() front {
	changed := front{known: maps.Clone(d.front.known), unknown: d.front.unknown}
	changed.set("type", &d.Type)
	status := string(d.Status)
	changed.set("status", &status)
	changed.set("completed_at", d.CompletedAt)
	changed.set("model", d.Model)
	return changed
}

// set replaces the value of a string key if it differs; nil removes the key.
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
	for _, field := range fields {
		if value := f.known[field.key]; value != nil {
			mapping.Children = append(mapping.Children, &frontmatter.Node{Text: field.key}, normalize(field.kind, value))
		}
	}
	mapping.Children = append(mapping.Children, f.unknown...)
	head, err := frontmatter.Encode(mapping)
	if err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return head, nil
}

// normalize returns a known key's value as it is written: a list is a list of strings, also where the file has a
// single string.
func normalize(kind kind, value *frontmatter.Node) *frontmatter.Node {
	switch kind {
	case kindString:
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

// numeric matches numbers of any version of YAML, also those that ours reads as strings, such as 12e4567.
var numeric = regexp.MustCompile(`^[-+]?\.?[0-9][0-9_.:]*([eE][-+]?[0-9]+)?$`)

// normalizeString returns a scalar that every reader of YAML takes for a string; quotes of the file are kept. A time is
// written plain, as in every other spec file.
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
