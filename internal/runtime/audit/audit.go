// Package audit writes the audit log: a file with one JSON line for every call, for every refused request, and for every
// operation that a module was denied. Open opens it and Log.Write appends a line. If calls must not run unrecorded,
// Log.Ready reports whether a call may start. A Trail collects the host operations of one call.
//
// Several host processes may share a file. Writes of lines are atomic, also during rotation and on a full disk,
// and lost records are counted in the file itself.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/linequeue"
)

// Values of Config.Arguments: what the log records of a call's arguments.
const (
	ArgumentsHash = "hash" // the HMAC-SHA-256 of the arguments with a key that belongs to the log
	ArgumentsFull = "full" // the arguments, secrets included, at most 32 KiB
	ArgumentsNone = "none" // nothing
)

// Values of Config.OnFailure: what happens to calls while no record can be written.
const (
	FailOpen   = "open"   // calls run, and the log counts the lost records
	FailClosed = "closed" // calls are refused
)

// Defaults and bounds of a Config.
const (
	defaultMaxSize = 64 << 20
	MinMaxSize     = MaxLine // one line always fits
	defaultKeep    = 5
	MaxKeep        = 1000
)

// Config configures a Log.
type Config struct {
	File      string       // absolute; its directory is created if it is absent
	MaxSize   int64        // bytes at which the file is rotated; 0: defaultMaxSize
	Keep      int          // number of rotated files to keep: File.1 is the newest; 0: defaultKeep
	Arguments string       // ArgumentsHash, ArgumentsFull or ArgumentsNone; empty: ArgumentsHash
	OnFailure string       // FailOpen or FailClosed; empty: FailOpen
	Copies    []Copy       // where each line goes too
	Log       hclog.Logger // receives reports of lost records; nil: discards them

	Now func() time.Time // nil: time.Now
}

// withDefaults validates c and sets its defaults.
func (c Config) withDefaults() (Config, error) {
	c.MaxSize = cmp.Or(c.MaxSize, defaultMaxSize)
	c.Keep = cmp.Or(c.Keep, defaultKeep)
	c.Arguments = cmp.Or(c.Arguments, ArgumentsHash)
	c.OnFailure = cmp.Or(c.OnFailure, FailOpen)
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	var errs []error
	if !filepath.IsAbs(c.File) {
		errs = append(errs, fmt.Errorf("audit: file = %q: give an absolute path", c.File))
	}
	if c.MaxSize < MinMaxSize {
		errs = append(errs, fmt.Errorf("audit: max_size is %d bytes: give at least %d, the longest line", c.MaxSize, MinMaxSize))
	}
	if c.Keep < 1 || c.Keep > MaxKeep {
		errs = append(errs, fmt.Errorf("audit: keep = %d: give 1 to %d files", c.Keep, MaxKeep))
	}
	switch c.Arguments {
	case ArgumentsHash, ArgumentsFull, ArgumentsNone:
	default:
		errs = append(errs, fmt.Errorf("audit: arguments = %q: use %q, %q or %q", c.Arguments, ArgumentsHash, ArgumentsFull, ArgumentsNone))
	}
	if c.OnFailure != FailOpen && c.OnFailure != FailClosed {
		errs = append(errs, fmt.Errorf("audit: on_failure = %q: use %q or %q", c.OnFailure, FailOpen, FailClosed))
	}
	c.File = filepath.Clean(c.File)
	return c, errors.Join(errs...)
}

// maxQueue bounds the queued records in bytes. More than ten thousand fit, so a short stall of the disk loses none.
const maxQueue = 8 << 20

var errQueueFull = errors.New("the queue is full: records arrive faster than they are written")

// Log is an open audit log. It is safe for concurrent use. A nil Log discards records and is always ready.
type Log struct {
	config Config
	run    string // distinguishes the calls of the host processes that share the file
	calls  atomic.Uint64
	hasher *hasher // nil unless arguments are hashed
	sink   *sink
	file   *file            // what sink writes to
	queue  *linequeue.Queue // nil with FailClosed; calls do not wait for the disk
	copies []*copyQueue
	pool   sync.Pool
}

// Open opens the log. It creates the file, its directory and the HMAC key if they are absent. Open fails if the log
// cannot be opened, even with FailOpen: a user notices an error at the start of the host.
func Open(c Config) (*Log, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	var run [4]byte
	_, _ = rand.Read(run[:]) // never fails
	l := &Log{config: c, run: hex.EncodeToString(run[:])}
	l.pool.New = func() any { return new(line) }
	losses := &losses{to: c.File, log: c.Log, now: c.Now}
	l.file = newFile(c.File, c.MaxSize, c.Keep, c.Now)
	l.file.rotationFailed = losses.rotationFailed
	l.sink = &sink{out: l.file, losses: losses}
	if err := l.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("audit: %w", err), l.sink.close())
	}
	if c.OnFailure == FailOpen {
		l.queue = linequeue.New(maxQueue, func(batch []byte, _ int) {
			_ = l.sink.put(batch) // put counts the records that are lost
		})
	}
	for _, to := range c.Copies {
		l.copies = append(l.copies, newCopyQueue(to, c))
	}
	return l, nil
}

// prepare opens the file and loads the key. It holds the file's lock, so that concurrent hosts do not create two
// keys.
func (l *Log) prepare() error {
	f := l.file
	if err := f.makeDir(); err != nil {
		return err
	}
	if _, err := f.lock(); err != nil {
		return err
	}
	defer f.unlock()
	if l.config.Arguments != ArgumentsHash {
		return nil
	}
	key, err := loadKey(l.config.File + ".key")
	if err != nil {
		return err
	}
	l.hasher = newHasher(key)
	return nil
}

// NewID returns an ID for a call that is unique among the hosts that share the log. It is empty for a nil Log.
func (l *Log) NewID() string {
	if l == nil {
		return ""
	}
	return l.run + "-" + strconv.FormatUint(l.calls.Add(1), 10)
}

// Ready returns an error if a call must not start because its record could not be written. With FailOpen it is
// always nil. After a failure it retries to write at most once a second.
func (l *Log) Ready() error {
	if l == nil || l.queue != nil {
		return nil
	}
	return l.sink.ready()
}

// Write adds a record. With FailOpen it queues the record and returns nil; the log counts lost records. With
// FailClosed the record is written before Write returns nil, and after an error the caller must withhold the
// result of the call. Write does not fsync: a written record survives a crash of the process, but not
// necessarily a power failure. Copies are queued always.
func (l *Log) Write(r Record) error {
	if l == nil {
		return nil
	}
	if r.Time.IsZero() {
		r.Time = l.config.Now()
	}
	text := l.pool.Get().(*line)
	defer l.pool.Put(text)
	text.encode(&r, l.arguments(r.Arguments))
	for _, to := range l.copies {
		addTo(to.queue, text.b, to.sink.losses)
	}
	if l.queue != nil {
		addTo(l.queue, text.b, l.sink.losses)
		return nil
	}
	return l.sink.put(text.b)
}

// addTo queues a line, or counts it as lost.
func addTo(queue *linequeue.Queue, line []byte, losses *losses) {
	switch err := queue.Add(line); err {
	case nil:
	case linequeue.ErrClosed:
		losses.add(1, errors.New("the log is closed"))
	default:
		losses.add(1, errQueueFull)
	}
}

// State is the state of the log's file, or of one of its copies.
type State struct {
	Name    string // FileName, or that of the copy
	Lost    int64  // number of records that could not be written so far
	Failing bool   // whether records are lost now
}

// FileName is State.Name of the log's file, whose path is not disclosed.
const FileName = "file"

// States returns the states of the file and of its copies; none for a nil Log.
func (l *Log) States() []State {
	if l == nil {
		return nil
	}
	own := l.sink.losses.state()
	own.Name = FileName
	all := []State{own}
	for _, to := range l.copies {
		all = append(all, to.sink.losses.state())
	}
	return all
}

// arguments returns what the log records of a call's arguments.
func (l *Log) arguments(raw []byte) string {
	switch {
	case len(raw) == 0 || l.config.Arguments == ArgumentsNone:
		return ""
	case l.hasher != nil:
		return l.hasher.hash(raw)
	}
	return string(raw[:min(len(raw), maxArguments)]) // encode would truncate a longer string
}

// Close drains the queues until ctx is done, and closes the file and its copies.
func (l *Log) Close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	err := l.sink.drain(ctx, l.queue)
	for _, to := range l.copies {
		err = errors.Join(err, to.sink.drain(ctx, to.queue))
	}
	return err
}

// countLines returns the number of lines. Each line is a record.
func countLines(lines []byte) int64 { return int64(bytes.Count(lines, []byte{'\n'})) }
