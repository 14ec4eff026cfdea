package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
)

// day is the part with the hours of a day in UTC.
type day struct {
	Hours map[int]*hour `json:"hours"`
}

// hour is the calls of an hour.
type hour struct {
	Cells []*cell `json:"cells,omitempty"`
	Lost  int64   `json:"lost,omitempty"` // records that could not be written

	byKey map[Key]*cell
}

// cell is the calls of a Key in an hour.
type cell struct {
	Key
	Stats
}

// cell returns the cell of a key. Beyond maxKeys it is the one of all other keys.
func (h *hour) cell(k Key) *cell {
	if h.byKey == nil {
		h.byKey = map[Key]*cell{}
		for _, c := range h.Cells {
			h.byKey[c.Key] = c
		}
	}
	if h.byKey[k] == nil && len(h.byKey) >= maxKeys {
		k = Key{Plugin: Other}
	}
	c := h.byKey[k]
	if c == nil {
		c = &cell{Key: k}
		h.byKey[k] = c
		h.Cells = append(h.Cells, c)
	}
	return c
}

// counting is one step of an update.
type counting struct {
	*History
	state  *state
	days   map[string]*day // by their names, those that were read; nil: the day is removed
	loaded int             // number of days that are not nil
	uses   *uses           // nil: not read

	reconciled bool
}

// changed returns the changed parts.
func (c *counting) changed() map[string]any {
	parts := map[string]any{}
	for name, d := range c.days {
		if d == nil {
			parts[name] = nil
			continue
		}
		for _, h := range d.Hours {
			slices.SortFunc(h.Cells, func(a, b *cell) int { return a.compare(b.Key) })
		}
		parts[name] = d
	}
	if c.uses != nil {
		parts[usesPart] = c.uses.list()
	}
	oldest := dayOf(c.state.Until.Add(-Retention))
	for name := range c.state.Parts {
		if name != usesPart && name < oldest {
			parts[name] = nil
		}
	}
	return parts
}

// dayOf returns the name of the day of a time.
func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// reconcile prepares for a log that is no longer what was counted, since a file was edited, shortened or replaced, or of which a stored part
// was damaged. The log is then counted again, and replaces what was counted since its first record. If all that was counted was rotated out of
// the log, it is kept.
func (c *counting) reconcile(unread *audit.Unread) error {
	earliest, written, err := unread.Earliest(c.step)
	if err != nil || earliest.IsZero() {
		return err
	}
	if written.After(c.state.written()) && !c.state.Recount {
		c.state.miss(Span{c.state.written(), written})
		c.state.UsesFrom = written
		return nil
	}
	floor := earliest.UTC().Truncate(time.Hour)
	first := dayOf(floor)
	for name := range c.state.Parts {
		switch {
		case name == usesPart || name < first:
		case name > first:
			c.days[name] = nil
		default:
			d, err := c.day(name)
			if err != nil {
				return err
			}
			for i := range d.Hours {
				if i >= floor.Hour() {
					delete(d.Hours, i)
				}
			}
		}
	}
	unread.Restart()
	c.state.Floor, c.state.Until, c.state.Written, c.state.Damaged, c.state.Outside = floor, time.Time{}, time.Time{}, 0, 0
	if !c.state.Since.Before(floor) { // nothing earlier was counted
		c.state.Since, c.state.Floor = time.Time{}, time.Time{}
	}
	if _, ok := c.state.Parts[usesPart]; !ok {
		c.state.UsesFrom = earliest
	}
	c.state.Recount, c.reconciled = false, true
	return nil
}

// day returns the day with a name.
func (c *counting) day(name string) (*day, error) {
	if d := c.days[name]; d != nil {
		return d, nil
	}
	d := &day{}
	if _, removed := c.days[name]; !removed {
		if err := c.store.part(c.state, name, d); err != nil {
			return nil, err
		}
	}
	if d.Hours == nil {
		d.Hours = map[int]*hour{}
	}
	c.days[name] = d
	c.loaded++
	return d, nil
}

// count counts an entry. It returns audit.ErrPause if the step is to end after it.
func (c *counting) count(e *audit.Entry) error {
	k, counts := keyOf(e)
	if counts || e.Kind == audit.KindGap {
		if err := c.countIn(k, e); err != nil {
			return err
		}
	}
	if c.loaded > maxDays {
		return audit.ErrPause
	}
	return nil
}

func (c *counting) countIn(k Key, e *audit.Entry) error {
	if e.Time.Before(c.state.Floor) || e.Time.After(c.now().Add(24*time.Hour)) || e.Time.Before(c.now().Add(-Retention)) {
		c.state.Outside++
		return nil
	}
	d, err := c.day(dayOf(e.Time))
	if err != nil {
		return err
	}
	at := e.Time.UTC().Hour()
	if d.Hours[at] == nil {
		d.Hours[at] = &hour{}
	}
	if e.Kind == audit.KindGap {
		d.Hours[at].Lost += plausible(e.Lost)
		if e.Time.After(c.state.UsesFrom) { // what was lost before may have been uses
			c.state.UsesFrom = e.Time
		}
		return nil
	}
	d.Hours[at].cell(k).count(e)
	if c.state.Since.IsZero() || e.Time.Before(c.state.Since) {
		c.state.Since = e.Time
	}
	if e.Time.After(c.state.Until) {
		c.state.Until = e.Time
	}
	if at := e.Written(); at.After(c.state.Written) {
		c.state.Written = at
	}
	return c.used(k, e)
}

var grantKinds = []string{call.Directory, call.Repository}

// maxUses bounds the keys whose last use is kept.
const maxUses = 20_000

// Use is the last time that a client has used a tool, or by any tool of a plugin what the plugin is granted.
type Use struct {
	UseKey
	Last time.Time `json:"last"`
}

// UseKey says what was used by whom. Of a grant, the Key has only the plugin and the principal.
type UseKey struct {
	Key
	Kind    string `json:"kind,omitempty"` // directory or repository; Other: grants that are not known, since the record of a call does not have them
	Path    string `json:"path,omitempty"`
	Written bool   `json:"written,omitempty"`
}

// uses are the last uses by their keys.
type uses map[UseKey]time.Time

// note notes a use at a time.
func (u uses) note(k UseKey, at time.Time) {
	if at.After(u[k]) {
		u[k] = at
	}
}

// used notes the uses of a tool, and of what its plugin is granted. A call that was refused is none.
func (c *counting) used(k Key, e *audit.Entry) error {
	if e.Kind != audit.KindCall || e.Outcome == audit.Denied {
		return nil
	}
	if c.uses == nil {
		var stored []Use
		if err := c.store.part(c.state, usesPart, &stored); err != nil {
			return err
		}
		c.uses = &uses{}
		for _, u := range stored {
			(*c.uses)[u.UseKey] = u.Last
		}
	}
	all := *c.uses
	all.note(UseKey{Key: k}, e.Time)
	granted := Key{Plugin: k.Plugin, Principal: k.Principal} // without what the client reports, which it chooses
	unknown := e.GrantsLeftOut > 0 || e.Code == string(engine.CodeWorkerLost) || e.Code == string(engine.CodeMemory)
	for _, g := range e.Grants {
		if !slices.Contains(grantKinds, g.Kind) || !audit.IsKept(g.Path) {
			unknown = true
			continue
		}
		all.note(UseKey{granted, g.Kind, g.Path, false}, e.Time)
		if g.Written() {
			all.note(UseKey{granted, g.Kind, g.Path, true}, e.Time)
		}
		if c.state.GrantsFrom.IsZero() {
			c.state.GrantsFrom = e.Time
		}
	}
	if unknown {
		all.note(UseKey{Key: granted, Kind: Other}, e.Time)
	}
	if len(all) > maxUses {
		for _, u := range c.uses.list()[:maxUses/4] {
			delete(all, u.UseKey)
			c.state.UsesFrom = u.Last
		}
	}
	return nil
}

// list returns the uses, the earliest first.
func (u *uses) list() []Use {
	all := make([]Use, 0, len(*u))
	for k, last := range *u {
		all = append(all, Use{k, last})
	}
	slices.SortFunc(all, func(a, b Use) int {
		return cmp.Or(a.Last.Compare(b.Last), a.compare(b.Key), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path))
	})
	return all
}
