package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/fold"
	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxDepth is the maximum nesting depth of lists and mappings in the front matter. Known keys need a depth of two.
const maxDepth = 32

// maxExpanded is the maximum total length in bytes of the values of the known keys after aliases are expanded. Without
// this bound, a few KiB could expand to gigabytes.
const maxExpanded = 256 << 10

// front holds the keys and values of a file's front matter.
type front struct {
	known   map[string]*frontmatter.Node // values of those known keys that are not null, with aliases resolved
	unknown []*frontmatter.Node          // each unknown key followed by its value, in the order of the file
	linked  *frontmatter.Node            // the whole mapping, if it has aliases and so must keep its order; otherwise nil
}

// parseFront parses the front matter in text. The argument line is the line number in the file at which text begins.
// Errors are *LoadError.
func parseFront(text string, line int) (front, error) {
	if len(text) > maxFront {
		return front{}, &LoadError{Line: line, Limit: true, Reason: fmt.Sprintf("frontmatter is larger than %d KiB", maxFront>>10)}
	}
	root, err := frontmatter.Parse(text, frontmatter.Options{Depth: maxDepth, Line: line, Aliases: true})
	if err != nil {
		return front{}, asLoadError(err, line)
	}
	parsed := front{known: map[string]*frontmatter.Node{}}
	if root == nil || isEmpty(root) {
		return parsed, nil
	}
	if root.Kind != frontmatter.Mapping {
		return front{}, &LoadError{Line: root.Line, Reason: "frontmatter is not a mapping"}
	}
	if err := checkKeys(root, func(key string) bool { _, known := kindOf(key); return known }); err != nil {
		return front{}, asLoadError(err, line)
	}
	if hasAlias(root) {
		parsed.linked = root
	}
	for key, value := range root.Pairs() {
		if err := parsed.add(key, value); err != nil {
			return front{}, err
		}
	}
	if parsed.linked != nil && parsed.size() > maxExpanded {
		return front{}, &LoadError{Line: line, Limit: true, Reason: fmt.Sprintf("frontmatter is larger than %d KiB with its aliases expanded", maxExpanded>>10)}
	}
	return parsed, nil
}

// add adds a key with its value to f if the value is valid.
func (f *front) add(key, value *frontmatter.Node) error {
	name, resolved := key.Resolve().Text, value.Resolve()
	kind, known := kindOf(name)
	if !known {
		f.unknown = append(f.unknown, key, value)
		return nil
	}
	if err := checkValue(kind, resolved); err != nil {
		failed := asLoadError(err, value.Line)
		if kind != kindStatus { // the errors of parseStatus already name the key
			failed.Reason = name + ": " + failed.Reason
		}
		return failed
	}
	if !kind.isOptional() || !isNull(resolved) {
		f.known[name] = resolved
	}
	return nil
}

func hasAlias(n *frontmatter.Node) bool {
	return n.Kind == frontmatter.Alias || slices.ContainsFunc(n.Children, hasAlias)
}

// size returns the total length in bytes of the values of the known keys, with aliases expanded.
func (f *front) size() int {
	size := 0
	for _, value := range f.known {
		size += len(value.Text)
		for _, child := range value.Children { // checkValue allows only one level of children, which are scalars
			size += len(child.Resolve().Text) + 1
		}
	}
	return size
}

// asLoadError converts err to a *LoadError. Its line is that of a *frontmatter.Error, and the argument line for any
// other error.
func asLoadError(err error, line int) *LoadError {
	var at *frontmatter.Error
	if errors.As(err, &at) {
		return &LoadError{Line: at.Line, Reason: at.Reason}
	}
	return &LoadError{Line: line, Reason: err.Error()}
}

// fill sets the fields of s from the keys of f.
func (f front) fill(s *Spec) {
	s.Type, s.Status = "code", Pending
	if node := f.known["type"]; node != nil {
		s.Type = node.Text
	}
	if node := f.known["status"]; node != nil {
		s.Status, _ = parseStatus(node) // parseStatus returns no error here, because add has already checked the value
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
}

func (f front) optional(key string) *string {
	node := f.known[key]
	if node == nil {
		return nil
	}
	value := node.Text // a copy, because a pointer to node.Text would keep the whole tree in memory
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

// listItems returns the items of a list, with aliases resolved. A single string is the short form of a list with one
// item.
func listItems(list *frontmatter.Node) []*frontmatter.Node {
	switch {
	case isEmpty(list):
		return nil
	case list.Kind == frontmatter.Scalar:
		return []*frontmatter.Node{list}
	}
	items := make([]*frontmatter.Node, len(list.Children))
	for i, item := range list.Children {
		items[i] = item.Resolve()
	}
	return items
}

func readApproval(node *frontmatter.Node) Approval {
	var approval Approval
	for key, value := range entries(node) { // the values are valid, because checkApproval has checked them
		switch key {
		case "required":
			approval.Required, _ = parseBool(value)
		case "status":
			status, _ := variant(value)
			approval.Approved = status == "approved"
		}
	}
	return approval
}

// shortModel returns the short name of a model: opus, sonnet or haiku if the full name contains one of these words.
func shortModel(name string) string {
	lower := fold.Lower(name)
	for _, family := range []string{"opus", "sonnet", "haiku"} {
		if strings.Contains(lower, family) {
			return family
		}
	}
	return name
}
