package tomlfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// Table reads a table. Each method that takes a key marks it as known. A value of a wrong type is reported and treated as
// absent. An absent table is empty.
type Table struct {
	doc   *Doc
	node  *node // nil: absent
	path  string
	known []string // keys that were read
}

// Present reports whether the file has this table.
func (t *Table) Present() bool { return t.node != nil }

// Line returns the table's line, 0 if it is absent.
func (t *Table) Line() int {
	if t.node == nil {
		return 0
	}
	return t.node.line
}

// File returns the name of the file that contains the table.
func (t *Table) File() string { return t.doc.fileOf(t.node) }

// FileOf returns the name of the file that contains key, or that of the table if key is absent.
func (t *Table) FileOf(key string) string {
	if t.node != nil {
		if n := t.node.get(key); n != nil {
			return t.doc.fileOf(n)
		}
	}
	return t.File()
}

// Name returns the full dotted path of the table, such as tools[2]. The index is that in the table's file.
func (t *Table) Name() string { return t.path }

// Path returns the full dotted path of a key in this table, such as tools[2].input.
func (t *Table) Path(key string) string { return join(t.path, key) }

// Has reports whether the table has key.
func (t *Table) Has(key string) bool { return t.find(key) != nil }

// LineOf returns the line of key, or that of the table if key is absent.
func (t *Table) LineOf(key string) int {
	if t.node != nil {
		for i := range t.node.entries {
			if e := &t.node.entries[i]; e.key == key {
				return e.line
			}
		}
	}
	return t.Line()
}

// Keys returns the table's keys in the file's order and marks all as known.
func (t *Table) Keys() []string {
	if t.node == nil {
		return nil
	}
	keys := make([]string, len(t.node.entries))
	for i, e := range t.node.entries {
		keys[i] = e.key
	}
	t.known = keys
	return keys
}

// LineOfItem returns the line of an item of the array at key, or that of key if there is no such item.
func (t *Table) LineOfItem(key string, index int) int {
	if n := t.find(key); n != nil && index < len(n.items) {
		return n.items[index].line
	}
	return t.LineOf(key)
}

// Fault reports an error about key.
func (t *Table) Fault(key, what, remedy string) { t.report(key, what, remedy, false) }

// Warn reports a warning about key.
func (t *Table) Warn(key, what, remedy string) { t.report(key, what, remedy, true) }

// FaultItem is Fault for an item of the array at key.
func (t *Table) FaultItem(key string, index int, what, remedy string) {
	t.doc.Add(Problem{File: t.FileOf(key), Line: t.LineOfItem(key, index), Key: fmt.Sprintf("%s[%d]", t.Path(key), index), What: what, Remedy: remedy})
}

func (t *Table) report(key, what, remedy string, warning bool) {
	t.doc.Add(Problem{File: t.FileOf(key), Line: t.LineOf(key), Key: t.Path(key), What: what, Remedy: remedy, Warning: warning})
}

// String returns the string at key, "" if absent.
func (t *Table) String(key string) string {
	s, _ := scalarOf[string](t, key, `a string in quotes`)
	return s
}

// Required returns the string at key, which must be present and not empty. remedy says what to write.
func (t *Table) Required(key, remedy string) string {
	if !t.Has(key) {
		t.Fault(key, "is missing", remedy)
		return ""
	}
	s, ok := scalarOf[string](t, key, `a string in quotes`)
	if ok && s == "" {
		t.Fault(key, "is empty", remedy)
	}
	return s
}

// OneOf returns the string at key, which must be one of allowed. If the key is absent it returns the first of them.
func (t *Table) OneOf(key string, allowed ...string) string {
	s, ok := scalarOf[string](t, key, `a string in quotes`)
	if !ok {
		return allowed[0]
	}
	if !slices.Contains(allowed, s) {
		t.Fault(key, fmt.Sprintf("is %s, which is not a valid value", Quote(s)), fmt.Sprintf(`write "%s"`, strings.Join(allowed, `" or "`)))
		return allowed[0]
	}
	return s
}

// Bool returns the boolean at key; if the table does not have the key, it returns the argument "absent".
func (t *Table) Bool(key string, absent bool) bool {
	if b := t.BoolPtr(key); b != nil {
		return *b
	}
	return absent
}

// BoolPtr returns the boolean at key, nil if absent.
func (t *Table) BoolPtr(key string) *bool {
	if b, ok := scalarOf[bool](t, key, "true or false"); ok {
		return &b
	}
	return nil
}

// Int returns the integer at key and whether it is present.
func (t *Table) Int(key string) (int64, bool) {
	return scalarOf[int64](t, key, "an integer")
}

// Number returns the float or integer at key, 0 if absent.
func (t *Table) Number(key string) float64 {
	if n := t.find(key); n != nil {
		if integer, ok := n.value.(int64); ok {
			return float64(integer)
		}
	}
	number, _ := scalarOf[float64](t, key, "a number")
	return number
}

// Strings returns the strings of the array at key: nil if absent, not nil if empty. Items of other types are reported and
// returned as "", so that indices match the file.
func (t *Table) Strings(key string) []string {
	n := t.find(key)
	if n == nil {
		return nil
	}
	if n.kind != array {
		t.reportType(key, n, "an array of strings")
		return nil
	}
	if len(n.items) > MaxItems {
		t.Fault(key, fmt.Sprintf("has more than %d items", MaxItems), "")
		return []string{}
	}
	out := make([]string, len(n.items))
	for i, item := range n.items {
		s, ok := item.value.(string)
		if !ok {
			t.FaultItem(key, i, fmt.Sprintf("is %s, not a string in quotes", item.typeName()), "")
		}
		out[i] = s
	}
	return out
}

// Distinct is Strings for an array without duplicates. check returns what is wrong with an item, "" if it is valid, and the remedy.
func (t *Table) Distinct(key string, check func(item string) (what, remedy string)) []string {
	items := t.Strings(key)
	for i, item := range items {
		if what, remedy := check(item); what != "" {
			t.FaultItem(key, i, what, remedy)
		} else if slices.Index(items, item) < i {
			t.FaultItem(key, i, "is a duplicate", "remove one")
		}
	}
	return items
}

// Ints returns the integers of the array at key: nil if absent, not nil if empty. Items of other types are reported and left out.
func (t *Table) Ints(key string) []int64 {
	n := t.find(key)
	if n == nil {
		return nil
	}
	if n.kind != array {
		t.reportType(key, n, "an array of integers")
		return nil
	}
	out := []int64{}
	for i, item := range n.items {
		number, ok := item.value.(int64)
		if !ok {
			t.FaultItem(key, i, fmt.Sprintf("is %s, not an integer", item.typeName()), "")
			continue
		}
		out = append(out, number)
	}
	return out
}

// Item is an item of an array that may contain both strings and tables.
type Item struct {
	Text  string
	Table *Table // nil: the item is the string Text
	Line  int
	Wrong bool // the item is of a wrong type, which has been reported
}

// Items returns the strings and tables of the array at key: nil if absent, not nil if empty.
func (t *Table) Items(key string) []Item {
	n := t.find(key)
	if n == nil {
		return nil
	}
	if n.kind != array {
		t.reportType(key, n, "an array of strings and tables")
		return nil
	}
	if len(n.items) > MaxItems {
		t.Fault(key, fmt.Sprintf("has more than %d items", MaxItems), "")
		return []Item{}
	}
	out := make([]Item, len(n.items))
	for i, item := range n.items {
		out[i].Line = item.line
		text, ok := item.value.(string)
		switch {
		case item.kind == table:
			out[i].Table = t.doc.table(item, fmt.Sprintf("%s[%d]", t.Path(key), i))
		case ok:
			out[i].Text = text
		default:
			out[i].Wrong = true
			t.FaultItem(key, i, fmt.Sprintf("is %s: write a quoted string or a table", item.typeName()), "")
		}
	}
	return out
}

// StringAt returns the string at key in the table at inner, "" if absent. It reports nothing, because it is for tables
// that JSON reads as a whole.
func (t *Table) StringAt(inner, key string) string {
	if n := t.find(inner); n != nil {
		if v := n.get(key); v != nil {
			s, _ := v.value.(string)
			return s
		}
	}
	return ""
}

// IsArray reports whether the value at key is an array.
func (t *Table) IsArray(key string) bool {
	n := t.find(key)
	return n != nil && n.kind == array
}

// IsTable reports whether the value at key is a table.
func (t *Table) IsTable(key string) bool {
	n := t.find(key)
	return n != nil && n.kind == table
}

// Table returns the table at key.
func (t *Table) Table(key string) *Table {
	n := t.find(key)
	if n != nil && n.kind != table {
		t.reportType(key, n, "a table")
		n = nil
	}
	return t.doc.table(n, t.Path(key))
}

// Tables returns the tables of the array at key, written as [[…]] or inline.
func (t *Table) Tables(key string) []*Table {
	n := t.find(key)
	if n == nil {
		return nil
	}
	if n.kind != array {
		t.Fault(key, fmt.Sprintf("is %s, not an array of tables", n.typeName()), fmt.Sprintf("write [[%s]] above each table", t.Path(key)))
		return nil
	}
	var out []*Table
	index, file := 0, ""
	for _, item := range n.items {
		if item.file != file {
			index, file = 0, item.file // the items of each file are adjacent
		}
		name := fmt.Sprintf("%s[%d]", t.Path(key), index)
		index++
		if item.kind != table {
			t.doc.Add(Problem{File: t.doc.fileOf(item), Line: item.line, Key: name, What: fmt.Sprintf("is %s, not a table", item.typeName())})
			continue
		}
		out = append(out, t.doc.table(item, name))
	}
	return out
}

// hasRead reports whether key was read.
func (t *Table) hasRead(key string) bool { return slices.Contains(t.known, key) }

func (t *Table) find(key string) *node {
	if !slices.Contains(t.known, key) {
		t.known = append(t.known, key)
	}
	if t.node == nil {
		return nil
	}
	return t.node.get(key)
}

func (t *Table) reportType(key string, n *node, want string) {
	t.Fault(key, fmt.Sprintf("is %s, not %s", n.typeName(), want), "write "+want)
}

// unknown appends a problem for each unknown key.
func (t *Table) unknown(ps Problems) Problems {
	if t.node == nil {
		return ps
	}
	for _, e := range t.node.entries {
		if slices.Contains(t.known, e.key) {
			continue
		}
		ps = append(ps, Problem{
			File: t.doc.fileOf(e.node), Line: e.line, Key: t.Path(e.key), What: "is not a known key",
			Remedy: usage.DidYouMean(e.key, t.known, "remove it; the keys here are "+strings.Join(t.known, ", ")),
		})
	}
	return ps
}

func scalarOf[T any](t *Table, key, want string) (T, bool) {
	var zero T
	n := t.find(key)
	if n == nil {
		return zero, false
	}
	v, ok := n.value.(T)
	if !ok {
		t.reportType(key, n, want)
	}
	return v, ok
}

func (n *node) typeName() string {
	switch n.kind {
	case table:
		return "a table"
	case array:
		return "an array"
	}
	switch n.value.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case time.Time:
		return "a date or time"
	}
	return "a value of another type"
}
