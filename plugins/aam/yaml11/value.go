package yaml11

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
)

// maxPlain bounds how many values Plain gives: an alias in few bytes can stand for very many.
const maxPlain = 100_000

// node is a value as it is kept: what aliases stand for is where they were.
type node struct {
	kind  Kind
	text  string  // of a scalar, without quotes
	items []*node // of a list; of a mapping, keys and values in turn
	line  int
}

// merge is the kind of the key << where it is no text.
const merge = Mapping + 1

// Value is one value of a document. The zero value is an absent one.
type Value struct {
	node   *node // nil if absent
	parent *node // nil for the document's own value
	root   *node
	key    string // in a mapping
}

// Entry is a key of a mapping with its value.
type Entry struct {
	Key   Value // a scalar
	Value Value
}

// Root returns the document's value. Where it is not a mapping, it has no key, and so all are absent.
func (d *Document) Root() Value { return Value{node: d.root, root: d.root} }

// Kind returns what the value is.
func (v Value) Kind() Kind {
	if v.node == nil {
		return Absent
	}
	return v.node.kind
}

// Text returns a scalar as it is written, without quotes; "" for others.
func (v Value) Text() string {
	if v.node == nil {
		return ""
	}
	return v.node.text
}

// Field returns the value of a mapping's key: of the last one where it is there more than once.
func (v Value) Field(key string) Value {
	found := Value{parent: v.node, root: v.root, key: key}
	if v.Kind() != Mapping {
		return found
	}
	items, merges := v.node.items, false
	for i := len(items) - 2; i >= 0; i -= 2 {
		if name := items[i]; name.kind == Text && name.text == key {
			found.node = items[i+1]
			return found
		} else if name.kind == merge {
			merges = true
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

// Entries returns a mapping's keys and values, in their order, those that are merged in first; a key that
// is there more than once has the place of the first and the value of the last.
func (v Value) Entries() []Entry {
	if v.Kind() != Mapping {
		return nil
	}
	e := entries{of: v, place: make(map[entryKey]int, len(v.node.items)/2)}
	e.add(v.node)
	return e.list
}

// entryKey is what two keys of a mapping differ by.
type entryKey struct {
	kind Kind
	text string
}

type entries struct {
	of    Value
	list  []Entry
	place map[entryKey]int
}

// add takes in a mapping: what it merges, and then its own keys, which win. Of what is merged, the first wins.
// That this ends, and soon, was seen to by a checker.
func (e *entries) add(mapping *node) {
	for i := 0; i < len(mapping.items); i += 2 {
		if mapping.items[i].kind != merge {
			continue
		}
		merged := mapping.items[i+1]
		if merged.kind == Mapping {
			e.add(merged)
			continue
		}
		for j := len(merged.items) - 1; j >= 0; j-- {
			e.add(merged.items[j])
		}
	}
	for i := 0; i < len(mapping.items); i += 2 {
		key := mapping.items[i]
		if key.kind == merge {
			continue
		}
		entry := Entry{Value{node: key, parent: e.of.node, root: e.of.root, key: key.text}, Value{node: mapping.items[i+1], parent: e.of.node, root: e.of.root, key: key.text}}
		id := entryKey{key.kind, key.text}
		if at, ok := e.place[id]; ok {
			e.list[at] = entry
			continue
		}
		e.place[id] = len(e.list)
		e.list = append(e.list, entry)
	}
}

// Items returns a list's values.
func (v Value) Items() []Value {
	if v.Kind() != List {
		return nil
	}
	items := make([]Value, len(v.node.items))
	for i, item := range v.node.items {
		items[i] = Value{node: item, parent: v.node, root: v.root}
	}
	return items
}

// At returns where the value is: keys and positions in lists, joined by dots, such as "artifacts.skills.0". It is
// found only now, since hardly anybody asks: where there is nothing wrong, nobody does.
func (v Value) At() string {
	if v.parent == nil {
		return v.key
	}
	at, _ := find(v.root, v.parent, map[*node]bool{})
	key := v.key
	if v.parent.kind == List && v.node != nil { // else it is the key of what has none
		key = strconv.Itoa(slices.Index(v.parent.items, v.node))
	}
	if at == "" {
		return key
	}
	return at + "." + key
}

// find returns where wanted is in a value.
func find(in, wanted *node, seen map[*node]bool) (string, bool) {
	if in == wanted {
		return "", true
	}
	if len(in.items) == 0 || seen[in] {
		return "", false
	}
	seen[in] = true
	for i, item := range in.items {
		key := strconv.Itoa(i)
		if in.kind == Mapping {
			if i%2 == 0 {
				continue
			}
			key = in.items[i-1].text
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

// Plain returns the value as one of nil, bool, int64, float64, string, []any and Map. Dates are texts, as
// they are written. An error says that it is too large, or has itself in it.
func (v Value) Plain() (any, error) {
	left := maxPlain
	return v.plain(0, &left)
}

func (v Value) plain(depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxDepth {
		return nil, errors.New("aliases make this document too large, or endless")
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

// Map is a mapping whose keys have an order. Encode writes it, and so does encoding/json.
type Map []Pair

// Pair is a key with its value: nil, bool, int, int64, float64, string, []string, []any or Map.
type Pair struct {
	Key   string
	Value any
}

// MarshalJSON writes an object with the keys in their order.
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
