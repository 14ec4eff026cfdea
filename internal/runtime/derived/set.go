package derived

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Bounds, in bytes, of the chunks that a Set accepts from workers, which are untrusted. Chunks beyond them are dropped.
const (
	maxWaiting = 8 << 20     // size of the chunks that wait to be written
	burst      = 2 * maxFile // maximum of Set.allowance
	perSecond  = 1 << 20     // increase of Set.allowance
	perChunk   = 1 << 10     // added to the size of each chunk, since a chunk also costs memory and a write of its own
)

// Set is the pair of files with one tag: records are appended to the newer file, which replaces the older one when it is
// full.
type Set struct {
	store *Store
	name  string
	tag   Tag

	mu        sync.Mutex  // guards the fields below
	chunks    [][]byte    // chunks that wait to be written
	waiting   int         // total size of chunks
	damaged   fs.FileInfo // the newer file, if a worker has reported that it is damaged; otherwise nil
	writing   bool
	failed    time.Time // time of the last write, if it failed; otherwise zero
	allowance int64     // bytes that may be accepted now
	refilled  time.Time
}

// Handles are the open files of a Set, for one worker.
type Handles struct {
	Tag          Tag
	Older, Newer *os.File // open for reading; nil if the file does not exist
	set          *Set
	newer        fs.FileInfo // identity of Newer; nil if Newer is nil
}

// Open opens the files for a worker, and marks them as used.
func (s *Set) Open() (*Handles, error) {
	h := &Handles{Tag: s.tag, set: s}
	var errs [3]error
	h.Older, errs[0] = s.store.open(s.name + olderSuffix)
	if h.Newer, errs[1] = s.store.open(s.name + newerSuffix); h.Newer != nil {
		h.newer, errs[2] = h.Newer.Stat()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	now := s.store.now()
	for _, file := range []*os.File{h.Older, h.Newer} {
		if file != nil {
			_ = os.Chtimes(filepath.Join(s.store.dir, filepath.Base(file.Name())), now, now) // only the order of evictions depends on it
		}
	}
	return h, nil
}

// Close closes the files. h may be nil.
func (h *Handles) Close() error {
	if h == nil {
		return nil
	}
	var errs []error
	for _, file := range []*os.File{h.Older, h.Newer} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	return errors.Join(errs...)
}

// Take queues a chunk that the worker's Cache.Take returned, to be written. It does not wait for the disk, and does not
// interpret the chunk. The caller must not modify the chunk afterwards.
func (h *Handles) Take(chunk []byte) {
	s := h.set
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(chunk) == 0:
		if h.newer == nil {
			return
		}
		s.damaged = h.newer
	case len(chunk) > MaxRecord || !s.allow(int64(len(chunk)+perChunk)):
		return
	default:
		s.chunks = append(s.chunks, chunk)
		s.waiting += len(chunk) + perChunk
	}
	if !s.writing && s.store.begin() {
		s.writing = true
		go s.write()
	}
}

// allow reports whether a chunk of this size may be accepted, and deducts the size from the allowance.
func (s *Set) allow(size int64) bool {
	now := s.store.now()
	if since := now.Sub(s.refilled); since > 0 {
		s.allowance = min(burst, s.allowance+int64(since.Seconds()*perSecond))
		s.refilled = now
	}
	if size > s.allowance || int64(s.waiting)+size > maxWaiting || now.Sub(s.failed) < retryTime && !s.failed.IsZero() {
		return false
	}
	s.allowance -= size
	return true
}

// begin registers a writer; it returns false if the Store is closed.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// write writes the waiting chunks until no chunk is left.
func (s *Set) write() {
	defer s.store.work.Done()
	for {
		s.mu.Lock()
		chunks, damaged := s.chunks, s.damaged
		s.chunks, s.waiting, s.damaged = nil, 0, nil
		if s.writing = len(chunks) > 0 || damaged != nil; !s.writing {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		var err error
		if damaged != nil {
			err = s.store.rotateDamaged(s.name, damaged)
		}
		if err == nil && len(chunks) > 0 {
			err = s.store.append(s.name, s.tag, chunks)
		}
		s.mu.Lock()
		if s.failed = (time.Time{}); err != nil {
			s.failed = s.store.now()
			s.store.log.Debug("derived data cannot be stored", "file", s.name, "reason", err)
		}
		s.mu.Unlock()
	}
}
