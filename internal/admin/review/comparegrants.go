package review

import (
	"slices"
	"strings"
)

// GrantLine is one thing that a plugin is granted, and whether that differs between two effective grants.
type GrantLine struct {
	Change string `json:"change,omitempty"` // Added, Removed, or empty if both grants have it
	Kind   string `json:"kind"`
	What   string `json:"what"`
}

// Values of GrantLine.Change.
const (
	Added   = "added"
	Removed = "removed"
)

const (
	kindLimit     = "limit"
	kindIsolation = "isolation"
)

// CompareGrants lists what two effective grants contain, in the order of the new one. What only the old one contains comes before the rest of its
// kind. Limits and the isolation are listed only if they differ.
func CompareGrants(before, after Policy) []GrantLine {
	old, new := before.lines(), after.lines()
	var all []GrantLine
	for i, l := range new {
		if i == 0 || new[i-1].Kind != l.Kind {
			all = append(all, missing(old, new, l.Kind)...)
		}
		switch {
		case !slices.Contains(old, l):
			l.Change = Added
		case l.Kind == kindLimit || l.Kind == kindIsolation:
			continue
		}
		all = append(all, l)
	}
	for _, l := range old { // kinds that the new one lacks
		if !slices.ContainsFunc(new, func(other GrantLine) bool { return other.Kind == l.Kind }) {
			l.Change = Removed
			all = append(all, l)
		}
	}
	return all
}

// missing returns the lines of a kind that only old contains.
func missing(old, new []GrantLine, kind string) []GrantLine {
	var out []GrantLine
	for _, l := range old {
		if l.Kind == kind && !slices.Contains(new, l) {
			l.Change = Removed
			out = append(out, l)
		}
	}
	return out
}

// lines lists what p grants: tools that are not offered are left out. Hidden files and limits are listed too, since they bound
// what the plugin can do.
func (p Policy) lines() []GrantLine {
	var all []GrantLine
	add := func(kind string, words ...string) {
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		all = append(all, GrantLine{Kind: kind, What: strings.Join(words, " ")})
	}
	for _, t := range p.Tools {
		if t.Offered {
			add("tool", t.Name, t.Access)
		}
	}
	for _, granted := range []struct {
		kind string
		list []Grant
	}{{"directory", p.Folders}, {"hidden files", p.Hidden}, {"repository", p.Repositories}, {"web server", p.Origins}, {"variable", p.Variables}, {"question", p.Questions}} {
		for _, g := range granted.list {
			add(granted.kind, append([]string{g.What, g.Access, g.More}, g.Remotes...)...)
		}
	}
	for _, l := range p.Limits {
		add(kindLimit, l.Key, l.Value)
	}
	add(kindIsolation, p.Isolation)
	return all
}
