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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
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

// Dir is a directory that the plugins of a server may write.
type Dir struct {
	Path string
	// In is the host's state directory that has the record of the claim; empty if there is none. Projects may have state directories of their own.
	In string
	// Shared: other servers may write it too. It conflicts with an exclusive claim only.
	Shared bool
	// State: it is below In and need not exist. Servers with other state directories do not have it.
	State bool
}

// Conflict says that another server has claimed a directory.
type Conflict struct {
	Path  string // the directory, or one that contains it or is in it
	Other Server
}

func (e *Conflict) Error() string {
	return fmt.Sprintf("another server writes %s: %s\n  remedy: %s", visible.Text(e.Path), e.Other, remedy)
}

// remedy is what the user can do.
const remedy = "stop that server, which keeps it also while it is suspended; or have it serve all projects, with [[projects]]; or set read_only for the plugins of this one, or give it a project and a state directory (XDG_STATE_HOME) of its own"

// Claims are what one server has claimed. It is safe for concurrent use.
type Claims struct {
	log    hclog.Logger
	broad  func(dir string) bool
	server Server

	mu      sync.Mutex
	records map[string]*records // by state directory; nil for one in which none can be kept
	marks   marks
	held    []claim
	warned  map[string]bool
}

// New returns Claims of a server without any. broad reports whether a directory and all that contain it cannot be projects: they have no
// marks, since other users, who can read them, could set the mark of a server there.
func New(s Server, broad func(dir string) bool, log hclog.Logger) *Claims {
	return &Claims{log: log, broad: broad, server: s, records: map[string]*records{}, marks: marks{}, warned: map[string]bool{}}
}

// Add claims directories, or none of them if the error is not nil. It waits for a moment while another server ends. A *Conflict says
// which server has one of them.
func (c *Claims) Add(ctx context.Context, dirs []Dir) error {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	var paths []string
	for _, w := range wanted {
		if r := c.records[w.in]; r != nil {
			paths = append(paths, visible.Text(r.guard()))
		}
	}
	slices.Sort(paths)
	return strings.Join(slices.Compact(paths), " or ")
}

// try claims directories unless another server has one of them. done is false also while another server looks at the records.
func (c *Claims) try(wanted []claim) (done bool, found *Conflict, err error) {
	byState := map[string][]claim{}
	for _, w := range wanted {
		byState[w.in] = append(byState[w.in], w)
	}
	for state := range byState {
		unlock, err := c.enter(state)
		if errors.Is(err, errBusy) {
			return false, nil, nil
		}
		if err != nil {
			return false, nil, err
		}
		defer unlock()
	}
	for state, claims := range byState {
		if found, err := c.records[state].conflict(claims); found != nil || err != nil {
			return false, found, err
		}
	}
	undo, found := c.mark(wanted)
	if found != nil {
		undo()
		return false, found, nil
	}
	all := slices.Concat(c.held, wanted)
	for state := range byState {
		if err := c.records[state].write(slices.DeleteFunc(slices.Clone(all), func(w claim) bool { return w.in != state })); err != nil {
			undo()
			return false, nil, fmt.Errorf("cannot claim the directories that plugins may write: %w", err)
		}
	}
	c.held = all
	return true, nil, nil
}

// enter is records.enter for a state directory. If no record can be kept there, it says so once, and there are none from then on. Its error is
// errBusy, or what prevents a change of a record that is kept already: a temporary error must not release its lock.
func (c *Claims) enter(state string) (unlock func(), err error) {
	r, known := c.records[state]
	switch {
	case known:
	case state == "":
		c.warn(noRecord, "reason", "there is no state directory")
	default:
		r = &records{dir: filepath.Join(state, dirName), server: c.server, name: rand.Text()}
		c.records[state] = r
	}
	unlock, err = r.enter()
	switch {
	case errors.Is(err, errBusy):
		return nil, err
	case err != nil && r.lock != nil:
		return nil, fmt.Errorf("the records of the directories that servers write: %w", err)
	case err != nil:
		c.warn(noRecord, "directory", state, "reason", err)
		c.records[state] = nil
		return func() {}, nil
	case r != nil:
		c.keyOf(r.dir, true, "servers on other machines with the same state directory may not be noticed, since its file system may be a network file system")
	}
	return unlock, nil
}

const noRecord = "this server keeps no record of the directories that it writes, so that other servers may not notice it"

// Locks returns the files that a worker inherits of a server that has claimed directories with records in states, so that the claims last
// until the worker has ended.
func (c *Claims) Locks(states ...string) (locks []*os.File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range states {
		if r := c.records[state]; r != nil && r.lock != nil && !slices.Contains(locks, r.lock) {
			locks = append(locks, r.lock)
		}
	}
	return locks
}

// Close gives up the claims. No worker may be running.
func (c *Claims) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.records {
		r.close()
	}
	c.marks.close()
	c.held = nil
}

// claim is a directory with its identity.
type claim struct {
	Path   string   `json:"path"`
	Shared bool     `json:"shared,omitempty"`
	Key    string   `json:"key,omitempty"`   // identity of the directory; empty if it does not exist
	Above  []string `json:"above,omitempty"` // identities of the directories that contain it

	above []string // paths of the first of these, which may be projects of other servers
	state bool     // see Dir
	in    string   // see Dir
}

// overlaps reports whether one of two directories is the other or contains it.
func (c claim) overlaps(other claim) bool {
	return c.Key != "" && (c.Key == other.Key || slices.Contains(other.Above, c.Key)) || other.Key != "" && slices.Contains(c.Above, other.Key)
}

// conflicts reports whether two servers must not both have the claims.
func (c claim) conflicts(other claim) bool { return !(c.Shared && other.Shared) && c.overlaps(other) }

// missing returns the claims of the directories without those that are held.
func (c *Claims) missing(dirs []Dir) []claim {
	var wanted []claim
	seen := map[Dir]bool{} // each plugin of a project claims the project
	for _, d := range dirs {
		if seen[d] {
			continue
		}
		seen[d] = true
		next := c.identify(d)
		includes := func(have claim) bool {
			return have.Path == next.Path && have.Key == next.Key && have.in == next.in && (!have.Shared || next.Shared)
		}
		if !slices.ContainsFunc(c.held, includes) && !slices.ContainsFunc(wanted, includes) {
			wanted = append(wanted, next)
		}
	}
	return wanted
}

// identify finds out what a path leads to. The identity is that of the inode: a directory may have several paths, by symbolic links and
// mounts. A directory of state need not exist. It has its path below the state directory, whose records only servers with the same one read.
func (c *Claims) identify(d Dir) claim {
	if d.State {
		name := d.Path
		if below, err := filepath.Rel(d.In, d.Path); err == nil && filepath.IsLocal(below) {
			name = below
		}
		return claim{Path: d.Path, Shared: d.Shared, Key: "state:" + name, state: true, in: d.In}
	}
	path := d.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	next := claim{Path: d.Path, Shared: d.Shared, in: d.In}
	next.Key = c.keyOf(path, !d.Shared, "servers on other machines that write this directory are not noticed, since its file system may be a network file system")
	for at := path; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if key := c.keyOf(at, false, ""); key != "" {
			next.Above = append(next.Above, key)
			if !c.broad(at) { // nor is what contains it
				next.above = append(next.above, at)
			}
		}
	}
	return next
}

// keyOf returns the identity of a directory; empty if there is none, or if it cannot be opened. If warn is set and locks may not reach other
// machines, the user is told so by text.
func (c *Claims) keyOf(path string, warn bool, text string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := beneath.StatFile(f)
	if err != nil || !st.IsDir() {
		return ""
	}
	if _, local, err := platform.FileSystem(f); warn && (err != nil || !local) {
		c.warn(text, "directory", path)
	}
	return keyFor(st)
}

func keyFor(st beneath.Stat) string { return fmt.Sprintf("%d:%d", st.Dev, st.Ino) }

// warn logs what is not promised, once.
func (c *Claims) warn(what string, args ...any) {
	if key := what + fmt.Sprint(args...); !c.warned[key] {
		c.warned[key] = true
		c.log.Warn(what, args...)
	}
}

// mark marks the directories of exclusive claims. found says that another server has marked one of them, or one that contains it or is in
// it. undo removes the new marks.
func (c *Claims) mark(wanted []claim) (undo func(), found *Conflict) {
	var added []mark
	undo = func() {
		for _, m := range added {
			c.marks.remove(m)
		}
	}
	for _, w := range wanted {
		if w.Shared || w.Key == "" || w.state {
			continue
		}
		for i, m := range w.marks() {
			if c.marks[m.key] == nil && len(c.marks) >= maxMarked {
				c.warn("servers with other state directories that write some of the projects are not noticed, since there are too many", "marked", maxMarked)
				break
			}
			isNew, err := c.marks.add(m)
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

// marks returns the mark of the directory, and those of the directories that contain it.
func (c claim) marks() []mark {
	all := []mark{{c.Key, here, c.Path}}
	for i, path := range c.above {
		all = append(all, mark{c.Above[i], below, path})
	}
	return all
}
