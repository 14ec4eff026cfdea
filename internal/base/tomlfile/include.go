package tomlfile

import "fmt"

// Include merges another document into d: its tables key by key, the items of its array of tables at the top-level key
// list after those of d, and all other values as a whole. A value in d's own file takes precedence. A key that an earlier
// Include has added is a conflict, and so are two arrays of tables, whose order may matter. Top-level keys of other that were read already are not merged.
//
// Problems continue to name the file that they are in. other must not be used afterwards.
func (d *Doc) Include(other *Doc, list string) {
	other.root.node.setFile(other.file)
	d.included = append(d.included, other.file)
	d.included = append(d.included, other.included...)
	d.problems = append(d.problems, other.problems...)
	for _, t := range other.tables[1:] {
		d.problems = t.unknown(d.problems)
	}
	into, from := d.root.node, other.root.node
	for _, e := range from.entries {
		have := into.get(e.key)
		switch {
		case other.root.hasRead(e.key):
		case e.key == list && have != nil && have.kind == array && e.node.kind == array:
			have.items = append(have.items, e.node.items...)
		default:
			d.merge(into, e.key, e.node, e.key)
		}
	}
}

// merge adds a value to a table unless the table has the key. path is the full path of the key.
func (d *Doc) merge(into *node, key string, value *node, path string) {
	have := into.get(key)
	switch {
	case have == nil:
		into.add(key, value)
	case have.kind == table && value.kind == table:
		for _, e := range value.entries {
			d.merge(have, e.key, e.node, join(path, e.key))
		}
	case have.file != "" || have.kind == table || value.kind == table || have.isTables() && value.isTables():
		file, remedy := have.file, fmt.Sprintf("keep one of the two, or set it in %s, which takes precedence", d.file)
		if file == "" {
			file = d.file
		}
		if value.isTables() {
			remedy = "keep all tables in one file: their order matters"
		}
		d.Add(Problem{File: value.file, Line: value.line, Key: path, What: fmt.Sprintf("is also set in %s:%d", file, have.line), Remedy: remedy})
	}
}

// isTables reports whether n is an array of tables that is not empty.
func (n *node) isTables() bool {
	return n.kind == array && len(n.items) > 0 && n.items[0].kind == table
}

// setFile sets the file of all nodes that do not have one.
func (n *node) setFile(file string) {
	if n.file == "" {
		n.file = file
	}
	for _, e := range n.entries {
		e.node.setFile(file)
	}
	for _, item := range n.items {
		item.setFile(file)
	}
}

// fileOf returns the file that contains a node.
func (d *Doc) fileOf(n *node) string {
	if n == nil || n.file == "" {
		return d.file
	}
	return n.file
}
