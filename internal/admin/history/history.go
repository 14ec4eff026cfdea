// Package history counts the calls of an audit log by the hour, plugin, tool and client, so that questions about a long time do not
// need to read a long log. Open names the log, History.Update counts what is new in it, and Summary and LastUses answer questions.
//
// What is stored is derived from the log, which stays the authority: if it is deleted, it is made again. It is kept longer than the
// rotated files of the log are, up to Retention.
package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Retention is how long calls are kept by the hour.
const Retention = 400 * 24 * time.Hour

// Bounds of one step of Update, after which it stores what it has counted. They bound its memory too.
const (
	maxStep = 32 << 20 // bytes of the log
	maxDays = 4        // days that the records belong to
)

// History is the history of the calls in one audit log. It may be used by several processes at once.
type History struct {
	log   string
	store store

	now  func() time.Time
	step int64 // maxStep, except in tests
}

// Open returns the history of the log at the path log. It is stored below state, the state directory of the host.
func Open(state, log string) (*History, error) {
	if state == "" {
		return nil, errors.New("there is no directory for the history of calls: set HOME or XDG_STATE_HOME")
	}
	log, err := filepath.Abs(log)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, ".history", digest([]byte(log)))
	if err := ownedpath.Make(dir); err != nil {
		return nil, fmt.Errorf("the history of calls: %w", err)
	}
	return &History{log: log, store: store{dir: dir}, now: time.Now, step: maxStep}, nil
}

// Find returns the history of the log at a path, which is stored in the state directory of a host with these options.
func Find(o discovery.Options, log string) (*History, error) {
	state, err := discovery.StateDir(o.System)
	if err != nil {
		return nil, err
	}
	return Open(state, log)
}

// lock locks the stored files until the returned function is called.
func (h *History) lock(ctx context.Context, mode filelock.Mode) (func(), error) {
	f, err := filelock.Lock(ctx, filepath.Join(h.store.dir, lockFile), mode)
	if err != nil {
		return nil, fmt.Errorf("the history of calls cannot be locked: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// Progress is how much of the log remains to be read.
type Progress struct {
	Read   int64 // bytes that the step has read
	Unread int64 // bytes that remain; 0: the history has all of the log
	NoLog  bool  // there is no log yet
}

// Update counts all records that were written since the last update. It calls report, if it is not nil, after each step. What was counted
// before an error, or the end of ctx, is kept.
func (h *History) Update(ctx context.Context, report func(Progress)) error {
	for {
		p, err := h.Step(ctx)
		if err != nil {
			return err
		}
		if report != nil {
			report(p)
		}
		if p.Unread == 0 {
			return nil
		}
	}
}

// PageTime is how long the request for a page counts new records.
const PageTime = 2 * time.Second

// UpdateFor is Update that ends after about a time, for a caller that a person waits for. The next call goes on.
func (h *History) UpdateFor(ctx context.Context, d time.Duration) (Progress, error) {
	for began := time.Now(); ; {
		p, err := h.Step(ctx)
		if err != nil || p.Unread == 0 || time.Since(began) > d {
			return p, err
		}
	}
}

// Step counts a bounded part of the records that were written since the last step, and stores the result. Other processes may count in
// between.
func (h *History) Step(ctx context.Context) (Progress, error) {
	if ctx.Err() != nil {
		return Progress{}, context.Cause(ctx)
	}
	unlock, err := h.lock(ctx, filelock.Exclusive)
	if err != nil {
		return Progress{}, err
	}
	defer unlock()
	for {
		p, err := h.stepLocked(ctx)
		if damaged := (*damagedError)(nil); !errors.As(err, &damaged) {
			return p, err
		} else if err := h.recount(damaged.part); err != nil {
			return p, err
		}
	}
}

func (h *History) stepLocked(ctx context.Context) (Progress, error) {
	st, err := h.store.load(h.log)
	if err != nil {
		return Progress{}, err
	}
	unread, err := audit.OpenUnread(h.log, st.Positions)
	if errors.Is(err, fs.ErrNotExist) {
		return Progress{NoLog: true}, nil
	}
	if err != nil {
		return Progress{}, err
	}
	defer unread.Close()
	c := counting{History: h, state: st, days: map[string]*day{}}
	if unread.Changed || st.Recount {
		if err := c.reconcile(unread); err != nil {
			return Progress{}, err
		}
	}
	before := unread.Size()
	all, err := unread.Read(h.step, func(e audit.Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return c.count(&e)
	}, func(audit.Damage) { st.Damaged++ })
	if err != nil {
		return Progress{}, err
	}
	p := Progress{Read: before - unread.Size(), Unread: unread.Size()}
	if all {
		p.Unread = 0 // an incomplete line counts when it is complete
	}
	if p.Read == 0 && !c.reconciled {
		return p, nil
	}
	if st.Positions, err = unread.Positions(); err != nil {
		return Progress{}, err
	}
	return p, h.store.commit(st, c.changed())
}

// recount removes a damaged part, and has the next step count again what the log has of it.
func (h *History) recount(part string) error {
	st, err := h.store.load(h.log)
	if err != nil {
		return err
	}
	st.Recount = true
	return h.store.commit(st, map[string]any{part: nil})
}

// Remove removes what is stored. The next update makes it again from the log.
func (h *History) Remove(ctx context.Context) error {
	unlock, err := h.lock(ctx, filelock.Exclusive)
	if err != nil {
		return err
	}
	defer unlock()
	return os.Remove(filepath.Join(h.store.dir, stateFile))
}
