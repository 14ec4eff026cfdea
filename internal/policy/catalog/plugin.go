package catalog

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/ready"
)

// Plugin is one plugin: what it requests, its settings in the config, and the resulting grant.
type Plugin struct {
	Index    int // index in Catalog.Plugins
	Name     string
	Entry    config.Plugin
	Manifest *manifest.Manifest // nil if it cannot be read
	Grant    config.Grant       // valid only if Problems contains no error
	Problem  string             // why the plugin offers nothing; empty if it is offered
	Refused  bool               // whether it may not be served at all, for a reason in Problems: see discovery.Admission
	Problems tomlfile.Problems  // problems of the manifest, and of the plugin's table in the config
	Tools    []*Tool            // the granted tools
	Skills   []*Skill           // the granted skills
	Log      hclog.Logger       // named after the plugin

	checksReadiness bool // whether tools whose requirements are not met are left out
	lacks           []ready.Lack
	unready         map[string]string // names of granted tools that are left out, with the reasons

	module      fs.FileInfo       // nil if the plugin is left out
	noState     string            // why the plugin has no state directory although others may have one
	ownProblems tomlfile.Problems // the elements of Problems that are not conflicts with other plugins
	conflicting bool              // whether Problem is a conflict with another plugin
}

// wholeAlone is why no result of a plugin that is served alone is shortened: the plugin replaces a server, whose results were whole.
const wholeAlone = "the plugin is served alone, so its results are not shortened"

// newPlugin decides what a plugin is granted.
func newPlugin(index int, c discovery.Candidate, found *discovery.Found, flags config.Flags, alone bool) *Plugin {
	p := &Plugin{Index: index, Name: c.Name(), Entry: c.Entry, Manifest: c.Manifest, Problems: c.Problems, Refused: c.Refused}
	p.Log = found.Options.Log.Named(p.Name)
	if c.Problems.Err() == nil {
		places := placesOf(found.Places, p.Name)
		if places.NoState != found.Places.NoState {
			p.noState = places.NoState
		}
		grant, problems := config.Decide(c.Manifest, c.Entry, found.Defaults, places, flags)
		p.Problems = append(p.Problems, slices.Concat(problems, absentDirectories(c.Entry))...)
		p.Grant, problems = found.Ceiling.Narrow(c.Manifest, c.Entry, places, grant)
		p.Problems = append(p.Problems, slices.Concat(problems, config.CheckCount(c.Entry, p.Grant), partOfRepository(c.Manifest, p.Grant.Git, places))...)
	}
	if alone {
		p.Grant = p.Grant.Whole(wholeAlone)
	}
	switch err := p.Problems.Err(); {
	case err != nil:
		p.Problem, p.ownProblems = err.Error(), p.Problems
		return p
	case p.Grant.LeftOut != "":
		p.Problem = p.Grant.LeftOut
	default:
		var err error
		if p.module, err = os.Stat(c.Manifest.ModuleFile()); err != nil {
			p.Problem = c.Manifest.MissingModule().String()
		}
	}
	if p.checksReadiness = p.Problem == "" && !alone && !p.Entry.Always && len(p.Manifest.Requires) > 0; p.checksReadiness {
		p.withholdUnready(found.Places)
	}
	p.Problems = append(p.Problems, p.skillProblems()...)
	p.ownProblems = p.Problems
	p.findSkills()
	numbers := outputNumbers(c.Manifest)
	for _, granted := range p.Grant.Tools {
		t := newTool(p, granted)
		t.OutputNumber = numbers[t.Name]
		p.Tools = append(p.Tools, t)
	}
	return p
}

// IsHost reports whether the plugin is the host's own runner of scripts, which the config does not name.
func (p *Plugin) IsHost() bool {
	return p.Manifest != nil && p.Manifest.Module.Kind == manifest.KindScript
}

// IsFaulty reports whether the plugin is left out because of an error in a file, which has to be corrected.
func (p *Plugin) IsFaulty() bool {
	return p.Problem != "" && p.Problem != p.Grant.LeftOut && !strings.HasPrefix(p.Problem, notYet)
}

// remark is a line of the log about a plugin.
type remark struct {
	level        hclog.Level
	text, reason string
}

// remarks returns why the plugin is left out, and the warnings about it.
func (p *Plugin) remarks() []remark {
	var all []remark
	if p.noState != "" {
		all = append(all, remark{hclog.Warn, "the plugin gets no state directory", p.noState})
	}
	switch {
	case p.conflicting: // Report logs the conflict once
	case p.IsFaulty():
		all = append(all, remark{hclog.Error, "the plugin is left out", p.Problem})
	case p.Problem != "":
		all = append(all, remark{hclog.Warn, "the plugin is left out", p.Problem})
	}
	if text := p.unreadyTools(); text != "" {
		all = append(all, remark{hclog.Warn, "some tools are left out", text})
	}
	for _, warning := range p.ownProblems.Warnings() {
		all = append(all, remark{hclog.Warn, warning.String(), ""})
	}
	return all
}

func (p *Plugin) log(r remark) {
	if r.reason == "" {
		p.Log.Log(r.level, r.text)
	} else {
		p.Log.Log(r.level, r.text, "reason", r.reason)
	}
}

// names reports whether the manifest names the tool, the prompt, or a prefix of the resource. The plugin may be left out.
func (p *Plugin) names(requested string) bool {
	if p.Manifest == nil {
		return false
	}
	isBelow := func(prefix string) bool { return strings.HasPrefix(requested, prefix) }
	offers := p.Manifest.Offers
	return p.hasTool(requested) || len(p.Manifest.Skills) > 0 && isBelow(manifest.SkillRoot(p.Name)) || slices.Contains(offers.Prompts.Names, requested) || slices.ContainsFunc(offers.Resources.Names, isBelow)
}

// HasOffers reports whether the plugin offers anything: tools, prompts, resources or skills.
func (p *Plugin) HasOffers() bool {
	return p.Problem == "" && (len(p.Tools) > 0 || len(p.Skills) > 0 || p.Manifest.Offers.Prompts.Offers() || p.Manifest.Offers.Resources.Offers())
}

// hasTool reports whether the manifest defines a tool that clients would see under that name.
func (p *Plugin) hasTool(name string) bool {
	if p.Manifest == nil {
		return false
	}
	own, ok := strings.CutPrefix(name, p.Grant.Prefix)
	if ok {
		_, ok = p.Manifest.Tool(own)
	}
	return ok
}

// Prompts returns the names of the prompts that the plugin can offer; manifest.Any stands for names that are known only
// at call time.
func (p *Plugin) Prompts() []string {
	return claimed(p.Manifest.Offers.Prompts, p.Grant.Prompts.Allowed, p.Grant.Prompts)
}

// Resources returns the URI prefixes of the resources that the plugin can offer; manifest.Any stands for URIs that are
// known only at call time.
func (p *Plugin) Resources() []string {
	return claimed(p.Manifest.Offers.Resources, p.Grant.Resources.AllowedBelow, p.Grant.Resources)
}

// claimed returns the allowed names of a claim. For a claim of any name it returns manifest.Any, or nothing if f allows
// no name.
func claimed(c manifest.Claim, allowed func(string) bool, f config.Filter) []string {
	switch {
	case !c.Any:
		return slices.DeleteFunc(slices.Clone(c.Names), func(name string) bool { return !allowed(name) })
	case f.AllowedBelow(""):
		return []string{manifest.Any}
	}
	return nil
}
