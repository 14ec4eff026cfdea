// Package writers keeps two servers from writing one project. A server claims the directories that its plugins may write before it serves
// them; a second server gets a *Conflict that names the first. Start with New and Claims.Add.
//
// Two things say what is claimed:
//   - Records, in the host's state directory, of the servers that share it: files with what a server claims, each beside a lock file that
//     the server holds (record.go). They name the server, and cover directories of which one contains the other.
//   - Marks, which are locks of the kernel on the inodes of directories (marks_linux.go). They are seen by servers with other state
//     directories too: of other users, and in containers that share a volume.
//
// The kernel releases both when a server ends. A worker process inherits the lock of the records, so that the claim lasts as long as a
// process that may still write.
package writers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// patience is how long Add waits for another server to end: one that drains, or the workers of one that was killed.
const patience = 3 * time.Second

// Server describes a server to the user of another one.
type Server struct {
	PID      int       `json:"pid"`
	Host     string    `json:"host"` // name of the machine or container
	Since    time.Time `json:"since"`
	Endpoint string    `json:"endpoint"`         // address that it listens on
	Config   string    `json:"config,omitempty"` // path of its config; empty if it has none
}

func (s Server) String() string {
	if s.PID == 0 {
		return "a server with another state directory, of another user or container"
	}
	text := fmt.Sprintf("process %d on %s, since %s, at %s", s.PID, visible.Bounded(s.Host, maxText), s.Since.UTC().Format("2006-01-02 15:04:05 UTC"), visible.Bounded(s.Endpoint, maxText))
	if s.Config != "" {
		text += ", with " + visible.Bounded(s.Config, maxText)
	}
	return text
}

// maxMarked bounds the directories with marks, each of which takes a descriptor. A server of so many projects has records of them.
const maxMarked = 256

const maxText = 1024 // bytes of a value of a record in a message

// Conflict says that another server has claimed a directory.
type Conflict struct {
	Path  string // the directory, or one that contains it or is in it
	State bool   // see Dir
	Other Server
}

func (e *Conflict) Error() string {
	remedy := "or have it serve all projects, with [[projects]]; or set read_only for the plugins of this one, or give it a project of its own"
	if e.State {
		remedy = "or leave out, or set read_only for, the plugins that write it here; or serve both projects from one server ([[projects]]); or use a state directory of its own: the one that `state` of the project names in [[projects]], and without that the server's (XDG_STATE_HOME), which then has trust and tokens of its own"
	}
	return fmt.Sprintf("another server writes %s: %s\n  remedy: stop that server, which keeps it also while it is suspended; %s", visible.Text(e.Path), e.Other, remedy)
}

// Claims are what one server has claimed. It is safe for concurrent use.
type Claims struct {
	log       hclog.Logger
	broad     func(dir string) bool
	server    Server
	maxMarked int                   // the constant, except in tests
	isLocal   func(f *os.File) bool // the function, except in tests

	mu         sync.Mutex            // not held while Add waits, since each start of a worker calls Locks
	recordDirs map[string]*recordDir // by state directory; nil for one in which no records can be kept
	marked     markedDirs
	held       []claim
	warned     map[string]bool
}

// New returns Claims of a server without any. broad reports whether a directory and all that contain it cannot be projects: they have no
// marks, since other users, who can read them, could set the mark of a server there.
func New(s Server, broad func(dir string) bool, log hclog.Logger) *Claims {
	return &Claims{log: log, broad: broad, server: s, maxMarked: maxMarked, isLocal: isLocal,
		recordDirs: map[string]*recordDir{}, marked: markedDirs{}, warned: map[string]bool{}}
}

// Add claims directories, or none of them if the error is not nil. It waits for a moment while another server ends. A *Conflict says
// which server has one of them.
func (c *Claims) Add(ctx context.Context, dirs []Dir) error {
	wanted := c.missing(dirs)
	if len(wanted) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var conflict *Conflict // the last one that was found: a later attempt may find the records locked
	err := filelock.Poll(ctx, func() (done bool, err error) {
		done, found, err := c.try(wanted)
		if found != nil {
			conflict = found
		}
		return done, err
	})
	switch {
	case err == nil:
		return nil
	case conflict != nil && ctx.Err() != nil:
		return conflict
	case errors.Is(err, context.DeadlineExceeded):
		return usage.Errorf("another server has locked the records of the directories that servers write for more than %s\n  remedy: end that server if it is suspended: a process that has %s open", patience, c.lockPaths(wanted))
	}
	return err
}

// lockPaths returns the paths of the lock files of the records of claims.
func (c *Claims) lockPaths(wanted []claim) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var paths []string
	for _, w := range wanted {
		if r := c.recordDirs[w.in]; r != nil {
			paths = append(paths, visible.Text(r.guard()))
		}
	}
	slices.Sort(paths)
	return strings.Join(slices.Compact(paths), " or ")
}

// try claims directories unless another server has one of them. done is false also while another server looks at the records.
func (c *Claims) try(wanted []claim) (done bool, found *Conflict, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byState := map[string][]claim{}
	for _, w := range wanted {
		byState[w.in] = append(byState[w.in], w)
	}
	states := slices.Sorted(maps.Keys(byState))
	for _, state := range states {
		unlock, err := c.enter(state)
		if errors.Is(err, errBusy) {
			return false, nil, nil
		}
		if err != nil {
			return false, nil, err
		}
		defer unlock()
	}
	for _, state := range states {
		if found, err := c.recordDirs[state].conflict(byState[state]); found != nil || err != nil {
			return false, found, err
		}
	}
	undo, found := c.mark(wanted)
	if found != nil {
		undo()
		return false, found, nil
	}
	all := slices.Concat(c.held, wanted)
	for i, state := range states {
		if err := c.write(state, all); err != nil {
			for _, state := range states[:i+1] {
				_ = c.write(state, c.held) // what stays in a record excludes others, but lets no one write
			}
			undo()
			return false, nil, fmt.Errorf("cannot claim the directories that plugins may write: %w", err)
		}
	}
	c.held = all
	return true, nil, nil
}

// enter is recordDir.enter for a state directory. If no record can be kept there, there are none from then on. Its error is errBusy, or what
// prevents a change of a record that is kept already: a temporary error must not release its lock.
func (c *Claims) enter(state string) (unlock func(), err error) {
	r, known := c.recordDirs[state]
	switch {
	case known:
	case state == "":
		c.warn(noRecord, "reason", "there is no state directory")
	default:
		r = &recordDir{path: filepath.Join(state, dirName), server: c.server, name: rand.Text()}
		c.recordDirs[state] = r
	}
	unlock, err = r.enter()
	switch {
	case errors.Is(err, errBusy):
		return nil, err
	case err != nil && r.lock != nil:
		return nil, fmt.Errorf("the records of the directories that servers write: %w", err)
	case err != nil:
		c.dropRecords(state, err)
		return func() {}, nil
	case r != nil:
		c.warnUnlessLocal(r.path, stateMayBeShared)
	}
	return unlock, nil
}

// write records in a state directory those of all claims that belong there. If there are none, it removes the record.
func (c *Claims) write(state string, all []claim) error {
	r := c.recordDirs[state]
	claims := slices.DeleteFunc(slices.Clone(all), func(w claim) bool { return w.in != state })
	if len(claims) == 0 {
		r.close()
		return nil
	}
	if err := r.open(); err != nil { // such as locks that the file system does not have
		c.dropRecords(state, err)
		return nil
	}
	return r.write(claims)
}

// dropRecords says once that no record can be kept in a state directory.
func (c *Claims) dropRecords(state string, why error) {
	c.warn(noRecord, "directory", state, "reason", why)
	c.recordDirs[state] = nil
}

const noRecord = "this server keeps no record of the directories that it writes, so that other servers may not notice it"

// Locks returns the files that a worker inherits of a server that has claimed directories with records in states, so that the claims last
// until the worker has ended.
func (c *Claims) Locks(states ...string) (locks []*os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range states {
		if r := c.recordDirs[state]; r != nil && r.lock != nil && !slices.Contains(locks, r.lock) {
			locks = append(locks, r.lock)
		}
	}
	return locks
}

// Close gives up the claims. No worker may be running.
func (c *Claims) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.recordDirs {
		r.close()
	}
	c.marked.close()
	c.held = nil
}

// mark marks the directories of exclusive claims. found says that another server has marked one of them, or one that contains it or is in
// it. undo removes the new marks.
func (c *Claims) mark(wanted []claim) (undo func(), found *Conflict) {
	var added []mark
	undo = func() {
		for _, m := range added {
			c.marked.remove(m)
		}
	}
	for _, w := range wanted {
		if w.Shared || w.Key == "" || w.state {
			continue
		}
		for i, m := range marksOf(w) {
			if c.marked[m.key] == nil && len(c.marked) >= c.maxMarked {
				c.warn(tooManyMarks, "marked", c.maxMarked)
				break
			}
			isNew, err := c.marked.add(m)
			if isNew {
				added = append(added, m)
			}
			if errors.Is(err, errMarked) {
				return undo, &Conflict{Path: w.Path}
			}
			if err != nil && i == 0 { // others may be directories that the user cannot read
				c.warn("servers with other state directories that write the same project are not noticed", "project", w.Path, "reason", err)
			}
		}
	}
	return undo, nil
}

const tooManyMarks = "servers with other state directories that write some of the projects are not noticed, since there are too many"
