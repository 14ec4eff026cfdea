package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/quota"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/projectskills"
)

// Bounds of the views of single principals, whose tables name ${client}.
const (
	maxPersonal  = 256
	personalIdle = 30 * time.Minute // after the last request, the view makes room for another one
)

// views are what the clients of an HTTP server are offered. A view for which the config has tables is made for the first request that needs
// it. Views are immutable; changes replace them, under the lock called reloading.
type views struct {
	projects map[string]*catalog.Catalog // complete Catalogs, by the names of the projects
	byKey    map[catalog.Key]*clientView
	started  []discovery.Project // the projects at the start of the server

	admitted context.Context // ends when a change of the config may offer a principal another view
	end      context.CancelFunc
}

// setAdmitted sets the fields admitted and end. v is to replace before; nil: it replaces nothing.
func (v *views) setAdmitted(before *views) {
	if before != nil && before.own().Clients.DecidesAs(&v.own().Clients) {
		v.admitted, v.end = before.admitted, before.end
	} else {
		v.admitted, v.end = context.WithCancel(context.Background())
	}
}

// own returns the complete Catalog of the server's own project.
func (v *views) own() *catalog.Catalog { return v.projects[""] }

// clientView is what some clients are offered.
type clientView struct {
	view    *gateway.View
	catalog *catalog.Catalog
	limited *quota.Backend // of the view; nil for the server's own project without table
	used    atomic.Int64   // time of the last request, in Unix seconds; of views of single principals
}

// openViews makes the views of projects, and those of clients possible. Serving over stdio needs neither.
func (h *Host) openViews(ctx context.Context) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	if h.views.Load() != nil {
		return nil
	}
	c := h.catalog()
	projects := c.Projects()
	noteSkills(projects, c)
	now := &views{projects: byName(projects), byKey: map[catalog.Key]*clientView{c.Key: {view: h.gateway.View, catalog: c}}, started: c.Found.Projects}
	if len(projects) > 1 {
		executed, err := h.dispatcher.Prepare(projects...)
		if err != nil {
			return err
		}
		h.dispatcher.Apply(executed)
	}
	for _, p := range projects[1:] {
		p.ReportBeside(c)
	}
	now.setAdmitted(nil)
	h.views.Store(now)
	return nil
}

func byName(projects []*catalog.Catalog) map[string]*catalog.Catalog {
	names := map[string]*catalog.Catalog{}
	for _, c := range projects {
		names[c.Project] = c
	}
	return names
}

// find returns the view of a principal in a project, if it exists. ok is false if the principal gets nothing there.
func (v *views) find(project string, p *call.Principal) (found *clientView, key catalog.Key, ok bool) {
	complete := v.projects[project]
	if complete == nil {
		return nil, key, false
	}
	if key, _, ok = complete.KeyOf(p); !ok {
		return nil, key, false
	}
	return v.byKey[key], key, true
}

// errTooManyPersonal is the error for a principal without view while all views of single principals are in use.
var errTooManyPersonal = errors.New("too many clients with directories of their own are active: try again later")

// viewOf implements httpserver.Config.View.
func (h *Host) viewOf(ctx context.Context, project string, p *call.Principal) (*gateway.View, context.Context, error) {
	now := h.views.Load()
	found, _, ok := now.find(project, p)
	if ok && found == nil {
		var err error
		if found, now, err = h.addView(ctx, project, p); err != nil {
			return nil, nil, err
		}
	}
	if found == nil {
		return nil, nil, nil
	}
	if found.catalog.Key.Dir != "" {
		found.used.Store(time.Now().Unix())
	}
	return found.view, now.admitted, nil
}

// addView makes the view of a principal in a project; nil if the principal gets nothing there. It returns the views that it belongs to.
func (h *Host) addView(ctx context.Context, project string, p *call.Principal) (*clientView, *views, error) {
	if err := h.lock(ctx); err != nil {
		return nil, nil, err
	}
	defer h.unlock()
	if h.ended.Err() != nil {
		return nil, nil, errors.New("the host is closed")
	}
	now := h.views.Load()
	found, key, ok := now.find(project, p)
	if !ok || found != nil {
		return found, now, nil
	}
	byKey := maps.Clone(now.byKey)
	if key.Dir != "" {
		if err := h.makeRoom(byKey, time.Now().Add(-personalIdle)); err != nil {
			return nil, nil, err
		}
	}
	made, err := h.newView(now.projects[project].WithKey(key))
	if err != nil {
		return nil, nil, err
	}
	made.used.Store(time.Now().Unix())
	h.dispatcher.AddView(made.catalog)
	byKey[key] = made
	now = &views{now.projects, byKey, now.started, now.admitted, now.end}
	h.views.Store(now)
	return made, now, nil
}

// makeRoom removes the views of single principals that were last used before a time, if there are maxPersonal of them.
func (h *Host) makeRoom(byKey map[catalog.Key]*clientView, before time.Time) error {
	count := 0
	for key := range byKey {
		if key.Dir != "" {
			count++
		}
	}
	if count < maxPersonal {
		return nil
	}
	for key, v := range byKey {
		if key.Dir != "" && v.used.Load() < before.Unix() {
			delete(byKey, key)
			count--
			v.view.Close()
			h.dispatcher.RemoveView(key)
		}
	}
	if count >= maxPersonal {
		return errTooManyPersonal
	}
	return nil
}

// viewUpdate is a change of the views that a reload makes.
type viewUpdate struct {
	next     *views
	catalogs []*catalog.Catalog // of all views, the default one first
	updates  map[*gateway.View]*gateway.Update
	ended    []*gateway.View
}

// prepareViews returns the change of the views to the complete Catalogs of projects, of which the first is the default.
func (h *Host) prepareViews(projects []*catalog.Catalog) (*viewUpdate, error) {
	old := h.views.Load()
	u := &viewUpdate{catalogs: projects, updates: map[*gateway.View]*gateway.Update{}}
	if old == nil {
		served, err := projects[0].PrepareUpdate(h.gateway.View, h.catalog())
		u.updates[h.gateway.View] = served
		return u, err
	}
	u.next = &views{projects: byName(projects), byKey: map[catalog.Key]*clientView{}, started: old.started}
	u.next.setAdmitted(old)
	for key, v := range old.byKey {
		var c *catalog.Catalog
		if complete := u.next.projects[key.Project]; complete != nil {
			c = complete.WithKey(key)
		}
		if c == nil {
			u.ended = append(u.ended, v.view)
			continue
		}
		served, err := c.PrepareUpdate(v.view, v.catalog)
		if err != nil {
			return nil, err
		}
		u.updates[v.view] = served
		kept := &clientView{view: v.view, catalog: c, limited: v.limited}
		kept.used.Store(v.used.Load())
		u.next.byKey[key] = kept
		if key.Client != "" {
			u.catalogs = append(u.catalogs, c)
		}
	}
	return u, nil
}

// applyViews puts the change into effect. The dispatcher was updated before, so that a client can call whatever it finds in a list.
func (h *Host) applyViews(u *viewUpdate) {
	if u.next != nil {
		if old := h.views.Swap(u.next); old.admitted != u.next.admitted {
			old.end()
		}
	}
	for v, served := range u.updates {
		v.Apply(served)
	}
	if u.next != nil {
		for _, v := range u.next.byKey {
			if v.limited != nil {
				v.limited.SetLimits(limitsOf(v.catalog))
			}
		}
	}
	for _, v := range u.ended {
		v.Close()
	}
}

// newView makes the view of a Catalog that a table of clients narrows, or of the complete one of a project.
func (h *Host) newView(c *catalog.Catalog) (*clientView, error) {
	made := &clientView{catalog: c, limited: quota.NewBackend(h.dispatcher.BackendOf(c.Key), &h.quotas)}
	made.limited.SetLimits(limitsOf(c))
	var err error
	made.view, err = c.NewView(h.gateway, made.limited)
	return made, err
}

// limitsOf returns the limits of the table of clients that narrows c.
func limitsOf(c *catalog.Catalog) quota.Limits {
	if table := c.Clients.Table(c.Key.Client); table != nil {
		return quota.Limits(table.Quota)
	}
	return quota.Limits{}
}

// completeCatalogs returns the complete Catalogs that c, the Catalog of the server's own project, is served with. The projects of a server
// over HTTP do not change while it runs.
func (h *Host) completeCatalogs(c *catalog.Catalog) ([]*catalog.Catalog, error) {
	projects := []*catalog.Catalog{c}
	if now := h.views.Load(); now != nil {
		if c.Untrusted == nil && !slices.Equal(c.Found.Projects, now.started) {
			return nil, usage.Errorf("%s: [[projects]] has changed: restart the server, since a change of [[projects]] applies at a start only", c.Config)
		}
		projects = c.Projects()
	}
	noteSkills(projects, nil)
	return projects, nil
}

// noteSkills sets the state of the files of projects' skills, in complete Catalogs except served, which is served already. It is empty for
// projects whose files are not watched.
func noteSkills(projects []*catalog.Catalog, served *catalog.Catalog) {
	files := 0
	for _, c := range slices.SortedFunc(slices.Values(projects), func(a, b *catalog.Catalog) int { return strings.Compare(a.Project, b.Project) }) {
		var watched []string
		state := ""
		if files < maxSkillFiles {
			watched, state = projectskills.Watched(c)
			files += len(watched)
		}
		if c != served {
			c.SkillsState = state
		}
	}
}

// projectCatalog returns the complete Catalog of a project that is served; nil if it is not served.
func (h *Host) projectCatalog(name string) *catalog.Catalog {
	if now := h.views.Load(); now != nil {
		return now.projects[name]
	}
	return h.catalog()
}

// sameCatalogs reports whether the complete Catalogs of projects are the same as those that are served.
func (h *Host) sameCatalogs(projects []*catalog.Catalog) bool {
	return !slices.ContainsFunc(projects, func(c *catalog.Catalog) bool {
		before := h.projectCatalog(c.Project)
		return before == nil || !c.Same(before)
	})
}
