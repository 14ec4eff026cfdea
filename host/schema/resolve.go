package schema

import (
	"net/url"
	"strconv"
	"strings"
)

// resolve finds what a reference leads to.
func (c *compiler) resolve(r reference) (*node, error) {
	at := scope{r.in, r.where}.member(r.key)
	u, err := url.Parse(r.to)
	if err != nil {
		return nil, at.fault("must be a URI reference")
	}
	u = r.in.base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	target := c.targets[u.String()]
	switch {
	case target == nil:
		return nil, at.fault("%s: a schema may refer only to itself", quoted(r.to))
	case fragment != "" && fragment[0] != '/':
		if n := target.anchors[fragment]; n != nil {
			return n, nil
		}
		return nil, at.fault("%s: there is no such anchor", quoted(r.to))
	}
	n, err := c.pointed(target, fragment)
	if n == nil && err == nil {
		err = at.fault("%s: there is no such schema", quoted(r.to))
	}
	return n, err
}

// pointed follows a JSON pointer; nil if it leads to nothing.
func (c *compiler) pointed(in *resource, pointer string) (*node, error) {
	var v any = in.doc
	at := scope{in, &place{}}
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue // before the first slash
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch parent := v.(type) {
		case map[string]any:
			value, there := parent[token]
			if !there {
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

// resourceOf is that of an object on the way of a pointer, which may have a URL of its own.
func (c *compiler) resourceOf(object map[string]any, in *resource) *resource {
	key := "$id"
	if c.draft < 6 {
		key = "id"
	}
	id, ok := object[key].(string)
	if !ok || c.hidden(object) {
		return in
	}
	u, err := url.Parse(id)
	if err != nil {
		return in
	}
	u = in.base.ResolveReference(u)
	u.Fragment = ""
	if own := c.targets[u.String()]; own != nil {
		return own
	}
	return in
}
