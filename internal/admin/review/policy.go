package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Subject is a plugin with its effective grant, and the inputs from which that grant was computed.
type Subject struct {
	Manifest *manifest.Manifest
	Entry    config.Plugin
	Defaults config.Defaults
	Grant    config.Grant
	Places   config.Places
	Config   string // path of the config; empty if there is no config
	// FlagEnv are the variables that the command line grants, with their values.
	FlagEnv  map[string]string
	Resolver Resolver // resolves the granted paths; nil: they are not resolved
}

// Policy is the effective grant of a plugin, with the reason for each part.
type Policy struct {
	Tools        []ToolRule `json:"tools"`
	Folders      []Grant    `json:"folders"`
	Hidden       []Grant    `json:"hidden"` // deny patterns, which apply to every granted directory
	Repositories []Grant    `json:"repositories"`
	Origins      []Grant    `json:"origins"`
	Variables    []Grant    `json:"variables"` // names of the granted variables, without values
	Questions    []Grant    `json:"questions"` // what the calls of the plugin may ask clients for
	// Approval is the key that requires approval of its prompts and resources; empty if none does.
	Approval  string        `json:"approval,omitempty"`
	Limits    []LimitRule   `json:"limits"`
	Isolation string        `json:"isolation"`
	Names     []FilterRules `json:"prompts_and_resources,omitempty"`
}

// Reason is why something is granted, hidden or withheld.
type Reason struct {
	By string `json:"by"`
	// At are the lines that cause it, in the config, the manifest and the ceiling. The line of the ceiling comes last.
	At []config.Position `json:"-"`
}

// Grant is one thing that is granted or hidden, and the reason.
type Grant struct {
	What    string   `json:"what"`             // the path, pattern, origin, variable or kind of question
	Access  string   `json:"access,omitempty"` // "r", "rw" or, of a repository, "commit"
	Remotes []string `json:"remotes,omitempty"`
	More    string   `json:"more,omitempty"` // further properties of the grant: "private", and the name of a credential
	Place            // set if What is a directory or repository and Subject.Resolver is not nil
	Reason
	State bool `json:"-"` // whether it is the plugin's own state directory
}

// ToolRule states whether a tool is offered, and the reason.
type ToolRule struct {
	Name    string `json:"name"` // name of the tool as clients see it
	Access  string `json:"access"`
	Offered bool   `json:"offered"`
	Reason
	Key string `json:"-"` // that withholds the tool, in the line of Reason; empty: none does
	// Approval is the key that requires approval of each call; empty if none does.
	Approval string `json:"approval,omitempty"`
}

// LimitRule is an effective limit, and the reason for its value.
type LimitRule struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Reason
}

// FilterRules are the allow list and the deny list for the names of prompts, or for the URIs of resources.
type FilterRules struct {
	Of    string   `json:"of"`
	Allow []string `json:"allow,omitzero"` // allowed globs; nil: all names are allowed; empty: none
	Deny  []string `json:"deny,omitempty"`
}

// Allows reports whether the rules allow an item of a plugin's prompts or resources: the name of a prompt, a prefix of URIs, or "*" for those that
// are known only at call time, some of which may be allowed.
func (r FilterRules) Allows(item string) bool {
	switch {
	case item == manifest.Any:
		return r.filter().AllowedBelow("")
	case r.Of == ofResources:
		return r.filter().AllowedBelow(item)
	}
	return r.filter().Allowed(item)
}

// AllowsURI reports whether the rules allow a resource of this URI.
func (r FilterRules) AllowsURI(uri string) bool { return r.filter().Allowed(uri) }

func (r FilterRules) filter() config.Filter { return config.Filter{Allow: r.Allow, Deny: r.Deny} }

// ofResources is the value of FilterRules.Of for the URIs of resources.
const ofResources = "resources"

// Effective explains each part of the effective grant of s.
func Effective(s Subject) Policy {
	p := Policy{
		Tools: []ToolRule{}, Folders: []Grant{}, Hidden: []Grant{}, Repositories: []Grant{}, Origins: []Grant{}, Variables: []Grant{},
		Questions: []Grant{}, Limits: []LimitRule{}, Isolation: config.IsolationPristine,
	}
	if s.Grant.Reused {
		p.Isolation = config.IsolationReused
	}
	for _, t := range s.Manifest.Tools {
		p.Tools = append(p.Tools, s.Tool(t))
	}
	if s.Manifest.Offers.Prompts.Offers() || s.Manifest.Offers.Resources.Offers() {
		p.Approval = s.Grant.ApprovalBy(nil)
	}
	for _, m := range s.Grant.FS {
		g := Grant{What: m.Path, Access: string(m.Access), Reason: s.FolderBy(m)}
		if g.State = m.State; !m.State {
			g.Place = s.Resolver.resolve(Folder, m.Path, m.Within)
		}
		p.Folders = append(p.Folders, g)
	}
	for _, pattern := range s.Grant.Deny {
		p.Hidden = append(p.Hidden, Grant{What: pattern, Reason: s.DenyBy(pattern)})
	}
	for _, g := range s.Grant.Git {
		p.Repositories = append(p.Repositories, Grant{
			What: g.Repo, Access: string(g.Access), Remotes: g.Remotes, Reason: s.repositoryBy(g), Place: s.Resolver.resolve(Repository, g.Repo, g.Within),
		})
	}
	for _, h := range s.Grant.HTTP {
		p.Origins = append(p.Origins, Grant{What: h.String(), More: originMore(h), Reason: s.originBy(h)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Grant.Env)) {
		p.Variables = append(p.Variables, Grant{What: name, Reason: s.variableBy(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Grant.Secrets)) {
		p.Variables = append(p.Variables, Grant{What: name, More: s.Grant.Secrets[name].String(), Reason: s.variableBy(name)})
	}
	for _, kind := range s.Grant.Ask {
		p.Questions = append(p.Questions, Grant{What: string(kind), Reason: s.questionBy(kind)})
	}
	for i, l := range s.Grant.Limits.List() {
		p.Limits = append(p.Limits, s.limitRule(i, l))
	}
	for _, f := range []struct {
		of     string
		filter config.Filter
	}{{"prompts", s.Grant.Prompts}, {ofResources, s.Grant.Resources}} {
		for filter := &f.filter; filter != nil; filter = filter.Within {
			if filter.Allow != nil || filter.Deny != nil {
				p.Names = append(p.Names, FilterRules{Of: f.of, Allow: filter.Allow, Deny: filter.Deny})
			}
		}
	}
	return p
}

// Tool states whether the tool t of the manifest is offered, and the reason.
func (s Subject) Tool(t manifest.Tool) ToolRule {
	r := ToolRule{Name: s.Entry.Prefix + t.Name, Access: "read", Offered: true, Approval: s.Grant.ApprovalBy(&t)}
	if t.Write {
		r.Access = "write"
	}
	for _, w := range s.Grant.Withheld {
		if w.Tool.Name == t.Name {
			r.Offered, r.Reason, r.Key, r.Approval = false, Reason{w.Why, positions(w.At)}, w.Key, ""
			return r
		}
	}
	if glob, i := s.allowedBy(t.Name); i >= 0 {
		key := fmt.Sprintf("allow_tools[%d]", i)
		r.Reason = Reason{fmt.Sprintf("allow_tools has %q (%s)", glob, s.Entry.At(key)), positions(s.Entry.Position(key))}
	} else {
		r.Reason = Reason{"nothing withholds it" + s.entrySuffix(), positions(s.Entry.Position(""))}
	}
	if t.Write && s.Manifest.Write == manifest.WriteOptIn {
		by := "--allow-write"
		if s.Entry.AllowWrite {
			by = fmt.Sprintf("allow_write (%s)", s.Entry.At("allow_write"))
			r.At = append(r.At, s.Entry.Position("allow_write"))
		}
		r.By += "; its plugin requires an opt-in to write, which is " + by
	}
	return r
}

// entrySuffix formats the position of the plugin's table, or states that there is no config.
func (s Subject) entrySuffix() string {
	if s.Config == "" {
		return ": there is no config"
	}
	return " (" + s.Entry.At("") + ")"
}

// allowedBy returns the first pattern of allow_tools that matches the tool called name, and the pattern's index. The index is -1 if no
// pattern matches.
func (s Subject) allowedBy(name string) (string, int) {
	for i, glob := range s.Entry.AllowTools {
		if (config.Filter{Allow: []string{glob}}).Allowed(name) {
			return glob, i
		}
	}
	return "", -1
}

// ResultLimit returns the size above which results are shortened; empty if there is none.
func (p *Policy) ResultLimit() string {
	for _, l := range p.Limits {
		if l.Key == manifest.KeyResult && l.Value != manifest.Unbounded {
			return l.Value
		}
	}
	return ""
}

// limitRule explains the effective limit l. i is its index in the lists of limits.
func (s Subject) limitRule(i int, l manifest.Limit) LimitRule {
	r := LimitRule{Key: l.Key, Value: l.Text}
	need, own, all := s.Manifest.Limits.List()[i], s.Entry.Limits.List()[i], s.Defaults.Limits.List()[i]
	for _, c := range slices.Backward(s.Grant.Cuts) { // the last one is the lowest
		if c.Key == "limits."+l.Key {
			r.By = fmt.Sprintf("%s, instead of %s", strings.TrimSuffix(c.Why, " allows no more"), c.What)
			r.At = positions(c.At)
			return r
		}
	}
	switch {
	case l.Value == 0:
		r.By = "no limit is set"
	case own.Value == l.Value:
		r.By, r.At = fmt.Sprintf("limits (%s)", s.Entry.At("limits")), positions(s.Entry.Position("limits"))
	case own.Value == 0 && all.Value == l.Value:
		r.By = fmt.Sprintf("defaults.limits (%s)", s.defaultsAt("limits."+l.Key))
	case need.Value == l.Value:
		r.By, r.At = "limits of "+manifest.FileName, positions(s.inManifest(s.Manifest.LimitsLine))
	case need.Value > l.Value:
		r.By = fmt.Sprintf("the maximum without a config setting; %s asks for %s", manifest.FileName, need.Text)
	default:
		r.By = "the default"
	}
	return r
}
