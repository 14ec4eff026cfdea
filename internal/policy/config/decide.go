package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Decide returns the effective grant of the plugin of m: the intersection of what m requests with what the config's table p,
// the [defaults] d and the command line allow. p.Line is 0 without a config file. The caller must use the grant only if Err of
// the problems returns nil. Requests that are not granted are reported as warnings.
func Decide(m *manifest.Manifest, p Plugin, d Defaults, places Places, flags Flags) (Grant, tomlfile.Problems) {
	c := decision{m: m, p: p, places: places, flags: flags}
	for _, key := range p.References {
		c.fault(key, "has a reference to an environment variable that was not expanded", "call Expand before Decide")
	}
	c.pin()
	c.tools()
	c.directories()
	c.deny(d)
	c.repositories()
	c.origins()
	c.env()
	c.ask()
	c.approve(d)
	c.offers()
	c.grant.Limits = c.limits(d)
	c.grant.Reused = p.Isolation == IsolationReused
	return c.grant, c.problems
}

// pin compares the manifest with what the plugin's table pins.
func (c *decision) pin() {
	m, p := c.m, c.p
	_, version := SplitVersion(p.Version)
	switch {
	case p.SHA256 != "" && p.SHA256 != m.Digest && p.From != "":
		c.fault("sha256", fmt.Sprintf("%s was changed in the store: its SHA-256 is %s", m.File, m.Digest), "find out who changed it; `bulkhead update --pinned` fetches it again")
	case p.SHA256 != "" && p.SHA256 != m.Digest:
		c.fault("sha256", fmt.Sprintf("%s has changed since it was reviewed: its SHA-256 is now %s", m.File, m.Digest),
			fmt.Sprintf("review it and accept it with `bulkhead add %s --repin`", p.Path))
	case version != "" && version != m.Version:
		c.fault("version", fmt.Sprintf("is %s, and sha256 pins version %s", version, m.Version), "correct it")
	}
}

// decision is the state of one call of Decide.
type decision struct {
	m        *manifest.Manifest
	p        Plugin
	places   Places
	flags    Flags
	grant    Grant
	problems tomlfile.Problems
}

// deny grants the deny patterns of [defaults], and those of the plugin's table, or of the manifest if the table has no deny.
func (c *decision) deny(d Defaults) {
	for i, p := range c.p.Deny {
		if err := manifest.CheckDeny(p); err != nil {
			c.fault(fmt.Sprintf("deny[%d]", i), fmt.Sprintf("%s %v", tomlfile.Quote(p), err), manifest.DenyRemedy)
		}
	}
	own := c.p.Deny
	if own == nil {
		own = c.m.Capabilities.Deny
	}
	for _, p := range slices.Concat(d.Deny, own) {
		if !slices.Contains(c.grant.Deny, p) {
			c.grant.Deny = append(c.grant.Deny, p)
		}
	}
}

// configured reports whether a config file names the plugin. If no config file does, no admin has reviewed the plugin's requests.
func (c *decision) configured() bool { return c.p.Line > 0 }

// fault reports an error at key of the plugin's table.
func (c *decision) fault(key, what, remedy string) { c.report(key, what, remedy, false) }

func (c *decision) warn(key, what, remedy string) { c.report(key, what, remedy, true) }

func (c *decision) report(key, what, remedy string, warning bool) {
	c.problems = append(c.problems, tomlfile.Problem{File: c.p.File, Line: c.line(key), Key: strings.TrimPrefix(c.p.Key+"."+key, "."),
		What: what, Remedy: remedy, Warning: warning})
}

// warnDropped warns that a request of the manifest is not granted.
func (c *decision) warnDropped(line int, key, what, remedy string) {
	c.problems = append(c.problems, tomlfile.Problem{File: c.m.File, Line: line, Key: key, What: what, Remedy: remedy, Warning: true})
}

func (c *decision) line(key string) int { return lineOf(c.p.Lines, key, c.p.Line) }

// lineOf returns the line of a key such as allow_tools[1] or env.TOKEN. If lines has no such key, lineOf removes the last index or
// subkey from the key and tries again. If that finds nothing either, it returns otherwise.
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

// at formats the position of key for messages, with a leading space: " (bulkhead.toml:12)".
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
		if why, key := c.withhold(t); why != "" {
			c.grant.Withheld = append(c.grant.Withheld, Withheld{Tool: t, Why: why, At: c.p.Position(key), Key: key})
			continue
		}
		c.grant.Tools = append(c.grant.Tools, t)
		c.checkOffered(t)
	}
	c.grant.Prefix = c.p.Prefix
}

// checkOffered checks the tool name that clients see: the prefix followed by the manifest's name.
func (c *decision) checkOffered(t manifest.Tool) {
	offered := c.p.Prefix + t.Name
	switch {
	case !manifest.IsToolName(offered): // the name in the manifest is a tool name, so the prefix is the cause
		c.fault("prefix", fmt.Sprintf("makes %s an invalid tool name", tomlfile.Quote(t.Name)), prefixRemedy)
	case manifest.IsPortableName(offered):
	case manifest.IsPortableName(t.Name):
		c.warn("prefix", fmt.Sprintf("makes %s a tool name that some clients refuse", tomlfile.Quote(offered)), manifest.PortableNames)
	default:
		c.warnDropped(t.Line, "tools.name", fmt.Sprintf("%s is a tool name that some clients refuse", tomlfile.Quote(offered)), manifest.PortableNames)
	}
}

// SetupName is the name of the host's own tool: see catalog.Catalog.IsSetup. A user who lets a client call that tool without asking has not
// agreed to a plugin's tool, so no plugin offers one of this name.
const SetupName = "bulkhead_setup"

// withhold returns the reason why t is not offered, and the key of the plugin's table that decides; empty if t is offered.
func (c *decision) withhold(t manifest.Tool) (why, key string) {
	if c.p.Prefix+t.Name == SetupName {
		return fmt.Sprintf("%s is the name of the host's own tool: rename the tool, or set another prefix", tomlfile.Quote(SetupName)), "prefix"
	}
	if glob, ok := firstMatch(c.p.DenyTools, t.Name); ok {
		return fmt.Sprintf("denied by deny_tools %s%s", tomlfile.Quote(glob), c.at("deny_tools")), "deny_tools"
	}
	if c.p.AllowTools != nil {
		if _, ok := firstMatch(c.p.AllowTools, t.Name); !ok {
			return fmt.Sprintf("not in allow_tools%s: add %s there", c.at("allow_tools"), tomlfile.Quote(t.Name)), "allow_tools"
		}
	}
	switch {
	case t.Write && c.p.ReadOnly:
		return fmt.Sprintf("writes, but the config sets read_only%s", c.at("read_only")), "read_only"
	case t.Write && c.m.Write == manifest.WriteOptIn && !c.p.AllowWrite && !c.flags.AllowWrite:
		return "writes: pass --allow-write or set allow_write = true", "allow_write"
	case t.Hidden && c.flags.Alone:
		return "is not offered when its plugin is served alone: pass --all-tools", ""
	}
	return "", ""
}

// offers grants the filters of prompts and resources, and checks them against the prompts and resources that the manifest declares.
func (c *decision) offers() {
	c.grant.Prompts, c.grant.Resources = c.p.Prompts, c.p.Resources
	prompts, resources := c.m.Offers.Prompts, c.m.Offers.Resources
	if len(c.m.Skills) > 0 { // their files are resources
		resources.Names = append(slices.Clone(resources.Names), manifest.SkillRoot(c.m.Name))
	}
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

// checkNames checks that each of globs matches at least one of names.
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
			c.warn(item, fmt.Sprintf("%s matches no %s of %s; its %ss are %s", tomlfile.Quote(glob), what, c.m.Name, what, shortList(names)),
				correction(glob, names))
		case !found:
			c.fault(item, fmt.Sprintf("%s has no %s %s; its %ss are %s", c.m.Name, what, tomlfile.Quote(glob), what, shortList(names)),
				correction(glob, names))
		}
	}
}

// shortList joins names with commas, at most 30 of them.
func shortList(names []string) string {
	const most = 30
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// env grants the variables that the config or the command line sets and the manifest requests. Problems never contain the
// value of a variable.
func (c *decision) env() {
	requested := c.m.Capabilities.Env
	requests := func(name string) bool {
		return slices.Contains(requested, name) || slices.Contains(requested, manifest.Any)
	}
	c.grant.Env = map[string]string{}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(c.p.Env)), slices.Sorted(maps.Keys(c.p.Secrets))) {
		if !requests(name) {
			what := fmt.Sprintf("%s does not ask for this variable", c.m.Name)
			if len(requested) > 0 {
				what += "; it asks for " + strings.Join(requested, ", ")
			}
			c.fault("env."+name, what, "remove it")
			continue
		}
		if secret, ok := c.p.Secrets[name]; ok {
			if c.grant.Secrets == nil {
				c.grant.Secrets = map[string]Secret{}
			}
			c.grant.Secrets[name] = secret
			continue
		}
		c.grant.Env[name] = c.p.Env[name]
	}
	for name, value := range c.flags.Env {
		if requests(name) {
			delete(c.grant.Secrets, name)
			c.grant.Env[name] = value
		}
	}
}

// ask grants the kinds of questions that calls may ask clients: those that the manifest requests, or the part of these that the
// config names.
func (c *decision) ask() {
	requested := c.m.Capabilities.Ask
	switch {
	case len(requested) > 0 && !c.configured():
		c.warnDropped(c.m.Capabilities.AskLine, "capabilities.ask", "asks clients for "+interaction.Names(requested)+", which only a config file can grant", c.addRemedy())
		return
	case c.p.Ask == nil:
		c.grant.Ask = requested
		return
	}
	for i, kind := range c.p.Ask {
		if !slices.Contains(requested, kind) {
			c.fault(fmt.Sprintf("ask[%d]", i), fmt.Sprintf("%s does not ask clients for %s", c.m.Name, kind), "remove it")
			continue
		}
		c.grant.Ask = append(c.grant.Ask, kind)
	}
}

// correction returns the remedy for a name that is not in names.
func correction(name string, names []string) string {
	if near := usage.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q? Otherwise remove it", near)
	}
	return "correct or remove it"
}
