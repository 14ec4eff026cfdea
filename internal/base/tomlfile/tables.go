package tomlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/bulkhead-mcp/bulkhead/internal/base/textedit"
)

// AppendTable appends a table to the array of tables named array, as [[array]] at the end of the file, after an empty line.
// body consists of its keys and values, one per line. All bytes of d are preserved.
func (d *Doc) AppendTable(array, body string) (*Doc, error) {
	before, _, err := d.arrayTables(array)
	if err != nil {
		return nil, err
	}
	values, serr := decode([]byte(body))
	if serr != nil {
		return nil, fmt.Errorf("the new table %s", serr.what)
	}
	tables, _ := before[array].([]map[string]any)
	before[array] = append(tables, values)
	return d.verified(before, appendLines(d.data, "[["+Key(array)+"]]\n"+strings.TrimRight(body, "\n")+"\n"))
}

// RemoveTable removes a table from the array of tables named array: its header with the comments directly above, its keys and
// sub-tables, and one adjacent empty line. All other bytes of d are preserved.
func (d *Doc) RemoveTable(array string, index int) (*Doc, error) {
	before, own, err := d.tableAt(array, index)
	if err != nil {
		return nil, err
	}
	out := removeSections(d.data, own)
	tables := slices.Delete(before[array].([]map[string]any), index, index+1)
	if before[array] = tables; len(tables) == 0 {
		delete(before, array)
	}
	return d.verified(before, out)
}

// removeSections removes sections with the comments directly above them and one adjacent empty line each.
func removeSections(data []byte, own []section) []byte {
	out := slices.Clone(data)
	for _, run := range slices.Backward(runs(own)) {
		start, end := run.lead, run.tail
		if line := textedit.LineEnd(data, end); line > end && blank(data[end:line]) {
			end = line
		} else if above := textedit.LineStart(data, start-1); end == len(data) && start > 0 && blank(data[above:start]) {
			start = above
		}
		out = append(out[:start], out[end:]...)
	}
	return out
}

// CopySubtable appends the table with the name path[1] of the table path[0] of another file, after an empty line: its sub-tables and the
// comments directly above their headers too. All bytes of d are preserved.
func (d *Doc) CopySubtable(from *Doc, path [2]string) (*Doc, error) {
	var own []section
	for _, s := range sections(from.data) {
		if hasPrefix(s.path, path[:]) {
			own = append(own, s)
		}
	}
	var texts []string
	for _, run := range runs(own) {
		texts = append(texts, strings.TrimRight(string(from.data[run.lead:run.tail]), "\r\n")+"\n")
	}
	want := d.clone()
	parent, ok := want[path[0]].(map[string]any)
	if !ok {
		parent = map[string]any{}
	}
	table, _ := from.clone()[path[0]].(map[string]any)
	parent[path[1]], want[path[0]] = table[path[1]], parent
	return d.verified(want, appendLines(d.data, strings.ReplaceAll(strings.Join(texts, "\n"), "\r\n", "\n")))
}

// RemoveSubtable removes the table with the name path[1] of the table path[0], written as [path[0].path[1]], with its sub-tables
// and the comments directly above their headers. All other bytes of d are preserved.
func (d *Doc) RemoveSubtable(path [2]string) (*Doc, error) {
	want := d.clone()
	var own []section
	parentStays := false
	for _, s := range sections(d.data) {
		switch {
		case hasPrefix(s.path, path[:]):
			own = append(own, s)
		case hasPrefix(s.path, path[:1]):
			parentStays = true
		}
	}
	parent, _ := want[path[0]].(map[string]any)
	if len(own) == 0 || parent == nil {
		return nil, fmt.Errorf("%s is not written as [%s]: write it that way, or edit it by hand", dotted(Key(path[0]), path[1]), dotted(Key(path[0]), path[1]))
	}
	if delete(parent, path[1]); len(parent) == 0 && !parentStays {
		delete(want, path[0])
	}
	return d.verified(want, removeSections(d.data, own))
}

// SetTableString sets key to value in a table of the array of tables named array. It replaces the existing string, or adds the
// key after the table's first key. All other bytes of d are preserved.
func (d *Doc) SetTableString(array string, index int, key, value string) (*Doc, error) {
	before, own, err := d.tableAt(array, index)
	if err != nil {
		return nil, err
	}
	head, out := own[0], []byte(nil)
	for _, p := range head.pairs {
		if len(p.key) == 1 && p.key[0] == key {
			start := int(p.value.Offset)
			out = textedit.Splice(d.data, start, start+int(p.value.Length), quote(value))
		}
	}
	if out == nil {
		after := head.heading
		if len(head.pairs) > 0 {
			after = head.pairs[0].end
		}
		out = addLine(d.data, after, Key(key)+" = "+quote(value))
	}
	table := before[array].([]map[string]any)[index]
	if _, isString := table[key].(string); table[key] != nil && !isString {
		return nil, fmt.Errorf("%s[%d].%s is not a string", array, index, key)
	}
	table[key] = value
	return d.verified(before, out)
}

// verified returns the edited file if it decodes to want.
func (d *Doc) verified(want map[string]any, edited []byte) (*Doc, error) {
	after, err := d.parseEdited(edited)
	if err == nil && !reflect.DeepEqual(want, after.values) {
		err = errors.New("the file cannot be edited without changing other values: edit it by hand")
	}
	if err != nil {
		return nil, err
	}
	return after, nil
}

// section is a table header with the keys up to the next header.
type section struct {
	path    []string // empty: the top level before all headers
	array   bool     // set if the header is written as [[…]]
	pairs   []pair
	heading int // offset after the key of the header
	start   int // offset of the header's line
	end     int // offset after the line of the last key
	lead    int // offset of the comment lines directly above the header
	tail    int // offset after the comment lines directly below the last key
	index   int // index of this section among the sections of the file
}

type pair struct {
	key   []string
	value unstable.Range
	end   int // offset after the value
}

// arrayTables returns a copy of the values, and the sections of the array of tables named array.
func (d *Doc) arrayTables(array string) (map[string]any, []section, error) {
	values := d.clone()
	var own []section
	tables := 0
	for _, s := range sections(d.data) {
		if len(s.path) == 0 || s.path[0] != array {
			continue
		}
		own = append(own, s)
		if len(s.path) == 1 && s.array {
			tables++
		}
	}
	found, _ := values[array].([]map[string]any)
	if values[array] != nil && len(found) != tables || values[array] != nil && tables == 0 {
		return nil, nil, fmt.Errorf("%s is not written as [[%s]] tables: write it that way, or edit it by hand", array, Key(array))
	}
	return values, own, nil
}

// tableAt is arrayTables for the sections of one table. The first section is that of the table's header.
func (d *Doc) tableAt(array string, index int) (map[string]any, []section, error) {
	values, all, err := d.arrayTables(array)
	if err != nil {
		return nil, nil, err
	}
	var own []section
	at := -1
	for _, s := range all {
		if len(s.path) == 1 {
			at++
		}
		if at == index {
			own = append(own, s)
		}
	}
	if index < 0 || len(own) == 0 {
		return nil, nil, fmt.Errorf("there is no %s[%d]", array, index)
	}
	return values, own, nil
}

// runs merges adjacent sections, including the text between them.
func runs(own []section) []section {
	var out []section
	for _, s := range own {
		if n := len(out); n > 0 && out[n-1].index+1 == s.index {
			out[n-1].tail, out[n-1].index = s.tail, s.index
			continue
		}
		out = append(out, s)
	}
	return out
}

// sections returns the sections of a valid TOML file.
func sections(data []byte) []section {
	all := []section{{}}
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			s := &all[len(all)-1]
			key, start := keyPath(e.Key(), nil)
			end := int(e.Raw.Offset + e.Raw.Length)
			s.pairs = append(s.pairs, pair{key: key, value: valueRange(data, e, start), end: end})
			s.end = textedit.LineEnd(data, end)
			continue
		}
		path, end := keyPath(e.Key(), nil)
		all = append(all, section{path: path, array: e.Kind == unstable.ArrayTable, heading: end,
			start: textedit.LineStart(data, end), end: textedit.LineEnd(data, end), index: len(all)})
	}
	for i := range all {
		all[i].attachComments(data, all, i)
	}
	return all
}

// attachComments sets lead and tail of a section and limits the tail of the previous one. Between the last key of a section
// and the next header there are only comments and empty lines; comments directly above a header belong to it.
func (s *section) attachComments(data []byte, all []section, i int) {
	s.lead = s.start
	if i > 0 {
		for s.lead > all[i-1].end {
			above := textedit.LineStart(data, s.lead-1)
			if !comment(data[above:s.lead]) {
				break
			}
			s.lead = above
		}
		all[i-1].tail = min(all[i-1].tail, max(s.lead, all[i-1].end))
	}
	s.tail = s.end
	for s.tail < len(data) {
		next := textedit.LineEnd(data, s.tail)
		if !comment(data[s.tail:next]) {
			break
		}
		s.tail = next
	}
}

func comment(line []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) }

func blank(line []byte) bool { return len(line) > 0 && len(bytes.TrimSpace(line)) == 0 }
