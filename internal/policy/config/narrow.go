package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Cut is a part of a grant that a ceiling has removed or reduced.
type Cut struct {
	Key  string // the affected key of the config: fs, http, git, env, limits.time
	What string // the path, origin, variable or value that the ceiling does not allow
	Why  string
	At   Position // the line that does not allow it; the zero value if no line is the reason
}

// Narrow returns the part of the grant g that the ceiling allows. The result never exceeds g. Each removed part is reported as a
// warning, at the line of the config or manifest that asks for that part. A plugin that the ceiling does not allow is an error. m, p
// and places are the arguments of Decide. Narrow is a pure function, as Decide is. A nil ceiling allows everything.
func (c *Ceiling) Narrow(m *manifest.Manifest, p Plugin, places Places, g Grant) (Grant, tomlfile.Problems) {
	if c == nil {
		return g, nil
	}
	n := narrowing{decision: decision{m: m, p: p, places: places, grant: g}, bounds: c.places(places)}
	own, _ := c.allowed(m)
	if why := c.Forbids(m); why != "" {
		problem := tomlfile.Problem{File: p.File, Line: p.Line, Key: p.Key, What: why, Remedy: AskAdmin}
		if p.File == "" {
			problem.File = m.File
		}
		return Grant{}, tomlfile.Problems{problem}
	}
	n.narrow(c.All)
	if own != nil {
		n.narrow(own.Bounds)
	}
	return n.grant, n.problems
}

// Forbids returns why the plugin of m is not allowed at all; empty if it is.
func (c *Ceiling) Forbids(m *manifest.Manifest) string {
	if c == nil {
		return ""
	}
	if _, why := c.allowed(m); why != "" {
		return fmt.Sprintf("%s is not allowed: %s", m.Name, why)
	}
	return ""
}

// AskAdmin is the remedy for what a ceiling does not allow.
const AskAdmin = "remove it from the config, or ask the administrator of this machine to allow it"

// narrowing is the state of one call of Narrow, of a ceiling or of a client's table.
type narrowing struct {
	decision
	bounds Places // values of the variables in the bounds' paths
	// client is set if the bounds are those of a [[clients]] table. They are narrower by intention, so nothing that they remove is reported
	// as a warning, and they grant the directories inside of granted ones.
	client bool
	own    []string // the host's own files and directories
}

func (n *narrowing) narrow(b Bounds) {
	n.tools(b)
	inner, hidden := n.innerDirectories(b)
	n.directories(b)
	n.grant.FS = append(n.grant.FS, inner...)
	n.repositories(b)
	n.origins(b)
	n.variables(b)
	n.commands(b)
	n.asks(b)
	n.approvals(b)
	n.limits(b)
	n.grant.Deny = slices.Clone(n.grant.Deny)
	for _, p := range slices.Concat(b.Deny, hidden) {
		if !slices.Contains(n.grant.Deny, p) {
			n.grant.Deny = append(n.grant.Deny, p)
			n.grant.Cuts = append(n.grant.Cuts, Cut{"deny", p, b.At("deny"), b.Position("deny")})
		}
	}
	if b.Pristine && n.grant.Reused {
		n.grant.Reused = false
		n.cut(b.Position("isolation"), "isolation", "isolation", "isolation = \"reused\" is not granted", b.At("isolation")+" does not allow it", 0)
	}
}

// cut records and reports a part of the grant that the ceiling removes. line is the line of that part in the config; if line is 0,
// the line of key is reported. at is the line of the ceiling.
func (n *narrowing) cut(at Position, key, item, what, why string, line int) {
	n.grant.Cuts = append(n.grant.Cuts, Cut{key, item, why, at})
	if n.client {
		return
	}
	file := n.p.File
	if line == 0 {
		line = n.line(key)
	}
	if !n.configured() {
		file, line = n.m.File, 0
	}
	n.add(tomlfile.Problem{File: file, Line: line, Key: strings.TrimPrefix(n.p.Key+"."+key, "."), What: what + ": " + why, Remedy: AskAdmin, Warning: true})
}

func (n *narrowing) tools(b Bounds) {
	var offered []manifest.Tool
	n.grant.Withheld = slices.Clone(n.grant.Withheld)
	for _, t := range n.grant.Tools {
		why, key := "", ""
		glob, denied := firstMatch(b.DenyTools, t.Name)
		switch _, allowed := firstMatch(b.AllowTools, t.Name); {
		case denied:
			key = "deny_tools"
			why = fmt.Sprintf("denied by %s in %s", tomlfile.Quote(glob), b.At(key))
		case b.AllowTools != nil && !allowed:
			key = "allow_tools"
			why = "not in " + b.At(key)
		case b.ReadOnly && t.Write:
			key = "read_only"
			why = "writes, and " + b.At(key) + " does not allow that"
		default:
			offered = append(offered, t)
			continue
		}
		n.grant.Withheld = append(n.grant.Withheld, Withheld{Tool: t, Why: why, At: b.Position(key), Key: key})
	}
	n.grant.Tools = offered
}

func (n *narrowing) origins(b Bounds) {
	if b.HTTP == nil {
		return
	}
	var granted []HTTP
	for _, h := range n.grant.HTTP {
		key, line := "http", 0
		if i := FindHTTP(n.p.HTTP, h); i >= 0 {
			line = n.line(fmt.Sprintf("http[%d]", i))
		}
		i := FindHTTP(b.HTTP, h)
		if i < 0 && h.PublicWeb {
			n.cut(b.Position("http"), key, h.String(), h.String()+" is not granted", "only origins that are in "+b.At("http")+" are", line)
			granted = append(granted, n.publicOrigins(b)...)
			continue
		}
		if i < 0 {
			n.cut(b.Position("http"), key, h.String(), h.String()+" is not granted", "it is not in "+b.At("http"), line)
			continue
		}
		if h.Private && !b.HTTP[i].Private {
			h.Private = false
			n.cut(b.Position("http"), key, h.String(), h.String()+" is granted without private = true", b.At("http")+" does not allow that", line)
			if h.Credential != nil && h.Origin.Scheme == "http" {
				continue // the credential must not be sent over plain http to an address that is not private
			}
		}
		granted = append(granted, h)
	}
	n.grant.HTTP = granted
}

// publicOrigins returns the intersection of the public web and the origins of b that the grant does not have itself.
func (n *narrowing) publicOrigins(b Bounds) []HTTP {
	var out []HTTP
	for _, bound := range b.HTTP {
		has := func(h HTTP) bool { return h.Origin == bound.Origin }
		if bound.Origin.OnDefaultPort() && !slices.ContainsFunc(n.grant.HTTP, has) {
			out = append(out, HTTP{Origin: bound.Origin})
		}
	}
	return out
}

func (n *narrowing) variables(b Bounds) {
	if b.Env == nil {
		return
	}
	env := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(n.grant.Env)) {
		if _, allowed := firstMatch(b.Env, name); allowed {
			env[name] = n.grant.Env[name]
			continue
		}
		n.cut(b.Position("env"), "env", name, "the variable "+name+" is not granted", "it is not in "+b.At("env"), n.line("env."+name))
	}
	n.grant.Env = env
	n.secrets(b.Position("env"), "it is not in "+b.At("env"), func(name string, _ Secret) bool { _, allowed := firstMatch(b.Env, name); return allowed })
}

// secrets removes the variables with secret values that the function allowed does not allow.
func (n *narrowing) secrets(at Position, why string, allowed func(name string, s Secret) bool) {
	var secrets map[string]Secret
	for _, name := range slices.Sorted(maps.Keys(n.grant.Secrets)) {
		if !allowed(name, n.grant.Secrets[name]) {
			n.cut(at, "env", name, "the variable "+name+" is not granted", why, n.line("env."+name))
			continue
		}
		if secrets == nil {
			secrets = map[string]Secret{}
		}
		secrets[name] = n.grant.Secrets[name]
	}
	n.grant.Secrets = secrets
}

// commands removes what needs a command to be run, if b forbids that: variables, and origins with a credential, which would be asked without
// one.
func (n *narrowing) commands(b Bounds) {
	if !b.NoCommands {
		return
	}
	why := b.At("secret_commands") + " does not allow a command for its value"
	n.secrets(b.Position("secret_commands"), why, func(_ string, s Secret) bool { return s.Command == nil })
	n.grant.HTTP = slices.DeleteFunc(slices.Clone(n.grant.HTTP), func(h HTTP) bool {
		runs := h.Credential != nil && h.Credential.Command != nil
		if runs {
			n.cut(b.Position("secret_commands"), "http", h.String(), h.String()+" is not granted", b.At("secret_commands")+" does not allow a command for its credential", 0)
		}
		return runs
	})
}

func (n *narrowing) asks(b Bounds) {
	if b.Ask == nil {
		return
	}
	var granted []interaction.Kind
	for _, kind := range n.grant.Ask {
		if slices.Contains(b.Ask, kind) {
			granted = append(granted, kind)
			continue
		}
		line := 0
		if i := slices.Index(n.p.Ask, kind); i >= 0 {
			line = n.line(fmt.Sprintf("ask[%d]", i))
		}
		n.cut(b.Position("ask"), "ask", string(kind), "asking clients for "+string(kind)+" is not granted", "it is not in "+b.At("ask"), line)
	}
	n.grant.Ask = granted
}

// limits reduces each limit to that of b. It reports a reduction only if the config sets a higher limit.
func (n *narrowing) limits(b Bounds) {
	before := n.grant.Limits.List()
	n.grant.Limits = n.grant.Limits.Min(b.Limits)
	for i, after := range n.grant.Limits.List() {
		if after.Value == before[i].Value {
			continue
		}
		key, why := "limits."+after.Key, b.At("limits")+" allows no more"
		if asked := n.p.Limits.List()[i].Value; asked != 0 && asked == before[i].Value {
			n.cut(b.Position("limits"), key, before[i].Text, fmt.Sprintf("%s is reduced to %s", before[i].Text, after.Text), why, n.line("limits"))
			continue
		}
		n.grant.Cuts = append(n.grant.Cuts, Cut{key, before[i].Text, why, b.Position("limits")})
	}
}
