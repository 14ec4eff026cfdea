// Package audit keeps the audit log: a file with one JSON line for every call and for every operation that
// a module was refused. Open opens it and Log.Write adds a line; where calls must not run unrecorded,
// Log.Ready says whether one may. A Trail collects what one call asked of the host.
//
// Several hosts may share a file: lines stay whole, also while one of them rotates it and when the disk is
// full, and records that are lost are counted in the file itself. The package decides nothing about calls
// and reads nothing back.
package audit

import (
	"bytes"
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
)

// What is kept of a call's arguments: Config.Arguments.
const (
	ArgumentsHash = "hash" // their HMAC-SHA-256 under a key of the log's own
	ArgumentsFull = "full" // their text, secrets and all, at most 32 KiB
	ArgumentsNone = "none"
)

// What happens to calls while no record can be written: Config.OnFailure.
const (
	FailOpen   = "open"   // they go on, and the log says how many are not recorded
	FailClosed = "closed" // they are refused
)

// Defaults and bounds of a Config.
const (
	DefaultMaxSize = 64 << 20
	MinMaxSize     = MaxLine // one line always fits
	DefaultKeep    = 5
	MaxKeep        = 1000
)

// Config says where the log is and how it is kept.
type Config struct {
	File      string       // absolute; its folder is made if need be
	MaxSize   int64        // bytes at which the file is rotated; 0: DefaultMaxSize
	Keep      int          // rotated files that are kept: File.1 is the youngest; 0: DefaultKeep
	Arguments string       // ArgumentsHash, ArgumentsFull or ArgumentsNone; empty: ArgumentsHash
	OnFailure string       // FailOpen or FailClosed; empty: FailOpen
	Log       hclog.Logger // told of lost records; nil: nobody is

	Now func() time.Time // nil: time.Now
}

func (c Config) complete() (Config, error) {
	if c.MaxSize == 0 {
		c.MaxSize = DefaultMaxSize
	}
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.Arguments == "" {
		c.Arguments = ArgumentsHash
	}
	if c.OnFailure == "" {
		c.OnFailure = FailOpen
	}
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

// Log is an open audit log. It is safe for concurrent use. A nil Log keeps nothing, and is always ready.
type Log struct {
	config Config
	run    string // tells the calls of this host from those of another that shares the file
	calls  atomic.Uint64
	hasher *hasher // nil unless arguments are hashed
	sink   *sink
	queue  *queue // where calls go on without a record; nil where they may not
	pool   sync.Pool
}

// Open opens the log, and makes the file, its folder and the key that arguments are hashed with where they
// are not there. It fails, whatever OnFailure says, where the log cannot be opened at all: the start is
// when somebody looks.
func Open(c Config) (*Log, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	var run [4]byte
	_, _ = rand.Read(run[:]) // never fails
	l := &Log{config: c, run: hex.EncodeToString(run[:])}
	l.pool.New = func() any { return new(line) }
	trouble := &trouble{file: c.File, log: c.Log, now: c.Now}
	l.sink = &sink{file: newFile(c.File, c.MaxSize, c.Keep), trouble: trouble}
	if err := l.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("audit: %w", err), l.sink.close())
	}
	if c.OnFailure == FailOpen {
		l.queue = newQueue(trouble)
		go l.queue.run(l.sink)
	}
	return l, nil
}

// prepare opens the file, and looks for the key under its lock: two hosts never make two.
func (l *Log) prepare() error {
	f := l.sink.file
	if err := f.makeFolder(); err != nil {
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

// NewID names a call: no other call of any host that shares the log has the same name. Empty without a log.
func (l *Log) NewID() string {
	if l == nil {
		return ""
	}
	return l.run + "-" + strconv.FormatUint(l.calls.Add(1), 10)
}

// Ready says why a call must not run now: its record could not be written. It is always nil where calls go
// on without. After a failure it tries once a second whether the log can be written again.
func (l *Log) Ready() error {
	if l == nil || l.queue != nil {
		return nil
	}
	return l.sink.ready()
}

// Write adds a record. Where calls may go on without (FailOpen) it only queues the record, returns nil, and
// the log tells of what is lost. Else (FailClosed) the record has been handed to the operating system
// when Write returns nil; after an error the answer of the call must be withheld. Nothing is synced to the
// disk: a crash of the process loses no record that was handed over, a power failure may.
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
	if l.queue != nil {
		l.queue.add(text.b)
		return nil
	}
	return l.sink.put(text.b)
}

// arguments is what the log keeps of a call's arguments.
func (l *Log) arguments(raw []byte) string {
	switch {
	case len(raw) == 0 || l.config.Arguments == ArgumentsNone:
		return ""
	case l.hasher != nil:
		return l.hasher.hash(raw)
	}
	return string(raw[:min(len(raw), maxArguments)]) // no more of it would be kept
}

// Close writes what is queued, waiting for it as long as ctx lasts, and closes the file.
func (l *Log) Close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	if l.queue != nil {
		if err := l.queue.close(ctx); err != nil {
			return fmt.Errorf("audit log %s: %w", l.config.File, err)
		}
	}
	l.sink.trouble.remind(true)
	return l.sink.close()
}

// countLines says how many records there are in whole lines.
func countLines(lines []byte) int64 { return int64(bytes.Count(lines, []byte{'\n'})) }
