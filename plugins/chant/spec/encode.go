package spec

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Encode returns the file's new content: known keys in the format's order, then the others as they were,
// then the Markdown. Comments of the YAML are gone. The result is read back before it is returned, so
// that an error, not a damaged file, is what comes of a text that YAML cannot carry.
func (d *Document) Encode() (string, error) {
	front := d.written()
	head, err := front.encode()
	if err != nil {
		return "", err
	}
	content := "---\n" + head + "---\n" + d.Body
	again, err := Open(content)
	if err != nil {
		return "", fmt.Errorf("the new content could not be read back: %w", err)
	}
	if again.Body != strings.TrimSpace(d.Body) || !again.front.equal(front) {
		return "", errors.New("the new content would not read back as it was meant")
	}
	return content, nil
}

// written returns the keys with the fields that may have been changed.
func (d *Document) written() front {
	changed := front{known: map[string]*yaml.Node{}, unknown: d.front.unknown}
	for key, node := range d.front.known {
		changed.known[key] = node
	}
	changed.set("type", &d.Type)
	status := string(d.Status)
	changed.set("status", &status)
	changed.set("completed_at", d.CompletedAt)
	changed.set("model", d.Model)
	return changed
}

// set replaces the value of a text key unless it is that already; nil removes the key.
func (f front) set(key string, value *string) {
	if value == nil {
		delete(f.known, key)
		return
	}
	if node := f.known[key]; node == nil || node.Value != *value {
		f.known[key] = newText(*value, 0)
	}
}

func (f front) encode() (string, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, field := range fields {
		if node := f.known[field.key]; node != nil {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: field.key}
			mapping.Content = append(mapping.Content, key, clone(node))
		}
	}
	for _, node := range f.unknown {
		mapping.Content = append(mapping.Content, clone(node))
	}
	var out strings.Builder
	dumper, err := yaml.NewDumper(&out, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return "", err
	}
	if err := dumper.Dump(mapping); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	if err := dumper.Close(); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return out.String(), nil
}

// clone copies a node, because writing one takes its tag away.
func clone(node *yaml.Node) *yaml.Node {
	copied := *node
	copied.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		copied.Content[i] = clone(child)
	}
	return &copied
}

func (f front) equal(other front) bool {
	if len(f.known) != len(other.known) {
		return false
	}
	for key, node := range f.known {
		if !equalNode(node, other.known[key]) {
			return false
		}
	}
	return equalNodes(f.unknown, other.unknown)
}

func equalNodes(a, b []*yaml.Node) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalNode(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalNode compares what nodes mean, not how they are written.
func equalNode(a, b *yaml.Node) bool {
	return a != nil && b != nil && a.Kind == b.Kind && a.Value == b.Value &&
		a.ShortTag() == b.ShortTag() && equalNodes(a.Content, b.Content)
}
