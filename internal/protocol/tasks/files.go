package tasks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// files are the records below a directory, each in a directory of its owner. Each process that runs tasks holds the lock of a file there.
type files struct {
	dir    string
	server string   // this process; empty before open
	lock   *os.File // held while this process lives
}

const (
	serverPrefix = "server-"
	serverSuffix = ".lock"
	maxListed    = 4 * maxAll // directory entries that are read
)

var private = atomicfile.Options{Mode: 0o600}

// open makes the directory and takes the lock that tells other processes that this one lives.
func (f *files) open() error {
	if err := ownedpath.Make(f.dir); err != nil {
		return errors.New(ownedpath.Explain(err))
	}
	server := NewID()
	path := f.lockFile(server)
	for {
		lock, err := filelock.Open(path)
		if err != nil {
			return err
		}
		// A process that looks for the locks of dead ones may hold the lock for a moment, and remove the file.
		if free, err := filelock.Try(lock, filelock.Exclusive); err != nil || free && filelock.IsLinked(lock, path) {
			if err != nil {
				lock.Close()
				return err
			}
			f.server, f.lock = server, lock
			return nil
		}
		lock.Close()
	}
}

func (f *files) close() {
	if f.lock == nil {
		return
	}
	f.lock.Close()
	f.lock = nil
	_ = os.Remove(f.lockFile(f.server)) // the next process removes what stays
}

func (f *files) lockFile(server string) string {
	return filepath.Join(f.dir, serverPrefix+server+serverSuffix)
}

// isAlive reports whether a process holds its lock. If it does not, its lock file is removed.
func (f *files) isAlive(server string) bool {
	path := f.lockFile(server)
	if filelock.IsHeld(path) {
		return true
	}
	_ = os.Remove(path) // no other process gets this name
	return false
}

func (f *files) path(owner Owner, id string) string {
	return filepath.Join(f.dir, string(owner), id)
}

// write writes a record atomically and durably.
func (f *files) write(owner Owner, id string, r record) error {
	for attempt := 0; ; attempt++ {
		if err := atomicfile.MkdirAll(filepath.Join(f.dir, string(owner)), atomicfile.Options{Mode: 0o700}); err != nil {
			return err
		}
		err := atomicfile.Replace(f.path(owner, id), r.encode(), private)
		if errors.Is(err, fs.ErrNotExist) && attempt < 3 {
			continue // another process has removed the empty directory
		}
		return err
	}
}

// read reads a record. The error is ErrUnknown if there is no file.
func (f *files) read(owner Owner, id string) (record, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, f.path(owner, id), maxHead+maxPayload+2)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, ErrUnknown
	}
	if err != nil {
		return record{}, err
	}
	r, err := decodeRecord(data)
	if err != nil {
		return record{}, fmt.Errorf("%s: %w", f.path(owner, id), err)
	}
	return r, nil
}

func (f *files) remove(owner Owner, id string) error {
	if err := os.Remove(f.path(owner, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Join(f.dir, string(owner))) // if it was the last one
	return nil
}

// listed is a record without its payload.
type listed struct {
	owner Owner
	id    string
	record
}

// list yields the records of all owners. It removes files that are no records, and the locks of dead processes.
func (f *files) list(log hclog.Logger) iter.Seq[listed] {
	return func(yield func(listed) bool) {
		left := maxListed
		for _, entry := range entries(f.dir, &left) {
			name := entry.Name()
			if server, ok := strings.CutPrefix(name, serverPrefix); ok {
				if server = strings.TrimSuffix(server, serverSuffix); isID(server) && server != f.server {
					f.isAlive(server)
				}
				continue
			}
			if !isID(name) || !entry.IsDir() {
				continue
			}
			dir := filepath.Join(f.dir, name)
			found := entries(dir, &left)
			_ = atomicfile.SweepEntries(dir, found, atomicfile.LongestWrite, private) // what stays does no harm
			for _, file := range found {
				if !isID(file.Name()) {
					continue
				}
				r, err := f.readHead(Owner(name), file.Name())
				if err != nil {
					log.Warn("the record of a task is removed", "file", filepath.Join(dir, file.Name()), "reason", err)
					_ = f.remove(Owner(name), file.Name()) // a file that stays does no harm
					continue
				}
				if !yield(listed{Owner(name), file.Name(), r}) {
					return
				}
			}
			_ = os.Remove(dir) // if it is empty
		}
	}
}

// entries returns the entries of a directory, of which left bounds the number.
func entries(dir string, left *int) []os.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	found, _ := f.ReadDir(max(1, *left))
	*left -= len(found)
	return found
}

// readHead reads the first line of a record. The error is ErrUnknown if there is no file.
func (f *files) readHead(owner Owner, id string) (record, error) {
	file, err := os.OpenFile(f.path(owner, id), os.O_RDONLY|platform.NoFollow|platform.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, ErrUnknown
	}
	if err != nil {
		return record{}, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return record{}, errors.Join(errRecord, err)
	}
	line, err := bufio.NewReader(io.LimitReader(file, maxHead+1)).ReadSlice('\n')
	if err != nil {
		return record{}, errRecord
	}
	return decodeHead(line[:len(line)-1])
}
