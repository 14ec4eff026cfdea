package config

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Decide says what the plugin of m may do: what m asks for, as far as the config's table p, its defaults
// and the command line give it. p.Line is 0 where there is no config file. The grant is to be used only
// where the problems' Err is nil; warnings tell what a plugin asks for and does not get.
func Decide(m *manifest.Manifest, p Plugin, d Defaults, places Places, flags Flags) (Grant, tomlfile.Problems) {
	c := decision{m: m, p: p, places: places, flags: flags}
	for _, key := range p.References {
		c.fault(key, "names a variable of the environment whose value was not put in", "call Expand before Decide")
	}
	if p.SHA256 != "" && p.SHA256 != m.Digest {
		c.fault("sha256", fmt.Sprintf("%s is not the one that was reviewed: its SHA-256 is %s", m.File, m.Digest),
			"review it again and write the new digest")
	}
	c.tools()
	c.folders()
	c.deny(d)
	c.repositories()
	c.origins()
	c.env()
	c.offers()
	c.grant.Limits = c.limits(d)
	c.grant.Reused = p.Isolation == IsolationReused
	return c.grant, c.problems
}

// decision is the state of one Decide.
type decision struct {
	m        *manifest.Manifest
	p        Plugin
	places   Places
	flags    Flags
	grant    Grant
	problems tomlfile.Problems
}

// configured tells whether a config file names the plugin. Without one nobody has looked at what it asks
// for.
func (c *decision) configured() bool { return c.p.Line > 0 }

// fault reports that key of the plugin's table cannot be used.
func (c *decision) fault(key, what, remedy string) { c.report(key, what, remedy, false) }

func (c *decision) warn(key, what, remedy string) { c.report(key, what, remedy, true) }

func (c *decision) report(key, what, remedy string, warning bool) {
	c.problems = append(c.problems, tomlfile.Problem{File: c.p.File, Line: c.line(key), Key: strings.TrimPrefix(c.p.Key+"."+key, "."),
		What: what, Remedy: remedy, Warning: warning})
}

// dropped reports that something the manifest asks for is not granted.
func (c *decision) dropped(line int, key, what, remedy string) {
	c.problems = append(c.problems, tomlfile.Problem{File: c.m.File, Line: line, Key: key, What: what, Remedy: remedy, Warning: true})
}

func (c *decision) line(key string) int { return lineOf(c.p.Lines, key, c.p.Line) }

// lineOf is the line of a key, which may have an index or a further key: that of allow_tools[1], else that
// of allow_tools, else otherwise.
func lineOf(lines map[string]int, key string, otherwise int) int {
	for {
		if line, ok := lines[key]; ok {
			return line
		}
		i := strings.LastIndexAny(key, "[.")
		if i < 0 {
			return otherwise
		}
		key = key[:i]
	}
}

// at names the place of key for a person: (bulkhead.toml:12).
func (c *decision) at(key string) string {
	if c.p.File == "" {
		return ""
	}
	return " (" + c.p.At(key) + ")"
}

func (c *decision) tools() {
	c.checkTools("allow_tools", c.p.AllowTools)
	c.checkTools("deny_tools", c.p.DenyTools)
	for _, t := range c.m.Tools {
		if why := c.withhold(t); why != "" {
			c.grant.Withheld = append(c.grant.Withheld, Withheld{Tool: t, Why: why})
			continue
		}
		c.grant.Tools = append(c.grant.Tools, t)
		if c.p.Prefix != "" && !manifest.IsToolName(c.p.Prefix+t.Name) {
			c.fault("prefix", fmt.Sprintf("makes of %s what is no tool's name", tomlfile.Quote(t.Name)), prefixRemedy)
		}
	}
	c.grant.Prefix = c.p.Prefix
}

// withhold is why t is not offered, "" if it is.
func (c *decision) withhold(t manifest.Tool) string {
	if glob, ok := matching(c.p.DenyTools, t.Name); ok {
		return fmt.Sprintf("denied by deny_tools %s%s", tomlfile.Quote(glob), c.at("deny_tools"))
	}
	if c.p.AllowTools != nil {
		if _, ok := matching(c.p.AllowTools, t.Name); !ok {
			return fmt.Sprintf("not in allow_tools%s: add %s there", c.at("allow_tools"), tomlfile.Quote(t.Name))
		}
	}
	switch {
	case t.Write && c.p.ReadOnly:
		return fmt.Sprintf("writes, and the config says read_only%s", c.at("read_only"))
	case t.Write && c.m.Write == manifest.WriteOptIn && !c.p.AllowWrite && !c.flags.AllowWrite:
		return "writes: pass --allow-write or set allow_write = true"
	case t.Hidden && c.flags.Alone:
		return "is not offered when its plugin is served alone: pass --all-tools"
	}
	return ""
}

// offers passes the filters of prompts and resources on, as far as there is anything to filter.
func (c *decision) offers() {
	c.grant.Prompts, c.grant.Resources = c.p.Prompts, c.p.Resources
	prompts, resources := c.m.Offers.Prompts, c.m.Offers.Resources
	for _, one := range []struct {
		key   string
		globs []string
		offer manifest.Claim
		what  string
	}{
		{"allow_prompts", c.p.Prompts.Allow, prompts, "prompt"},
		{"deny_prompts", c.p.Prompts.Deny, prompts, "prompt"},
		{"allow_resources", c.p.Resources.Allow, resources, "resource"},
		{"deny_resources", c.p.Resources.Deny, resources, "resource"},
	} {
		switch {
		case len(one.globs) > 0 && !one.offer.Offers():
			c.fault(one.key, c.m.Name+" offers no "+one.what+"s", "remove it")
		case one.what == "prompt" && !one.offer.Any:
			c.checkNames(one.key, one.globs, "prompt", one.offer.Names)
		}
	}
}

func (c *decision) checkTools(key string, globs []string) {
	var names []string
	for _, t := range c.m.Tools {
		names = append(names, t.Name)
	}
	c.checkNames(key, globs, "tool", names)
}

// checkNames checks globs against the names that there are.
func (c *decision) checkNames(key string, globs []string, what string, names []string) {
	for i, glob := range globs {
		item := fmt.Sprintf("%s[%d]", key, i)
		if !validGlob(glob) {
			c.fault(item, fmt.Sprintf("%s is not a pattern", tomlfile.Quote(glob)), globRemedy)
			continue
		}
		found := slices.ContainsFunc(names, func(name string) bool { return matchGlob(glob, name) })
		switch {
		case !found && strings.ContainsAny(glob, `*?[\\`):
			c.warn(item, fmt.Sprintf("%s matches no %s of %s; its %ss are %s", tomlfile.Quote(glob), what, c.m.Name, what, listed(names)),
				"correct or remove it")
		case !found:
			c.fault(item, fmt.Sprintf("%s has no %s %s; its %ss are %s", c.m.Name, what, tomlfile.Quote(glob), what, listed(names)),
				"correct or remove it")
		}
	}
}

// listed is a list of names that is not too long to read.
func listed(names []string) string {
	const most = 30
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// env grants what the manifest asks for of what the config and the command line give. No value is ever
// in a problem.
func (c *decision) env() {
	asked := c.m.Capabilities.Env
	asks := func(name string) bool { return slices.Contains(asked, name) || slices.Contains(asked, manifest.Any) }
	c.grant.Env = map[string]string{}
	names := make([]string, 0, len(c.p.Env))
	for name := range c.p.Env {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if !asks(name) {
			what := fmt.Sprintf("%s does not ask for it", c.m.Name)
			if len(asked) > 0 {
				what += "; it asks for " + strings.Join(asked, ", ")
			}
			c.fault("env."+name, what, "remove it")
			continue
		}
		c.grant.Env[name] = c.p.Env[name]
	}
	for name, value := range c.flags.Env {
		if asks(name) {
			c.grant.Env[name] = value
		}
	}
}
