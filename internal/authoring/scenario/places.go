package scenario

import (
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
)

// places has the values of the placeholders in the strings of scenario files: ${project}, ${home} and ${state}. $${ stands for ${.
type places struct {
	expander, quoter, inserter *strings.Replacer
	dirs                       map[string]string
}

func newPlaces(d *scratch.Dir, plugin string) *places {
	p := &places{dirs: map[string]string{"project": d.Project(), "home": d.Home(), "state": d.State(plugin)}}
	expand, quote := []string{"$${", "${"}, []string{}
	insert := []string{}
	for _, name := range []string{"project", "home", "state"} {
		expand = append(expand, "${"+name+"}", p.dirs[name])
		quote = append(quote, "${"+name+"}", regexp.QuoteMeta(p.dirs[name]))
		insert = append(insert, p.dirs[name], "${"+name+"}")
	}
	p.expander, p.quoter = strings.NewReplacer(expand...), strings.NewReplacer(quote...)
	p.inserter = strings.NewReplacer(append(insert, "${", "$${")...)
	return p
}

// expand replaces the placeholders of a string.
func (p *places) expand(s string) string { return p.expander.Replace(s) }

// expandPattern replaces the placeholders of a regular expression.
func (p *places) expandPattern(s string) string { return p.quoter.Replace(s) }

// insert is the inverse of expand: it replaces paths by placeholders, and escapes other "${".
func (p *places) insert(s string) string { return p.inserter.Replace(s) }

// expandAll replaces the placeholders of all strings of a decoded JSON value.
func (p *places) expandAll(v any) any { return mapStrings(v, p.expand) }

// insertAll is the inverse of expandAll.
func (p *places) insertAll(v any) any { return mapStrings(v, p.insert) }

// mapStrings returns a copy of a decoded JSON value with all strings replaced, but not the names of members.
func mapStrings(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = mapStrings(item, replace)
		}
		return copied
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, member := range v {
			copied[key] = mapStrings(member, replace)
		}
		return copied
	}
	return v
}

// insertShown replaces paths by placeholders, for a message. It does not escape other "${".
func (p *places) insertShown(s string) string {
	for _, name := range []string{"project", "home", "state"} {
		s = strings.ReplaceAll(s, p.dirs[name], "${"+name+"}")
	}
	return s
}
