package yaml11

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// maxPlain bounds how many values Plain gives: an alias in few bytes can stand for very many.
const maxPlain = 100_000

// Value is one value of a document. The zero value is an absent one.
type Value struct {
	node *yaml.Node // never an alias; nil if absent
	at   string
}

// Entry is a key of a mapping with its value.
type Entry struct {
	Key   Value // a scalar
	Value Value
}

// Root returns the document's value. Where it is not a mapping, it has no key, and so all are absent.
func (d *Document) Root() Value {
	if d.root == nil {
		return Value{}
	}
	return Value{node: resolveAlias(d.root)}
}

// At returns where the value is: keys and positions in lists, joined by dots, such as "artifacts.skills.0".
func (v Value) At() string { return v.at }

// Kind returns what the value is.
func (v Value) Kind() Kind {
	switch {
	case v.node == nil:
		return Absent
	case v.node.Kind == yaml.MappingNode:
		return Mapping
	case v.node.Kind == yaml.SequenceNode:
		return List
	}
	return scalarKind(v.node)
}

// Text returns a scalar as it is written, without quotes; "" for others.
func (v Value) Text() string {
	if v.node == nil || v.node.Kind != yaml.ScalarNode {
		return ""
	}
	return v.node.Value
}

// Field returns the value of a mapping's key: of the last one where it is there more than once.
func (v Value) Field(key string) Value {
	found := Value{at: join(v.at, key)}
	if v.Kind() != Mapping {
		return found
	}
	content, merges := v.node.Content, false
	for i := len(content) - 2; i >= 0; i -= 2 {
		merges = merges || isMerge(content[i])
		if name := resolveAlias(content[i]); name.Value == key && scalarKind(name) == Text && !isMerge(name) {
			found.node = resolveAlias(content[i+1])
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

// Entries returns a mapping's keys and values, in their order, those that are merged in first; a key that
// is there more than once has the place of the first and the value of the last.
func (v Value) Entries() []Entry {
	if v.Kind() != Mapping {
		return nil
	}
	e := entries{at: v.at, place: map[string]int{}}
	e.add(v.node)
	return e.list
}

type entries struct {
	at    string
	list  []Entry
	place map[string]int
}

// add takes in a mapping: what it merges, and then its own keys, which win. Of what is merged, the first wins.
// That this ends, and soon, was seen to by a checker.
func (e *entries) add(mapping *yaml.Node) {
	for i := 0; i < len(mapping.Content); i += 2 {
		if !isMerge(mapping.Content[i]) {
			continue
		}
		merged := resolveAlias(mapping.Content[i+1])
		if merged.Kind == yaml.MappingNode {
			e.add(merged)
			continue
		}
		for j := len(merged.Content) - 1; j >= 0; j-- {
			e.add(resolveAlias(merged.Content[j]))
		}
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := resolveAlias(mapping.Content[i])
		if isMerge(mapping.Content[i]) {
			continue
		}
		entry := Entry{Value{node: key, at: e.at}, Value{node: resolveAlias(mapping.Content[i+1]), at: join(e.at, key.Value)}}
		id := strconv.Itoa(int(scalarKind(key))) + key.Value
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
	items := make([]Value, len(v.node.Content))
	for i, child := range v.node.Content {
		items[i] = Value{node: resolveAlias(child), at: join(v.at, strconv.Itoa(i))}
	}
	return items
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
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
