package schema

import (
	"encoding/json"
	"math"
	"math/big"
)

// reader reads the keywords of one schema. Its first fault is err; the methods after it do nothing.
type reader struct {
	c   *compiler
	o   map[string]any
	at  scope
	err error
}

// value is that of a keyword, if it is there and nothing is wrong so far.
func (r *reader) value(key string) (any, bool) {
	v, there := r.o[key]
	return v, there && r.err == nil
}

func (r *reader) fault(key, what string) {
	if r.err == nil {
		r.err = r.at.member(key).fault("%s", what)
	}
}

// read is the value of a keyword that has to be a T; ok is false where it is not there.
func read[T any](r *reader, key, want string) (out T, ok bool) {
	v, there := r.value(key)
	if !there {
		return out, false
	}
	if out, ok = v.(T); !ok {
		r.fault(key, "must be "+want)
	}
	return out, ok
}

func (r *reader) text(key string) (string, bool) { return read[string](r, key, "string") }

func (r *reader) flag(key string) bool {
	flag, _ := read[bool](r, key, "boolean")
	return flag
}

// count is a number of something, -1 if unset.
func (r *reader) count(key string) int {
	number, ok := read[json.Number](r, key, "integer")
	if !ok {
		return -1
	}
	n := rational(number)
	switch {
	case !n.IsInt() || n.Sign() < 0:
		r.fault(key, "must be an integer that is not negative")
		return -1
	case !n.Num().IsInt64() || n.Num().Int64() > math.MaxInt32:
		return math.MaxInt32
	}
	return int(n.Num().Int64())
}

func (r *reader) number(key string) *big.Rat {
	number, ok := read[json.Number](r, key, "number")
	if !ok {
		return nil
	}
	return rational(number)
}

// strings are the items of an array, each once.
func (r *reader) strings(key string) []string {
	list, _ := read[[]any](r, key, "array")
	return r.stringsOf(list, r.at.member(key))
}

func (r *reader) stringsOf(list []any, at scope) []string {
	seen, out := map[string]bool{}, make([]string, 0, len(list))
	for i, v := range list {
		text, ok := v.(string)
		switch {
		case r.err != nil:
			return nil
		case !ok:
			r.err = at.item(i).fault("must be string")
		case seen[text]:
			r.err = at.item(i).fault("is there twice")
		}
		seen[text] = true
		out = append(out, text)
	}
	return out
}

// schema is the schema that a keyword holds; nil if unset.
func (r *reader) schema(key string) *node {
	v, there := r.value(key)
	if !there {
		return nil
	}
	return r.compiled(v, r.at.member(key))
}

func (r *reader) compiled(v any, at scope) *node {
	if r.err != nil {
		return nil
	}
	n, err := r.c.schema(v, at)
	r.err = err
	return n
}

// list is an array of schemas, which is not empty; nil if unset.
func (r *reader) list(key string) []*node {
	list, ok := read[[]any](r, key, "array")
	if ok && len(list) == 0 {
		r.fault(key, "must not be empty")
	}
	nodes := make([]*node, 0, len(list))
	for i, v := range list {
		nodes = append(nodes, r.compiled(v, r.at.member(key).item(i)))
	}
	return nodes
}

// schemas is an object of schemas; nil if unset.
func (r *reader) schemas(key string) map[string]*node {
	object, ok := read[map[string]any](r, key, "object")
	if !ok {
		return nil
	}
	nodes := make(map[string]*node, len(object))
	for _, name := range sorted(object) {
		nodes[name] = r.compiled(object[name], r.at.member(key).member(name))
	}
	return nodes
}

func (r *reader) pattern(text string, at scope) *pattern {
	if r.err != nil {
		return nil
	}
	p, err := r.c.patterns.compile(text)
	if err != nil {
		r.err = at.fault("%v", err)
	}
	return p
}
