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
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Limits of one repository.
const (
	maxCheckoutFiles = 20_000
	maxCheckoutBytes = 256 << 20
)

// temporaryInfix marks the names of directories that are being filled.
const temporaryInfix = ".tmp-"

// fetch fills the checkout at dir atomically: it fills a temporary directory beside it, and renames that.
func (c *Checkouts) fetch(url, commit, dir string) error {
	if c.config.Lock != nil {
		// The lock is the same for all repositories: one lock each would let two calls deadlock that fetch
		// the same repositories in a different order.
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
		err = fmt.Errorf("commit %s of %s is not in the cache (%s) and cannot be fetched: %w; ask the admin to grant that repository to the plugin as a remote, or put a checkout into that directory",
			commit, url, dir, err)
	} else if err = os.Rename(checkout.dir, dir); err != nil {
		err = fault.IO(dir, err)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(checkout.dir))
	}
	return nil
}

// removeTemporary removes the temporary directories of interrupted fetches of the same commit. The lock
// excludes fetches in progress.
func removeTemporary(dir string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if filesystem.IsAbsent(err) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), filepath.Base(dir)+temporaryInfix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(dir), entry.Name())))
		}
	}
	return err
}

// checkout is a directory that is being filled.
type checkout struct {
	dir   string
	made  map[string]bool // directories created in it
	links map[string]bool // by path in the repository
	files int
	bytes int
}

// write writes one file. Files of a repository are untrusted: none may be written outside the checkout.
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
	// O_EXCL refuses to write through a symbolic link of the same commit.
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(file.Content)
	return errors.Join(err, out.Close())
}

// checkPath refuses a path that is not canonical, or that goes through a symbolic link of the commit.
func (c *checkout) checkPath(file string) error {
	bad := !filepath.IsLocal(filepath.FromSlash(file)) || path.Clean(file) != file || file == "." || strings.ContainsAny(file, "\\\x00")
	for part := range strings.SplitSeq(file, "/") {
		bad = bad || strings.EqualFold(part, ".git")
	}
	for dir := path.Dir(file); dir != "." && !bad; dir = path.Dir(dir) {
		bad = c.links[dir]
	}
	if bad {
		return fmt.Errorf("its file %.200q %w", file, errOutsideRepository)
	}
	return nil
}

// writeLink creates a symbolic link that stays inside the checkout. "..", if any, must come first in its
// target: after another component, which can be a symbolic link, its lexical meaning differs from the
// resolved one.
func (c *checkout) writeLink(file RemoteFile, at string) error {
	target := string(file.Content)
	if target == "" || path.IsAbs(target) || path.Clean(target) != strings.TrimSuffix(target, "/") || !filepath.IsLocal(path.Join(path.Dir(file.Path), target)) {
		return fmt.Errorf("its link %s to %.200q %w", file.Path, target, errOutsideRepository)
	}
	c.links[file.Path] = true
	return os.Symlink(target, at)
}
