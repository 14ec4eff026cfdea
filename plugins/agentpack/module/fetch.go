package module

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// What a repository may have at most.
const (
	maxCheckoutFiles = 20_000
	maxCheckoutBytes = 256 << 20
)

// unfinished is in the names of folders that are being filled.
const temporaryInfix = ".tmp-"

// fetch fills the checkout at folder. It appears whole: it is filled under another name beside it.
func (c *Checkouts) fetch(url, commit, dir string) error {
	if c.config.Lock != nil {
		// One name for all: two calls that fetch the same repositories in another order would wait for each other.
		if err := c.config.Lock("fetch"); err != nil {
			return fmt.Errorf("wait for another fetch of %s: %w", url, err)
		}
	}
	if kind, err := disk.Stat(dir); err != nil || kind == disk.Directory {
		return fault.IO(dir, err) // another call has fetched it while this one waited
	}
	if err := removeTemporary(dir); err != nil {
		return fault.IO(dir, err)
	}
	random := make([]byte, 8)
	rand.Read(random)
	checkout := checkout{dir: dir + temporaryInfix + hex.EncodeToString(random), made: map[string]bool{}, links: map[string]bool{}}
	if err := os.MkdirAll(checkout.dir, 0o755); err != nil {
		return fault.IO(checkout.dir, err)
	}
	err := c.config.Remote.Fetch(url, commit, checkout.write)
	if err != nil {
		err = fmt.Errorf("commit %s of %s is not in the cache (%s) and cannot be fetched: %w; have the admin grant the plugin that repository as a remote, or put a checkout there",
			commit, url, dir, err)
	} else if err = os.Rename(checkout.dir, dir); err != nil {
		err = fault.IO(dir, err)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(checkout.dir))
	}
	return nil
}

// removeUnfinished removes what calls have left that were stopped while they fetched the same commit. None
// is running: the lock is held.
func removeTemporary(dir string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if disk.IsMissing(err) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(dir)+temporaryInfix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(dir), entry.Name())))
		}
	}
	return err
}

// checkout is a folder that is being filled.
type checkout struct {
	dir   string
	made  map[string]bool // folders below it
	links map[string]bool // by path in the repository
	files int
	bytes int
}

// take writes one file. What comes from a repository is foreign: nothing of it lands elsewhere.
func (c *checkout) write(file RemoteFile) error {
	if c.files++; c.files > maxCheckoutFiles {
		return fmt.Errorf("it has more than %d files", maxCheckoutFiles)
	}
	if c.bytes += len(file.Content); c.bytes > maxCheckoutBytes {
		return fmt.Errorf("its files are larger than %d MiB together", maxCheckoutBytes>>20)
	}
	if err := c.checkPath(file.Path); err != nil {
		return err
	}
	target := filepath.Join(c.dir, filepath.FromSlash(file.Path))
	if dir := filepath.Dir(target); !c.made[dir] {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		c.made[dir] = true
	}
	if file.Link {
		return c.writeLink(file, target)
	}
	// With O_EXCL no link that came before in the commit is written through.
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(file.Content)
	return errors.Join(err, out.Close())
}

// checkPath refuses a path that is not one of a file in a repository, or leads through a link of it.
func (c *checkout) checkPath(file string) error {
	bad := !filepath.IsLocal(filepath.FromSlash(file)) || path.Clean(file) != file || file == "." || strings.ContainsAny(file, "\\\x00")
	for part := range strings.SplitSeq(file, "/") {
		bad = bad || strings.EqualFold(part, ".git")
	}
	for dir := path.Dir(file); dir != "." && !bad; dir = path.Dir(dir) {
		bad = c.links[dir]
	}
	if bad {
		return fmt.Errorf("its file %.200q %w", file, errLeadsOut)
	}
	return nil
}

// link makes a link that stays in the checkout. Its target may go up at its beginning only: behind a name,
// which can be another link, nobody knows by the text where up is.
func (c *checkout) writeLink(file RemoteFile, at string) error {
	target := string(file.Content)
	if target == "" || path.IsAbs(target) || path.Clean(target) != strings.TrimSuffix(target, "/") || !filepath.IsLocal(path.Join(path.Dir(file.Path), target)) {
		return fmt.Errorf("its link %s to %.200q %w", file.Path, target, errLeadsOut)
	}
	c.links[file.Path] = true
	return os.Symlink(target, at)
}
