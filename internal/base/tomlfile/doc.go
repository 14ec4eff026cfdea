package tomlfile

import (
	"fmt"
	"slices"
	"sort"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Doc is a parsed TOML file. It is read through its tables by key. Keys that were never read are reported as unknown. The methods
// that edit a Doc return another one, and change neither d nor anything that was read from it.
type Doc struct {
	file     string
	data     []byte
	values   map[string]any // what data decodes to; not changed
	included []string       // other files, in the order of Include
	root     *Table
	tables   []*Table // all tables that were returned to callers
	problems Problems
}

func newDoc(file string, data []byte, values map[string]any, root *node) *Doc {
	d := &Doc{file: file, data: data, values: values}
	d.root = d.table(root, "")
	return d
}

func (d *Doc) table(n *node, path string) *Table {
	t := &Table{doc: d, node: n, path: path}
	d.tables = append(d.tables, t)
	return t
}

// File returns the name of the file in problems.
func (d *Doc) File() string { return d.file }

// Bytes returns the content of the file.
func (d *Doc) Bytes() []byte { return d.data }

// Root returns the top-level table.
func (d *Doc) Root() *Table { return d.root }

// Add reports a problem. An empty File means this file.
func (d *Doc) Add(p Problem) {
	if p.File == "" {
		p.File = d.file
	}
	d.problems = append(d.problems, p)
}

// Problems returns all problems reported so far and an error for each unknown key, sorted by file and line. Call it after all
// known keys have been read.
func (d *Doc) Problems() Problems {
	ps := append(Problems(nil), d.problems...)
	for _, t := range d.tables {
		ps = t.unknown(ps)
	}
	// Errors precede warnings while the list is truncated, so that no warning displaces an error.
	sort.SliceStable(ps, func(i, j int) bool { return !ps[i].Warning && ps[j].Warning })
	var rest Problems
	if more := len(ps) - maxProblems; more > 0 {
		rest = Problems{{File: d.file, What: fmt.Sprintf("has %d more problems", more), Warning: ps[maxProblems].Warning}}
		ps = ps[:maxProblems]
	}
	sort.SliceStable(ps, func(i, j int) bool {
		if a, b := d.rank(ps[i].File), d.rank(ps[j].File); a != b {
			return a < b
		}
		return ps[i].Line < ps[j].Line
	})
	return append(ps, rest...)
}

// rank orders the document's own file before the included ones.
func (d *Doc) rank(file string) int {
	if file == d.file {
		return 0
	}
	return 1 + slices.Index(d.included, file)
}

// Quote quotes s for a message and truncates it.
func Quote(s string) string {
	return visible.QuoteBounded(s, 80)
}

// join appends key to a dotted path, quoted if necessary.
func join(path, key string) string {
	for _, c := range key {
		if !bare(c) {
			key = Quote(key)
			break
		}
	}
	if key == "" {
		key = `""`
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func bare(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
