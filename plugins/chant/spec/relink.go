package spec

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// relink returns the mapping of a front matter with aliases, with the current values of the known keys. The keys keep
// the order of the file, because an anchor must precede its aliases, and new keys come last. relink copies unchanged
// values together with their anchors and aliases.
func (f front) relink() *frontmatter.Node {
	links := linker{anchors: map[string]*frontmatter.Node{}}
	mapping := links.open(f.linked)
	present := map[string]bool{}
	for key, value := range f.linked.Pairs() {
		name := key.Resolve().Text
		kind, known := kindOf(name)
		present[name] = known
		current := f.known[name]
		if known && current == nil && !isNull(value.Resolve()) {
			continue // the caller has removed the key
		}
		mapping.Children = append(mapping.Children, links.copy(key))
		switch {
		case !known || current == nil: // unknown keys, and known keys that are null in the file, keep their values
			value = links.copy(value)
		case current == value.Resolve() && hasLink(value):
			value = links.copy(value)
		default:
			value = normalize(kind, current)
		}
		mapping.Children = append(mapping.Children, value)
	}
	mapping.Children = append(mapping.Children, f.added(func(key string) bool { return present[key] })...)
	return mapping
}

// hasLink reports whether a YAML tree contains an anchor or an alias.
func hasLink(n *frontmatter.Node) bool {
	return n.Kind == frontmatter.Alias || n.Anchor != "" || slices.ContainsFunc(n.Children, hasLink)
}

// linker copies YAML trees in the order in which the copies are written to the file.
type linker struct {
	anchors map[string]*frontmatter.Node // the original nodes whose anchors are already written; the key is the name of the anchor
}

// copy returns a copy of a YAML tree in which each alias refers to the same value as before. If the anchor of an alias
// was in a value that has changed, copy replaces the first such alias by the old value together with the anchor.
func (l linker) copy(n *frontmatter.Node) *frontmatter.Node {
	if n.Kind == frontmatter.Alias {
		if l.anchors[n.Text] != n.Target {
			return l.copy(n.Target)
		}
		alias := *n
		return &alias
	}
	node := l.open(n)
	for _, child := range n.Children {
		node.Children = append(node.Children, l.copy(child))
	}
	return node
}

// open returns a copy of the node n without its children, and records the anchor of n.
func (l linker) open(n *frontmatter.Node) *frontmatter.Node {
	if n.Anchor != "" {
		l.anchors[n.Anchor] = n
	}
	node := *n
	node.Children = nil
	return &node
}
