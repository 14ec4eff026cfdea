package yaml11

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxPlain is the maximum number of values that Plain returns, because aliases can expand to a huge number of values.
const maxPlain = 100_000

// Value is a value in a document. The zero value stands for an absent value.
type Value struct {
	node   *frontmatter.Node // nil if the value is absent; never an alias
	parent *frontmatter.Node // nil if the value is the root of the document
	root   *frontmatter.Node
	key    string // the key of the value, if parent is a mapping
}

// Entry is an entry of a mapping.
type Entry struct {
	Key   Value // a key, which is always a scalar
	Value Value
}

// Root returns the value of the whole document. If that value is not a mapping, all of its fields are absent.
func (d *Document) Root() Value { return Value{node: d.root, root: d.root} }

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if v.node == nil {
		return Absent
	}
	return kindOf(v.node)
}

// Text returns the decoded content of a scalar of any kind; "" for a collection.
func (v Value) Text() string {
	if v.node == nil {
		return ""
	}
	return v.node.Text
}

// Field returns the value of a key in a mapping. Of duplicate keys, Field returns the value of the last.
func (v Value) Field(key string) Value {
	found := Value{parent: v.node, root: v.root, key: key}
	if v.node == nil || v.node.Kind != frontmatter.Mapping {
		return found
	}
	items, merges := v.node.Children, false
	for i := len(items) - 2; i >= 0; i -= 2 {
		switch name := items[i].Resolve(); {
		case name.Text == "<<" && isMerge(items[i]):
			merges = true
		case name.Text == key && kindOf(name) == Text:
			found.node = items[i+1].Resolve()
			return found
		}
	}
	if !merges {
		return found
	}
	for _, entry := range v.Entries() {
		if entry.Key.Kind() == Text && entry.Key.Text() == key {
			return entry.Value
		}
	}
	return found
}

// Entries returns the entries of a mapping in order, with merged entries first. A duplicate key has the position of its
// first occurrence and the value of its last occurrence.
func (v Value) Entries() []Entry {
	if v.Kind() != Mapping {
		return nil
	}
	e := entries{of: v, place: make(map[entryKey]int, len(v.node.Children)/2)}
	e.add(v.node)
	return e.list
}

// entryKey identifies a key in a mapping.
type entryKey struct {
	kind Kind
	text string
}

type entries struct {
	of    Value
	list  []Entry
	place map[entryKey]int
}

// add adds the merged entries of a mapping, and then the mapping's own entries, which take precedence. Of several
// merged mappings, the first takes precedence. The recursion is bounded, because the checker has counted the merged
// keys.
func (e *entries) add(mapping *frontmatter.Node) {
	items := mapping.Children // mapping may be an item of a list with the tag !!omap, which converter has made a list
	for i := 0; i < len(items); i += 2 {
		if !isMerge(items[i]) {
			continue
		}
		merged := items[i+1].Resolve()
		if merged.Kind == frontmatter.Mapping {
			e.add(merged)
			continue
		}
		for _, item := range slices.Backward(merged.Children) {
			e.add(item.Resolve())
		}
	}
	for i := 0; i < len(items); i += 2 {
		if isMerge(items[i]) {
			continue
		}
		key, value := items[i].Resolve(), items[i+1].Resolve()
		entry := Entry{Value{node: key, parent: e.of.node, root: e.of.root, key: key.Text}, Value{node: value, parent: e.of.node, root: e.of.root, key: key.Text}}
		id := entryKey{kindOf(key), key.Text}
		if at, ok := e.place[id]; ok {
			e.list[at] = entry
			continue
		}
		e.place[id] = len(e.list)
		e.list = append(e.list, entry)
	}
}

// Items returns the values of a list.
func (v Value) Items() []Value {
	if v.Kind() != List {
		return nil
	}
	items := make([]Value, len(v.node.Children))
	for i, item := range v.node.Children {
		items[i] = Value{node: item.Resolve(), parent: v.node, root: v.root}
	}
	return items
}

// At returns the path of the value, which consists of keys and list indexes, joined by dots, such as
// "artifacts.skills.0". At searches the document for the value. Values do not store their paths, because only error
// messages need a path.
func (v Value) At() string {
	if v.parent == nil {
		return v.key
	}
	at, _ := find(v.root, v.parent, map[*frontmatter.Node]bool{})
	key := v.key
	if v.parent.Kind == frontmatter.Sequence && v.node != nil { // if v is absent, v.key is the requested key
		key = strconv.Itoa(slices.IndexFunc(v.parent.Children, func(item *frontmatter.Node) bool { return item.Resolve() == v.node }))
	}
	if at == "" {
		return key
	}
	return at + "." + key
}

// find returns the path of the node wanted, relative to the node "in"; it returns false if wanted is not below "in".
func find(in, wanted *frontmatter.Node, seen map[*frontmatter.Node]bool) (string, bool) {
	if in = in.Resolve(); in == wanted {
		return "", true
	}
	if len(in.Children) == 0 || seen[in] {
		return "", false
	}
	seen[in] = true
	for i, item := range in.Children {
		key := strconv.Itoa(i)
		if in.Kind == frontmatter.Mapping {
			if i%2 == 0 {
				continue
			}
			key = in.Children[i-1].Resolve().Text
		}
		if below, ok := find(item, wanted, seen); ok {
			if below == "" {
				return key, true
			}
			return key + "." + below, true
		}
	}
	return "", false
}

// Plain converts the value to nil, bool, int64, float64, string, []any or Map. Dates become strings. Plain returns an
// error if aliases make the value too large or cyclic.
func (v Value) Plain() (any, error) {
	left := maxPlain
	return v.plain(0, &left)
}

func (v Value) plain(depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxDepth {
		return nil, errors.New("the aliases of this document expand to too many values")
	}
	switch v.Kind() {
	case Absent, Null:
		return nil, nil
	case Bool:
		return boolWords[v.lower()], nil
	case Int:
		if n, ok := parseInt(v.Text()); ok {
			return n, nil
		}
		return v.Text(), nil
	case Float:
		return parseFloat(v.Text()), nil
	case List:
		list := []any{}
		for _, item := range v.Items() {
			plain, err := item.plain(depth+1, left)
			if err != nil {
				return nil, err
			}
			list = append(list, plain)
		}
		return list, nil
	case Mapping:
		plain := Map{}
		for _, entry := range v.Entries() {
			value, err := entry.Value.plain(depth+1, left)
			if err != nil {
				return nil, err
			}
			plain = append(plain, Pair{entry.Key.Text(), value})
		}
		return plain, nil
	}
	return v.Text(), nil
}

// Map is an ordered mapping that Encode and encoding/json can encode.
type Map []Pair

// Pair is an entry of a Map. Its value is nil, bool, int, int64, float64, string, []string, []any or Map; Encode does
// not support float64.
type Pair struct {
	Key   string
	Value any
}

// NullText returns the value of a Pair for a string; nil, which is written as null, for a nil pointer.
func NullText(text *string) any {
	if text == nil {
		return nil
	}
	return *text
}

// MarshalJSON returns a JSON object with the keys in the order of the map.
func (m Map) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, pair := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, part := range []any{pair.Key, pair.Value} {
			if j > 0 {
				out.WriteByte(':')
			}
			encoded, err := json.Marshal(part)
			if err != nil {
				return nil, err
			}
			out.Write(encoded)
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
