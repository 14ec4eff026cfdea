package schema

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// compiler is the state of one call of Compile.
type compiler struct {
	draft    int
	patterns patterns
	nodes    map[uintptr]*node    // the node of each schema, keyed by the identity of the decoded object
	targets  map[string]*resource // the resource at each absolute URI without fragment
	pending  []reference
}

// resource is a schema resource: a schema that has its own base URI.
type resource struct {
	doc     map[string]any
	base    *url.URL
	anchors map[string]*node
}

// reference is a $ref. Its target is resolved after the whole schema has been read.
type reference struct {
	from  *node
	key   string
	to    string
	in    *resource
	where *location
}

// scope is the schema resource and the location in it that are being compiled.
type scope struct {
	in *resource
	at *location
}

func (s scope) member(name string) scope {
	return scope{s.in, &location{parent: s.at, member: true, name: name}}
}
func (s scope) item(i int) scope { return scope{s.in, &location{parent: s.at, index: i}} }

func (s scope) errorf(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if s.at.parent == nil {
		return fmt.Errorf("%s", what)
	}
	return fmt.Errorf("%s: %s", s.at.appendTo(nil), what)
}

// rootURL is the base URI of a schema without $id. References to a resource outside the schema are refused.
const rootURL = "schema:///"

// compile compiles a decoded schema.
func compile(doc any) (*node, error) {
	c := &compiler{draft: 2020, nodes: map[uintptr]*node{}, targets: map[string]*resource{}}
	base, err := url.Parse(rootURL)
	if err != nil {
		return nil, err
	}
	root := &resource{base: base, anchors: map[string]*node{}}
	at := scope{root, &location{}}
	if object, ok := doc.(map[string]any); ok {
		root.doc, c.targets[rootURL] = object, root
		if key := dynamicAnchor(doc); key != "" {
			return nil, at.errorf("uses %s, which is not supported: use $ref", key)
		}
		if err := c.readDraft(object, at); err != nil {
			return nil, err
		}
	}
	n, err := c.schema(doc, at)
	if err != nil {
		return nil, err
	}
	for len(c.pending) > 0 {
		next := c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		target, err := c.resolve(next)
		if err != nil {
			return nil, err
		}
		next.from.refs = append(next.from.refs, target)
	}
	return n, nil
}

// dynamicAnchor returns a keyword that occurs in doc and belongs to dynamic references; empty if there is none.
func dynamicAnchor(doc any) string {
	switch doc := doc.(type) {
	case map[string]any:
		for _, key := range []string{"$dynamicAnchor", "$recursiveAnchor"} {
			if _, ok := doc[key]; ok {
				return key
			}
		}
		for _, v := range doc {
			if found := dynamicAnchor(v); found != "" {
				return found
			}
		}
	case []any:
		for _, v := range doc {
			if found := dynamicAnchor(v); found != "" {
				return found
			}
		}
	}
	return ""
}

// drafts lists the supported drafts. Each is identified by its $schema URI without scheme and fragment.
var drafts = [...]struct {
	name  string
	draft int
}{
	{"json-schema.org/schema", 2020},
	{"json-schema.org/draft/2020-12/schema", 2020},
	{"json-schema.org/draft/2019-09/schema", 2019},
	{"json-schema.org/draft-07/schema", 7},
	{"json-schema.org/draft-06/schema", 6},
	{"json-schema.org/draft-04/schema", 4},
}

func (c *compiler) readDraft(doc map[string]any, at scope) error {
	value, ok := doc["$schema"]
	if !ok {
		return nil
	}
	name, ok := value.(string)
	if !ok {
		return at.member("$schema").errorf("must be string")
	}
	short := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "http://"), "https://"), "#")
	for _, d := range drafts {
		if d.name == short {
			c.draft = d.draft
			return nil
		}
	}
	return at.member("$schema").errorf("%s is not supported: use the URI of draft 4, 6, 7, 2019-09 or 2020-12; custom meta-schemas are not loaded", quoted(name))
}

// schema compiles the schema v. Each object is compiled only once.
func (c *compiler) schema(v any, at scope) (*node, error) {
	switch v := v.(type) {
	case bool:
		return &node{boolean: &v}, nil
	case map[string]any:
		id := reflect.ValueOf(v).Pointer()
		if have := c.nodes[id]; have != nil {
			return have, nil
		}
		n := &node{}
		c.nodes[id] = n
		return n, c.object(n, v, at)
	}
	return nil, at.errorf("must be an object or a boolean")
}

func (c *compiler) object(n *node, o map[string]any, at scope) (err error) {
	if at, err = c.identify(n, o, at); err != nil {
		return err
	}
	r := reader{c: c, o: o, at: at}
	r.referenceKeywords(n)
	r.annotations()
	n.types = r.types("type")
	r.enumKeywords(n)
	r.formatKeyword(n)
	r.numberKeywords(n)
	r.stringKeywords(n)
	r.arrayKeywords(n)
	r.objectKeywords(n)
	r.applicatorKeywords(n)
	if c.draft >= 2019 {
		n.unevaluatedItems, n.unevaluatedProperties = r.schema("unevaluatedItems"), r.schema("unevaluatedProperties")
	}
	for _, key := range []string{"$defs", "definitions"} {
		r.schemas(key) // compiled as possible targets of references; unused ones must be valid too
	}
	return r.err
}

// identify registers the identifier and the anchors of the schema o, whose node is n.
func (c *compiler) identify(n *node, o map[string]any, at scope) (scope, error) {
	key := "$id"
	if c.draft < 6 {
		key = "id"
	}
	if value, ok := o[key]; ok && !c.ignoresSiblings(o) {
		id, ok := value.(string)
		u, err := url.Parse(id)
		if !ok || err != nil {
			return at, at.member(key).errorf("must be a URI reference")
		}
		anchor := u.Fragment
		if u.Fragment = ""; u.String() != "" {
			u = at.in.base.ResolveReference(u)
			if have := c.targets[u.String()]; have != nil && at.at.parent != nil {
				return at, at.member(key).errorf("is a duplicate schema URI")
			}
			at.in = &resource{doc: o, base: u, anchors: map[string]*node{}}
			c.targets[u.String()] = at.in
		}
		if anchor != "" && c.draft < 2019 {
			if err := at.anchor(anchor, n, key); err != nil {
				return at, err
			}
		}
	}
	if value, ok := o["$anchor"]; ok && c.draft >= 2019 {
		anchor, ok := value.(string)
		if !ok || anchor == "" || strings.ContainsAny(anchor, "/#") {
			return at, at.member("$anchor").errorf("must be a plain name")
		}
		return at, at.anchor(anchor, n, "$anchor")
	}
	return at, nil
}

func (s scope) anchor(name string, n *node, key string) error {
	if s.in.anchors[name] != nil {
		return s.member(key).errorf("is a duplicate anchor")
	}
	s.in.anchors[name] = n
	return nil
}

// ignoresSiblings reports whether o has a $ref, and the draft ignores the siblings of $ref.
func (c *compiler) ignoresSiblings(o map[string]any) bool {
	_, ok := o["$ref"].(string)
	return ok && c.draft < 2019
}

// sorted returns the member names of an object in ascending order.
func sorted(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
