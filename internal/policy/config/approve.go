package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// The keys of a table that require approval.
const (
	keyApproveWrites = "approve_writes"
	keyApproveTools  = "approve_tools"
)

// Approve are the keys of a table that require that the user of the client approves a call before it runs. Tables only add to each other.
type Approve struct {
	Writes bool     // calls of a plugin that can write, and of tools that claim to write
	Tools  []string // globs of the tools' names in the manifest
}

// Approval is a rule of a grant: calls that it matches need approval.
type Approval struct {
	Approve        // with one of its fields set
	By      string // the key that requires it, with its position
	Key     string
	At      Position // of the key
}

// readApprove reads the two keys of t.
func readApprove(t *tomlfile.Table) Approve {
	return Approve{Writes: t.Bool(keyApproveWrites, false), Tools: readGlobs(t, keyApproveTools)}
}

// Position is a line of a file.
type Position struct {
	File string
	Line int
}

// String formats the position for messages: bulkhead.toml:7.
func (p Position) String() string { return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line) }

// approveAt returns the positions of the two keys that t sets.
func approveAt(t *tomlfile.Table) map[string]Position {
	var at map[string]Position
	for _, key := range []string{keyApproveWrites, keyApproveTools} {
		if !t.Has(key) {
			continue
		}
		if at == nil {
			at = map[string]Position{}
		}
		at[key] = Position{t.FileOf(key), t.LineOf(key)}
	}
	return at
}

// rules returns the rules of a table. by names a key with its position, at.
func (a Approve) rules(by func(key string) string, at func(key string) Position) (rules []Approval) {
	add := func(rule Approve, key string) { rules = append(rules, Approval{rule, by(key), key, at(key)}) }
	if a.Writes {
		add(Approve{Writes: true}, keyApproveWrites)
	}
	if len(a.Tools) > 0 {
		add(Approve{Tools: a.Tools}, keyApproveTools)
	}
	return rules
}

// approve adds the rules of [defaults] and of the plugin's table.
func (c *decision) approve(d Defaults) {
	c.checkTools(keyApproveTools, c.p.Approve.Tools)
	byDefault := func(key string) string { return fmt.Sprintf("defaults.%s (%s)", key, d.ApproveAt[key]) }
	c.grant.Approve = append(d.Approve.rules(byDefault, func(key string) Position { return d.ApproveAt[key] }),
		c.p.Approve.rules(func(key string) string { return key + c.at(key) }, c.p.Position)...)
}

// UnmatchedApprovals returns a warning for each pattern of approve_tools in [defaults] and [[clients]] that matches none of the tools of all
// plugins: it is likely misspelled, and requires nothing. The patterns of a plugin's table are checked by Decide.
func UnmatchedApprovals(d Defaults, clients []Client, tools []string) (ps tomlfile.Problems) {
	check := func(file string, line int, key string, globs []string) {
		for i, glob := range globs {
			if named := (Filter{Allow: []string{glob}}); !slices.ContainsFunc(tools, named.Allowed) {
				ps = append(ps, tomlfile.Problem{File: file, Line: line, Key: fmt.Sprintf("%s.%s[%d]", key, keyApproveTools, i), Warning: true,
					What: fmt.Sprintf("%s matches no tool of any plugin, so it requires no approval", tomlfile.Quote(glob)), Remedy: correction(glob, tools)})
			}
		}
	}
	at := d.ApproveAt[keyApproveTools]
	check(at.File, at.Line, "defaults", d.Approve.Tools)
	for _, c := range clients {
		check(c.File, c.Lines[keyApproveTools], c.Key, c.Approve.Tools)
	}
	return ps
}

// approvals adds the rules of b. None is ever removed.
func (n *narrowing) approvals(b Bounds) {
	n.grant.Approve = slices.Clone(n.grant.Approve)
	for _, rule := range b.Approve.rules(b.At, b.Position) {
		same := func(have Approval) bool { return reflect.DeepEqual(have, rule) }
		if !slices.ContainsFunc(n.grant.Approve, same) {
			n.grant.Approve = append(n.grant.Approve, rule)
		}
	}
}

// NarrowHost returns the grant g of a plugin of the host without the tools that the table denies, and with the approvals and the limit of results
// that it requires. Nothing else of the table is about it: a plugin of the host can reach nothing, so no list of what is allowed needs to name its
// tools, and limits of plugins bind the calls of its scripts.
func (c *Client) NarrowHost(g Grant) Grant {
	n := narrowing{decision: decision{grant: g}, client: true}
	b := c.Bounds
	b.AllowTools, b.ReadOnly = nil, false
	n.tools(b)
	n.approvals(b)
	n.grant.Limits = n.grant.Limits.Min(manifest.Limits{Result: b.Limits.Result})
	return n.grant
}

// Approval returns the rule that requires approval of a request that the plugin with this grant executes: a call of the tool t, or
// another request if t is nil. It is the zero value if no approval is needed. The grant decides whether a tool can write, not what the tool
// claims: the sandbox gives every tool of a plugin the same grant.
func (g *Grant) Approval(t *manifest.Tool) Approval {
	for _, rule := range g.Approve {
		switch {
		case rule.Writes && (t != nil && t.Write || g.CanWrite()):
			return rule
		case t != nil:
			if _, named := firstMatch(rule.Tools, t.Name); named {
				return rule
			}
		}
	}
	return Approval{}
}

// ApprovalBy returns the key of Approval; empty if no approval is needed.
func (g *Grant) ApprovalBy(t *manifest.Tool) string { return g.Approval(t).By }
