// Package source finds a module's own files, before any overlay: in the config repo, at an absolute path,
// or in a checkout of a repository. Read returns them.
package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/tree"
)

// Checkouts gives the folder that holds a module's repository at the commit that is wanted. Locked, if it
// is not nil, says where the module is in place of git.
type Checkouts interface {
	Checkout(id string, git manifest.Git, locked *lockfile.Git) (folder string, err error)
}

// Sources says where modules come from.
type Sources struct {
	Repo      string // the config repo
	Lock      lockfile.Lock
	Checkouts Checkouts
}

// Read returns a module's files. A module that is one file is a tree with that file's name.
func (s Sources) Read(module manifest.Module) (tree.Tree, error) {
	root, bound, err := s.root(module)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", module.ID, err)
	}
	files, err := read(root, bound)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", module.ID, fault.IO(root, err))
	}
	return files, nil
}

func read(root, bound string) (tree.Tree, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return tree.Read(root, bound)
	}
	content, err := disk.Read(root, disk.MaxFile)
	if err != nil {
		return nil, err
	}
	return tree.Tree{filepath.Base(root): content}, nil
}

// root is where a module's files are. What comes from a foreign repository must not lead out of its checkout,
// which is then the bound.
func (s Sources) root(module manifest.Module) (root, bound string, err error) {
	if module.Local != nil {
		if filepath.IsAbs(module.Local.Path) {
			return filepath.Clean(module.Local.Path), "", nil
		}
		return filepath.Join(s.Repo, module.Local.Path), "", nil
	}
	wanted, locked := *module.Git, (*lockfile.Git)(nil)
	if at, ok := s.Lock.Git(module.ID); ok {
		locked, wanted.Subdir = &at, at.Subdir
	}
	checkout, err := s.Checkouts.Checkout(module.ID, wanted, locked)
	if err != nil {
		return "", "", err
	}
	subdir := strings.TrimSpace(wanted.Subdir)
	if subdir == "" {
		return checkout, checkout, nil
	}
	if !filepath.IsLocal(subdir) {
		return "", "", fault.New(fault.ConfigInvalid, fault.Details{"module_id": module.ID, "subdir": subdir},
			"subdir %q leads out of the repository", subdir)
	}
	root = filepath.Join(checkout, filepath.FromSlash(subdir))
	if filepath.Clean(subdir) != "." {
		if err := disk.Inside(checkout, root); err != nil {
			return "", "", err
		}
	}
	return root, checkout, nil
}
