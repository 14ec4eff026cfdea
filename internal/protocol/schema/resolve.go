package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// resolve returns the schema to which the reference r refers.
func (c *compiler) resolve(r reference) (*node, error) {
	at := scope{r.in, r.where}.member(r.key)
	u, err := url.Parse(r.to)
	if err != nil {
		return nil, at.errorf("must be a URI reference")
	}
	u = r.in.base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	target := c.targets[u.String()]
	switch {
	case target == nil:
		return nil, at.errorf("%s: a schema may refer only to itself", quoted(r.to))
	case fragment != "" && fragment[0] != '/':
		if n := target.anchors[fragment]; n != nil {
			return n, nil
		}
		return nil, at.errorf("%s: unknown anchor", quoted(r.to))
	}
	n, err := c.resolvePointer(target, fragment)
	if n == nil && err == nil {
		err = at.errorf("%s: there is no schema at this location", quoted(r.to))
	}
	return n, err
}

// resolvePointer returns the schema to which a JSON pointer refers in a resource; nil if there is none.
func (c *compiler) resolvePointer(in *resource, pointer string) (*node, error) {
	var v any = in.doc
	at := scope{in, &location{}}
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue // the part before the first slash is empty
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch parent := v.(type) {
		case map[string]any:
			value, ok := parent[token]
			if !ok {
				return nil, nil
			}
			v, at = value, at.member(token)
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) || strconv.Itoa(i) != token {
				return nil, nil
			}
			v, at = parent[i], at.item(i)
		default:
			return nil, nil
		}
		if object, ok := v.(map[string]any); ok {
			at.in = c.resourceOf(object, at.in)
		}
	}
	switch v.(type) {
	case bool, map[string]any:
		return c.schema(v, at)
	}
	return nil, nil
}

// resourceOf returns the schema resource to which an object belongs. An object with an identifier of its own begins a new resource; any
// other object belongs to the resource in.
func (c *compiler) resourceOf(object map[string]any, in *resource) *resource {
	key := "$id"
	if c.draft < 6 {
		key = "id"
	}
	id, ok := object[key].(string)
	if !ok || c.ignoresSiblings(object) {
		return in
	}
	u, err := url.Parse(id)
	if err != nil {
		return in
	}
	u = in.base.ResolveReference(u)
	u.Fragment = ""
	if resource := c.targets[u.String()]; resource != nil {
		return resource
	}
	return in
}
