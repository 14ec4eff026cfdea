// Package derived caches what modules and the host compute from the content of single files, by the files' identity: a
// module that lists a thousand files parses only those that changed.
//
// A [Cache] is the worker's part. It holds results in memory, reads the files of earlier workers, and hands new results
// over to the host as records. A [Store] is the host's part: it appends the records to files, and bounds them. Results are
// kept apart by plugin, module and grants (see [TagOf]), so that no worker gets data of files to which it has no access.
//
// The host does not interpret records. A worker that was compromised can forge results, but only for later workers with
// the same Tag.
package derived

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// Bounds of a Cache.
const (
	maxMemory  = 16 << 20  // bytes of the results in memory
	maxQueue   = 8 << 20   // bytes of the queued records; records beyond that are not persisted
	maxDevices = 256       // number of devices in Cache.devices
	chunkSize  = 256 << 10 // bytes of several records in one chunk; a larger record has a chunk of its own
)

// Cache is the cache of one worker. It is safe for concurrent use.
type Cache struct {
	tag        Tag
	kept       bool // the host accepts new records
	files      [2]*os.File
	load       sync.Once
	now        func() time.Time
	fileSystem func(*os.File) (dev uint64, local bool, err error)

	mu      sync.Mutex // guards the fields below
	entries generations
	devices map[uint64]bool // whether results for files on a device are cached
	flights map[Key]chan struct{}
	queue   []queued
	waiting int  // bytes of the records of queue
	damaged bool // the newer file is damaged, and Take has not reported that yet
}

// queued is a record that the host does not have yet. Its data are in Cache.entries, unless the entry was dropped.
type queued struct {
	key  Key
	size int
}

// NewCache returns the Cache for files with the tag. older and newer are the files of the Store, open for reading; nil
// if a file does not exist. The first Get reads and closes them. kept is set if the host accepts new records.
func NewCache(tag Tag, kept bool, older, newer *os.File) *Cache {
	return &Cache{
		tag: tag, kept: kept, files: [2]*os.File{older, newer}, now: time.Now, fileSystem: platform.FileSystem,
		entries: generations{max: maxMemory}, devices: map[uint64]bool{}, flights: map[Key]chan struct{}{},
	}
}

// Get returns the cached data of a key, or else what compute returns. compute must read the version of the file that
// the key identifies. open opens the file, so that Get can determine its file system; if open is nil, nothing is
// cached. The caller must have checked that the module may read the file, and must not modify the returned data.
//
// Of concurrent calls for a key, one computes and the others wait. A waiting call returns when its context ends. Get
// calls busy before it computes, waits or reads files of earlier workers.
func (c *Cache) Get(ctx context.Context, k Key, open func() (*os.File, error), busy func(), compute func() ([]byte, error)) ([]byte, error) {
	began := c.now() // read the clock before the file is read
	if !k.isSettled(began) || !c.keeps(k.Dev, open) {
		busy()
		return compute()
	}
	c.load.Do(func() {
		busy()
		c.read()
	})
	for {
		data, found, flight, leads := c.find(k)
		switch {
		case found:
			return data, nil
		case leads:
			busy()
			return c.compute(k, flight, compute)
		}
		busy()
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// find returns the cached data of a key. If the data are not cached and leads is set, the caller must compute them and close
// flight. If leads is not set, another call computes them and closes flight.
func (c *Cache) find(k Key) (data []byte, found bool, flight chan struct{}, leads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.get(k); ok {
		if e.again {
			c.entries.put(k, entry{data: e.data})
			c.send(k, len(e.data))
		}
		return e.data, true, nil, false
	}
	if flight = c.flights[k]; flight != nil {
		return nil, false, flight, false
	}
	flight = make(chan struct{})
	c.flights[k] = flight
	return nil, false, flight, true
}

// compute computes and stores the data of a key, and closes its flight.
func (c *Cache) compute(k Key, flight chan struct{}, compute func() ([]byte, error)) ([]byte, error) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, k)
		c.mu.Unlock()
		close(flight)
	}()
	data, err := compute()
	if err != nil || !k.valid(int64(len(data))) {
		return data, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.put(k, entry{data: data})
	c.send(k, len(data))
	return data, nil
}

// send queues the record of a key for the host.
func (c *Cache) send(k Key, length int) {
	if size := headSize + length; c.kept && c.waiting+size <= maxQueue {
		c.queue = append(c.queue, queued{k, size})
		c.waiting += size
	}
}

// keeps reports whether results for files on a device are cached. It calls open once for each device.
func (c *Cache) keeps(dev uint64, open func() (*os.File, error)) bool {
	c.mu.Lock()
	local, known := c.devices[dev]
	c.mu.Unlock()
	if known || open == nil {
		return known && local
	}
	file, err := open()
	if err != nil {
		return false
	}
	of, local, err := c.fileSystem(file)
	_ = file.Close() // cannot fail: the file was open for reading
	if err != nil || of != dev {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.devices) >= maxDevices {
		clear(c.devices)
	}
	c.devices[dev] = local
	return local
}

// read reads the files of earlier workers.
func (c *Cache) read() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, file := range c.files {
		if file == nil {
			continue
		}
		older := n == 0
		err := readRecords(io.NewSectionReader(file, 0, maxFile), c.tag, func(k Key, data []byte) {
			c.entries.put(k, entry{data: data, again: older})
		})
		c.damaged = !older && errors.Is(err, errDamaged)
		_ = file.Close() // cannot fail: the file was open for reading
		c.files[n] = nil
	}
}

// Take returns encoded records, at most max bytes in chunks of at most MaxRecord bytes. Each chunk must be sent to the host
// once, which passes it to Handles.Take. An empty chunk reports that the newer file is damaged.
func (c *Cache) Take(max int) (chunks [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.damaged && c.kept {
		c.damaged = false
		chunks = append(chunks, nil)
	}
	var chunk []byte
	for len(c.queue) > 0 && c.queue[0].size <= max {
		next := c.queue[0]
		c.queue, c.waiting = c.queue[1:], c.waiting-next.size
		e, ok := c.entries.peek(next.key)
		if !ok {
			continue
		}
		max -= next.size
		if len(chunk) > 0 && len(chunk)+next.size > chunkSize {
			chunks, chunk = append(chunks, chunk), nil
		}
		chunk = appendRecord(chunk, next.key, e.data)
	}
	if len(c.queue) == 0 {
		c.queue = nil
	}
	if len(chunk) > 0 {
		chunks = append(chunks, chunk)
	}
	return chunks
}
