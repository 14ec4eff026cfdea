package code

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
)

const (
	entryPrefix = "module-"
	// legacyPrefix begins the names of entries of versions up to 0.1. Hosts of these versions may still use them.
	legacyPrefix = "code-"
	// newPrefix begins the names of directories that are being filled. A complete directory is renamed, so that entries
	// appear atomically.
	newPrefix = ".new-"
	// unusedAge is how long unused code stays in the cache.
	unusedAge = 30 * 24 * time.Hour
)

// privateKind is the kind of the temporary directories of private caches.
const privateKind = "code"

// cache is a directory with an entry for each module.
type cache struct {
	store   *Store
	dir     string
	queue   queue
	private *tempdir.Dir // nil: not a private cache
}

func (c *cache) entry(sum string) string { return filepath.Join(c.dir, entryPrefix+keyOf(sum)) }

// remove removes the directory of a private cache.
func (c *cache) remove() error { return c.private.Remove() }

// ensure returns verified code of the module, whose file has the digest sum. It compiles the module if necessary.
func (c *cache) ensure(ctx context.Context, m Module, sum string, p Priority) (*Code, error) {
	key, dir := keyOf(sum), c.entry(sum)
	for {
		if found, err := openEntry(dir, sum); err == nil {
			touch(dir)
			return found, nil
		}
		if failure := c.store.failed.get(key); failure != nil {
			return nil, failure
		}
		turn, err := c.queue.acquireTurn(ctx, key, p)
		if err != nil {
			return nil, c.waitError(ctx, err)
		}
		if turn == nil {
			continue // another caller has compiled it
		}
		found, err := c.fill(ctx, m, sum, p, turn)
		turn.release()
		return found, err
	}
}

// waitError returns the error of a wait: the cause of the end of ctx, or a failure of the cache directory.
func (c *cache) waitError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return storageError(err)
}

// fill compiles the module into its entry, unless another caller has done so while this one waited for its turn.
func (c *cache) fill(ctx context.Context, m Module, sum string, p Priority, turn *turn) (*Code, error) {
	key, dir := keyOf(sum), c.entry(sum)
	found, err := openEntry(dir, sum)
	if err == nil {
		return found, nil
	}
	if failure := c.store.failed.get(key); failure != nil {
		return nil, failure
	}
	if _, serr := os.Lstat(dir); serr == nil {
		c.store.log.Warn("compiled code is damaged and is compiled again", "plugin", m.Name, "directory", dir, "reason", err)
		if err := tempdir.RemoveTree(dir); err != nil {
			return nil, storageError(err)
		}
	}
	if err := turn.takeSlot(ctx, c.queue, p); err != nil {
		return nil, c.waitError(ctx, err)
	}
	c.sweep()
	binary, err := bytesOf(m, sum)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = c.compile(ctx, binary, dir, p)
	if failure := (*Error)(nil); errors.As(err, &failure) && (failure.Reason == Compiler || failure.Reason == Interrupted) && ctx.Err() == nil {
		c.store.log.Warn("the compiler failed and is retried once", "plugin", m.Name, "reason", failure.Text)
		err = c.compile(ctx, binary, dir, p)
	}
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	c.store.config.Compiled(m.Name, time.Since(began), err)
	if err != nil {
		c.store.failed.put(key, err)
		return nil, err
	}
	if found, err = openEntry(dir, sum); err != nil {
		return nil, storageError(err)
	}
	found.Fresh = true
	return found, nil
}

// compile runs a compiler that writes to a new directory, validates its output, and renames the directory to entry.
func (c *cache) compile(ctx context.Context, binary []byte, entry string, p Priority) error {
	if err := c.store.begin(); err != nil {
		return err
	}
	defer c.store.work.Done()
	fresh, err := tempdir.In(c.dir, newPrefix)
	if err != nil {
		return storageError(err)
	}
	job := &job{binary: binary, dir: fresh.Path, workers: p.workers(), config: c.store.config}
	err = job.run(ctx)
	if err == nil {
		err = publish(fresh.Path, entry)
	}
	if rerr := fresh.Remove(); err == nil && rerr != nil {
		err = storageError(rerr)
	}
	return err
}

// publish validates and seals a compiler's output, and renames it to entry.
func publish(fresh, entry string) error {
	if err := seal(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, entry); err != nil && !isIntact(entry) { // an intact entry was published by a process that does not use the same lock
		return storageError(err)
	}
	return nil
}

// touch marks an entry as used.
func touch(dir string) {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, sumsFile), now, now)
}

// sweep removes leftovers of dead processes and entries unused for unusedAge.
func (c *cache) sweep() {
	tempdir.SweepIn(c.dir, newPrefix)
	items, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, item := range items {
		if !isEntry(item) {
			continue
		}
		dir := filepath.Join(c.dir, item.Name())
		if used, err := usedAt(dir); err == nil && time.Since(used) > unusedAge {
			_ = tempdir.RemoveTree(dir)
		}
	}
}

func isEntry(item fs.DirEntry) bool {
	return item.IsDir() && (strings.HasPrefix(item.Name(), entryPrefix) || strings.HasPrefix(item.Name(), legacyPrefix))
}

// usedAt returns the time when an entry was last used.
func usedAt(dir string) (time.Time, error) {
	info, err := os.Lstat(filepath.Join(dir, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Lstat(dir)
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
