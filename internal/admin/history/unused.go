package history

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/live"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Unused is a tool that is granted and was not used in a time.
type Unused struct {
	Plugin string    `json:"plugin"`
	Tool   string    `json:"tool"`
	Last   time.Time `json:"last_used,omitzero"` // zero: never since the history began
}

// Tool names a tool of a plugin.
type Tool struct{ Plugin, Name string }

// LastCalls returns when tools were called last. The use of a prompt or resource is no call of a tool.
func LastCalls(uses []Use) map[Tool]time.Time {
	last := map[Tool]time.Time{}
	for _, u := range uses {
		if name := (Tool{u.Plugin, u.Tool}); u.Method == abi.MethodToolsCall && u.Last.After(last[name]) {
			last[name] = u.Last
		}
	}
	return last
}

// Grant names a directory or repository that a plugin is granted, by the path to which its symbolic links resolve.
type Grant struct{ Plugin, Kind, Path string }

// GrantUse is when a grant was used last. The zero value: it is not known to have been used.
type GrantUse struct{ Last, Written time.Time }

// LastGrantUses returns when grants were used last. Unknown are the plugins of which calls may have used more, with the last such call.
func LastGrantUses(uses []Use) (reached map[Grant]GrantUse, unknown map[string]time.Time) {
	reached, unknown = map[Grant]GrantUse{}, map[string]time.Time{}
	for _, u := range uses { // the earliest first
		g := Grant{u.Plugin, u.Kind, u.Path}
		r := reached[g]
		switch {
		case u.Kind == Other:
			unknown[u.Plugin] = u.Last
			continue
		case u.Kind == "":
			continue
		case u.Written:
			r.Written = u.Last
		default:
			r.Last = u.Last
		}
		reached[g] = r
	}
	return reached, unknown
}

// FindUnused returns which of the granted tools have no use since a time, with their last ones, of LastCalls.
func FindUnused(granted []Unused, last map[Tool]time.Time, since time.Time) []Unused {
	var unused []Unused
	for _, t := range granted {
		if t.Last = last[Tool{t.Plugin, t.Tool}]; t.Last.Before(since) {
			unused = append(unused, t)
		}
	}
	return unused
}

// Granted returns the tools of plugins that are offered and that q selects.
func Granted(plugins []explain.PluginPolicy, q audit.Query) []Unused {
	q.Clients = nil
	var all []Unused
	for _, p := range plugins {
		if p.Policy == nil || p.Problem != "" {
			continue
		}
		for _, t := range p.Tools {
			if k := (Key{Plugin: p.Name, Tool: t.Name}); t.Offered && k.matches(q) {
				all = append(all, Unused{Plugin: p.Name, Tool: t.Name})
			}
		}
	}
	return all
}

// Running returns the uses by calls that have not ended, which no log has yet, of the servers of the user that have this config and offer their state.
// Without such a server, or if its state cannot be read, the log is all that is known.
func Running(ctx context.Context, o discovery.Options, config string) []Use {
	state, err := discovery.StateDir(o.System)
	if err != nil || state == "" {
		return nil
	}
	var all []Use
	read, _ := live.Read(ctx, live.Dir(state)) // the page Live has the error
	for _, s := range read.Servers {
		if s.Config != config {
			continue
		}
		for _, c := range s.Calls {
			k := CallerKey(c.Principal, c.Client)
			k.Plugin, k.Method, k.Tool = c.Plugin, c.Method, c.Tool
			all = append(all, Use{UseKey{Key: k}, c.Since})
		}
	}
	return all
}
