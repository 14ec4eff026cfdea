package dispatch

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// Update is a generation that Apply can make the current generation.
type Update struct {
	old, next *generation
}

// Prepare returns the Update to the Catalogs all, of which the first is the default. If the settings of the audit log have changed, Prepare opens the new log. Its result must
// therefore be passed to Apply. Calls of Prepare, Apply and Close must not be concurrent.
func (d *Dispatcher) Prepare(all ...*catalog.Catalog) (*Update, error) {
	old := d.current.Load()
	next := newGeneration(d, all, old)
	if err := next.checkSystem(); err != nil {
		return nil, err
	}
	if old.catalog().Audit.SameLog(next.catalog().Audit) {
		next.audit = old.audit
		return &Update{old: old, next: next}, nil
	}
	var err error
	if next.audit, err = d.openAudit(next.catalog()); err != nil {
		return nil, err
	}
	return &Update{old: old, next: next}, nil
}

// Apply makes the Catalogs of u those that are used for further requests. Requests in flight end with the previous ones. Workers of
// plugins that have not changed are kept; other workers end after their last request.
func (d *Dispatcher) Apply(u *Update) {
	d.mu.Lock()
	d.live = append(d.live, u.next)
	warming := d.warming
	d.mu.Unlock()
	before, kept := map[*runner]bool{}, map[*runner]bool{}
	for p := range u.old.plugins() {
		before[p.runner] = true
	}
	var fresh []*plugin
	for p := range u.next.plugins() {
		if !before[p.runner] && !kept[p.runner] {
			fresh = append(fresh, p)
		}
		kept[p.runner] = true
		p.runner.plugin.Store(p)
	}
	u.next.configureLanes()
	d.pool.SetBudget(u.next.catalog().Memory())
	d.current.Store(u.next)
	if m := d.observers.Load().Metrics; m != nil {
		m.Retain(u.next.names)
		u.next.expect(m)
	}
	d.dropResults(u.next)
	for p := range u.old.plugins() {
		if !kept[p.runner] {
			p.runner.retire()
		}
	}
	u.old.release()
	if warming != nil && len(fresh) > 0 {
		d.background.Go(func() { d.warmAll(warming, fresh) })
	}
}

const replacedMessage = "did not run: what the config grants was changed while the call waited; repeat the call if the tool is still offered"

// checkGrant returns an error if the plugin has been replaced by one with a different grant. A request that waited must then not begin,
// and no worker start: a tool may be denied now, or trust may be revoked. tool has the meaning that catalog.Plugin.StillGrants gives
// it.
func (p *plugin) checkGrant(tool string) error {
	current := p.dispatcher.current.Load()
	if current == p.view.generation {
		return nil
	}
	now := current.view(p.view.catalog.Key)
	if now != nil && slices.ContainsFunc(now.plugins, func(next *plugin) bool { return next.StillGrants(p.Plugin, tool) }) {
		return nil
	}
	return &engine.Error{Code: engine.CodeReplaced, Plugin: p.Name, Message: replacedMessage}
}
