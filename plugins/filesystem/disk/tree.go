package disk

import (
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
)

// tree is a directory tree as JSON.stringify formats it with an indentation of two spaces.
type tree struct {
	children []*node
	nodes    map[string]*node // directories by path
}

type node struct {
	name      string
	directory bool
	children  []*node
}

func (t *tree) add(rel string, directory bool) {
	n := &node{name: path.Base(rel), directory: directory}
	if parent := t.nodes[path.Dir(rel)]; parent != nil {
		parent.children = append(parent.children, n)
	} else {
		t.children = append(t.children, n)
	}
	if directory {
		if t.nodes == nil {
			t.nodes = map[string]*node{}
		}
		t.nodes[rel] = n
	}
}

// String formats the tree.
func (t *tree) String() string {
	var b strings.Builder
	writeNodes(&b, t.children, "")
	return b.String()
}

func writeNodes(b *strings.Builder, nodes []*node, indent string) {
	if len(nodes) == 0 {
		b.WriteString("[]")
		return
	}
	for i, n := range nodes {
		b.WriteString("[,"[min(i, 1) : min(i, 1)+1])
		b.WriteString("\n" + indent + "  {\n" + indent + `    "name": ` + text.Quote(n.name) + ",\n" + indent + `    "type": `)
		if n.directory {
			b.WriteString(`"directory",` + "\n" + indent + `    "children": `)
			writeNodes(b, n.children, indent+"    ")
		} else {
			b.WriteString(`"file"`)
		}
		b.WriteString("\n" + indent + "  }")
	}
	b.WriteString("\n" + indent + "]")
}
