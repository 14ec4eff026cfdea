package host

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/writers"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// claimProjects claims what the plugins of an HTTP server may write, before it serves them. A client that starts a server for itself, on
// stdio, claims nothing: several may work on one project, and the locks of their calls exclude each other.
func (h *Host) claimProjects(ctx context.Context, endpoint string) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	if h.claims == nil {
		name, err := os.Hostname()
		if err != nil {
			name = "an unnamed machine"
		}
		c := h.catalog()
		h.claims = writers.New(writers.Server{PID: os.Getpid(), Host: name, Since: time.Now(), Endpoint: endpoint, Config: c.Config}, c.Places.Broad, h.options.Log)
	}
	return h.claim(ctx, slices.Collect(maps.Values(h.views.Load().projects)))
}

// claim claims what the plugins of complete Catalogs may write; nothing on stdio. The lock called reloading must be held. What a server does
// not write any more it keeps, since calls in flight may still write it.
func (h *Host) claim(ctx context.Context, projects []*catalog.Catalog) error {
	if h.claims == nil {
		return nil
	}
	var dirs, states []writers.Dir // states come last, since the number of locks is bounded
	own := h.catalog().Places.State
	for _, c := range projects {
		dirs = append(dirs, written(c, own)...)
		if c.Places.State != own { // a server without this project's state directory may write the project, too
			dirs = append(dirs, written(c, c.Places.State)...)
			states = append(states, namedState(c, own)...)
		}
	}
	err := h.claims.Add(ctx, append(dirs, states...))
	if conflict := (*writers.Conflict)(nil); errors.As(err, &conflict) {
		return &UsageError{Err: err}
	}
	if err == nil {
		h.dispatcher.Hold(func(state string) []*os.File { return h.claims.Locks(own, state) })
	}
	return err
}

// namedState returns the state directories that plugins of a project write below the one that `state` in [[projects]] names. A project of a
// server that does not have that directory for state may contain it, so they are claimed as projects are. What does not exist has no identity,
// and is created.
func namedState(c *catalog.Catalog, record string) (dirs []writers.Dir) {
	for _, p := range c.Plugins {
		if p.Problem != "" || !p.Grant.KeepsState {
			continue
		}
		dir := c.Places.StateDir(p.Name)
		_ = ownedpath.Make(dir) // an error is that of the first call, too
		dirs = append(dirs, writers.Dir{Path: dir, In: record})
	}
	return dirs
}

// written returns what the plugins of a Catalog may write: the project and the state that plugins ask for, which are this server's alone, and
// other directories. The claims are recorded in the state directory record.
func written(c *catalog.Catalog, record string) []writers.Dir {
	project, state := c.Places.Project, c.Places.State
	contains := func(dir, path string) bool { return dir != "" && path != "" && writers.Contains(dir, path) }
	var dirs []writers.Dir
	for _, p := range c.Plugins {
		if p.Problem != "" {
			continue
		}
		if p.Grant.KeepsState {
			dirs = append(dirs, writers.Dir{Path: c.Places.StateDir(p.Name), In: record, State: true})
		}
		for _, path := range p.Grant.Written() {
			path = grant.Resolved(path)
			inside := contains(project, path)
			if inside || contains(path, project) {
				dirs = append(dirs, writers.Dir{Path: project, In: record})
			}
			if !inside {
				isState := state != "" && contain.Within(state, path)
				dirs = append(dirs, writers.Dir{Path: path, In: record, Shared: !isState, State: isState})
			}
		}
	}
	return dirs
}
