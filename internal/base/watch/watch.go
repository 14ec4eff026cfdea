// Package watch reports changes of files and directories. Run calls a function when one of a set of paths is created,
// changed, replaced or removed, whichever way an editor or a deployment does so.
//
// The watched paths come from lists, or from a callback that returns the files of a tree.
//
// Notifications of the system only tell Run when to look: once the paths have stopped changing, Run compares their metadata with
// those of the previous look. So an event in a directory that other programs write to, such as the root of a project, costs a few
// system calls, and any number of events costs a bounded share of a processor. Where the system cannot notify, Run looks at
// intervals.
package watch

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config configures Run.
type Config struct {
	// Paths returns the absolute paths. It is called at the start and after each call of Changed. The paths need not exist.
	// A directory changes if an entry is added, removed or replaced.
	Paths func() []string
	// Existing is like Paths, but only the creation and removal of its paths count as changes.
	Existing func() []string
	// Tree returns further absolute paths of files, and the directories whose entries determine the result. It is called
	// whenever Run looks, so it should be fast and return a bounded number of paths. It is a change if Tree returns a file for the
	// first time, or does not return it any more. It may be nil.
	Tree func() (files, dirs []string)
	// Changed is called once at the start, when all paths are watched, since the caller may know an earlier state of them; and then
	// after each change. It runs in the goroutine of Run.
	Changed func()
	// Again decides when Changed is called next, given the paths that changed while it ran. calm reports whether no path had changed for
	// Calm before that call. Again is called after each call of Changed, even if paths is empty. If it is nil, Changed is called again if
	// any path changed.
	Again func(paths []string, calm bool) Next
	Log   hclog.Logger

	open func() (*source, error)                // nil: openSource
	stat func(path string) (fs.FileInfo, error) // nil: os.Stat
}

// Next is when Changed is called next.
type Next int

// The values of Next.
const (
	AfterChange Next = iota // after the next change
	AfterCalm               // after the next change, or when no path has changed for Calm
	AtOnce
)

// Calm is the time after which a call that awaits calm is made.
const Calm = 10 * time.Second

const (
	// quiet is the time without a change after which Changed is called: programs write a file in several steps.
	quiet = 100 * time.Millisecond
	// unsettled bounds the time that Run waits for the paths to stop changing.
	unsettled = 2 * time.Second
	// maxPause bounds the time between two looks while events arrive that change no path.
	maxPause = 2 * time.Second
	// Rate limit for calls of Changed: a burst, refilled by one call for each period.
	burst  = 8
	period = 5 * time.Second

	// pollFast is the interval of looks if the source does not watch all directories.
	pollFast = 2 * time.Second
	// pollSlow is the interval otherwise: network file systems and renamed ancestors cause no events.
	pollSlow = 30 * time.Second

	maxPaths = 4096
)

// watcher is the state of Run.
type watcher struct {
	Config
	subscriptions
	known    state // state of the paths at the last look
	calm     state // state of the paths that did not change for Calm; nil if they did
	calls    int   // number of calls of Changed that the rate limit (burst, period) allows now
	refilled time.Time
}

// Run watches until ctx ends.
func Run(ctx context.Context, c Config) {
	if c.open == nil {
		c.open = openSource
	}
	if c.stat == nil {
		c.stat = os.Stat
	}
	w := &watcher{Config: c, calls: burst, refilled: time.Now()}
	w.subscriptions.open(c)
	defer w.subscriptions.close()
	w.known = w.look(w.paths())
	for next := AtOnce; w.await(ctx, next); {
		w.settle(ctx)
		if ctx.Err() != nil {
			return
		}
		next = w.report(ctx)
	}
}

// await returns when Changed has to be called next. It returns false when ctx has ended.
func (w *watcher) await(ctx context.Context, next Next) bool {
	w.calm = nil
	switch next {
	case AfterChange:
		return w.awaitChange(ctx)
	case AfterCalm:
		before := w.known
		timed, cancel := context.WithTimeout(ctx, Calm)
		defer cancel()
		if !w.awaitChange(timed) {
			w.calm = before
		}
	}
	return ctx.Err() == nil
}

// awaitChange returns when a path has changed. It returns false when ctx has ended.
func (w *watcher) awaitChange(ctx context.Context) bool {
	pause, before := quiet, time.Time{}
	for w.awaitEvent(ctx) {
		if time.Since(before) > 2*maxPause {
			pause = quiet
		}
		sleep(ctx, pause)
		w.forget()
		if !w.look(w.known.paths()).equal(w.known) {
			return ctx.Err() == nil
		}
		pause, before = min(2*pause, maxPause), time.Now()
	}
	return false
}

// settle waits until the paths have stopped changing.
func (w *watcher) settle(ctx context.Context) {
	paths := w.known.paths()
	w.known = w.look(paths)
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < unsettled; {
		sleep(ctx, quiet)
		now := w.look(paths)
		if now.equal(w.known) {
			return
		}
		w.known = now
	}
}

// report calls Changed, and then examines the paths that Paths and Existing now return. It returns AtOnce if one of them may have
// changed after Changed read it, which is also so for a path that was not watched before.
func (w *watcher) report(ctx context.Context) Next {
	if w.admit(ctx); ctx.Err() != nil {
		return AfterChange
	}
	before := w.known
	w.Changed()
	w.known = w.look(w.paths())
	changed := w.known.changedSince(before)
	if w.Again != nil {
		return w.Again(changed, w.calm != nil && before.equal(w.calm))
	}
	if len(changed) > 0 {
		return AtOnce
	}
	return AfterChange
}

// admit waits until Changed may be called.
func (w *watcher) admit(ctx context.Context) {
	for {
		if n := int(time.Since(w.refilled) / period); n > 0 {
			w.calls, w.refilled = min(w.calls+n, burst), time.Now()
		}
		if w.calls > 0 || ctx.Err() != nil {
			w.calls--
			return
		}
		sleep(ctx, period)
		w.known = w.look(w.known.paths())
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// path is a watched path.
type path struct {
	name     string
	existing bool // only its creation and removal count
	tree     bool // Tree returned it
}

// state has the metadata of paths: nil for a path that does not exist or cannot be examined.
type state map[path]fs.FileInfo

// paths returns the paths that Paths and Existing name now.
func (w *watcher) paths() []path {
	var all []path
	for _, name := range w.Paths() {
		all = append(all, path{name: name})
	}
	if w.Existing != nil {
		for _, name := range w.Existing() {
			all = append(all, path{name: name, existing: true})
		}
	}
	return all
}

// exists stands for the metadata of an existing path of which only the creation and removal count.
type exists struct{ fs.FileInfo }

// look subscribes the directories of paths, which may have been created or replaced, and then returns the state of paths. Changes
// after the subscription cause events, so none is missed.
func (w *watcher) look(paths []path) state {
	var dirs []path
	if w.Tree != nil {
		paths = slices.DeleteFunc(slices.Clone(paths), func(p path) bool { return p.tree })
		files, folders := w.Tree()
		for _, name := range files {
			paths = append(paths, path{name: name, tree: true})
		}
		for _, name := range folders {
			dirs = append(dirs, path{name: name, tree: true})
		}
	}
	if len(paths) > maxPaths {
		w.warn("not all files are watched: send SIGHUP after changing others", "files", len(paths), "watched", maxPaths)
		paths = paths[:maxPaths]
	}
	w.subscribe(slices.Concat(paths, dirs))
	s := make(state, len(paths))
	for _, p := range paths {
		switch info, err := w.stat(p.name); {
		case err != nil:
			s[p] = nil
		case p.existing:
			s[p] = exists{}
		default:
			s[p] = info
		}
	}
	return s
}

func (s state) paths() []path { return slices.Collect(maps.Keys(s)) }

func (s state) equal(other state) bool { return maps.EqualFunc(s, other, isSame) }

// changedSince returns the sorted paths that differ between s and an earlier state. A path that only s has counts; a path that only
// before has counts if it belongs to the tree.
func (s state) changedSince(before state) []string {
	var names []string
	for p, info := range s {
		old, known := before[p]
		if !known || !isSame(info, old) {
			names = append(names, p.name)
		}
	}
	for p := range before {
		if _, kept := s[p]; !kept && p.tree {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	return names
}

func isSame(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if a == (exists{}) || b == (exists{}) {
		return a == b
	}
	return os.SameFile(a, b) && a.Mode() == b.Mode() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
