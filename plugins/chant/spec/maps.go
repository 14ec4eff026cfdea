package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// checkApproval checks the approval key's map: required (a flag), status, by, at (texts).
func checkApproval(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return errors.New("must be a map")
	}
	if err := uniqueKeys(node); err != nil {
		return err
	}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		var err error
		switch {
		case isNull(value):
		case key == "required":
			err = checkFlag(value)
		case key == "status":
			if words := []string{"pending", "approved", "rejected"}; !slices.Contains(words, value.Value) {
				err = fmt.Errorf("must be one of %s", strings.Join(words, ", "))
			}
		case key == "by" || key == "at":
			_, err = textNode(value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// checkRetry checks the retry_state key's map, which holds three integers.
func checkRetry(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return errors.New("must be a map")
	}
	if err := uniqueKeys(node); err != nil {
		return err
	}
	for _, key := range []string{"attempts", "last_retry_time", "next_retry_time"} {
		value := lookup(node, key)
		if value == nil {
			return fmt.Errorf("%s is missing", key)
		}
		if err := checkCount(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// lookup returns the value of a map's key; nil if it has none.
func lookup(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// fill sets the fields of a spec from the keys.
func (f front) fill(s *Spec) error {
	s.Type, s.Status = "code", Pending
	if node := f.known["type"]; node != nil {
		s.Type = node.Value
	}
	if node := f.known["status"]; node != nil {
		status, known := ParseStatus(node.Value)
		if !known {
			return &Fault{Line: node.Line, Reason: fmt.Sprintf("status: unknown word %q", node.Value)}
		}
		s.Status = status
	}
	for key, target := range map[string]*[]string{
		"depends_on": &s.DependsOn, "labels": &s.Labels, "target_files": &s.TargetFiles,
		"context": &s.Context, "commits": &s.Commits,
	} {
		*target = f.texts(key)
	}
	for key, target := range map[string]**string{
		"prompt": &s.Prompt, "branch": &s.Branch, "completed_at": &s.CompletedAt, "model": &s.Model,
	} {
		if node := f.known[key]; node != nil {
			value := node.Value // not its address, which would keep the whole node
			*target = &value
		}
	}
	if s.Model != nil {
		short := shortModel(*s.Model)
		s.Model = &short
	}
	if node := f.known["approval"]; node != nil {
		s.Approval = readApproval(node)
	}
	return nil
}

func (f front) texts(key string) []string {
	node := f.known[key]
	if node == nil {
		return nil
	}
	texts := make([]string, 0, len(node.Content))
	for _, entry := range node.Content {
		texts = append(texts, entry.Value)
	}
	return texts
}

func readApproval(node *yaml.Node) Approval {
	var approval Approval
	if required := lookup(node, "required"); required != nil {
		approval.Required = strings.EqualFold(required.Value, "true")
	}
	if status := lookup(node, "status"); status != nil {
		approval.Approved = status.Value == "approved"
	}
	return approval
}

// shortModel reduces a model's full name to its family.
func shortModel(name string) string {
	lower := strings.ToLower(name)
	for _, family := range []string{"opus", "sonnet", "haiku"} {
		if strings.Contains(lower, family) {
			return family
		}
	}
	return name
}
