package writers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

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

// claim is a directory with its identity.
type claim struct {
	Path   string   `json:"path"`
	Shared bool     `json:"shared,omitempty"`
	Key    string   `json:"key,omitempty"`   // identity of the directory; empty if it does not exist
	Above  []string `json:"above,omitempty"` // identities of the directories that contain it

	ancestors []string // paths of the first of Above, which may be projects of other servers
	state     bool     // see Dir
	in        string   // see Dir
}

// overlaps reports whether one of two directories is the other or contains it.
func (c claim) overlaps(other claim) bool { return c.contains(other) || other.contains(c) }

// contains reports whether the directory is the other one or contains it.
func (c claim) contains(other claim) bool {
	return c.Key != "" && (c.Key == other.Key || slices.Contains(other.Above, c.Key))
}

// conflicts reports whether two servers must not both have the claims.
func (c claim) conflicts(other claim) bool { return !(c.Shared && other.Shared) && c.overlaps(other) }

// conflictsByPath is conflicts by the paths of two servers on one host: a directory that was replaced while the other server runs has a
// different identity, but that server's plugins may get the new one. Directories of state are compared by their keys, which are paths.
func (c claim) conflictsByPath(other claim) bool {
	if c.Shared && other.Shared {
		return false
	}
	isState := strings.HasPrefix(c.Key, stateKey) || strings.HasPrefix(other.Key, stateKey)
	return c.Path == other.Path || !isState && (contain.Within(c.Path, other.Path) || contain.Within(other.Path, c.Path))
}

// missing returns the claims of the directories without those that are held.
func (c *Claims) missing(dirs []Dir) []claim {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// identify returns the claim of a directory. The identity is that of the inode: a directory may have several paths, by symbolic links and
// mounts. A directory of state need not exist. It has its path below the state directory, whose records only servers with the same one read.
func (c *Claims) identify(d Dir) claim {
	next := claim{Path: d.Path, Shared: d.Shared, state: d.State, in: d.In}
	if d.State {
		name := d.Path
		if below, err := filepath.Rel(d.In, d.Path); err == nil && filepath.IsLocal(below) {
			name = below
		}
		next.Key = stateKey + name
		for at := name; at != filepath.Dir(at); {
			at = filepath.Dir(at)
			next.Above = append(next.Above, stateKey+at)
		}
		return next
	}
	path := d.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if !d.Shared {
		c.warnUnlessLocal(path, mayBeShared)
	}
	next.locate(path)
	if i := slices.IndexFunc(next.ancestors, c.broad); i >= 0 { // so are those that contain it
		next.ancestors = next.ancestors[:i]
	}
	return next
}

const (
	stateKey    = "state:"
	mayBeShared = "servers on other machines that write this directory are not noticed, since its file system may be a network file system"

	stateMayBeShared = "servers on other machines with the same state directory may not be noticed, since its file system may be a network file system"
)

// locate sets the identity of the directory at a path without symbolic links.
func (c *claim) locate(path string) {
	c.Key = keyOf(path)
	for at := path; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if key := keyOf(at); key != "" {
			c.Above, c.ancestors = append(c.Above, key), append(c.ancestors, at)
		}
	}
}

// Contains reports whether the directory dir is the one at path or contains it, also by a mount. The paths must have no symbolic links.
func Contains(dir, path string) bool {
	if contain.Within(dir, path) {
		return true
	}
	var outer, inner claim
	outer.locate(dir)
	inner.locate(path)
	return outer.contains(inner)
}

// keyOf returns the identity of a directory; empty if there is none, or if it cannot be opened.
func keyOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := beneath.StatFile(f)
	if err != nil || !st.IsDir() {
		return ""
	}
	return keyFor(st)
}

func keyFor(st beneath.Stat) string { return fmt.Sprintf("%d:%d", st.Dev, st.Ino) }

// isLocal reports whether a file is known to be on a local file system, whose locks all servers see that can open it.
func isLocal(f *os.File) bool {
	_, local, err := platform.FileSystem(f)
	return local && err == nil
}

// warnUnlessLocal warns by text if a directory exists whose file system is not known to be local.
func (c *Claims) warnUnlessLocal(dir, text string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	if !c.isLocal(f) {
		c.warn(text, "directory", dir)
	}
}

// warn logs what is not promised, once.
func (c *Claims) warn(what string, args ...any) {
	if key := what + fmt.Sprint(args...); !c.warned[key] {
		c.warned[key] = true
		c.log.Warn(what, args...)
	}
}
