package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/fold"
	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxDepth bounds the nesting of lists and mappings; known keys need two levels.
const maxDepth = 32

// front holds the keys of a file's front matter.
type front struct {
	known   map[string]*frontmatter.Node // those of fields whose value is not null
	unknown []*frontmatter.Node          // keys and values in turn, in the file's order
}

// parseFront parses the front matter, whose first line is line of the file. Errors are *LoadError.
func parseFront(text string, line int) (front, error) {
	if len(text) > maxFront {
		return front{}, &LoadError{Line: line, Reason: fmt.Sprintf("frontmatter is larger than %d KiB", maxFront>>10)}
	}
	root, err := frontmatter.Parse(text, frontmatter.Options{Depth: maxDepth, Line: line})
	if err != nil {
		return front{}, asLoadError(err, line)
	}
	parsed := front{known: map[string]*frontmatter.Node{}}
	if root.IsNull() {
		return parsed, nil
	}
	if root.Kind != frontmatter.Mapping {
		return front{}, &LoadError{Line: root.Line, Reason: "frontmatter is not a mapping"}
	}
	if err := root.CheckKeys(); err != nil {
		return front{}, asLoadError(err, line)
	}
	for key, value := range root.Pairs() {
		kind, known := kindOf(key.Text)
		if !known {
			parsed.unknown = append(parsed.unknown, key, value)
			continue
		}
		if err := checkValue(kind, value); err != nil {
			failed := asLoadError(err, value.Line)
			failed.Reason = key.Text + ": " + failed.Reason
			return front{}, failed
		}
		if !value.IsNull() {
			parsed.known[key.Text] = value
		}
	}
	return parsed, nil
}

// asLoadError returns err with its own line if it has one, else with the given one.
func asLoadError(err error, line int) *LoadError {
	var at *frontmatter.Error
	if errors.As(err, &at) {
		return &LoadError{Line: at.Line, Reason: at.Reason}
	}
	return &LoadError{Line: line, Reason: err.Error()}
}

// fill sets the fields of a spec from the keys.
func (f front) fill(s *Spec) error {
	s.Type, s.Status = "code", Pending
	if node := f.known["type"]; node != nil {
		s.Type = node.Text
	}
	if node := f.known["status"]; node != nil {
		status, known := ParseStatus(node.Text)
		if !known {
			return &LoadError{Line: node.Line, Reason: fmt.Sprintf("unknown status %q", node.Text)}
		}
		s.Status = status
	}
	s.DependsOn = f.list("depends_on")
	s.Labels = f.list("labels")
	s.TargetFiles = f.list("target_files")
	s.Context = f.list("context")
	s.Prompt = f.optional("prompt")
	s.Branch = f.optional("branch")
	s.Commits = f.list("commits")
	s.CompletedAt = f.optional("completed_at")
	if s.Model = f.optional("model"); s.Model != nil {
		*s.Model = shortModel(*s.Model)
	}
	if node := f.known["approval"]; node != nil {
		s.Approval = readApproval(node)
	}
	return nil
}

func (f front) optional(key string) *string {
	node := f.known[key]
	if node == nil {
		return nil
	}
	value := node.Text // the field's own address would keep the tree in memory
	return &value
}

func (f front) list(key string) []string {
	node := f.known[key]
	if node == nil {
		return nil
	}
	items := listItems(node)
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = item.Text
	}
	return list
}

// listItems returns the items of a list, of which a single string is the short form.
func listItems(list *frontmatter.Node) []*frontmatter.Node {
	if list.Kind == frontmatter.Scalar {
		return []*frontmatter.Node{list}
	}
	return list.Children
}

func readApproval(node *frontmatter.Node) Approval {
	var approval Approval
	if required := node.Get("required"); required != nil {
		approval.Required = strings.EqualFold(required.Text, "true")
	}
	if status := node.Get("status"); status != nil {
		approval.Approved = status.Text == "approved"
	}
	return approval
}

// shortModel reduces a model's full name to its family.
func shortModel(name string) string {
	lower := fold.Lower(name)
	for _, family := range []string{"opus", "sonnet", "haiku"} {
		if strings.Contains(lower, family) {
			return family
		}
	}
	return name
}
