// Package explain says what plugins are granted, and why: Grants for all or one, or for one tool, path, origin or variable, and
// FindConfigInForce for the config that decides. It changes nothing.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Question says what to explain. Without Tool, Path, Origin and Variable, Grants describes complete grants.
type Question struct {
	Plugin   string // its name; empty means all
	OfClient bool   // whether Client is set
	Client   string // the client over HTTP, as clientCalled reads it
	Tool     string // name of a tool, as clients see it or as in the manifest
	Path     string
	Origin   string // URL of a web server
	Variable string // name of an environment variable
}

// Policies is the result of Grants.
type Policies struct {
	ConfigInForce
	Client  *Client         `json:"client,omitempty"` // the client of the question
	Plugins []PluginPolicy  `json:"plugins,omitempty"`
	Skills  *ProjectSkills  `json:"project_skills,omitempty"` // nil: the config offers no skills of the project
	Answers []review.Answer `json:"answers,omitempty"`        // one or more for each plugin that the question applies to
}

// ProjectSkills are the skills of the project that clients get.
type ProjectSkills struct {
	Names    []string          `json:"skills"`
	Problems tomlfile.Problems `json:"problems,omitempty"`
}

// skillsOf returns the skills of the project that a client gets, everything if it is nil. The result is nil if the config offers none.
func skillsOf(c *catalog.Catalog, client *Client) *ProjectSkills {
	switch {
	case len(c.SkillDirs) == 0:
		return nil
	case client != nil && !client.Admitted:
		return &ProjectSkills{Names: []string{}}
	case client != nil:
		c = c.For(client.table, client.dir)
	}
	names, problems := projectskills.Look(c)
	return &ProjectSkills{names, problems}
}

// PluginPolicy is what one plugin is granted.
type PluginPolicy struct {
	Name     string            `json:"name"`
	Version  string            `json:"version,omitempty"`
	Dir      string            `json:"dir"`
	From     string            `json:"from,omitempty"` // reference by which the plugin was fetched
	At       string            `json:"at,omitempty"`   // file and line of its table in the config
	Pinned   bool              `json:"pinned"`
	Problem  string            `json:"problem,omitempty"` // why the plugin is left out; empty if it is offered
	Warnings tomlfile.Problems `json:"warnings,omitempty"`
	*review.Policy
	Cuts []config.Cut `json:"-"` // what the ceiling, and the table of the client, have removed or reduced
}

// Grants describes the effective grants of plugins, or why one item is or is not allowed.
func Grants(o discovery.Options, q Question) (Policies, error) {
	view, err := catalog.Look(o)
	if err != nil {
		return Policies{}, err
	}
	return GrantsOf(o, view, q)
}

// GrantsOf is Grants for the complete catalog of o.
func GrantsOf(o discovery.Options, view *catalog.Catalog, q Question) (_ Policies, err error) {
	out := Policies{}
	if out.ConfigInForce, err = FindConfigInForce(o); err != nil {
		return Policies{}, err
	}
	if q.OfClient {
		found, err := clientCalled(o, view, q.Client)
		if err != nil {
			return Policies{}, err
		}
		out.Client = &found
	}
	if q.Plugin == "" && q.asked() == "" {
		out.Skills = skillsOf(view, out.Client)
	}
	var names []string
	resolver := NewResolver(view.Places, view.Plugins)
	for _, s := range view.Plugins {
		if names = append(names, s.Name); q.Plugin != "" && q.Plugin != s.Name {
			continue
		}
		if q.asked() == "" {
			if out.Client != nil {
				out.Plugins = append(out.Plugins, out.Client.policy(o, view, s, resolver))
			} else {
				out.Plugins = append(out.Plugins, policyOf(s, subjectOf(o, view, s, resolver)))
			}
			continue
		}
		var why review.Reason
		if out.Client != nil {
			s, why = out.Client.Plugin(view, s)
		}
		if why.By != "" {
			if asked := q.asked(); q.Tool == "" || s.Manifest != nil && len(tools(subjectOf(o, view, s, resolver), q.Tool)) > 0 {
				out.Answers = append(out.Answers, review.Answer{Plugin: s.Name, Asked: asked, Why: why.By, At: why.At})
			}
			continue
		}
		answers, err := answer(o, view, subjectOf(o, view, s, resolver), s, q)
		if err != nil {
			return Policies{}, err
		}
		for _, a := range answers {
			a.Plugin = s.Name
			out.Answers = append(out.Answers, a)
		}
	}
	switch {
	case q.Plugin != "" && !slices.Contains(names, q.Plugin):
		return out, usage.Errorf("there is no plugin %q: %s", q.Plugin, usage.DidYouMean(q.Plugin, names, "the plugins are "+strings.Join(names, ", ")))
	case out.Plugins == nil && out.Answers == nil:
		return out, usage.Errorf("there is no tool %q: %s", q.Tool, usage.DidYouMean(q.Tool, toolNames(view), "`bulkhead policy` lists all tools"))
	}
	return out, nil
}

// PolicyOf returns what the plugin s of v, or s as a client gets it, is granted.
func PolicyOf(o discovery.Options, v *catalog.Catalog, s *catalog.Plugin) PluginPolicy {
	return policyOf(s, SubjectOf(o, v, s))
}

// policyOf returns what a plugin is granted that is the subject about.
func policyOf(s *catalog.Plugin, about review.Subject) PluginPolicy {
	p := PluginPolicy{
		Name: s.Name, Dir: s.Entry.Path, From: s.Entry.From, At: s.Entry.At(""), Pinned: s.Entry.SHA256 != "", Problem: s.Problem, Warnings: s.Problems.Warnings(),
	}
	if s.Manifest != nil {
		p.Version = s.Manifest.Version
	}
	if s.Problems.Err() == nil {
		effective := review.Effective(about)
		p.Policy, p.Cuts = &effective, removed(s.Grant.Cuts, &effective)
	}
	return p
}

// removed returns the cuts that have removed or reduced something. The others are the reason of a part of the policy: of a directory in a granted
// one, which a table of [[clients]] names, or of a deny pattern.
func removed(cuts []config.Cut, p *review.Policy) []config.Cut {
	reasons := map[[3]string]bool{}
	for _, g := range p.Folders {
		reasons[[3]string{"fs", g.What, g.By}] = true
	}
	for _, g := range p.Hidden {
		reasons[[3]string{"deny", g.What, g.By}] = true
	}
	return slices.DeleteFunc(slices.Clone(cuts), func(c config.Cut) bool { return reasons[[3]string{c.Key, c.What, c.Why}] })
}

// SubjectOf returns the plugin s of v, or s as a client gets it, as package review describes it.
func SubjectOf(o discovery.Options, v *catalog.Catalog, s *catalog.Plugin) review.Subject {
	return subjectOf(o, v, s, NewResolver(v.Places, v.Plugins))
}

func subjectOf(o discovery.Options, v *catalog.Catalog, s *catalog.Plugin, resolver review.Resolver) review.Subject {
	return review.Subject{
		Manifest: s.Manifest, Entry: s.Entry, Defaults: v.Defaults, Grant: s.Grant, Places: v.Places, Config: v.Config, FlagEnv: o.Env,
		Resolver: resolver,
	}
}

// answer answers a question for one plugin; nil if the question does not apply to it.
func answer(o discovery.Options, v *catalog.Catalog, about review.Subject, s *catalog.Plugin, q Question) ([]review.Answer, error) {
	if s.Problems.Err() != nil || s.Grant.LeftOut != "" {
		if q.Tool != "" && (s.Manifest == nil || len(tools(about, q.Tool)) == 0) {
			return nil, nil
		}
		return []review.Answer{{Asked: q.asked(), Why: "the plugin is left out: " + s.Problem}}, nil
	}
	var out []review.Answer
	if q.Tool != "" {
		out = append(out, tools(about, q.Tool)...)
	}
	if q.Path != "" {
		answers, err := Paths(o, v, about, q.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, answers...)
	}
	if q.Origin != "" {
		asked, err := origin.Parse(q.Origin)
		if err != nil {
			return nil, usage.Errorf("--origin %s: %w", tomlfile.Quote(q.Origin), err)
		}
		out = append(out, about.Origin(asked))
	}
	if q.Variable != "" {
		if !manifest.IsVariable(q.Variable) {
			return nil, usage.Errorf("--variable %s: not the name of an environment variable: use letters, digits and _, and do not begin with a digit", tomlfile.Quote(q.Variable))
		}
		out = append(out, about.Variable(q.Variable))
	}
	return out, nil
}

// asked returns what the question is about.
func (q Question) asked() string {
	return strings.Join(slices.DeleteFunc([]string{q.Tool, q.Path, q.Origin, q.Variable}, func(t string) bool { return t == "" }), ", ")
}

// toolNames returns the names of all tools, offered or withheld.
func toolNames(v *catalog.Catalog) []string {
	var names []string
	for _, p := range v.Plugins {
		if p.Manifest == nil {
			continue
		}
		for _, t := range p.Manifest.Tools {
			names = append(names, p.Grant.Prefix+t.Name)
		}
	}
	return names
}

func tools(about review.Subject, name string) []review.Answer {
	for _, t := range about.Manifest.Tools {
		rule := about.Tool(t)
		if rule.Name == name || t.Name == name {
			why := rule.By
			if rule.Approval != "" {
				why += "; each call needs approval: " + rule.Approval
			}
			return []review.Answer{{Asked: rule.Name, Access: rule.Access, Allowed: rule.Offered, Why: why, At: rule.At}}
		}
	}
	return nil
}

// Paths answers whether the plugin can read a path of the user, and whether it can write it.
func Paths(o discovery.Options, v *catalog.Catalog, about review.Subject, asked string) ([]review.Answer, error) {
	path, err := discovery.Absolute(o, asked)
	if err != nil {
		return nil, err
	}
	return paths(v, about, path, sandbox.RealPath)
}

// UntrustedPaths is like Paths for an absolute path that a module has chosen: nothing is looked at outside of the granted directories, where
// already a look can contact another machine.
func UntrustedPaths(v *catalog.Catalog, about review.Subject, path string) ([]review.Answer, error) {
	return paths(v, about, path, func(path string) (string, error) { return path, nil })
}

// paths answers for an absolute path. resolve is called for one that is in no granted directory.
func paths(v *catalog.Catalog, about review.Subject, path string, resolve func(path string) (string, error)) ([]review.Answer, error) {
	if why := refusedGrantReason(about); why != "" {
		return []review.Answer{{Asked: path, Access: "read", Why: why}, {Asked: path, Access: "write", Why: why}}, nil
	}
	verdict, err := sandbox.Explain(about.Grant, v.HostFiles, path)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	granted, mount := review.Reason{}, ""
	switch {
	case verdict.Mount != nil:
		mount = verdict.Mount.Path
		granted = about.FolderBy(*verdict.Mount)
		granted.By = fmt.Sprintf("it is in %s: %s", mount, granted.By)
	case verdict.Rule == sandbox.RuleOutside:
		if real, err := resolve(path); err == nil {
			verdict.Path = real
		}
	}
	shown := path
	if verdict.Path != path {
		shown += " (which is " + verdict.Path + ")"
	}
	read, write := granted, explainPath(verdict, about, granted)
	if verdict.Rule == sandbox.RuleOutside && verdict.Path != path {
		if target, err := sandbox.Explain(about.Grant, v.HostFiles, verdict.Path); err == nil && target.Read {
			write.By += "; a plugin reaches the file only by " + verdict.Path
		}
	}
	if !verdict.Read {
		read = write
	}
	return []review.Answer{
		{Asked: shown, Access: "read", Allowed: verdict.Read, Why: read.By, At: read.At, Rule: string(verdict.Rule), Mount: mount},
		{Asked: shown, Access: "write", Allowed: verdict.Write, Why: write.By, At: write.At, Rule: string(verdict.Rule), Mount: mount},
	}, nil
}

// refusedGrantReason explains why the plugin cannot run: the host refuses one of its granted paths. It is empty if
// none is refused.
func refusedGrantReason(about review.Subject) string {
	check := func(kind, path string, within []string) string {
		if refused := about.Resolver(kind, path, within).Refused; refused != "" {
			return "the plugin cannot run: " + refused
		}
		return ""
	}
	for _, m := range about.Grant.FS {
		if m.State {
			continue
		}
		if why := check(review.Folder, m.Path, m.Within); why != "" {
			return why
		}
	}
	for _, g := range about.Grant.Git {
		if why := check(review.Repository, g.Repo, g.Within); why != "" {
			return why
		}
	}
	return ""
}

// explainPath explains the rule that limits access to a path; granted describes the grant that contains it.
func explainPath(v sandbox.Verdict, about review.Subject, granted review.Reason) review.Reason {
	switch v.Rule {
	case sandbox.RuleOutside:
		why := review.Reason{By: "it is not in any directory granted to " + about.Manifest.Name}
		for _, c := range about.Grant.Cuts {
			if c.Key == "fs" && contain.Within(c.What, v.Path) {
				why.By += fmt.Sprintf("; %s is not granted: %s", c.What, c.Why)
				why.At = append(why.At, c.At)
			}
		}
		return why
	case sandbox.RuleAbove:
		return review.Reason{By: "it is an ancestor of a granted directory: only the path to that directory is visible"}
	case sandbox.RuleOwn:
		return review.Reason{By: fmt.Sprintf("%s belongs to the host, which hides it from plugins: a grant must name it, or a path in it", v.Own)}
	case sandbox.RuleHidden:
		by := about.DenyBy(v.Pattern)
		return review.Reason{By: fmt.Sprintf("hidden by %q: %s", v.Pattern, by.By), At: by.At}
	case sandbox.RuleGit:
		return review.Reason{By: "files in a .git directory cannot be written"}
	case sandbox.RuleReadOnly:
		return review.Reason{By: "its directory is granted read-only: " + granted.By, At: granted.At}
	}
	return granted
}
