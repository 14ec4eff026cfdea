package merge

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// entry is one requirement of the new text.
type entry struct {
	name  string
	raw   string
	block requirement.Block // the lines as they were read, with the old name of the requirement
	gone  bool
}

// entries holds the requirements of a text, in order. Maps are indexes of the names, since a text may have a hundred thousand
// requirements.
type entries struct {
	order  []*entry
	byName map[string]*entry
	byKey  map[string]*entry // the key is requirement.Key of the name, for entries whose name differs from it
	byFold map[string][]*entry
}

// add appends a requirement, whose name must be unique.
func (e *entries) add(block requirement.Block) {
	one := &entry{name: block.Name, raw: block.Raw(), block: block}
	e.order = append(e.order, one)
	e.index(one)
}

func (e *entries) index(one *entry) {
	if e.byName == nil {
		e.byName, e.byKey, e.byFold = map[string]*entry{}, map[string]*entry{}, map[string][]*entry{}
	}
	folded := requirement.Fold(one.name)
	e.byName[one.name] = one
	if key := requirement.Key(one.name); key != one.name {
		e.byKey[key] = one
	}
	e.byFold[folded] = append(e.byFold[folded], one)
}

// find returns the entry with the given name; if there is none, one whose name has the same key.
func (e *entries) find(name string) *entry {
	key := requirement.Key(name)
	for _, found := range []*entry{e.byName[name], e.byName[key], e.byKey[key]} {
		if found != nil {
			return found
		}
	}
	return nil
}

// like returns an entry whose name differs from the argument name only in case or spacing. It never returns the entry
// except.
func (e *entries) like(name string, except *entry) *entry {
	for _, one := range e.byFold[requirement.Fold(name)] {
		// The methods rename and drop leave an entry in byFold under its former name, whereas byName is always current.
		if one != except && one.name != name && e.byName[one.name] == one && requirement.Fold(one.name) == requirement.Fold(name) {
			return one
		}
	}
	return nil
}

// rename gives the entry one a header with a new name. The entry keeps its position and its body.
func (e *entries) rename(one *entry, to string) {
	_, body, _ := strings.Cut(one.raw, "\n")
	e.forget(one)
	one.name = to
	one.raw = markdown.TrimRight(requirement.Title(to) + "\n" + body)
	e.index(one)
}

func (e *entries) drop(one *entry) {
	e.forget(one)
	one.gone = true
}

// forget removes the entry from the indexes of names.
func (e *entries) forget(one *entry) {
	delete(e.byName, one.name)
	if key := requirement.Key(one.name); e.byKey[key] == one {
		delete(e.byKey, key)
	}
}

// left returns the names and the texts of the remaining entries.
func (e *entries) left() (names, texts []string) {
	for _, one := range e.order {
		if !one.gone {
			names, texts = append(names, one.name), append(texts, one.raw)
		}
	}
	return names, texts
}
