package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	entryPrefix = "module-"
	// formerPrefix begins the names of entries that versions up to 0.1 made; hosts of such may use them still.
	formerPrefix = "code-"
	// newPrefix begins the names of directories that are being filled. One that is complete is renamed, so that an
	// entry appears atomically.
	newPrefix = ".new-"
	// unusedAge is how long code that nobody loads stays in the cache.
	unusedAge = 30 * 24 * time.Hour
)

// privatePrefix begins the names of private caches.
func privatePrefix() string { return fmt.Sprintf("bulkhead-code-%d-", os.Getuid()) }

func sweepPrivate() { sweepDead(os.TempDir(), privatePrefix()) }

// cache is a directory with an entry for each module.
type cache struct {
	store *Store
	dir   string
	queue queue
	held  *held // of a private cache
}

func (c *cache) entry(sum string) string { return filepath.Join(c.dir, entryPrefix+keyOf(sum)) }

// remove removes a private cache.
func (c *cache) remove() error { return c.held.remove() }

// ensure provides verified code of the module, whose file has the digest sum.
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
		turn, err := c.queue.turn(ctx, key, p)
		if err != nil {
			return nil, c.fault(ctx, err)
		}
		if turn == nil {
			continue // what another has compiled is now there
		}
		found, err := c.fill(ctx, m, sum, p, turn)
		turn.end()
		return found, err
	}
}

// fault is the error of a wait: the end of ctx, or a failure of the cache.
func (c *cache) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return storage(err)
}

// fill compiles the module into its entry, unless that was done while the caller waited for its turn.
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
		c.store.log.Warn("compiled code is not as it was written, and is made anew", "plugin", m.Name, "folder", dir, "reason", err)
		if err := removeTree(dir); err != nil {
			return nil, storage(err)
		}
	}
	if err := turn.ready(ctx, c.queue, p); err != nil {
		return nil, c.fault(ctx, err)
	}
	c.sweep()
	binary, err := bytesOf(m, sum)
	if err != nil {
		return nil, err
	}
	err = c.compile(ctx, binary, dir, p)
	if failure := (*Error)(nil); errors.As(err, &failure) && failure.Reason == Compiler && ctx.Err() == nil {
		c.store.log.Warn("the compiler failed, and is started once more", "plugin", m.Name, "reason", failure.Text)
		err = c.compile(ctx, binary, dir, p)
	}
	if ctx.Err() != nil && err != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		c.store.failed.put(key, err)
		return nil, err
	}
	if found, err = openEntry(dir, sum); err != nil {
		return nil, storage(err)
	}
	found.Fresh = true
	return found, nil
}

// compile has the module compiled into a new directory, checks that, and renames it.
func (c *cache) compile(ctx context.Context, binary []byte, entry string, p Priority) error {
	if err := c.store.begin(); err != nil {
		return err
	}
	defer c.store.work.Done()
	fresh, err := newHeld(c.dir, newPrefix)
	if err != nil {
		return storage(err)
	}
	job := &job{binary: binary, dir: fresh.path, workers: p.workers(), config: c.store.config}
	err = job.run(ctx)
	if err == nil {
		err = publish(fresh.path, entry)
	}
	if rerr := fresh.remove(); err == nil && rerr != nil {
		err = storage(rerr)
	}
	return err
}

// publish seals what a compiler wrote and puts it in place.
func publish(fresh, entry string) error {
	if err := seal(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, entry); err != nil && !sound(entry) { // else a process without our lock was faster
		return storage(err)
	}
	return nil
}

// touch marks an entry as used.
func touch(dir string) {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, sumsFile), now, now)
}

// sweep removes what dead processes left, and entries that nobody has used for long.
func (c *cache) sweep() {
	sweepDead(c.dir, newPrefix)
	items, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, item := range items {
		if !strings.HasPrefix(item.Name(), entryPrefix) && !strings.HasPrefix(item.Name(), formerPrefix) || !item.IsDir() {
			continue
		}
		dir := filepath.Join(c.dir, item.Name())
		used, err := os.Lstat(filepath.Join(dir, sumsFile))
		if errors.Is(err, fs.ErrNotExist) {
			used, err = os.Lstat(dir)
		}
		if err == nil && time.Since(used.ModTime()) > unusedAge {
			_ = removeTree(dir)
		}
	}
}
