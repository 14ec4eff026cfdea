package writers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

const (
	dirName    = ".servers" // in the state directory; no plugin has such a name
	lockSuffix = ".lock"
	dataSuffix = ".json"
	maxRecord  = 4 << 20 // bytes
)

var (
	errBusy = errors.New("another server looks at the records")
	private = atomicfile.Options{Mode: 0o600}
)

// record is what a server writes about itself.
type record struct {
	Server
	Claims []claim `json:"claims"`
}

// recordDir is the directory of the records of the servers that share a state directory. All methods but close are called between enter and
// its unlock. A nil *recordDir keeps no records.
type recordDir struct {
	path   string
	server Server
	name   string // of this server's record, without suffix
	// lock is the lock file of this server's record, which counts as long as the file is locked. It is empty and opened for reading, since workers
	// inherit it. The lock is a shared one, since NFS accepts no exclusive one without write access.
	lock *os.File
}

// enter excludes other servers. The error is errBusy while one of them is inside.
func (r *recordDir) enter() (unlock func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	if err := ownedpath.Make(r.path); err != nil {
		return nil, errors.New(ownedpath.Explain(err))
	}
	f, err := filelock.Open(r.guard())
	if err != nil {
		return nil, err
	}
	free, err := filelock.Try(f, filelock.Exclusive)
	if err != nil || !free {
		f.Close()
		if err == nil {
			err = errBusy
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// guard is the path of the lock file of enter.
func (r *recordDir) guard() string { return filepath.Join(r.path, "lock") }

// conflict returns a claim of another server that excludes one of wanted; nil if there is none. It removes the records of servers that have
// ended.
func (r *recordDir) conflict(wanted []claim) (*Conflict, error) {
	if r == nil {
		return nil, nil
	}
	entries, err := os.ReadDir(r.path)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name, isLock := strings.CutSuffix(entry.Name(), lockSuffix)
		if !isLock || name == r.name || !r.isAlive(name) {
			continue
		}
		other, err := r.read(name)
		if err != nil {
			return nil, err
		}
		sameHost := other.Host == r.server.Host
		for _, w := range wanted {
			if slices.ContainsFunc(other.Claims, func(o claim) bool {
				return w.conflicts(o) || sameHost && w.conflictsByPath(o)
			}) {
				return &Conflict{Path: w.Path, State: w.state, Other: other.Server}, nil
			}
		}
	}
	return nil, nil
}

// isAlive reports whether a process holds the lock of a record: its server, or a worker of it. Otherwise the record is removed.
func (r *recordDir) isAlive(name string) bool {
	path := filepath.Join(r.path, name+lockSuffix)
	if filelock.IsHeld(path) {
		return true
	}
	_ = os.Remove(filepath.Join(r.path, name+dataSuffix)) // what stays does no harm
	_ = os.Remove(path)
	return false
}

// read reads the record of another server. It has no claims if there is none: that server ends, or was killed before it wrote it.
func (r *recordDir) read(name string) (other record, err error) {
	path := filepath.Join(r.path, name+dataSuffix)
	data, err := filesystem.ReadFile(filesystem.OS{}, path, maxRecord)
	if err == nil {
		err = json.Unmarshal(data, &other)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return other, fmt.Errorf("the record of another server, %s, cannot be read: %w", path, err)
	}
	return other, nil
}

// write replaces this server's record, whose lock must be held.
func (r *recordDir) write(claims []claim) error {
	if r == nil {
		return nil
	}
	data, err := json.Marshal(record{r.server, claims})
	if err != nil {
		return err
	}
	if len(data) > maxRecord { // other servers could not read it
		return fmt.Errorf("the record of %d directories has %d bytes, more than %d\n  remedy: serve fewer projects", len(claims), len(data), maxRecord)
	}
	return atomicfile.Replace(filepath.Join(r.path, r.name+dataSuffix), data, private)
}

// open makes and locks the lock file, unless it is locked already.
func (r *recordDir) open() error {
	if r == nil || r.lock != nil {
		return nil
	}
	path := filepath.Join(r.path, r.name+lockSuffix)
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL|platform.NoFollow, 0o600)
	if err != nil {
		return err
	}
	if free, err := filelock.Try(f, filelock.Shared); err != nil || !free {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	r.lock = f
	return nil
}

// close releases the lock. The record stays until the last worker has ended, which may be some milliseconds later, and another server starts.
func (r *recordDir) close() {
	if r == nil || r.lock == nil {
		return
	}
	_ = r.lock.Close() // it is empty
	r.lock = nil
	r.isAlive(r.name)
}
