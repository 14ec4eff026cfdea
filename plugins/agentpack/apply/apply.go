// Package apply changes several files in one transaction (see package transaction), and adds agentpack's rule for
// symbolic links: Apply resolves the symbolic links in the path of a file first, and the resolved path must then be
// inside the file's root directory. Call Applier.Apply to change files. If an Apply was interrupted, a later call of
// Applier.Recover completes the changes or rolls them back.
package apply

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// TemporaryPrefix begins the names of the temporary files of a transaction.
const TemporaryPrefix = ".agentpack-tmp-"

// IsTemporary reports whether a file with this name belongs to a transaction that is in progress or was interrupted.
func IsTemporary(name string) bool { return strings.HasPrefix(name, TemporaryPrefix) }

// Applier applies changes to files. It returns file system errors as faults. The caller must hold a lock that excludes
// every other Applier with the same journal directory.
type Applier struct{ transaction.Log }

// New returns an Applier that keeps its journal in the directory dir, an absolute path.
func New(fsys filesystem.FS, dir string) Applier {
	return Applier{transaction.Log{FS: fsys, Dir: dir, Prefix: TemporaryPrefix, OnError: fault.IO}}
}

// Apply makes all changes atomically. The error is transaction.ErrChanged if a file does not have the content that its
// change expects, or a fault if a path is outside its root or cannot be written.
//
// Apply creates missing directories. It replaces or removes a symbolic link itself, and never changes the target of the
// link. If two roots are the same directory, a file in both is written once; it is not removed if a change writes it.
func (a Applier) Apply(changes []transaction.Change) error {
	r := &contain.Resolver{FS: a.FS}
	dir, err := r.Resolve(a.Dir) // os.MkdirAll does not create directories behind a dangling symbolic link
	if err != nil {
		return fault.IO(a.Dir, err)
	}
	a.Dir = dir.Path
	resolved := make([]transaction.Change, len(changes))
	for i, change := range changes {
		if resolved[i], err = resolve(r, change); err != nil {
			return err
		}
	}
	if resolved, err = a.merge(resolved); err != nil {
		return err
	}
	return a.Log.Apply(resolved)
}

// merge combines changes of the same file.
func (a Applier) merge(changes []transaction.Change) ([]transaction.Change, error) {
	var roots []string
	for _, change := range changes {
		roots = append(roots, change.Root)
	}
	aliases := disk.NewAliases(a.FS, roots)
	var merged []transaction.Change
	at := map[string]int{} // the key is the canonical path of a file
	for _, change := range changes {
		path := aliases.Canonical(change.Root, change.Path)
		i, ok := at[path]
		switch {
		case !ok:
			at[path] = len(merged)
			merged = append(merged, change)
		case change.Delete:
		case merged[i].Delete:
			merged[i] = change
		case !bytes.Equal(merged[i].After, change.After) || merged[i].Link != change.Link:
			return nil, fmt.Errorf("two targets want different contents for %s: remove one target from the manifest, or change the directory of one target", change.Path)
		}
	}
	return merged, nil
}

// resolve returns change with the symbolic links in the directory of its path resolved. It returns an error unless the
// resolved path, and the target of a symbolic link at this path, are inside the root of the change.
func resolve(r *contain.Resolver, change transaction.Change) (transaction.Change, error) {
	if !filepath.IsAbs(change.Path) || !filepath.IsAbs(change.Root) {
		return change, fmt.Errorf("the path %s or its root %s is not absolute", change.Path, change.Root)
	}
	dir, err := r.Resolve(filepath.Dir(change.Path))
	if err != nil {
		return change, fault.IO(change.Path, err)
	}
	path := filepath.Join(dir.Path, filepath.Base(change.Path))
	if !utf8.ValidString(path) { // JSON cannot represent the path
		return change, fmt.Errorf("%q: the path is not UTF-8: rename the file", path)
	}
	root, err := r.Resolve(change.Root)
	if err != nil {
		return change, fault.IO(change.Root, err)
	}
	outside := !contain.Below(root.Path, path)
	if !outside && change.Before != "" {
		if change, outside, err = onLink(r, change, root.Path, path); err != nil {
			return change, err
		}
	}
	if outside {
		if err := disk.RequireInside(change.Root, change.Path); err != nil {
			return change, err
		}
		return change, fmt.Errorf("%s %w", change.Path, transaction.ErrChanged) // another program has changed a symbolic link between Resolve and RequireInside
	}
	change.Root, change.Path = root.Path, path
	return change, nil
}

// onLink returns a change that replaces or removes the symbolic link at path itself, if there is one. A removal does not
// depend on where the link points; before a write, the file that the user sees through the link must be inside the root.
func onLink(r *contain.Resolver, change transaction.Change, root, path string) (_ transaction.Change, outside bool, err error) {
	info, err := r.FS.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return change, false, fault.IO(change.Path, filesystem.IgnoreAbsent(err))
	}
	link, err := r.FS.Readlink(path)
	if err != nil {
		return change, false, fault.IO(change.Path, err)
	}
	target, err := r.Resolve(path)
	if err != nil || !change.Delete && !contain.Below(root, target.Path) {
		return change, err == nil, fault.IO(change.Path, err)
	}
	if sum, err := disk.SumFile(path); err != nil {
		return change, false, fault.IO(change.Path, err)
	} else if sum != change.Before {
		return change, false, fmt.Errorf("%s %w", change.Path, transaction.ErrChanged)
	}
	change.NoFollow, change.Before = true, transaction.LinkDigest(link)
	return change, false, nil
}
