// Package apply changes several files in one transaction (see package transaction), and adds agentpack's rule for
// symbolic links: Apply resolves the symbolic links in the path of a file first, and the resolved path must then be
// inside the file's root directory. Call Applier.Apply to change files. If an Apply was interrupted, a later call of
// Applier.Recover completes the changes or rolls them back.
package apply

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

const temporaryPrefix = ".agentpack-tmp-"

// IsTemporary reports whether a file with this name belongs to a transaction that is in progress or was interrupted.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporaryPrefix) }

// Applier applies changes to files. It returns file system errors as faults. The caller must hold a lock that excludes
// every other Applier with the same journal directory.
type Applier struct{ transaction.Log }

// New returns an Applier that keeps its journal in the directory dir, an absolute path.
func New(fsys filesystem.FS, dir string) Applier {
	return Applier{transaction.Log{FS: fsys, Dir: dir, Prefix: temporaryPrefix, OnError: fault.IO}}
}

// Apply makes all changes atomically. The error is transaction.ErrChanged if a file does not have the content that its
// change expects, or a fault if a path is outside its root or cannot be written.
//
// Apply creates missing directories. A write to a symbolic link changes the target of the link; a removal of a symbolic
// link removes the link itself.
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
	return a.Log.Apply(resolved)
}

// resolve returns change with the symbolic links in its path resolved. It returns an error unless the resolved path is
// inside the root of the change.
func resolve(r *contain.Resolver, change transaction.Change) (transaction.Change, error) {
	if !filepath.IsAbs(change.Path) || !filepath.IsAbs(change.Root) {
		return change, fmt.Errorf("the path %s or its root %s is not absolute", change.Path, change.Root)
	}
	path, err := target(r, change)
	if err != nil {
		return change, fault.IO(change.Path, err)
	}
	if !utf8.ValidString(path) { // JSON cannot represent the path
		return change, fmt.Errorf("%q: the path is not UTF-8: rename the file", path)
	}
	root, err := r.Resolve(change.Root)
	if err != nil {
		return change, fault.IO(change.Root, err)
	}
	if !contain.Below(root.Path, path) {
		if err := disk.RequireInside(change.Root, change.Path); err != nil {
			return change, err
		}
		return change, fmt.Errorf("%s %w", change.Path, transaction.ErrChanged) // another program has changed a symbolic link between Resolve and RequireInside
	}
	change.Root, change.Path = root.Path, path
	return change, nil
}

// target returns the path of a change with the directory of the path resolved. If the change writes to a symbolic link,
// target returns the resolved target of the link.
func target(r *contain.Resolver, change transaction.Change) (string, error) {
	dir, err := r.Resolve(filepath.Dir(change.Path))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir.Path, filepath.Base(change.Path))
	if change.Delete || change.Before == "" {
		return path, nil
	}
	file, err := r.Resolve(path)
	return file.Path, err
}
