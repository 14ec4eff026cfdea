package tomlfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/textedit"
)

// SetSubtable sets the sub-table at path of the index-th table of the array of tables named array. text is the sub-table with its header and
// with its own sub-tables; all headers begin with array. An empty text removes the sub-table. An existing sub-table must have a header. A new
// one is added after the last sub-table with the same first part of the path, or else at the end of the table. All other bytes are preserved.
func (d *Doc) SetSubtable(array string, index int, path []string, text string) (*Doc, error) {
	before, own, err := d.tableAt(array, index)
	if err != nil {
		return nil, err
	}
	full := append([]string{array}, path...)
	var old []section
	for _, s := range own {
		if hasPrefix(s.path, full) {
			old = append(old, s)
		}
	}
	table := before[array].([]map[string]any)[index]
	if err := setAt(table, full, text); err != nil {
		return nil, err
	}
	if len(old) > 0 && len(runs(old)) > 1 {
		return nil, fmt.Errorf("the tables of %s are not adjacent: edit them by hand", strings.Join(full, "."))
	}
	data, nl := d.data, textedit.Newline(d.data)
	text = strings.ReplaceAll(text, "\n", nl)
	switch {
	case text == "":
		return d.verified(before, removeSections(data, old))
	case len(old) > 0:
		return d.verified(before, textedit.Splice(data, old[0].start, runs(old)[0].tail, text))
	}
	after := own[len(own)-1]
	for _, s := range own {
		if hasPrefix(s.path, full[:2]) {
			after = s
		}
	}
	if after.tail > 0 && data[after.tail-1] != '\n' {
		text = nl + text
	}
	return d.verified(before, textedit.Splice(data, after.tail, after.tail, nl+text))
}

// setAt sets the value at full[1:] in table to the one that text defines at full. An empty text removes the value.
func setAt(table map[string]any, full []string, text string) error {
	values, serr := decode([]byte(text))
	if serr != nil {
		return fmt.Errorf("the new table %s", serr.what)
	}
	var value any = values
	for _, part := range full {
		m, _ := value.(map[string]any)
		value = m[part]
	}
	last := len(full) - 1
	for _, part := range full[1:last] {
		next, ok := table[part].(map[string]any)
		if !ok {
			if table[part] != nil {
				return fmt.Errorf("%s is not a table", strings.Join(full, "."))
			}
			next = map[string]any{}
			table[part] = next
		}
		table = next
	}
	if text == "" {
		delete(table, full[last])
	} else {
		table[full[last]] = value
	}
	return nil
}

// SetSubtableKey sets a key of the sub-table at path of the index-th table of the array of tables named array. value is TOML. It replaces the
// existing value, or adds the key after the header of the sub-table. All other bytes of d are preserved.
func (d *Doc) SetSubtableKey(array string, index int, path []string, key, value string) (*Doc, error) {
	before, own, err := d.tableAt(array, index)
	if err != nil {
		return nil, err
	}
	full := append([]string{array}, path...)
	at := slices.IndexFunc(own, func(s section) bool { return slices.Equal(s.path, full) })
	if at < 0 {
		return nil, fmt.Errorf("%s is not written as [%s]: write it that way, or edit it by hand", strings.Join(full, "."), strings.Join(full, "."))
	}
	table := before[array].([]map[string]any)[index]
	for _, part := range path {
		table, _ = table[part].(map[string]any)
	}
	if err := setAt(table, []string{"", key}, "[\"\"]\n"+Key(key)+" = "+value+"\n"); err != nil {
		return nil, err
	}
	data := d.data
	for _, p := range own[at].pairs {
		if slices.Equal(p.key, []string{key}) {
			return d.verified(before, textedit.Splice(data, int(p.value.Offset), int(p.value.Offset+p.value.Length), value))
		}
	}
	return d.verified(before, addLine(data, own[at].heading, Key(key)+" = "+value))
}
