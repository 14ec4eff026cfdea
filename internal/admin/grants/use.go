package grants

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

const unusedDays = 30

// Use is what is known of the use of tools, directories and repositories.
type Use struct {
	Days       int       // for which something must not have been used to count as unused
	From       time.Time // since when no use of a tool is missing; the zero value: nothing is known
	GrantsFrom time.Time // the same for directories and repositories
	Before     time.Time // what was used last before this time is unused
	Short      bool      // whether From is later than Before, so that less than Days is known
	Reason     string    // why nothing is known, with a remedy
	here       []string  // the project and the working directory: other servers with the config have other ones
}

// GrantsShort is Short for directories and repositories.
func (u *Use) GrantsShort() bool { return u.GrantsFrom.After(u.Before) }

// read returns the last uses.
func (u *Use) read(ctx context.Context, o discovery.Options, view *catalog.Catalog) []history.Use {
	u.Days, u.Before = unusedDays, time.Now().AddDate(0, 0, -unusedDays)
	if view.Audit == nil {
		u.Reason = "no audit log is configured, so it is not known which tools are used: "
		if o.NoConfig {
			u.Reason += "a config names the log, and with --no-config none is used"
		} else {
			u.Reason += "add [audit] with a file to the config"
		}
		return nil
	}
	uses, err := u.count(ctx, o, view.Audit.File, history.PageTime)
	switch {
	case err != nil:
		u.Reason = err.Error()
	case u.From.IsZero() && u.Reason == "":
		u.Reason = "the audit log has no calls yet"
	}
	u.Short = u.From.After(u.Before)
	return append(uses, history.Running(ctx, o, view.Config)...)
}

// count returns the uses that the log has, of which it counts new ones for a time. Until all are counted, nothing is known: the newest are missing.
func (u *Use) count(ctx context.Context, o discovery.Options, log string, d time.Duration) (uses []history.Use, err error) {
	h, err := history.Find(o, log)
	if err != nil {
		return nil, err
	}
	p, err := h.UpdateFor(ctx, d)
	if err != nil {
		return nil, err
	}
	if p.Unread > 0 {
		u.Reason = "records of the audit log are still being counted: reload the page"
		return nil, nil
	}
	last, err := h.LastUses(ctx, audit.Query{})
	if err == nil {
		u.From, u.GrantsFrom = last.From, last.GrantsFrom
	}
	return last.Uses, err
}

// clientUse is what the clients of one table have used.
type clientUse struct {
	*Use
	last    map[history.Tool]time.Time
	unused  map[history.Tool]bool // which tools are offered and unused; none if nothing is known
	grants  map[history.Grant]history.GrantUse
	unknown map[string]time.Time // by plugins: the last call of which it is not known which grants it used
}

func (u *Use) of(plugins []explain.PluginPolicy, uses []history.Use) clientUse {
	c := clientUse{Use: u, last: history.LastCalls(uses), unused: map[history.Tool]bool{}}
	c.grants, c.unknown = history.LastGrantUses(uses)
	if u.From.IsZero() {
		return c
	}
	for _, t := range history.FindUnused(history.Granted(plugins, audit.Query{}), c.last, u.Before) {
		c.unused[history.Tool{Plugin: t.Plugin, Name: t.Tool}] = true
	}
	return c
}

// describe sets when the directories and repositories of a plugin were used, and what of them was not. A table can narrow a grant to a directory in
// it, so a use counts for the innermost grant that contains it. Others are by grants that are not shown: of other projects, or earlier ones. A call
// of a module that is reused can use a file that an earlier call has opened.
func (c clientUse) describe(p *Plugin, reused bool) {
	paths, others := map[int]string{}, []history.Grant(nil) // paths of grants by their index; what was used by none of them
	for i, g := range p.Grants {
		if (g.Key == "fs" || g.Key == "git") && g.isReached() {
			paths[i] = platform.TreePath(g.place())
		}
	}
	for used, use := range c.grants {
		if used.Plugin != p.Name {
			continue
		}
		innermost := ""
		for i, path := range paths {
			if used.Kind == p.Grants[i].Kind && len(path) > len(innermost) && contain.Within(path, used.Path) {
				innermost = path
			}
		}
		for i, path := range paths {
			if g := &p.Grants[i]; path == innermost && used.Kind == g.Kind {
				g.Last, g.Written = later(g.Last, use.Last), later(g.Written, use.Written)
			}
		}
		if innermost == "" && !use.Last.Before(c.Before) {
			others = append(others, used)
		}
	}
	if at := c.unknown[p.Name]; !at.Before(c.Before) {
		p.UnknownUse = at
	}
	if c.GrantsFrom.IsZero() || reused || !p.UnknownUse.IsZero() {
		return
	}
	for i, path := range paths {
		g := &p.Grants[i]
		if !audit.IsKept(path) || slices.ContainsFunc(others, func(other history.Grant) bool { return other.Kind == g.Kind && c.mayBe(g, path, other.Path) }) {
			continue
		}
		g.Unused = g.Last.Before(c.Before) && len(g.Remotes) == 0 // which may be used without the repository
		g.Unwritten = g.Write && !g.Last.Before(c.Before) && g.Written.Before(c.Before)
		count(&p.Breadth.UnusedGrants, g.Unused)
	}
}

// mayBe reports whether the line of a grant may have granted another path: for another project, by a symbolic link that has changed, for a client that
// has a directory of its own, or before the grant was made narrower.
func (c clientUse) mayBe(g *Grant, path, other string) bool {
	return g.Resolved != "" && g.Resolved != g.What || contain.Within(other, path) || strings.Contains(path, explain.UnknownDir) ||
		slices.ContainsFunc(c.here, func(dir string) bool { return dir != "" && contain.Within(platform.TreePath(dir), path) })
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Unused is an unused tool or grant of a plugin.
type Unused[T any] struct {
	Plugin *Plugin
	Item   T
}

// UnusedTools returns the tools of a client that were not used for Use.Days.
func (c Client) UnusedTools() []Unused[Tool] {
	return unused(c, func(p *Plugin) []Tool { return p.Tools }, func(t Tool) bool { return t.Unused })
}

// UnusedGrants returns the directories and repositories that were not used for Use.Days.
func (c Client) UnusedGrants() []Unused[Grant] {
	return unused(c, func(p *Plugin) []Grant { return p.Grants }, func(g Grant) bool { return g.Unused })
}

func unused[T any](c Client, items func(*Plugin) []T, is func(T) bool) (all []Unused[T]) {
	for i := range c.Plugins {
		p := &c.Plugins[i]
		for _, item := range items(p) {
			if is(item) {
				all = append(all, Unused[T]{p, item})
			}
		}
	}
	return all
}
