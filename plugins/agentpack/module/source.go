package module

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// CheckoutProvider provides checkouts of git repositories. Checkout returns the directory with a checkout of a module's
// repository at the locked commit. If locked is nil, the checkout is at git.Ref.
type CheckoutProvider interface {
	Checkout(id string, git config.Git, locked *config.LockedGit) (dir string, err error)
}

// Sources reads the upstream files of modules.
type Sources struct {
	Repo      string // the directory of the config repo
	Lock      config.Lock
	Checkouts CheckoutProvider

	bounds     map[string]disk.Bound // cached bounds; the key is the directory
	prefetched map[string]*disk.Child
}

// Read returns the upstream files of a module. If the source is a single file, the tree contains only that file. The warnings name skipped files.
func (s *Sources) Read(module config.Module) (files Tree, warnings []string, err error) {
	root, dir, err := s.locate(module)
	if err != nil {
		return nil, nil, fmt.Errorf("module %s: %w", module.ID, err)
	}
	bound, err := s.bound(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("module %s: %w", module.ID, err)
	}
	files, warnings, err = s.readUpstream(root, bound)
	if err != nil {
		return nil, nil, fmt.Errorf("module %s: %w", module.ID, fault.IO(root, err))
	}
	return files, warnings, nil
}

func (s *Sources) readUpstream(root string, bound disk.Bound) (files Tree, warnings []string, err error) {
	if child := s.prefetched[root]; child != nil {
		if child.IsDir {
			return readEntries(root, child.Entries, bound)
		}
		return Tree{filepath.Base(root): child.Content}, nil, nil
	}
	info, err := os.Stat(root)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return ReadTree(root, bound)
	}
	if root != bound.Root() {
		if err := bound.RequireInside(root); err != nil {
			return nil, nil, err
		}
	}
	content, err := disk.Read(root, disk.MaxFile)
	if err != nil {
		return nil, nil, err
	}
	return Tree{filepath.Base(root): content}, nil, nil
}

func (s *Sources) bound(dir string) (disk.Bound, error) {
	if known, ok := s.bounds[dir]; ok {
		return known, nil
	}
	bound, err := disk.NewBound(dir)
	if err == nil {
		if s.bounds == nil {
			s.bounds = map[string]disk.Bound{}
		}
		s.bounds[dir] = bound
	}
	return bound, err
}

// locate returns root, the path of a module's files, and dir, the directory of the config repo or of the checkout.
// Root, and all symbolic links below root, must resolve to paths inside dir. If the path in the manifest is lexically
// outside of the config repo, the user has chosen that path deliberately, and dir equals root.
func (s *Sources) locate(module config.Module) (root, dir string, err error) {
	if module.Local != nil {
		root = module.Local.Path
		if filepath.IsLocal(root) {
			return filepath.Join(s.Repo, root), filepath.Clean(s.Repo), nil
		}
		if !filepath.IsAbs(root) {
			root = filepath.Join(s.Repo, root)
		}
		return filepath.Clean(root), filepath.Clean(root), nil
	}
	wanted, locked := *module.Git, (*config.LockedGit)(nil)
	if at, ok := s.Lock.Git[module.ID]; ok {
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
			"subdir %q is outside of the repository", subdir)
	}
	return filepath.Join(checkout, filepath.FromSlash(subdir)), checkout, nil
}
