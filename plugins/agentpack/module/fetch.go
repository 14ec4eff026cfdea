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

// The limits of one checkout.
const (
	maxCheckoutFiles = 20_000
	maxCheckoutBytes = 256 << 20
)

// temporaryInfix is a part of the name of every temporary directory into which fetch writes.
const temporaryInfix = ".tmp-"

// fetch atomically creates the checkout at dir. It writes the files to a temporary directory beside dir, and renames
// the temporary directory to dir.
func (c *Checkouts) fetch(url, commit, dir string) error {
	if c.config.Lock != nil {
		// All repositories share one lock. With a lock for each repository, two calls that fetch the same
		// repositories in different orders could deadlock.
		if err := c.config.Lock("fetch"); err != nil {
			return fmt.Errorf("cannot fetch %s: cannot get the lock that other fetches may hold: %w", url, err)
		}
	}
	if kind, err := disk.Stat(dir); err != nil || kind == disk.Directory {
		return fault.IO(dir, err) // another call has fetched the commit while this call waited for the lock
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
		err = fmt.Errorf("commit %s of %s is not in the cache (%s) and cannot be fetched: %w; ask the admin to grant that repository to the plugin as a remote, or put a checkout of the commit into that directory",
			commit, url, dir, err)
	} else if err = os.Rename(checkout.dir, dir); err != nil {
		err = fault.IO(dir, err)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(checkout.dir))
	}
	return nil
}

// removeTemporary removes temporary directories that interrupted fetches of the same commit left behind. No other fetch
// is in progress, because the caller holds the lock.
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

// checkout is the temporary directory into which fetch writes.
type checkout struct {
	dir   string
	made  map[string]bool // the subdirectories that exist already
	links map[string]bool // the paths of the symbolic links of the commit
	files int
	bytes int
}

// write writes one file of the commit. It returns an error for a path outside the checkout, because the repository is
// untrusted.
func (c *checkout) write(file RemoteFile) error {
	if c.files++; c.files > maxCheckoutFiles {
		return fmt.Errorf("the repository has more than %d files", maxCheckoutFiles)
	}
	if c.bytes += len(file.Content); c.bytes > maxCheckoutBytes {
		return fmt.Errorf("the files of the repository exceed %d MiB in total", maxCheckoutBytes>>20)
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
	// With O_EXCL, OpenFile does not follow a symbolic link that an earlier file of the same commit has created.
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(file.Content)
	return errors.Join(err, out.Close())
}

// checkPath returns an error unless file is a canonical path inside the checkout, without a component .git, and not
// below a symbolic link of the commit.
func (c *checkout) checkPath(file string) error {
	bad := !filepath.IsLocal(filepath.FromSlash(file)) || path.Clean(file) != file || file == "." || strings.ContainsAny(file, "\\\x00")
	for part := range strings.SplitSeq(file, "/") {
		bad = bad || strings.EqualFold(part, ".git")
	}
	for dir := path.Dir(file); dir != "." && !bad; dir = path.Dir(dir) {
		bad = c.links[dir]
	}
	if bad {
		return fmt.Errorf("the file %.200q %w", file, errOutsideRepository)
	}
	return nil
}

// writeLink creates a symbolic link whose target is inside the checkout. In the target, ".." may occur only before all
// other components. After a component that is a symbolic link, ".." could make the resolved path leave the checkout
// although the lexical path is inside.
func (c *checkout) writeLink(file RemoteFile, at string) error {
	target := string(file.Content)
	if target == "" || path.IsAbs(target) || path.Clean(target) != strings.TrimSuffix(target, "/") || !filepath.IsLocal(path.Join(path.Dir(file.Path), target)) {
		return fmt.Errorf("the target of the symbolic link %s, %.200[2]q, %[3]w", file.Path, target, errOutsideRepository)
	}
	c.links[file.Path] = true
	return os.Symlink(target, at)
}
