package derived

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// MaxTotal bounds all files of a Store, in bytes.
const MaxTotal = 256 << 20

// Further bounds of a Store.
const (
	maxFile   = 16 << 20 // bytes of a file; a Set has two
	unusedAge = 30 * 24 * time.Hour
	lockTime  = time.Second // how long a write waits for other processes
	retryTime = time.Minute // how long a Set drops chunks after a failed write
)

const (
	lockName    = "lock"
	newerSuffix = ".new"
	olderSuffix = ".old"
)

// Dir returns the directory of the files in the host's cache directory.
func Dir(cache string) string { return filepath.Join(cache, "derived") }

// Store keeps derived data on disk for all hosts of a user. It is safe for concurrent use; hosts coordinate by a lock.
// If a Store cannot write, it drops the data, and calls do not fail.
type Store struct {
	dir string
	log hclog.Logger
	now func() time.Time
	max int64 // maximum size of all files in bytes

	mu     sync.Mutex // guards the fields below
	sets   map[string]*Set
	closed bool
	work   sync.WaitGroup
}

// NewStore returns a Store in dir. It creates nothing. dir is created whenever it is missing, unless another user could write there.
func NewStore(dir string, log hclog.Logger) *Store {
	return &Store{dir: dir, log: log, now: time.Now, max: MaxTotal, sets: map[string]*Set{}}
}

// Close waits until all chunks that were accepted from workers are written. Later chunks are dropped.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	return nil
}

// TagOf returns the tag of the results of a module. plugin is the plugin's name, module the hex digest of the module's
// file, and grants any value whose JSON form determines what the module can read.
func TagOf(plugin, module string, grants any) (Tag, error) {
	text, err := json.Marshal([]any{plugin, module, grants})
	return sha256.Sum256(text), err
}

// Set returns the Set for the results of a module. Its arguments are those of TagOf.
func (s *Store) Set(plugin, module string, grants any) (*Set, error) {
	tag, err := TagOf(plugin, module, grants)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%.16s-%.16s", plugin, module, hex.EncodeToString(tag[:]))
	if _, ok := parseName(name); !ok {
		return nil, fmt.Errorf("%q is not a valid file name for derived data", name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.sets[name]
	if set == nil {
		set = &Set{store: s, name: name, tag: tag, allowance: burst, refilled: s.now()}
		s.sets[name] = set
	}
	return set, nil
}

// open opens a file for reading. It returns nil if the file does not exist.
func (s *Store) open(name string) (*os.File, error) {
	file, err := openRegular(filepath.Join(s.dir, name), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// openRegular opens a file. It refuses a file that is not regular, and one that another user could have put there after the cache directory
// was removed.
func openRegular(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|platform.NoFollow|platform.NonBlock, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil && !ownedpath.IsPrivate(file) {
		err = fmt.Errorf("%s %s", path, ownedpath.NotPrivate)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// lock locks the directory against other processes and other writers of this process. It creates the directory if
// necessary. Closing the returned file releases the lock.
func (s *Store) lock() (*os.File, error) {
	if err := ownedpath.Make(s.dir); err != nil {
		return nil, errors.New(ownedpath.Explain(err))
	}
	file, err := filelock.Open(filepath.Join(s.dir, lockName))
	if err != nil {
		return nil, err
	}
	const pause = 5 * time.Millisecond
	for range lockTime / pause {
		locked, err := filelock.Try(file, filelock.Exclusive)
		if locked {
			return file, nil
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		time.Sleep(pause)
	}
	return nil, errors.Join(fmt.Errorf("another process holds the lock of %s", s.dir), file.Close())
}

// append appends chunks of records to the newer file of a set, and then removes sets beyond the bounds of the Store.
func (s *Store) append(name string, tag Tag, chunks [][]byte) error {
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	for _, chunk := range chunks {
		if err := s.appendChunk(name, tag, chunk); err != nil {
			return err
		}
	}
	return s.evict(name)
}

// appendChunk appends a chunk with one write. If the write fails, for example on a full disk, it truncates the file to
// its old size.
func (s *Store) appendChunk(name string, tag Tag, chunk []byte) error {
	path := filepath.Join(s.dir, name+newerSuffix)
	file, err := openRegular(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	size := info.Size()
	if size > 0 && size+int64(len(chunk)) > maxFile {
		if err := errors.Join(file.Close(), s.rotate(name)); err != nil {
			return err
		}
		if file, err = openRegular(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE); err != nil {
			return err
		}
		size = 0
	}
	if size == 0 {
		chunk = append(header(tag), chunk...)
	}
	if _, err = file.Write(chunk); err != nil {
		err = errors.Join(err, file.Truncate(size))
	}
	return errors.Join(err, file.Close())
}

// rotate replaces the older file of a set by the newer one.
func (s *Store) rotate(name string) error {
	path := filepath.Join(s.dir, name)
	return os.Rename(path+newerSuffix, path+olderSuffix)
}

// rotateDamaged rotates the newer file of a set if it is still the one that a worker found to be damaged.
func (s *Store) rotateDamaged(name string, damaged fs.FileInfo) error {
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	info, err := os.Lstat(filepath.Join(s.dir, name+newerSuffix))
	if err != nil || !os.SameFile(info, damaged) {
		return nil // another host has rotated it
	}
	return s.rotate(name)
}
