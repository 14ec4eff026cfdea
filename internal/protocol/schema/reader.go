package schema

import (
	"encoding/json"
	"math"
	"math/big"
)

// reader reads the keywords of a schema. After the first error, later calls do nothing.
type reader struct {
	c   *compiler
	o   map[string]any
	at  scope
	err error
}

// value returns the value of a keyword. It returns false if the keyword is absent, or if an earlier call failed.
func (r *reader) value(key string) (any, bool) {
	v, ok := r.o[key]
	return v, ok && r.err == nil
}

func (r *reader) fail(key, what string) {
	if r.err == nil {
		r.err = r.at.member(key).errorf("%s", what)
	}
}

// read returns the value of a keyword, whose type must be T. ok is false if the keyword is absent or invalid, or if an earlier call
// failed.
func read[T any](r *reader, key, want string) (out T, ok bool) {
	v, ok := r.value(key)
	if !ok {
		return out, false
	}
	if out, ok = v.(T); !ok {
		r.fail(key, "must be "+want)
	}
	return out, ok
}

func (r *reader) text(key string) (string, bool) { return read[string](r, key, "string") }

func (r *reader) flag(key string) bool {
	flag, _ := read[bool](r, key, "boolean")
	return flag
}

// count returns the value of a keyword, which must be a non-negative integer; -1 if the keyword is absent.
func (r *reader) count(key string) int {
	number, ok := read[json.Number](r, key, "integer")
	if !ok {
		return -1
	}
	n := rational(number)
	switch {
	case !n.IsInt() || n.Sign() < 0:
		r.fail(key, "must be a non-negative integer")
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

// strings returns the value of a keyword, which must be an array of unique strings.
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
			r.err = at.item(i).errorf("must be string")
		case seen[text]:
			r.err = at.item(i).errorf("is a duplicate")
		}
		seen[text] = true
		out = append(out, text)
	}
	return out
}

// schema compiles the subschema that is the value of a keyword; nil if the keyword is absent.
func (r *reader) schema(key string) *node {
	v, ok := r.value(key)
	if !ok {
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

// list compiles the non-empty array of subschemas that is the value of a keyword; nil if the keyword is absent.
func (r *reader) list(key string) []*node {
	list, ok := read[[]any](r, key, "array")
	if ok && len(list) == 0 {
		r.fail(key, "must not be empty")
	}
	nodes := make([]*node, 0, len(list))
	for i, v := range list {
		nodes = append(nodes, r.compiled(v, r.at.member(key).item(i)))
	}
	return nodes
}

// schemas compiles the object of subschemas that is the value of a keyword; nil if the keyword is absent.
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
		r.err = at.errorf("%v", err)
	}
	return p
}
